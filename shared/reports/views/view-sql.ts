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

export const NOW_SQL = "CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)";

/** SQL of a text without the spaces around it. For other white space the engines differ. */
export function trimmedSql(text: string): string {
  return `trim(${text}, ' ')`;
}

/** A column as text, and NULL if it is empty. */
export function textSql(column: string): string {
  return `NULLIF(${trimmedSql(`CAST(${column} AS varchar)`)}, '')`;
}

/** An amount of one record: without greater numbers, a sum overflows only after a billion records. */
const AMOUNT = 'decimal(29,9)';
const SUM = 'decimal(38,9)';

/**
 * A column as an amount, and NULL if it is not an amount or is 10^20 or more: sums near the limit of decimals would fail
 * the whole query. It is cast to text first, because a discovered column may have any type: the first commit decides. It
 * is trimmed, because DuckDB accepts an amount with spaces around it as a number and Trino does not. A letter replaces
 * characters that only one engine accepts in a number: `1_000` in DuckDB, the digits of all scripts in Trino.
 */
export function amountSql(column: string): string {
  const text = `regexp_replace(CAST(${column} AS varchar), '[^0-9.eE+ -]', 'x')`;
  return `TRY_CAST(${trimmedSql(text)} AS ${AMOUNT})`;
}

export function storedAmountSql(column: string): string {
  return `TRY_CAST(${column} AS ${AMOUNT})`;
}

/** The column of every view with sums. */
export const UNKNOWN_AMOUNTS = [
  'unknown_amounts',
  'bigint',
  'Values in the sums of the row that are missing or cannot be read; a sum with such a value is NULL',
] as const;

/** What a sum adds up: an amount in SQL, which is NULL if it is unknown. */
export interface Summed {
  amount: string;
  /** The rows that the sum includes; missing: all. */
  of?: string;
  /** Whether the roles that the sum needs have fields, the same for all rows of the sum; missing: true. */
  known?: string;
}

/** A sum of amounts: 0 without rows, and NULL if an amount is unknown. */
export function sumSql(summed: Summed): string {
  const { amount, of, known } = summed;
  const isWhole = [...(known === undefined ? [] : [known]), `${unknownSql(summed)} = 0`].join(' AND ');
  return `CAST(CASE WHEN ${isWhole} THEN COALESCE(sum(${whenSql(amount, of)}), 0) END AS ${SUM})`;
}

/** The column `unknown_amounts` of a row with these sums; parts of a sum are left out. */
export function unknownAmountsSql(...sums: readonly Summed[]): string {
  return `CAST(${sums.map(unknownSql).join(' + ')} AS bigint) AS ${UNKNOWN_AMOUNTS[0]}`;
}

function unknownSql({ amount, of, known }: Summed): string {
  const isUnknown = `${amount} IS NULL${known === undefined ? '' : ` OR NOT (${known})`}`;
  return `count(${whenSql('1', of === undefined ? isUnknown : `(${of}) AND (${isUnknown})`)})`;
}

function whenSql(value: string, of: string | undefined): string {
  return of === undefined ? value : `CASE WHEN ${of} THEN ${value} END`;
}

/** Whether the states of a table's records have a field. Without it, nobody knows which commission is void. */
export function statesKnown(table: string): string {
  return table === 'transactions'
    ? '({transactions.line_state?} OR {transactions.state?})'
    : `{${table}.state?}`;
}

/** Whether it is known which amounts of a table count. */
export function countedKnown(table: string, amount: 'amount' | 'commission'): string {
  return `{${table}.${amount}?} AND ${statesKnown(table)}`;
}

/** The commission of a row of a lifecycle table that counts; NULL: unknown. */
export function countedSql(table: string): string {
  const isMissing = "records > 0 AND commission IS NULL AND state IS DISTINCT FROM 'void'";
  return `CASE WHEN ${countedKnown(table, 'commission')} AND NOT (${isMissing}) THEN ${storedAmountSql('counted_commission')} END`;
}

/** Tables with a row for each record, whose fields have the same names in all views. */
type RecordTable = 'clicks' | 'orders' | 'transactions';

const NONE = 'CAST(NULL AS varchar)';
const noAmount = `CAST(0 AS ${AMOUNT})`;
/** The fields of a table that are not the column, or the role, of that name. */
const OTHER_FIELDS: Readonly<Record<RecordTable, Readonly<Record<string, string>>>> = {
  clicks: {
    kind: "'click'",
    ...{ publisher_name: NONE, currency: NONE, state: NONE },
    ...{ amount: noAmount, commission: noAmount },
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

export function recordsSql(table: RecordTable, fields: readonly string[]): string {
  return `SELECT CAST(brand AS varchar) AS brand, CAST(dt AS varchar) AS dt,
      substr(CAST(dt AS varchar), 1, 7) AS month, '${table}' AS origin,
      ${fields.map((field) => `${fieldSql(table, field)} AS ${field}`).join(',\n      ')}
    FROM ${table}`;
}

export function listSql(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ');
}
