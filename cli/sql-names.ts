/**
 * Finds the tables that SQL names, by DuckDB's own parser: a word in a text, an alias or the name of a column is no table.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type Json, type JsonObject, isJsonObject, parseJson } from '../shared/json.ts';

interface Names {
  /** Tables by name, in lower case. */
  tables: Set<string>;
  /** Parts of the SQL that the parser leaves as text: each word in them may be a table. */
  texts: string[];
}

/** @returns whether the SQL names a table; SQL that DuckDB cannot parse names every word that is in it */
export async function tablesNamedIn(
  connection: DuckDBConnection,
  sql: string,
): Promise<(name: string) => boolean> {
  const reader = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [sql]);
  const parsed = parseJson(String(reader.getRows()[0]?.[0]));
  // DuckDB serialises SELECT statements only, not EXPLAIN, COPY or a PIVOT without its values.
  const isParsed = isJsonObject(parsed) && parsed.error === false;
  const names: Names = { tables: new Set(), texts: isParsed ? [] : [sql] };
  if (isParsed) collect(parsed, new Set(), names);
  return (name) =>
    names.tables.has(name.toLowerCase()) ||
    names.texts.some((text) => new RegExp(`\\b${name}\\b`, 'i').test(text));
}

/** @param hidden the common table expressions in scope, in lower case */
function collect(node: Json, hidden: ReadonlySet<string>, into: Names): void {
  if (Array.isArray(node)) for (const each of node) collect(each, hidden, into);
  if (!isJsonObject(node)) return;
  const { type, table_name: table, cte_map: expressions, cte_name: own, ...rest } = node;
  const [name] = lowerCase(table);
  if (type === 'BASE_TABLE' && name !== undefined && !hidden.has(name)) into.tables.add(name);
  // `query('FROM orders')` and `query_table('orders')` name tables in their arguments.
  if (type === 'TABLE_FUNCTION') into.texts.push(...constantsIn(rest));
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

function constantsIn(node: Json): string[] {
  if (Array.isArray(node)) return node.flatMap(constantsIn);
  if (!isJsonObject(node)) return [];
  const { type, value } = node;
  return type === 'VALUE_CONSTANT' ? [JSON.stringify(value)] : Object.values(node).flatMap(constantsIn);
}
