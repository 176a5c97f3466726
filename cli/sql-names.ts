/** Finds the tables and table functions that SQL names. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { configError } from '../shared/base/errors.ts';
import { type Json, isJsonObject, parseJson } from '../shared/base/json.ts';

export interface SqlNames {
  /** The number of statements, if all of them are queries; `undefined` if a statement is not a query or cannot be parsed. */
  queries: number | undefined;
  /** Whether the SQL names a table or a table function; `true` in doubt. */
  includes: (name: string) => boolean;
}

/** A call that runs its text as SQL; the text may be computed. */
const SQL_FUNCTION = 'query';

export async function namesIn(connection: DuckDBConnection, sql: string): Promise<SqlNames> {
  const reader = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = parsedTree(String(reader.getRows()[0]?.[0]));
  // DuckDB serialises queries only, not COPY.
  const statements = isJsonObject(parsed) && Array.isArray(parsed.statements) ? parsed.statements : undefined;
  const names = new Set<string>();
  const texts: string[] = [];
  visit(statements ?? [], []);
  return {
    queries: statements?.length,
    includes: (name) =>
      names.has(name.toLowerCase()) ||
      texts.some((text) => new RegExp(`\\b(${name}|${SQL_FUNCTION})\\b`, 'i').test(text)),
  };

  /** @param hidden the common table expressions, which hide tables */
  function visit(node: Json, hidden: readonly string[]): void {
    if (Array.isArray(node)) for (const each of node) visit(each, hidden);
    if (!isJsonObject(node)) return;
    const { cte_map: expressions, cte_name: own, table_name: table, ...rest } = node;
    let scope = [...hidden, textOf(own)];
    const map = isJsonObject(expressions) && Array.isArray(expressions.map) ? expressions.map : [];
    for (const { key, value = null } of map.filter(isJsonObject)) {
      visit(value, scope);
      scope = [...scope, textOf(key)];
    }
    if (!scope.includes(textOf(table))) names.add(textOf(table));
    if (node.type === 'TABLE_FUNCTION' && isJsonObject(node.function)) {
      const { function_name: called, children } = node.function;
      names.add(textOf(called));
      // `query('FROM orders')` and `query_table('orders')` name tables in their arguments, which may be computed.
      const [argument] = Array.isArray(children) ? children : [];
      const isConstant = isJsonObject(argument) && argument.type === 'VALUE_CONSTANT';
      if (called === SQL_FUNCTION && !isConstant) texts.push(SQL_FUNCTION);
      if (called === SQL_FUNCTION || called === 'query_table') texts.push(...constantsIn(children ?? null));
    }
    for (const child of Object.values(rest)) visit(child, scope);
  }
}

function parsedTree(json: string): Json {
  try {
    return parseJson(json);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw configError('sql_refused', `The SQL is nested too deeply (${why}). Divide it by WITH.`);
  }
}

function textOf(name: Json | undefined): string {
  return typeof name === 'string' ? name.toLowerCase() : '';
}

function constantsIn(node: Json): string[] {
  if (Array.isArray(node)) return node.flatMap(constantsIn);
  if (!isJsonObject(node)) return [];
  const { type, value } = node;
  return type === 'VALUE_CONSTANT' ? textsIn(value ?? null) : Object.values(node).flatMap(constantsIn);
}

/** All texts in a document. */
export function textsIn(node: Json): string[] {
  if (typeof node === 'string') return [node];
  return node !== null && typeof node === 'object' ? Object.values(node).flatMap(textsIn) : [];
}
