/*
 * Compares `theirs`, the lines of a file, with a lifecycle table of the lake, order by order, and finds one cause for each
 * difference. It is SQL on exact decimals: the differences of a currency add up to the difference of its sums.
 */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { KEPT_AGES } from '../../shared/lifecycle/index.ts';
import { literal } from '../sql-tables.ts';
import { badFile } from './csv.ts';
import { MEASURES, type Measure } from './file.ts';

export interface Comparison {
  /** A lifecycle table (`order_states` or `transaction_states`), and its table of closed months, if the connection has it. */
  table: string;
  closed?: string | undefined;
  brand: string;
  /** Only records of this publisher. */
  publisher?: string | undefined;
  /** The days to compare; missing: from the first to the last day of the file. */
  from?: string | undefined;
  to?: string | undefined;
  /** The amounts in the file. */
  measures: readonly Measure[];
  timeZone: string;
}

/**
 * Creates the tables `differences`, `their_groups` and `our_groups`. An unknown currency is empty there.
 * @returns the compared days, and notes for people
 * @throws BrandReportsError `config` if the days of the file are unknown
 */
export async function compare(connection: DuckDBConnection, comparison: Comparison) {
  const { table, brand, publisher, measures, timeZone } = comparison;
  const missing = MEASURES.filter((measure) => !measures.includes(measure));
  const isOurs = publisher === undefined ? '' : `AND publisher_id = ${literal(publisher)}`;
  // Columns that the file lacks are NULL here, too.
  const unknown = missing.flatMap(moneyColumns).map((column) => `NULL::decimal(38,9) AS ${column}`);
  const own = `SELECT * ${unknown.length === 0 ? '' : `REPLACE (${unknown.join(', ')})`}, CAST(dt AS date) AS day`;
  await connection.run(
    `CREATE TEMP TABLE ours AS ${own} FROM ${table} WHERE brand = ${literal(brand)} ${isOurs}`,
  );
  const notes = await readDays(connection, timeZone);
  const span = `SELECT min(COALESCE(t.day, o.day)), max(COALESCE(t.day, o.day)) FROM theirs AS t LEFT JOIN ours AS o ON order_id = id`;
  const [[first, last] = []] = await rowsOf(connection, span);
  const { from = first, to = last } = comparison;
  if (typeof from !== 'string' || typeof to !== 'string')
    throw badFile(
      'The days to compare are unknown: the lake has none of the orders. Name the month: --month …',
    );
  const isIn = (day: string) => `${day} BETWEEN ${literal(from)} AND ${literal(to)}`;
  const isNear = "order_id = id AND abs(datediff('day', theirs.day, ours.day)) <= 1";
  const others = `DELETE FROM theirs WHERE NOT ${isIn('day')} AND NOT EXISTS (FROM ours WHERE ${isIn('ours.day')} AND ${isNear}) RETURNING line`;
  const { length: leftOut } = await rowsOf(connection, others);
  if (leftOut > 0) notes.push(`${leftOut} lines of other days are left out`);
  await connection.run(groupsSql(isIn('ours.day')));
  await connection.run(explanationsSql(comparison));
  await connection.run(differencesSql(from, to));
  for (const measure of missing)
    for (const column of [`file_${measure}`, `lake_${measure}`, `${measure}_difference`])
      await connection.run(`ALTER TABLE differences DROP ${column}`);
  return { from, to, notes };
}

function moneyColumns(measure: Measure): string[] {
  const stages = ['', 'counted_', 'seen_', 'effective_', 'locked_', 'paid_', 'void_'].map(
    (stage) => stage + measure,
  );
  return measure === 'amount' ? stages : [...stages, ...KEPT_AGES.map((age) => `commission_${age}`)];
}

/** Formats of days and of the time after them. A file uses one of them. */
const DAYS =
  '%Y-%m-%d|%Y%m%d|%Y/%m/%d|%d.%m.%Y|%d/%m/%Y|%m/%d/%Y|%d-%m-%Y|%m-%d-%Y|%d.%m.%y|%m/%d/%y|%d/%m/%y|%d %b %Y|%d-%b-%Y|%b %d, %Y|%a, %d %b %Y';
const TIMES = ['T%H:%M:%S', ' %H:%M:%S', ' %H:%M', ' %H:%M:%S GMT'];
const LINES_READ = 2_000;

/** Adds the day of each line, in the format and time zone that agree with most orders. */
async function readDays(connection: DuckDBConnection, timeZone: string): Promise<string[]> {
  const inZone = (instant: string) => `CAST(timezone(${literal(timeZone)}, ${instant}) AS date)`;
  const seconds = "CAST(created AS double) / CASE WHEN created SIMILAR TO '[0-9]{13}' THEN 1000 ELSE 1 END";
  const date = String.raw`regexp_replace(created, '[T ,]+\d{1,2}:\d\d.*$', '')`;
  const readings = [
    String.raw`CASE WHEN created SIMILAR TO '\d{10}(\d{3}|\.\d+)?' THEN ${inZone(`to_timestamp(${seconds})`)} END`,
    String.raw`CASE WHEN created SIMILAR TO '.*\d:\d\d.*(Z|[+-]\d\d:?\d\d)' THEN ${inZone('TRY_CAST(created AS timestamptz)')} END`,
    ...DAYS.split('|').flatMap((format) => {
      const times = TIMES.map((time) => literal(format + time)).join(', ');
      const utc = inZone(`timezone('UTC', try_strptime(created, [${times}]))`);
      return [`CAST(try_strptime(${date}, ${literal(format)}) AS date)`, utc];
    }),
  ];
  const counts = readings.map(
    (day) => `count(${day}), sum(2 - LEAST(abs(datediff('day', ${day}, o.day)), 2))`,
  );
  const lines = `(FROM theirs WHERE created IS NOT NULL LIMIT ${LINES_READ})`;
  const sql = `SELECT count(*), count(o.day), ${counts.join(', ')} FROM ${lines} LEFT JOIN (SELECT order_id, min(day) AS day FROM ours GROUP BY order_id) AS o ON order_id = id`;
  const [[all, matched, ...counted] = []] = (await rowsOf(connection, sql)).map((row) => row.map(Number));
  const agree = (index: number) => counted[2 * index + 1] ?? 0;
  const [best] = [...readings.keys()]
    .filter((index) => counted[2 * index] === all && agree(index) >= (matched ?? 0) / 2)
    .toSorted((a, b) => agree(b) - agree(a));
  await connection.run(
    `ALTER TABLE theirs ADD COLUMN day date; UPDATE theirs SET day = ${readings[best ?? -1] ?? 'NULL'}`,
  );
  const why = 'they differ from the days of the orders, or have several formats';
  return best !== undefined || all === 0 ? [] : [`the days of the file are not compared: ${why}`];
}

/** The lines of both sides, with their keys for matching: the order, its product (`sub`) and the currency (`cur`). */
function groupsSql(isIn: string): string {
  const only = 'CASE WHEN count(DISTINCT currency) = 1 THEN min(currency) END';
  // If the file names an order's products differently, the order is compared as a whole.
  return `CREATE TEMP TABLE by_product AS SELECT DISTINCT id FROM theirs JOIN ours ON order_id = id AND ours.product = theirs.product;
    CREATE TEMP TABLE their_lines AS
      SELECT line, t.id, CASE WHEN t.id IS NULL THEN CAST(line AS varchar) WHEN p.id IS NULL THEN '' ELSE COALESCE(product, '') END AS sub,
        COALESCE(t.currency, o.currency, (SELECT ${only} FROM ours), '') AS cur, t.day,
        CASE WHEN is_void THEN 0 ELSE amount END AS amount, CASE WHEN is_void THEN 0 ELSE commission END AS commission, amount_unit, commission_unit
      FROM theirs AS t
      LEFT JOIN by_product AS p ON p.id = t.id LEFT JOIN (SELECT order_id, ${only} AS currency FROM ours GROUP BY order_id) AS o ON order_id = t.id;
    CREATE TEMP TABLE our_lines AS
      SELECT ours.* REPLACE (COALESCE(counted_amount, 0) AS amount, COALESCE(counted_commission, 0) AS commission), amount AS last_amount, commission AS last_commission,
        order_id AS id, CASE WHEN p.id IS NULL THEN '' ELSE COALESCE(product, '') END AS sub, COALESCE(ours.currency, t.currency, (SELECT ${only} FROM theirs), '') AS cur, ${isIn} AS is_in
      FROM ours LEFT JOIN by_product AS p ON p.id = order_id LEFT JOIN (SELECT id, ${only} AS currency FROM theirs GROUP BY id) AS t ON t.id = order_id;
    CREATE TEMP TABLE their_groups AS
      SELECT row_number() OVER () AS their_group, id, sub, cur, min(line) AS line, CASE WHEN count(DISTINCT day) = 1 THEN min(day) END AS file_day,
        sum(amount) AS file_amount, sum(commission) AS file_commission, sum(amount_unit) AS amount_unit, sum(commission_unit) AS commission_unit
      FROM their_lines GROUP BY id, sub, cur;
    CREATE TEMP TABLE our_groups AS
      SELECT row_number() OVER () AS our_group, id, sub, cur, is_in, bool_or(records > 0 AND state IS DISTINCT FROM 'void') AS counts,
        min(day) AS lake_day, string_agg(DISTINCT CASE WHEN records = 0 THEN 'gone' ELSE state END, ', ') AS lake_state, min(seen_currency) AS seen_currency,
        sum(amount) AS lake_amount, sum(commission) AS lake_commission
      FROM our_lines GROUP BY id, sub, cur, is_in;
    CREATE TEMP TABLE pairs AS
      WITH candidates AS (
        SELECT t.*, o.* EXCLUDE (id, sub, cur), CASE WHEN counts THEN 0 ELSE 4 END + CASE WHEN is_in THEN 0 ELSE 2 END + CASE WHEN o.cur = t.cur THEN 0 ELSE 1 END AS rank, o.cur AS lake_cur,
          o.cur = t.cur AS is_same, file_amount = lake_amount AND file_commission = lake_commission AS is_equal,
          abs(file_amount - lake_amount) < amount_unit AND abs(file_commission - lake_commission) < commission_unit AS is_near
        FROM their_groups AS t JOIN our_groups AS o USING (id, sub))
      FROM candidates QUALIFY row_number() OVER (PARTITION BY their_group ORDER BY rank, our_group) = 1
        AND row_number() OVER (PARTITION BY our_group ORDER BY rank, their_group) = 1`;
}

/** Possible causes of a group's difference, with their amounts: earlier readings, and lines that occur twice. */
function explanationsSql({ closed, measures }: Comparison): string {
  const since =
    "CASE WHEN o.records = 0 OR o.state = 'void' THEN 'voided_since' ELSE 'repriced_since' END AS cause";
  const stage = (name: string, amount: string, commission: string, more: string) =>
    `SELECT id, sub, cur, is_in, ${literal(name)} AS stage, ${since}, ${amount} - o.amount AS amount, ${commission} - o.commission AS commission FROM open_lines AS o ${more}`;
  const was = (prefix: string, condition: string) =>
    stage(prefix, `COALESCE(${prefix}amount, 0)`, `COALESCE(${prefix}commission, 0)`, `WHERE ${condition}`);
  const wasCounted = '(void_by IS NULL OR void_by > seen_by)';
  const wasVoided = `state = 'void' AND ${wasCounted}`;
  const same = ['brand', 'dt', 'key', 'order_id', 'product', 'publisher_id', 'currency'].map(
    (name) => `c.${name} IS NOT DISTINCT FROM o.${name}`,
  );
  const [amount = '', commission = ''] = MEASURES.map((measure) =>
    measures.includes(measure) ? `c.counted_${measure}` : '0',
  );
  const stages = [
    was('seen_', wasCounted),
    ...['effective', 'locked', 'paid'].map((state) => was(`${state}_`, `${state}_by IS NOT NULL`)),
    was('void_', wasVoided),
    was('last_', `${wasVoided} OR records = 0 AND state IS DISTINCT FROM 'void'`),
    stage('void', '0', '0', "WHERE void_by IS NOT NULL AND state IS DISTINCT FROM 'void'"),
    // The amount at that age is unknown.
    ...KEPT_AGES.map((age) =>
      stage(String(age), 'NULL', `commission_${age}`, `WHERE commission_${age} IS NOT NULL`),
    ),
    ...(closed === undefined
      ? []
      : [stage('close', amount, commission, `JOIN ${closed} AS c ON ${same.join(' AND ')}`)]),
  ];
  return `CREATE TEMP TABLE explanations AS
    WITH open_lines AS (FROM our_lines SEMI JOIN (FROM pairs WHERE NOT is_near) USING (id)), stages AS (FROM (${stages.join(' UNION ALL ')}) WHERE amount <> 0 OR commission <> 0)
    SELECT id, sub, cur, is_in, cause, 2 AS rank, amount, commission FROM stages
    UNION ALL SELECT id, sub, cur, is_in, max(cause), 2, sum(amount), sum(commission) FROM stages GROUP BY id, sub, cur, is_in, stage HAVING count(*) > 1
    UNION ALL SELECT id, sub, cur, true, 'duplicate', 1, copy * amount, copy * commission
      FROM (SELECT id, sub, cur, amount, commission, unnest(range(1, count(*))) AS copy FROM their_lines GROUP BY id, sub, cur, amount, commission)
    UNION ALL SELECT id, sub, cur, is_in, 'duplicate', 3, CAST(-copy * amount / records AS decimal(38,9)), CAST(-copy * commission / records AS decimal(38,9))
      FROM (SELECT *, unnest(range(1, records)) AS copy FROM open_lines WHERE state IS DISTINCT FROM 'mixed')
    UNION ALL SELECT id, sub, cur, true, 'other_day', 4, lake_amount, lake_commission FROM our_groups WHERE NOT is_in`;
}

/** The table of differences. Each has one currency, so an order in two currencies may have two differences. */
function differencesSql(from: string, to: string): string {
  const explains = MEASURES.map(
    (measure) => `COALESCE(abs(file_${measure} - lake_${measure} - e.${measure}) < ${measure}_unit, true)`,
  ).join(' AND ');
  const outside = `GREATEST(datediff('day', lake_day, DATE ${literal(from)}), datediff('day', DATE ${literal(to)}, lake_day))`;
  const isBoth = 'CASE WHEN is_in AND is_same THEN';
  return `CREATE TEMP TABLE differences AS
    WITH judged AS (
      SELECT *, CASE WHEN NOT is_in THEN 'other_day' WHEN NOT is_same THEN 'other_currency'
        WHEN is_equal THEN CASE WHEN file_day <> lake_day THEN 'other_day' END WHEN is_near THEN 'rounding'
        ELSE COALESCE((SELECT arg_min(e.cause, e.rank) FROM explanations AS e WHERE e.id = p.id AND e.sub = p.sub AND e.cur = p.cur AND e.is_in AND ${explains}), 'unexplained') END AS cause
      FROM pairs AS p
    ), proved AS (
      SELECT *, COALESCE(CASE cause WHEN 'other_day' THEN is_same AND is_near AND CASE WHEN is_in THEN abs(datediff('day', file_day, lake_day)) ELSE ${outside} END <= 1
        WHEN 'other_currency' THEN seen_currency = cur ELSE cause IN ('rounding', 'voided_since', 'repriced_since') END, false) AS explained
      FROM judged WHERE cause IS NOT NULL
    ), entries AS (
      SELECT cause, explained, cur AS currency, line, id AS order_id, sub AS product, file_day, lake_day, lake_state,
        file_amount, ${isBoth} lake_amount ELSE 0 END AS lake_amount, file_commission, ${isBoth} lake_commission ELSE 0 END AS lake_commission FROM proved
      UNION ALL SELECT cause, explained, lake_cur, line, id, sub, file_day, lake_day, lake_state, 0, lake_amount, 0, lake_commission FROM proved WHERE is_in AND NOT is_same AND counts
      UNION ALL SELECT 'missing_here', false, cur, line, id, CASE WHEN id IS NULL THEN '' ELSE sub END, file_day, NULL, NULL, file_amount, 0, file_commission, 0 FROM their_groups ANTI JOIN pairs USING (their_group)
      UNION ALL SELECT 'missing_there', false, cur, NULL, id, sub, NULL, lake_day, lake_state, 0, lake_amount, 0, lake_commission FROM our_groups ANTI JOIN pairs USING (our_group) WHERE is_in AND counts
    )
    SELECT *, file_amount - lake_amount AS amount_difference, file_commission - lake_commission AS commission_difference,
      row_number() OVER (PARTITION BY explained, cause ORDER BY abs(amount_difference) + abs(commission_difference) DESC, line, order_id, product) AS place FROM entries`;
}

/** By currency and measure: the sums of both sides, and their difference. */
export function sumsSql(measures: readonly Measure[], [their, our] = ['file', 'lake']): string {
  const sides = measures.flatMap((measure) => [
    `SELECT cur, '${measure}' AS measure, file_${measure} AS file, 0 AS lake FROM their_groups`,
    `SELECT cur, '${measure}' AS measure, 0 AS file, lake_${measure} AS lake FROM our_groups WHERE is_in`,
  ]);
  return `SELECT cur AS currency, measure, sum(file) AS ${their}, sum(lake) AS ${our}, sum(file) - sum(lake) AS difference FROM (${sides.join(' UNION ALL ')}) GROUP BY ALL ORDER BY ALL`;
}

/** By currency and cause: the number of differences, and their sum. */
export const CAUSES_SQL = `SELECT currency, cause, explained, count(*) AS differences, sum(COLUMNS('(.*_difference)')) AS "\\1"
  FROM differences GROUP BY currency, cause, explained ORDER BY currency, explained, cause`;

/** The rows of our own SQL. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Json[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson();
}
