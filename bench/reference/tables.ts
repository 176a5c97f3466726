/*
 * Writes docs/reference/tables.md. The columns come from the code and, if they are discovered,
 * from a sample lake; the examples are a row of that lake.
 */
import { query } from '../../cli/query-result.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { tableRoles } from '../../shared/catalog/view-roles.ts';
import { DAY_PARTITION_KEYS, type ColumnType, typeSpec } from '../../shared/column-types.ts';
import {
  type DescribedColumn,
  chosenFields,
  columnsOfShape,
  describedColumns,
} from '../../shared/lake/documents/described-columns.ts';
import { settingsInUse } from '../../shared/lake/documents/brand-settings.ts';
import { readLedgers, readSchema } from '../../shared/lake/documents/read.ts';
import type { ObjectStore, TableShape } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { fixedTables } from './fixed-tables.ts';
import { code, pageOf, tableOf } from './markdown.ts';
import { COMMON, DERIVED, KEYS, NEVER_NULL, NOTES } from './table-texts.ts';
import { NOW_MS } from './sample.ts';

/** Columns that the lake adds or that partition a table: no record is without them. */
const OF_EVERY_ROW: readonly string[] = ['_synced_at', 'brand', 'dt', 'report', 'month'];
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

/** The page, as Markdown. @param lake the folder of the sample lake */
export async function tablesPage(lake: string): Promise<string> {
  const store = openLocalStore(lake);
  const shown = [...(await reportTables(store)), ...fixedTables().map(shownShape)];
  const sections: string[] = [];
  for (const table of shown) sections.push(sectionOf(table, await exampleOf(store, table)));
  return pageOf(COMMON.replace('@types', typesTable()), ...sections, DERIVED);
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
      columns: columns.map((column) => ({ ...column, description: meaningOf(report, column) })),
    };
  });
  return Promise.all(tables);
}

/** The meaning of a column of records, without the day on which the sample's field was discovered. */
function meaningOf(report: ReportDefinition, { name, description, roles }: DescribedColumn): string {
  const role = roles.map((each) => `role \`${each.role}\``).join(', ');
  if (!description.startsWith('Discovered')) return description.replace(/^Documented: /, 'documented; ');
  const meaning = NOTES[report.table]?.columns?.[name];
  return ['discovered', ...(role === '' ? [] : [role]), ...(meaning === undefined ? [] : [meaning])].join(
    '; ',
  );
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

function sectionOf(table: ShownTable, example: Example): string {
  const { name, description, partitionKeys, columns } = table;
  const { [name]: own = [] } = NEVER_NULL;
  const never = new Set(own === 'all' ? OF_EVERY_ROW : [...OF_EVERY_ROW, ...own]);
  const rows = columns.map((column) => {
    const { hive, duckdb } = typeSpec(column.type);
    const isNever = own === 'all' || never.has(column.name);
    const { [column.name]: value } = example;
    return [
      code(column.name),
      code(hive),
      code(duckdb),
      isNever ? 'no' : 'yes',
      column.description,
      value === null || value === undefined ? '' : code(shortened(value)),
    ];
  });
  return [
    `## ${name}`,
    '',
    `${description}.`,
    '',
    `- Partitions: ${partitionKeys.map(code).join(', ')}`,
    ...(KEYS[name] === undefined ? [] : [`- Key: ${KEYS[name]}`]),
    ...(NOTES[name] ? ['', NOTES[name].text] : []),
    '',
    tableOf(['column', 'Athena', 'DuckDB', 'NULL', 'meaning', 'example'], rows),
  ].join('\n');
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

function typesTable(): string {
  const rows = TYPES.map((type) => {
    const { hive, trino, duckdb } = typeSpec(type);
    return [hive, trino, duckdb].map(code);
  });
  return tableOf(['Glue and Athena', 'in SQL of Athena', 'DuckDB'], rows);
}
