// SQL that the views of several reports share, for both DuckDB and Trino.

/** JSON of the texts in `cells` that are not NULL, by the `names` of their columns, without its braces. */
export const RECORD_SQL = `array_join(zip_with(names, cells, (n, v) -> '"' || n || '":' || json_format(CAST(v AS json))), ',')`;
/** The names of the columns whose texts differ. */
export const CHANGED_NAMES_SQL = `array_join(zip_with(names, zip_with(cells, next_cells, (b, a) -> a IS DISTINCT FROM b), (n, d) -> CASE WHEN d THEN n END), ', ')`;

/** Joins days to the rows of a history, `h`. */
export const JOIN_DAYS = 'JOIN days d ON d.brand = h.brand AND d.report = h.report AND d.dt = h.dt';

const TEXT_IN_DUCKDB = (value: string) => `CAST(to_json(${value}) AS varchar)`;
const IN_DUCKDB: readonly (readonly [trino: string | RegExp, duckDb: string])[] = [
  [
    RECORD_SQL,
    `array_to_string(list_transform(list_zip(names, cells), lambda z: CASE WHEN z[2] IS NOT NULL THEN '"' || z[1] || '":' || ${TEXT_IN_DUCKDB('z[2]')} END), ',')`,
  ],
  [
    CHANGED_NAMES_SQL,
    "array_to_string(list_transform(list_zip(names, cells, next_cells), lambda z: CASE WHEN z[2] IS DISTINCT FROM z[3] THEN z[1] END), ', ')",
  ],
  [/json_format\(CAST\(("\w+") AS json\)\)/g, TEXT_IN_DUCKDB('$1')],
  [/date_format\(("\w+"), '%Y-%m-%d %H:%i:%s\.%f'\)/g, "strftime($1, '%Y-%m-%d %H:%M:%S.%f')"],
  [
    /json_extract_scalar\((.+?), ('\$[^']*')\)/g,
    "CASE WHEN json_type(TRY_CAST($1 AS json), $2) NOT IN ('ARRAY', 'OBJECT') THEN json_extract_string(TRY_CAST($1 AS json), $2) END",
  ],
  [/\b(min|max)_by\(/g, 'arg_$1_null('],
  // DuckDB checks the size of a number with an exponent only when it casts a decimal.
  [/TRY_CAST\((trim\(regexp_replace\(.+?, 'x'\), ' '\)) AS /g, 'TRY_CAST(TRY_CAST($1 AS decimal(38,9)) AS '],
  // For the days of a join, DuckDB leaves out no file.
  [JOIN_DAYS, `JOIN (SELECT min(dt) AS first_dt FROM days) AS since ON h.dt >= first_dt ${JOIN_DAYS}`],
  // DuckDB would compute all values of all rows before a condition of the query limits them.
  ['WITH record_values AS (', 'WITH record_values AS NOT MATERIALIZED ('],
];

/**
 * The SQL of a view for DuckDB, which lacks functions of Trino. A macro would not help: it exists only in the session
 * that creates the view, and a database file does not keep it. As in Trino, a value at a path is NULL for text that is
 * not JSON, and for lists and objects; and `min_by` may return NULL.
 */
export function inDuckDb(sql: string): string {
  return IN_DUCKDB.reduce((text, [trino, duckDb]) => text.replaceAll(trino, duckDb), sql);
}

export const NOW_SQL = "CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)";

/** A text without the spaces around it, and NULL if it is empty. For other white space the engines differ. */
export function textSql(text: string): string {
  return `NULLIF(trim(${text}, ' '), '')`;
}

/** An amount of one record: without greater numbers, a sum overflows only after a billion records. */
export const AMOUNT = 'decimal(29,9)';
export const SUM = 'decimal(38,9)';
export const ZERO = `CAST(0 AS ${AMOUNT})`;

/**
 * A text as an amount, and NULL if it is not an amount or is 10^20 or more: sums near the limit of decimals would fail the
 * whole query. It is trimmed, because DuckDB accepts an amount with spaces around it as a number and Trino does not. A
 * letter replaces characters that only one engine accepts in a number: `1_000` in DuckDB, the digits of all scripts in
 * Trino.
 */
export function amountSql(text: string): string {
  return decimalSql(`trim(regexp_replace(${text}, '[^0-9.eE+ -]', 'x'), ' ')`);
}

export function decimalSql(value: string): string {
  return `TRY_CAST(${value} AS ${AMOUNT})`;
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
  /** Whether it is known which rows the sum includes; missing: true. */
  known?: string;
}

/** A sum of amounts: 0 without rows, and NULL if an amount is unknown (I13: a sum that lacks an amount looks right). */
export function sumSql(summed: Summed): string {
  const { amount, of, known } = summed;
  const isWhole = [...(known === undefined ? [] : [allSql(known)]), `${unknownSql(summed)} = 0`].join(
    ' AND ',
  );
  return `CAST(CASE WHEN ${isWhole} THEN COALESCE(sum(${whenSql(amount, of)}), 0) END AS ${SUM})`;
}

/** The column `unknown_amounts` of a row with these sums; parts of a sum are left out. */
export function unknownAmountsSql(...sums: readonly Summed[]): string {
  return `CAST(${sums.map(unknownSql).join(' + ')} AS bigint) AS ${UNKNOWN_AMOUNTS[0]}`;
}

function unknownSql({ amount, of, known }: Summed): string {
  if (of === undefined && known === undefined) return `(count(*) - count(${amount}))`;
  const isUnknown = `${amount} IS NULL${known === undefined ? '' : ` OR NOT (${known})`}`;
  return `count(${whenSql('1', of === undefined ? isUnknown : `(${of}) AND (${isUnknown})`)})`;
}

function whenSql(value: string, of: string | undefined): string {
  return of === undefined ? value : `CASE WHEN ${of} THEN ${value} END`;
}

/** Whether a condition holds for all rows of a group. */
export function allSql(condition: string): string {
  return `count(CASE WHEN ${condition} THEN 1 END) = count(*)`;
}

export function listSql(texts: readonly string[]): string {
  return texts.map((text) => `'${text.replaceAll("'", "''")}'`).join(', ');
}

/** The tables whose records a base view has, with the name of that view. */
const BASES = { clicks: 'click_channels', orders: 'order_history', transactions: 'transaction_history' };

const NONE = 'CAST(NULL AS varchar)';
/** The fields of clicks that are the same for every click. */
const OF_CLICKS: Readonly<Record<string, string>> = {
  ...{ kind: "'click'", has_states: 'true', publisher_name: NONE, currency: NONE, state: NONE },
  ...{ amount: ZERO, commission: ZERO, counted: ZERO },
};

/** The current records of a table; `kind` is `click`, `sale` or `bonus`. */
export function recordsSql(table: keyof typeof BASES, fields: readonly string[]): string {
  const ofClicks = table === 'clicks';
  const values = fields.map((field) => {
    const fixed = ofClicks ? OF_CLICKS[field] : undefined;
    return fixed === undefined ? field : `${fixed} AS ${field}`;
  });
  return `SELECT brand, dt, substr(dt, 1, 7) AS month, '${table}' AS origin, ${values.join(', ')}
    FROM ${BASES[table]}${ofClicks ? '' : " WHERE what = 'now'"}`;
}
