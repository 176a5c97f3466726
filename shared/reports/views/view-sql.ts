// What the views of several reports have in common, in SQL that DuckDB and Trino share.

/** A function of Trino that views use and DuckDB lacks: there it is a macro. Text that is not JSON has no value. */
export const JSON_MACRO =
  'CREATE OR REPLACE TEMP MACRO json_extract_scalar(json, path) AS CASE WHEN json_valid(json) THEN json_extract_string(json, path) END';

/** The current time in UTC. */
export const NOW_SQL = "CAST(current_timestamp AT TIME ZONE 'UTC' AS timestamp)";

/** A column as text, and NULL where it is empty. */
export function textSql(column: string): string {
  return `NULLIF(trim(CAST(${column} AS varchar)), '')`;
}

/**
 * A column as an amount, and NULL where it is none. Through text, because a discovered column may have any type: the
 * first commit decides. Trimmed, because DuckDB takes an amount with spaces around it for a number and Trino does not.
 */
export function amountSql(column: string): string {
  return `TRY_CAST(trim(CAST(${column} AS varchar)) AS decimal(38,9))`;
}

/** What is paid beside the commission of sales. */
const ORDER_BONUSES = ['bonus', 'campaign_proposal_pay', 'campaign_bonus', 'campaign_proposal_bonus'];
const TRANSACTION_BONUSES = ['bonus', 'campaign_bonus', 'campaign_payment', 'performance_bonus'];

/** `sale` or `bonus`: bonuses and campaign payments are listed among the orders, though nobody bought anything. */
export const ORDER_KIND_SQL = kindSql('{orders.type}', ORDER_BONUSES);
export const TRANSACTION_KIND_SQL = kindSql('{transactions.transaction_type}', TRANSACTION_BONUSES);

/** The state of the line, because that of its order may be `mixed`. */
export const TRANSACTION_STATE_SQL = `COALESCE(${textSql('{transactions.line_state}')}, ${textSql('{transactions.state}')})`;

export function listSql(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ');
}

function kindSql(column: string, bonuses: readonly string[]): string {
  return `CASE WHEN ${textSql(column)} IN (${listSql(bonuses)}) THEN 'bonus' ELSE 'sale' END`;
}
