/** Finds the tables and table functions that SQL names. Words in texts, aliases and names of columns do not count. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { configError } from '../shared/errors.ts';
import { type Json, type JsonObject, isJsonObject, parseJson } from '../shared/json.ts';

export interface SqlNames {
  /** The number of statements, if all of them are queries; `undefined` if a statement is not a query or cannot be parsed. */
  queries: number | undefined;
  /** Whether the SQL names a table or a table function; `true` in doubt. */
  includes: (name: string) => boolean;
}

interface Found {
  /** In lower case. */
  names: Set<string>;
  /** SQL that is not parsed here: each of its words may be a name. */
  texts: string[];
}

/** A call that runs its text as SQL; the text may be computed. */
const SQL_FUNCTION = 'query';

export async function namesIn(connection: DuckDBConnection, sql: string): Promise<SqlNames> {
  const reader = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = parsedTree(String(reader.getRows()[0]?.[0]));
  // DuckDB serialises queries only, not COPY or a PIVOT without its values.
  const statements = isJsonObject(parsed) && Array.isArray(parsed.statements) ? parsed.statements : undefined;
  const found: Found = { names: new Set(), texts: statements ? [] : [sql] };
  if (statements) collect(statements, new Set(), found);
  return {
    queries: statements?.length,
    includes: (name) =>
      found.names.has(name.toLowerCase()) ||
      found.texts.some((text) => new RegExp(`\\b(${name}|${SQL_FUNCTION})\\b`, 'i').test(text)),
  };
}

function parsedTree(json: string): Json {
  try {
    return parseJson(json);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw configError('sql_refused', `The SQL is nested too deeply (${why}). Divide it by WITH.`);
  }
}

/** @param hidden the common table expressions in scope, in lower case */
function collect(node: Json, hidden: ReadonlySet<string>, into: Found): void {
  if (Array.isArray(node)) for (const each of node) collect(each, hidden, into);
  if (!isJsonObject(node)) return;
  const { type, table_name: table, cte_map: expressions, cte_name: own, ...rest } = node;
  const [name] = lowerCase(table);
  if (type === 'BASE_TABLE' && name !== undefined && !hidden.has(name)) into.names.add(name);
  if (type === 'TABLE_FUNCTION') collectFunction(rest, into);
  const inScope = new Set([...hidden, ...lowerCase(own)]);
  for (const { key, value } of entriesOf(expressions)) {
    collect(value ?? null, inScope, into);
    for (const defined of lowerCase(key)) inScope.add(defined);
  }
  for (const child of Object.values(rest)) collect(child, inScope, into);
}

function entriesOf(expressions: Json | undefined): JsonObject[] {
  const { map } = isJsonObject(expressions) ? expressions : {};
  return Array.isArray(map) ? map.filter(isJsonObject) : [];
}

function lowerCase(name: Json | undefined): string[] {
  return typeof name === 'string' ? [name.toLowerCase()] : [];
}

/** `query('FROM orders')` and `query_table('orders')` name tables in their arguments. */
function collectFunction({ function: called }: JsonObject, into: Found): void {
  if (!isJsonObject(called)) return;
  const { function_name: name, children = null } = called;
  for (const own of lowerCase(name)) into.names.add(own);
  const [argument] = Array.isArray(children) ? children : [];
  const isText = isJsonObject(argument) && argument.type === 'VALUE_CONSTANT';
  // The value of an expression is unknown here: it may be any name.
  if (name === SQL_FUNCTION && !isText) into.texts.push(SQL_FUNCTION);
  if (name === SQL_FUNCTION || name === 'query_table') into.texts.push(...constantsIn(children));
}

function constantsIn(node: Json): string[] {
  if (Array.isArray(node)) return node.flatMap(constantsIn);
  if (!isJsonObject(node)) return [];
  const { type, value } = node;
  return type === 'VALUE_CONSTANT' ? textsIn(value ?? null) : Object.values(node).flatMap(constantsIn);
}

function textsIn(node: Json): string[] {
  if (typeof node === 'string') return [node];
  return node !== null && typeof node === 'object' ? Object.values(node).flatMap(textsIn) : [];
}
