/*
 * Fills the tables of docs/reference/tables.md. The columns come from the code and, if they are discovered, from a
 * sample lake; the examples are a row of that lake. Which columns are never NULL stands on the page, and a test
 * compares it with the lake.
 */
import { query } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { tableRoles } from '../../shared/catalog/view-roles.ts';
import { DAY_PARTITION_KEYS, type ColumnType, typeSpec } from '../../shared/base/column-types.ts';
import {
  type DescribedColumn,
  chosenFields,
  columnsOfShape,
  describedColumns,
} from '../../shared/lake/described-columns.ts';
import { settingsInUse } from '../../shared/lake/brand-settings.ts';
import { readLedgers, readSchema } from '../../shared/lake/read.ts';
import type { ObjectStore, TableShape } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { code, withRows } from './markdown.ts';
import { NOW_MS } from './sample.ts';

/** Columns that the lake adds or that partition a table: no record is without them. */
const OF_EVERY_ROW: readonly string[] = ['_synced_at', 'brand', 'dt', 'report', 'month'];
/** The tables whose columns are the same for every brand, in the order of the page. */
export const FIXED_TABLES: readonly TableShape[] = [coverageTable, closesTable];
const TYPES: readonly ColumnType[] = [
  ...(['string', 'bigint', 'decimal(38,9)', 'double', 'boolean', 'date', 'timestamp'] as const),
];
const MAX_EXAMPLE = 60;

/** A table as the page describes it. */
interface ShownTable {
  name: string;
  description: string;
  partitionKeys: readonly string[];
  columns: readonly DescribedColumn[];
}

/** @param lake the folder of the sample lake */
export async function tablesPage(before: string, lake: string): Promise<string> {
  const store = openLocalStore(lake);
  let page = withRows(before, 'Rules for all tables', ['Glue and Athena', 'in SQL of Athena', 'DuckDB'], () =>
    TYPES.map((type) => {
      const { hive, trino, duckdb } = typeSpec(type);
      return [hive, trino, duckdb].map(code);
    }),
  );
  for (const table of [...(await reportTables(store)), ...FIXED_TABLES.map(shownShape)])
    page = withTable(page, table, await exampleOf(store, table));
  return page;
}

async function reportTables(store: ObjectStore): Promise<ShownTable[]> {
  const ledgers = await readLedgers(store, reports);
  const tables = Object.values(reports).map(async (report) => {
    const own = ledgers.filter(({ report: { name } }) => name === report.name);
    const schema = await readSchema(store, report);
    const roles = tableRoles([report], settingsInUse(own, undefined).settings).get(report.table);
    const chosen = chosenFields(schema.columns, roles ?? {});
    const columns = describedColumns(report, schema, chosen);
    return {
      name: report.table,
      description: report.description,
      partitionKeys: DAY_PARTITION_KEYS,
      columns: columns.map((column) => ({ ...column, description: meaningOf(column) })),
    };
  });
  return Promise.all(tables);
}

/** The meaning of a column of records, without the day on which the sample's field was discovered. */
function meaningOf({ description, roles }: DescribedColumn): string {
  if (!description.startsWith('Discovered')) return description.replace(/^Documented: /, 'documented; ');
  const names = roles.map((each) => `role \`${each.role}\``);
  return ['discovered', ...(names.length > 0 ? [names.join(', ')] : [])].join('; ');
}

function shownShape(shape: TableShape): ShownTable {
  const { name, description, partitionKeys } = shape;
  return { name, description: description ?? '', partitionKeys, columns: columnsOfShape(shape) };
}

type Example = Readonly<Record<string, unknown>>;

/** The row with the most values; of several, the first one by their texts. */
async function exampleOf(store: ObjectStore, { name }: ShownTable): Promise<Example> {
  const sql = `FROM ${name}`;
  const lake = { store, reports, settings: undefined, nowMs: NOW_MS, onGap: () => {} };
  const connection = await createSqlConnection(lake, sql);
  const { names, blocks } = await query(connection, sql);
  let best: { values: number; text: string; row: Example } | undefined;
  for await (const rows of blocks)
    for (const cells of rows) {
      const row = Object.fromEntries(cells.map((cell, index) => [names[index] ?? '', cell]));
      const values = cells.filter((cell) => cell !== null).length;
      const text = JSON.stringify(cells);
      if (!best || values > best.values || (values === best.values && text < best.text))
        best = { values, text, row };
    }
  connection.closeSync();
  return best?.row ?? {};
}

function withTable(page: string, table: ShownTable, example: Example): string {
  const { name, description, partitionKeys, columns } = table;
  const about = `${description}.\n\n- Partitions: ${partitionKeys.map(code).join(', ')}\n`;
  const described = page.replace(
    new RegExp(`(?<=\n## ${name}\n\n)[^\n]*\n\n- Partitions: [^\n]*\n`),
    () => about,
  );
  const head = ['column', 'Athena', 'DuckDB', 'NULL', 'meaning', 'example'];
  return withRows(described, name, head, (present) =>
    columns.map((column) => {
      const { hive, duckdb } = typeSpec(column.type);
      const { [column.name]: value } = example;
      const [, , , isNull = 'yes', meaning = ''] = present.get(code(column.name)) ?? [];
      return [
        code(column.name),
        code(hive),
        code(duckdb),
        OF_EVERY_ROW.includes(column.name) ? 'no' : isNull,
        // What is known of a discovered field stands on the page.
        meaning.startsWith(`${column.description}; `) ? meaning : column.description,
        value === null || value === undefined ? '' : code(shortened(value)),
      ];
    }),
  );
}

/** Without what is not the same each time, and without the zeros at the end of decimals, as `query` prints them. */
function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (/^id-\d+$/.test(text)) return '…';
  const plain = /^-?\d+\.\d{9}$/.test(text)
    ? text.replace(/\.?0+$/, '')
    : text.replace(/^(\d{4}-\d\d-\d\d \d\d:\d\d):\d\d(\.\d+)?$/, '$1');
  const whole = plain.replaceAll('`', "'");
  return whole.length > MAX_EXAMPLE ? `${whole.slice(0, MAX_EXAMPLE - 1)}…` : whole;
}
