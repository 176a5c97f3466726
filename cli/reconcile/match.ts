/*
 * Compares `theirs`, the lines of a file, with what became of the records of the lake, order by order, and finds one cause
 * of each difference. It is SQL on exact decimals: the differences of a currency add up to the difference of its sums.
 */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { KEPT_AGES } from '../../shared/lifecycle/index.ts';
import { literal } from '../sql-tables.ts';
import type { Measure } from './file.ts';

export interface Comparison {
  /** A table of what became of records, and the one of closed months, if the connection has it. */
  table: string;
  closed?: string | undefined;
  brand: string;
  /** Only records of this publisher. */
  publisher?: string | undefined;
  /** The days to compare; missing: from the first to the last day of the file. */
  from?: string | undefined;
  to?: string | undefined;
  /** What the file does not have. */
  missing: readonly Measure[];
  timeZone: string;
}

/** A difference for one of these causes needs nobody: the lake proves it. One for `other_day` may be proved as well. */
const PROVED = ['rounding', 'voided_since', 'repriced_since'].map((cause) => literal(cause)).join(', ');

/**
 * Makes the tables `differences`, `their_groups` and `our_groups`, in which a currency that nobody names is empty.
 * @returns the days that are compared, and notes for people
 */
export async function compare(connection: DuckDBConnection, comparison: Comparison) {
  await connection.run(oursSql(comparison));
  const notes = await readDays(connection, comparison.timeZone);
  const span = await rowsOf(
    connection,
    'SELECT COALESCE(min(t.day), min(o.day)), COALESCE(max(t.day), max(o.day)) FROM theirs AS t LEFT JOIN ours AS o ON o.order_id = t.id',
  );
  const { from = String(span[0]?.[0]), to = String(span[0]?.[1]) } = comparison;
  const isIn = (day: string) => `${day} BETWEEN ${literal(from)} AND ${literal(to)}`;
  const others = await rowsOf(
    connection,
    `DELETE FROM theirs WHERE NOT ${isIn('day')} AND NOT EXISTS (SELECT 1 FROM ours WHERE order_id = id AND ${isIn('ours.day')}) RETURNING line`,
  );
  if (others.length > 0) notes.push(`${others.length} lines of other days are left out`);
  await connection.run(groupsSql(isIn('ours.day')));
  await connection.run(explanationsSql(comparison));
  await connection.run(differencesSql(from, to));
  for (const measure of comparison.missing)
    for (const column of [`file_${measure}`, `lake_${measure}`, `${measure}_difference`])
      await connection.run(`ALTER TABLE differences DROP ${column}`);
  return { from, to, notes };
}

/** What the file lacks is unknown here, too. */
function oursSql({ table, brand, publisher, missing }: Comparison): string {
  const stages = ['', 'seen_', 'effective_', 'locked_', 'paid_', 'void_'];
  const unknown = missing.flatMap((measure) => [
    ...stages.map((stage) => `NULL::decimal(38,9) AS ${stage}${measure}`),
    ...(measure === 'commission' ? KEPT_AGES.map((age) => `NULL::decimal(38,9) AS commission_${age}`) : []),
  ]);
  const replaced = unknown.length === 0 ? '' : `REPLACE (${unknown.join(', ')})`;
  const isOurs = publisher === undefined ? '' : ` AND publisher_id = ${literal(publisher)}`;
  return `CREATE TEMP TABLE ours AS SELECT * ${replaced}, CAST(dt AS date) AS day, row_number() OVER () AS row FROM ${table} WHERE brand = ${literal(brand)}${isOurs}`;
}

/** Formats of days, of which a file has one, and of the time after it. */
const DAYS = [
  '%Y-%m-%d',
  '%Y%m%d',
  '%Y/%m/%d',
  '%d.%m.%Y',
  '%d/%m/%Y',
  '%m/%d/%Y',
  '%d-%m-%Y',
  '%m-%d-%Y',
  '%d.%m.%y',
  '%m/%d/%y',
  '%d/%m/%y',
  '%d %b %Y',
  '%d-%b-%Y',
  '%b %d, %Y',
  '%a, %d %b %Y',
];
const TIMES = ['T%H:%M:%S', ' %H:%M:%S', ' %H:%M', ' %H:%M:%S GMT'];

/** Adds the day of each line: in the format, and for times without zone in the zone, that agrees with most orders. */
async function readDays(connection: DuckDBConnection, timeZone: string): Promise<string[]> {
  const inZone = (instant: string) => `CAST(timezone(${literal(timeZone)}, ${instant}) AS date)`;
  const readings = [
    String.raw`CASE WHEN regexp_full_match(created, '\d{10}(\d{3}|\.\d+)?') THEN ${inZone("to_timestamp(CAST(created AS double) / CASE WHEN regexp_full_match(created, '[0-9]{13}') THEN 1000 ELSE 1 END)")} END`,
    String.raw`CASE WHEN regexp_matches(created, '\d:\d\d.*(Z|[+-]\d\d:?\d\d)$') THEN ${inZone('TRY_CAST(created AS timestamptz)')} END`,
    ...DAYS.map(
      (format) =>
        String.raw`CAST(try_strptime(regexp_replace(created, '[T ,]+\d{1,2}:\d\d.*$', ''), ${literal(format)}) AS date)`,
    ),
    ...DAYS.map((format) =>
      inZone(
        `timezone('UTC', try_strptime(created, [${TIMES.map((time) => literal(format + time)).join(', ')}]))`,
      ),
    ),
  ];
  const counts = readings.map(
    (day) =>
      `count(${day}), count(*) FILTER (abs(datediff('day', ${day}, o.day)) <= 1), count(*) FILTER (${day} = o.day)`,
  );
  const [[all, matched, ...each] = []] = await rowsOf(
    connection,
    `SELECT count(created), count(o.day) FILTER (created IS NOT NULL), ${counts.join(', ')} FROM theirs LEFT JOIN (SELECT order_id, min(day) AS day FROM ours GROUP BY order_id) AS o ON order_id = id`,
  );
  const [best] = readings
    .map((reading, index) => {
      const [read = 0, near = 0, same = 0] = each.slice(3 * index, 3 * index + 3).map(Number);
      return { reading, same, isWhole: read === Number(all) && 2 * near >= Number(matched) };
    })
    .filter(({ isWhole }) => isWhole)
    .toSorted((a, b) => b.same - a.same);
  await connection.run(
    `ALTER TABLE theirs ADD COLUMN day date; UPDATE theirs SET day = ${best?.reading ?? 'NULL'}`,
  );
  return best || all === '0'
    ? []
    : ['the days of the file are not compared: they are not those of the orders, or have several formats'];
}

/** What is counted of a record: nothing if it is void or not there any more. */
const counted = (measure: string) =>
  `CASE WHEN records > 0 AND state IS DISTINCT FROM 'void' THEN COALESCE(${measure}, 0) ELSE 0 END`;

/** The lines of both sides, with what they are matched by: the order, its product (`sub`) and the currency (`cur`). */
function groupsSql(isIn: string): string {
  const only = (table: string) =>
    `(SELECT CASE WHEN count(DISTINCT currency) = 1 THEN min(currency) END FROM ${table})`;
  const currencyOf = (table: string, id: string) =>
    `(SELECT ${id} AS id, CASE WHEN count(DISTINCT currency) = 1 THEN min(currency) END AS currency FROM ${table} GROUP BY ${id})`;
  // Lines of which some are void have one row in the lake, with the sum of all.
  const isCounted =
    "NOT is_void OR EXISTS (SELECT 1 FROM ours WHERE order_id = theirs.id AND ours.state = 'mixed' AND records > 1)";
  // An order whose products have other names in the file is compared as a whole.
  return `CREATE TEMP TABLE by_product AS SELECT DISTINCT id FROM theirs JOIN ours ON order_id = id AND ours.product = theirs.product;
    CREATE TEMP TABLE their_lines AS SELECT line, t.id, CASE WHEN t.id IS NULL THEN CAST(line AS varchar) WHEN p.id IS NULL THEN '' ELSE COALESCE(product, '') END AS sub,
      COALESCE(t.currency, o.currency, ${only('ours')}, '') AS cur, t.day, CASE WHEN is_counted THEN amount ELSE 0 END AS amount, CASE WHEN is_counted THEN commission ELSE 0 END AS commission, amount_unit, commission_unit
      FROM (SELECT *, ${isCounted} AS is_counted FROM theirs) AS t LEFT JOIN by_product AS p ON p.id = t.id LEFT JOIN ${currencyOf('ours', 'order_id')} AS o ON o.id = t.id;
    CREATE TEMP TABLE our_lines AS SELECT ours.* REPLACE (${counted('amount')} AS amount, ${counted('commission')} AS commission), amount AS last_amount, commission AS last_commission,
      order_id AS id, CASE WHEN p.id IS NULL THEN '' ELSE COALESCE(product, '') END AS sub, COALESCE(ours.currency, t.currency, ${only('theirs')}, '') AS cur, ${isIn} AS is_in
      FROM ours LEFT JOIN by_product AS p ON p.id = order_id LEFT JOIN ${currencyOf('theirs', 'id')} AS t ON t.id = order_id;
    CREATE TEMP TABLE their_groups AS SELECT row_number() OVER () AS their_group, id, sub, cur, min(line) AS line, count(*) AS lines, CASE WHEN count(DISTINCT day) = 1 THEN min(day) END AS file_day,
      sum(amount) AS file_amount, sum(commission) AS file_commission, sum(amount_unit) AS amount_unit, sum(commission_unit) AS commission_unit FROM their_lines GROUP BY id, sub, cur;
    CREATE TEMP TABLE our_groups AS SELECT row_number() OVER () AS our_group, id, sub, cur, is_in, sum(records) AS records, bool_or(records > 0 AND state IS DISTINCT FROM 'void') AS counts,
      min(day) AS lake_day, string_agg(DISTINCT CASE WHEN records = 0 THEN 'gone' ELSE state END, ', ') AS lake_state, min(seen_currency) AS seen_currency,
      sum(amount) AS lake_amount, sum(commission) AS lake_commission FROM our_lines GROUP BY id, sub, cur, is_in`;
}

/** What the difference of a group could be, and why: amounts of earlier readings, and lines that are there twice. */
function explanationsSql({ closed, missing }: Comparison): string {
  const since =
    "CASE WHEN records = 0 OR state = 'void' THEN 'voided_since' ELSE 'repriced_since' END AS cause";
  const stage = (name: string, amount: string, commission: string, condition: string) =>
    `SELECT id, sub, cur, is_in, ${literal(name)} AS stage, ${since}, COALESCE(${amount}, 0) - amount AS amount, COALESCE(${commission}, 0) - commission AS commission FROM our_lines WHERE ${condition}`;
  const wasCounted = '(void_by IS NULL OR void_by > seen_by)';
  const wasVoided = `state = 'void' AND ${wasCounted}`;
  const stages = [
    stage('seen', 'seen_amount', 'seen_commission', wasCounted),
    ...['effective', 'locked', 'paid'].map((state) =>
      stage(state, `${state}_amount`, `${state}_commission`, `${state}_by IS NOT NULL`),
    ),
    stage('void', 'void_amount', 'void_commission', wasVoided),
    stage(
      'last',
      'last_amount',
      'last_commission',
      `${wasVoided} OR (records = 0 AND state IS DISTINCT FROM 'void')`,
    ),
    stage('was void', '0', '0', "void_by IS NOT NULL AND state IS DISTINCT FROM 'void'"),
    // The amount of then is unknown.
    ...KEPT_AGES.map((age) =>
      stage(`${age} days`, 'NULL', `commission_${age}`, `commission_${age} IS NOT NULL`).replace(
        'COALESCE(NULL, 0)',
        'NULL::decimal(38,9)',
      ),
    ),
    ...(closed === undefined ? [] : [closedSql(closed, missing, since)]),
  ];
  return `CREATE TEMP TABLE explanations AS WITH stages AS (${stages.join(' UNION ALL ')})
    SELECT id, sub, cur, is_in, cause, 2 AS rank, amount, commission FROM stages
    UNION ALL SELECT id, sub, cur, is_in, max(cause), 2, sum(amount), sum(commission) FROM stages GROUP BY id, sub, cur, is_in, stage HAVING count(*) > 1
    UNION ALL SELECT id, sub, cur, true, 'duplicate', 1, copy * amount, copy * commission
      FROM (SELECT id, sub, cur, amount, commission, unnest(range(1, count(*))) AS copy FROM their_lines GROUP BY id, sub, cur, amount, commission)
    UNION ALL SELECT id, sub, cur, is_in, 'duplicate', 3, CAST(-copy * amount / records AS decimal(38,9)), CAST(-copy * commission / records AS decimal(38,9))
      FROM (SELECT *, unnest(range(1, records)) AS copy FROM our_lines WHERE records > 1 AND state IS DISTINCT FROM 'mixed')`;
}

/** What was counted when the month was closed. */
function closedSql(table: string, missing: Comparison['missing'], since: string): string {
  const then = (measure: Measure) =>
    missing.includes(measure) ? '0' : counted(`c.${measure}`).replaceAll(/\b(records|state)\b/g, 'c.$1');
  const same = ['key', 'order_id', 'product', 'publisher_id', 'currency'].map(
    (name) => `c.${name} IS NOT DISTINCT FROM o.${name}`,
  );
  return `SELECT id, sub, cur, is_in, c.close, ${since.replaceAll(/\b(records|state) /g, 'o.$1 ')}, ${then('amount')} - o.amount, ${then('commission')} - o.commission
    FROM our_lines AS o JOIN ${table} AS c ON c.brand = o.brand AND c.dt = o.dt AND ${same.join(' AND ')}`;
}

/** The table of differences: each is of one currency, so an order in two currencies has one in each. */
function differencesSql(from: string, to: string): string {
  const isNear =
    'abs(file_amount - lake_amount) < amount_unit AND abs(file_commission - lake_commission) < commission_unit';
  const explains = `COALESCE(abs(file_amount - lake_amount - e.amount) < amount_unit, true) AND COALESCE(abs(file_commission - lake_commission - e.commission) < commission_unit, true)`;
  const outside = `GREATEST(datediff('day', lake_day, DATE ${literal(from)}), datediff('day', DATE ${literal(to)}, lake_day))`;
  return `CREATE TEMP TABLE differences AS
    WITH candidates AS (
      SELECT their_group, our_group, CASE WHEN o.counts THEN 0 ELSE 4 END + CASE WHEN o.is_in THEN 0 ELSE 2 END + CASE WHEN o.cur = t.cur THEN 0 ELSE 1 END AS rank
      FROM their_groups AS t JOIN our_groups AS o USING (id, sub)
    ), pairs AS (
      SELECT their_group, our_group FROM candidates
      QUALIFY row_number() OVER (PARTITION BY their_group ORDER BY rank, our_group) = 1 AND row_number() OVER (PARTITION BY our_group ORDER BY rank, their_group) = 1
    ), compared AS (
      SELECT t.*, o.* EXCLUDE (our_group, id, sub, cur), o.cur AS lake_cur, t.cur = o.cur AS is_same, file_amount = lake_amount AND file_commission = lake_commission AS is_equal, ${isNear} AS is_near
      FROM pairs JOIN their_groups AS t USING (their_group) JOIN our_groups AS o USING (our_group)
    ), judged AS (
      SELECT *, CASE WHEN NOT is_in THEN 'other_day' WHEN NOT is_same THEN 'other_currency' WHEN is_equal THEN CASE WHEN file_day <> lake_day THEN 'other_day' END WHEN is_near THEN 'rounding'
        ELSE COALESCE((SELECT arg_min(e.cause, e.rank) FROM explanations AS e WHERE e.id = c.id AND e.sub = c.sub AND e.cur = c.cur AND e.is_in AND ${explains}), 'unexplained') END AS cause
      FROM compared AS c
    ), proved AS (
      SELECT *, COALESCE(CASE cause WHEN 'other_day' THEN is_same AND is_near AND CASE WHEN is_in THEN abs(datediff('day', file_day, lake_day)) ELSE ${outside} END <= 1
        WHEN 'other_currency' THEN seen_currency = cur ELSE cause IN (${PROVED}) END, false) AS explained FROM judged WHERE cause IS NOT NULL
    ), entries AS (
      SELECT cause, explained, cur AS currency, line, id AS order_id, sub AS product, file_day, lake_day, lake_state, file_amount, CASE WHEN is_in AND is_same THEN lake_amount ELSE 0 END AS lake_amount,
        file_commission, CASE WHEN is_in AND is_same THEN lake_commission ELSE 0 END AS lake_commission FROM proved
      UNION ALL SELECT cause, explained, lake_cur, line, id, sub, file_day, lake_day, lake_state, 0, lake_amount, 0, lake_commission FROM proved WHERE is_in AND NOT is_same AND counts
      UNION ALL SELECT 'missing_here', false, cur, line, id, CASE WHEN id IS NULL THEN '' ELSE sub END, file_day, NULL, NULL, file_amount, 0, file_commission, 0 FROM their_groups ANTI JOIN pairs USING (their_group)
      UNION ALL SELECT 'missing_there', false, cur, NULL, id, sub, NULL, lake_day, lake_state, 0, lake_amount, 0, lake_commission FROM our_groups ANTI JOIN pairs USING (our_group) WHERE is_in AND counts
    )
    SELECT *, file_amount - lake_amount AS amount_difference, file_commission - lake_commission AS commission_difference,
      row_number() OVER (PARTITION BY explained, cause ORDER BY abs(file_amount - lake_amount) + abs(file_commission - lake_commission) DESC, line, order_id, product) AS place FROM entries`;
}

/** By currency and measure: the sums of both sides, and their difference. */
export function sumsSql(measures: readonly Measure[], [their, our] = ['file', 'lake']): string {
  const sides = measures.flatMap((measure) => [
    `SELECT cur, '${measure}' AS measure, file_${measure} AS file, 0 AS lake FROM their_groups`,
    `SELECT cur, '${measure}' AS measure, 0 AS file, lake_${measure} AS lake FROM our_groups WHERE is_in`,
  ]);
  return `SELECT cur AS currency, measure, sum(file) AS ${their}, sum(lake) AS ${our}, sum(file) - sum(lake) AS difference FROM (${sides.join(' UNION ALL ')}) GROUP BY ALL ORDER BY ALL`;
}

/** By currency and cause: how many differences there are, and what they add up to. */
export const CAUSES_SQL = `SELECT currency, cause, explained, count(*) AS differences, sum(COLUMNS('(.*_difference)')) AS "\\1" FROM differences GROUP BY currency, cause, explained ORDER BY currency, explained, cause`;

/** The rows of SQL of our own. */
export async function rowsOf(connection: DuckDBConnection, sql: string): Promise<Json[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson();
}
