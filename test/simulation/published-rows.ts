import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { isJsonObject, type Json, type JsonObject } from '../../shared/json.ts';
import { type Form, exactly, literalOf, numberForm, textOfTexts, unlike } from './forms.ts';

/** The rows of one table under the folder `current/`, as any tool reads them: values as DuckDB's text, without nulls. */
interface LakeTable {
  /** DuckDB's types by column name, without the partition keys. */
  types: Map<string, string>;
  rows: { brand: string; dt: string; values: Map<string, string> }[];
}

let connection: Promise<DuckDBConnection> | undefined;

async function connect(): Promise<DuckDBConnection> {
  const opened = await (await DuckDBInstance.create(':memory:')).connect();
  await opened.run("SET TimeZone = 'UTC'");
  await opened.run('SET enable_external_file_cache = false');
  return opened;
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

export async function readLakeTable(lake: string, table: string): Promise<LakeTable> {
  const folder = join(lake, 'current', table);
  if (!existsSync(folder)) return { types: new Map(), rows: [] };
  connection ??= connect();
  const duckdb = await connection;
  const from = `read_parquet('${folder.replaceAll("'", "''")}/**/*.parquet',
    union_by_name = true, hive_partitioning = true, hive_types_autocast = false)`;
  const described = (await duckdb.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`)).getRows();
  const columns = described.map(([name, type]) => ({ name: String(name), type: String(type) }));
  const texts = columns.map(({ name }) => `CAST(${quoted(name)} AS VARCHAR) AS ${quoted(name)}`);
  const rows = (await duckdb.runAndReadAll(`SELECT ${texts} FROM ${from}`)).getRows();
  return {
    types: new Map(
      columns.filter(({ name }) => name !== 'brand' && name !== 'dt').map(({ name, type }) => [name, type]),
    ),
    rows: rows.map((row) => {
      const cells = columns.map(({ name }, index) => [name, row[index]] as const);
      const values = new Map(
        cells.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
      );
      const [brand = '', dt = ''] = [values.get('brand'), values.get('dt')];
      values.delete('brand');
      values.delete('dt');
      return { brand, dt, values };
    }),
  };
}

function nestedForm(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(nestedForm).join()}]`;
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(
      ([key, inner]) => `${JSON.stringify(key)}:${nestedForm(inner)}`,
    );
    return `{${entries.sort().join()}}`;
  }
  const literal = literalOf(value);
  return literal === undefined ? JSON.stringify(value) : numberForm(literal);
}

function valueForm(value: Json): string | undefined {
  if (value === null) return undefined;
  if (typeof value === 'string') return `text ${value}`;
  if (typeof value === 'boolean') return `boolean ${value}`;
  const literal = literalOf(value);
  return literal === undefined ? `nested ${nestedForm(value)}` : numberForm(literal);
}

function recordForm(record: JsonObject): Form {
  const entries = Object.entries(record).map(([field, value]) => [field, valueForm(value)] as const);
  return new Map(entries.flatMap(([field, form]) => (form === undefined ? [] : [[field, form]])));
}

function parsedIfNested(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return exactly(text);
  } catch {
    return undefined;
  }
}

/** The values that a field had: a column's text alone does not distinguish a number from its digits. */
interface Known {
  forms: Set<string>;
  literals: Set<string>;
}

function knownOf(records: readonly JsonObject[]): Map<string, Known> {
  const known = new Map<string, Known>();
  for (const record of records) {
    for (const [field, value] of Object.entries(record)) {
      const forField = known.get(field) ?? { forms: new Set(), literals: new Set() };
      known.set(field, forField);
      forField.forms.add(valueForm(value) ?? '');
      forField.literals.add(literalOf(value) ?? '');
    }
  }
  return known;
}

/** The values that a column's text can mean, the value by the column's type first. */
function meanings(text: string, type: string, known: Known): string[] {
  if (/^(DECIMAL|BIGINT|DOUBLE|INTEGER)/.test(type)) return [numberForm(text), `text ${text}`];
  if (type === 'BOOLEAN') return [`boolean ${text}`];
  if (type === 'DATE') return [`text ${text.replaceAll('-', '')}`, `text ${text}`];
  if (type.startsWith('TIMESTAMP')) return [`text ${new Date(text.replace(/(\+00)?$/, 'Z')).toUTCString()}`];
  const nested = parsedIfNested(text);
  return [
    `text ${text}`,
    ...(known.literals.has(text) ? [numberForm(text)] : []),
    ...(nested === undefined ? [] : [`nested ${nestedForm(nested)}`]),
    `boolean ${text}`,
  ];
}

function formOf(text: string, type: string, known: Known): string {
  const possible = meanings(text, type, known);
  return possible.find((form) => known.forms.has(form)) ?? `${possible[0]} (in a ${type} column)`;
}

const snakeCase = (field: string): string =>
  field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_');

/**
 * Finds the column of each field. Ordinary names become snake_case. If names collide or are invalid, the known values
 * of the field decide.
 */
function fieldsByColumn({ types, rows }: LakeTable, known: Map<string, Known>): Map<string, string> {
  const found = new Map<string, string>();
  const columns = [...types.keys()].filter((name) => name !== '_rescued' && name !== '_synced_at');
  for (const column of columns) {
    const texts = rows.flatMap(({ values }) => values.get(column) ?? []);
    const fits = (candidate: Known) =>
      texts.every((text) =>
        meanings(text, types.get(column) ?? '', candidate).some((form) => candidate.forms.has(form)),
      );
    const distance = (field: string) =>
      snakeCase(field) === column
        ? 0
        : column.startsWith(snakeCase(field)) && snakeCase(field) !== ''
          ? 1
          : 2;
    const ranked = [...known].toSorted(
      ([a, knownA], [b, knownB]) => Number(fits(knownB)) - Number(fits(knownA)) || distance(a) - distance(b),
    );
    const field = ranked[0]?.[0];
    if (field !== undefined && texts.length > 0) found.set(column, field);
  }
  return found;
}

/** The rows, turned back into the records that they came from. */
function formsOf(table: LakeTable, known: Map<string, Known>): { brand: string; dt: string; form: Form }[] {
  const fields = fieldsByColumn(table, known);
  return table.rows.map(({ brand, dt, values }) => {
    const form: Form = new Map();
    for (const [column, text] of values) {
      const field = fields.get(column);
      const forField = known.get(field ?? '');
      if (field === undefined || !forField) continue;
      form.set(
        form.has(field) ? `${field} again as ${column}` : field,
        formOf(text, table.types.get(column) ?? '', forField),
      );
    }
    const rescued = exactly(values.get('_rescued') ?? '{}');
    for (const [field, value] of isJsonObject(rescued) ? recordForm(rescued) : []) form.set(field, value);
    return { brand, dt, form };
  });
}

/**
 * How a table of the lake differs from the expected records, day by day and record by record, with the number of
 * copies.
 * @param expected by day: the expected records
 * @param everHeld all records that the table may ever have had
 */
export function differences(
  table: LakeTable,
  brand: string,
  expected: Map<string, JsonObject[]>,
  everHeld: readonly JsonObject[],
): { dt: string; missing: string[]; surplus: string[] }[] {
  const rows = formsOf(table, knownOf(everHeld)).filter((row) => row.brand === brand);
  const byDay = Map.groupBy(rows, ({ dt }) => dt);
  const days = [...new Set([...expected.keys(), ...byDay.keys()])].sort();
  return days.flatMap((dt) => {
    const there = (byDay.get(dt) ?? []).map(({ form }) => textOfTexts(form));
    const records = (expected.get(dt) ?? []).map((record) => textOfTexts(recordForm(record)));
    const found = { dt, ...unlike(records, there) };
    return found.missing.length + found.surplus.length > 0 ? [found] : [];
  });
}
