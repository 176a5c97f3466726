// SQL that the views of several reports share, for both DuckDB and Trino.

/**
 * The SQL of a view for DuckDB, which lacks a function of Trino. A macro would not help: it exists only in the session
 * that creates the view, and a database file does not keep it. As in Trino, the value is NULL for text that is not
 * JSON, and for lists and objects.
 */
export function inDuckDb(sql: string): string {
  return sql.replaceAll(
    /json_extract_scalar\((.+?), ('\$[^']*')\)/g,
    "CASE WHEN json_valid($1) AND json_type($1, $2) NOT IN ('ARRAY', 'OBJECT') THEN json_extract_string($1, $2) END",
  );
}

/** The current time in UTC. */
export const NOW_SQL = "CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)";

/** SQL of a text without the spaces around it. For other white space the engines differ. */
export function trimmedSql(text: string): string {
  return `trim(${text}, ' ')`;
}

/** A column as text, and NULL if it is empty. */
export function textSql(column: string): string {
  return `NULLIF(${trimmedSql(`CAST(${column} AS varchar)`)}, '')`;
}

/**
 * A column as an amount, and NULL if it is not an amount. It is cast to text first, because a discovered column may
 * have any type: the first commit decides. It is trimmed, because DuckDB accepts an amount with spaces around it as a
 * number and Trino does not. A letter replaces characters that only one engine accepts in a number: `1_000` in DuckDB,
 * the digits of all scripts in Trino. A number from 10^20 on is no amount: the sum of a billion amounts then still fits into
 * decimal(38,9), beyond which a query would fail.
 */
export function amountSql(column: string): string {
  const text = `regexp_replace(CAST(${column} AS varchar), '[^0-9.eE+ -]', 'x')`;
  return `CAST(TRY_CAST(${trimmedSql(text)} AS decimal(29,9)) AS decimal(38,9))`;
}

/** Tables with a row for each record, whose fields have the same names in all views. */
type RecordTable = 'clicks' | 'orders' | 'transactions';

const NONE = 'CAST(NULL AS varchar)';
/** The fields of a table that are not the column, or the role, of that name. */
const OTHER_FIELDS: Readonly<Record<RecordTable, Readonly<Record<string, string>>>> = {
  clicks: {
    kind: "'click'",
    ...{ publisher_name: NONE, currency: NONE, state: NONE },
    ...{ amount: amountSql('NULL'), commission: amountSql('NULL') },
  },
  orders: { kind: '{orders.kind}' },
  transactions: {
    kind: '{transactions.kind}',
    // The state of the line, because the state of its order may be `mixed`.
    state: `COALESCE(${textSql('{transactions.line_state}')}, ${textSql('{transactions.state}')})`,
  },
};

/**
 * The SQL of a field of a record. `kind` is `click`, `sale` or `bonus`: the service lists bonuses and campaign payments
 * among the orders, although nobody bought anything.
 */
export function fieldSql(table: RecordTable, field: string): string {
  const sqlOf = ['amount', 'commission'].includes(field) ? amountSql : textSql;
  return OTHER_FIELDS[table][field] ?? sqlOf(`{${table}.${field}}`);
}

/** The SQL of a row for each record: its day, month and table, and these fields. */
export function recordsSql(table: RecordTable, fields: readonly string[]): string {
  return `SELECT CAST(brand AS varchar) AS brand, CAST(dt AS varchar) AS dt,
      substr(CAST(dt AS varchar), 1, 7) AS month, '${table}' AS origin,
      ${fields.map((field) => `${fieldSql(table, field)} AS ${field}`).join(',\n      ')}
    FROM ${table}`;
}

export function listSql(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ');
}
