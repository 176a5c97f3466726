/** Finds the tables and table functions that SQL names. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { configError } from '../shared/base/errors.ts';
import { type Json, isJsonObject, parseJson } from '../shared/base/json.ts';

export interface SqlNames {
  /** The number of statements, if all of them are queries; `undefined` if a statement is not a query or cannot be parsed. */
  queries: number | undefined;
  /** Whether the SQL names a table or a table function. */
  includes: (name: string) => boolean;
}

export async function namesIn(connection: DuckDBConnection, sql: string): Promise<SqlNames> {
  const reader = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = parsedTree(String(reader.getRows()[0]?.[0]));
  // DuckDB serialises queries only, not COPY.
  const statements = isJsonObject(parsed) && Array.isArray(parsed.statements) ? parsed.statements : undefined;
  const names = new Set<string>();
  visit(statements ?? [], []);
  return {
    queries: statements?.length,
    includes: (name) => names.has(name.toLowerCase()),
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
    if (node.type === 'TABLE_FUNCTION' && isJsonObject(node.function))
      names.add(textOf(node.function.function_name));
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

/** All texts in a document. */
export function textsIn(node: Json): string[] {
  if (typeof node === 'string') return [node];
  return node !== null && typeof node === 'object' ? Object.values(node).flatMap(textsIn) : [];
}
