/**
 * Finds the conditions on `dt` in SQL, in the texts of DuckDB's optimized plan: DuckDB has resolved aliases, subqueries and common
 * table expressions, and has computed constants. Other conditions count as right, such as a join with another table.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type Json, type JsonObject, isJsonObject, parseJson, stringifyJson } from '../shared/base/json.ts';
import { LEDGER_TABLES, beforeTable } from '../shared/lake/paths.ts';
import { allViews } from '../shared/reports/definition.ts';
import { reports } from '../shared/reports/index.ts';
import { identifier, literal } from './sql-files.ts';
import { textsIn } from './sql-names.ts';

/** A comparison by the parser's name, or a function that compares texts and its call. */
export interface DayCondition {
  name: string;
  /** SQL that contains `DAY` or `MONTH`, and no other column. */
  left: string;
  /** Missing: `left` is the call. */
  right?: string;
}

interface Comparison {
  name: string;
  left: Json;
  right?: string;
}

/** The names of the lake's columns in a plan. SQL ignores the case of names, so `dt` in SQL is this column. */
export const DAY = 'dT';
export const MONTH = 'montH';
const MARKED = new RegExp(`\\b(${DAY}|${MONTH})\\b`);
const TABLES = Object.values(reports).flatMap(({ table }) => [table, beforeTable(table)]);
const WITH_MONTH = [...LEDGER_TABLES, ...allViews(reports).map(({ name }) => name)];
const PATTERNS =
  /^(!?~~~?\*?|(not_)?i?like_escape|regexp_(matches|full_match)|prefix|starts_with|\^@|suffix|ends_with|contains|(list|array)_(has|contains))$/;
const SHAPES = 'brand_reports_shapes';

/** @param sql one query over the relations of the session */
export async function dayConditions(session: DuckDBConnection, sql: string): Promise<DayCondition[]> {
  const found =
    await session.runAndReadAll(`SELECT table_name, list({name: column_name, type: data_type} ORDER BY column_index)
    FROM duckdb_columns() WHERE NOT internal GROUP BY ALL`);
  const shapes = found.getRowsJson().map(([table, columns]) => shapeSql(textOf(table), objectsIn(columns)));
  // Empty tables take the place of the views, whose own conditions are right.
  await session.run(`ATTACH ':memory:' AS ${SHAPES}; USE ${SHAPES}; ${shapes.join('; ')}`);
  try {
    // The query itself reports an error in it.
    const explained = await session
      .runAndReadAll(`EXPLAIN (FORMAT json) FROM query(${literal(sql)})`)
      .catch(() => undefined);
    const plan = parseJson(String(explained?.getRows()[0]?.[1] ?? null));
    const texts = textsIn(plan).filter((text) => MARKED.test(text) && text.includes("'"));
    return (await Promise.all(texts.map((text) => conditionsIn(session, text)))).flat();
  } finally {
    await session.run(`USE memory; DETACH ${SHAPES}`);
  }
}

/** The rows of this function are opaque to the optimizer, so that each condition stays in the plan. */
function shapeSql(table: string, columns: readonly JsonObject[]): string {
  const hasMonth = WITH_MONTH.includes(table);
  const names = columns.map(({ name }) => {
    if (name === 'month' && hasMonth) return MONTH;
    return name === 'dt' && (hasMonth || TABLES.includes(table)) ? DAY : identifier(textOf(name));
  });
  const nulls = columns.map(({ type }) => `NULL::${textOf(type)}`).join(', ');
  const rows = `repeat_row(${nulls}, num_rows = 2) AS rows(${names.join(', ')})`;
  return `CREATE VIEW ${identifier(table)} AS FROM ${rows}`;
}

/** @param text an expression in a plan; DuckDB's parser may not know its form */
async function conditionsIn(session: DuckDBConnection, text: string): Promise<DayCondition[]> {
  const jsonOf = async (sql: string, argument: string) =>
    String((await session.runAndReadAll(sql, [argument])).getRows()[0]?.[0]);
  const tree = parseJson(await jsonOf('SELECT json_serialize_sql($1::VARCHAR)', `SELECT ${text}`));
  const [statement] = isJsonObject(tree) ? objectsIn(tree.statements) : [];
  const { node = null } = statement ?? {};
  if (!isJsonObject(tree) || !isJsonObject(node)) return [];
  const conditions: DayCondition[] = [];
  for (const { left, ...condition } of comparisonsIn(node)) {
    const columns = [...nodesIn(left)].flatMap(({ column_names: names = null }) => textsIn(names));
    if (columns.length === 0 || columns.some((name) => name !== DAY && name !== MONTH)) continue;
    const query = { ...tree, statements: [{ ...statement, node: { ...node, select_list: [left] } }] };
    const sql = await jsonOf('SELECT json_deserialize_sql($1::JSON)', stringifyJson(query));
    conditions.push({ ...condition, left: sql.replace(/^SELECT /, '') });
  }
  return conditions;
}

function* comparisonsIn(tree: JsonObject): Generator<Comparison> {
  for (const node of nodesIn(tree)) {
    const { class: kind, type, function_name: called, left = null, right = null, input = null } = node;
    const [first = null, ...others] = objectsIn(node.children);
    if (kind === 'COMPARISON') yield* compared(textOf(type), left, right);
    if (kind === 'BETWEEN') {
      yield* compared('COMPARE_GREATERTHANOREQUALTO', input, node.lower);
      yield* compared('COMPARE_BETWEEN', input, node.upper);
    }
    if (type === 'COMPARE_IN' || type === 'COMPARE_NOT_IN')
      for (const other of others) yield* compared(type, first, other);
    if (!PATTERNS.test(textOf(called))) continue;
    if (first?.function_name === 'list_value')
      for (const each of objectsIn(first.children)) yield* compared('COMPARE_IN', others[0] ?? null, each);
    else yield { name: textOf(called), left: node };
  }
}

function* compared(name: string, left: Json, right: Json | undefined): Generator<Comparison> {
  if (!isJsonObject(right)) return;
  const { value } = right;
  if (isJsonObject(value) && typeof value.value === 'string') yield { name, left, right: value.value };
  // (brand, dt) = ('acme', '2026-11-09')
  const rights = objectsIn(right.children);
  if (isJsonObject(left) && left.function_name === 'row')
    for (const [index, each] of objectsIn(left.children).entries())
      yield* compared(name, each, rights[index]);
}

function* nodesIn(node: Json): Generator<JsonObject> {
  if (isJsonObject(node)) yield node;
  if (node !== null && typeof node === 'object')
    for (const child of Object.values(node)) yield* nodesIn(child);
}

function textOf(node: Json | undefined): string {
  return typeof node === 'string' ? node : '';
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
