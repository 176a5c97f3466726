/*
 * Compares the lines of a file with what became of the records of the lake, order by order, and finds one cause of each
 * difference. All of it is SQL on exact decimals: the differences of a currency add up to the difference of its sums.
 */
import type { DuckDBConnection, Json } from '@duckdb/node-api';
import { KEPT_AGES, KEPT_STATES } from '../../shared/lifecycle/index.ts';
import { literal } from '../sql-tables.ts';
import { MEASURES, type Measure, rowsOf } from './file.ts';

export interface Comparison {
  table: string;
  brand: string;
  /** Only records of this publisher. */
  publisher?: string | undefined;
  /** The days to compare; missing: the days of the file. */
  from?: string | undefined;
  to?: string | undefined;
  measures: readonly Measure[];
  timeZone: string;
}

/** Causes that the lake proves: they need nobody's attention. */
export const PROVED = ['rounding', 'voided_since', 'repriced_since'] as const;

/** Makes the tables `differences`, `their_groups` and `our_groups`, in which a currency that nobody names is empty. @returns the days that are compared, and notes */
export async function compare(connection: DuckDBConnection, comparison: Comparison) {
  const { table, brand, publisher, measures } = comparison;
  const isOurs = [
    `brand = ${literal(brand)}`,
    ...(publisher === undefined ? [] : [`publisher_id = ${literal(publisher)}`]),
  ];
  await connection.run(
    `CREATE TEMP TABLE ours AS SELECT *, CAST(dt AS date) AS day, row_number() OVER () AS row FROM ${table} WHERE ${isOurs.join(' AND ')}`,
  );
  const notes = await readDays(connection, comparison.timeZone);
  const span = `SELECT COALESCE(min(t.day), min(o.day)), COALESCE(max(t.day), max(o.day)) FROM theirs AS t LEFT JOIN ours AS o ON o.order_id = t.id`;
  const [[first = null, last = null] = []] = await rowsOf(connection, span);
  const { from = first, to = last } = comparison;
  const isIn = (day: string) => `${day} BETWEEN ${literal(String(from))} AND ${literal(String(to))}`;
  const others = await rowsOf(
    connection,
    `DELETE FROM theirs WHERE NOT ${isIn('day')} AND NOT EXISTS (SELECT 1 FROM ours WHERE order_id = id AND ${isIn('ours.day')}) RETURNING line`,
  );
  if (others.length > 0) notes.push(`${others.length} lines of other days are left out`);
  for (const sql of linesSql(isIn)) await connection.run(sql);
  await connection.run(explanationsSql());
  await connection.run(differencesSql(measures, { from, to }));
  return { from, to, notes };
}

/** Formats of days, of which a file has one. */
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

/** Adds to `theirs` the day of each line: by the format, and for times without zone the zone, that agrees most often. */
async function readDays(connection: DuckDBConnection, timeZone: string): Promise<string[]> {
  const inZone = (instant: string) => `CAST(timezone(${literal(timeZone)}, ${instant}) AS date)`;
  const date = String.raw`regexp_replace(created, '[T ,]+\d{1,2}:\d\d.*$', '')`;
  const readings = [
    String.raw`CASE WHEN regexp_full_match(created, '\d{10}(\d{3}|\.\d+)?') THEN ${inZone("to_timestamp(CAST(created AS double) / CASE WHEN length(split_part(created, '.', 1)) = 13 THEN 1000 ELSE 1 END)")} END`,
    String.raw`CASE WHEN regexp_matches(created, '\d:\d\d.*(Z|[+-]\d\d:?\d\d)$') THEN ${inZone('TRY_CAST(created AS timestamptz)')} END`,
    ...DAYS.map((format) => `CAST(try_strptime(${date}, ${literal(format)}) AS date)`),
    ...DAYS.map((format) =>
      inZone(
        `timezone('UTC', try_strptime(created, [${TIMES.map((time) => literal(format + time)).join(', ')}]))`,
      ),
    ),
  ];
  const counts = readings.map(
    (reading) =>
      `count(${reading}), count(*) FILTER (abs(datediff('day', ${reading}, o.day)) <= 1), count(*) FILTER (${reading} = o.day)`,
  );
  const [[all = 0, matched = 0, ...each] = []] = await rowsOf(
    connection,
    `SELECT count(created), count(o.day) FILTER (created IS NOT NULL), ${counts.join(', ')} FROM theirs LEFT JOIN (SELECT order_id, min(day) AS day FROM ours GROUP BY order_id) AS o ON order_id = id`,
  );
  const found = readings
    .map((reading, index) => {
      const [read = 0, near = 0, same = 0] = each.slice(3 * index, 3 * index + 3).map(Number);
      return { reading, near, same, isWhole: read === Number(all) && 2 * near >= Number(matched) };
    })
    .filter(({ isWhole }) => isWhole)
    .toSorted((a, b) => b.same - a.same)[0];
  await connection.run(
    `ALTER TABLE theirs ADD COLUMN day date; ${found ? `UPDATE theirs SET day = ${found.reading}` : ''}`,
  );
  return Number(all) === 0 || found
    ? []
    : [
        'days are not compared: the days of the file are not those of the orders, or have more than one format',
      ];
}

/** The lines of both sides with `sub` and `cur`, what else they are matched by, and their groups. */
function linesSql(isIn: (day: string) => string): string[] {
  const counted = (measure: string) =>
    `CASE WHEN records > 0 AND state IS DISTINCT FROM 'void' THEN COALESCE(${measure}, 0) ELSE 0 END`;
  const only = (table: string) =>
    `(SELECT CASE WHEN count(DISTINCT currency) = 1 THEN min(currency) END FROM ${table})`;
  const ofId = (table: string, id: string) =>
    `SELECT ${id} AS id, CASE WHEN count(DISTINCT currency) = 1 THEN min(currency) END AS currency FROM ${table} GROUP BY ${id}`;
  const sub = `CASE WHEN p.id IS NULL THEN '' ELSE COALESCE(product, '') END`;
  return [
    // An order whose products have other names in the file is compared as a whole.
    'CREATE TEMP TABLE by_product AS SELECT DISTINCT id FROM theirs JOIN ours ON order_id = id AND ours.product = theirs.product',
    `CREATE TEMP TABLE their_lines AS SELECT line, t.id, CASE WHEN t.id IS NULL THEN CAST(line AS varchar) ELSE ${sub} END AS sub, COALESCE(t.currency, o.currency, ${only('ours')}, '') AS cur,
      CASE WHEN counts THEN amount ELSE 0 END AS amount, CASE WHEN counts THEN commission ELSE 0 END AS commission, amount_unit, commission_unit, t.day
      FROM (SELECT *, NOT is_void OR EXISTS (SELECT 1 FROM ours WHERE order_id = theirs.id AND ours.state = 'mixed' AND records > 1) AS counts FROM theirs) AS t
      LEFT JOIN by_product AS p ON p.id = t.id LEFT JOIN (${ofId('ours', 'order_id')}) AS o ON o.id = t.id`,
    `CREATE TEMP TABLE our_lines AS SELECT ours.* REPLACE (${counted('amount')} AS amount, ${counted('commission')} AS commission), amount AS last_amount, commission AS last_commission,
      ${sub} AS sub, COALESCE(ours.currency, t.currency, ${only('theirs')}, '') AS cur, ${isIn('ours.day')} AS is_in
      FROM ours LEFT JOIN by_product AS p ON p.id = order_id LEFT JOIN (${ofId('theirs', 'id')}) AS t ON t.id = order_id`,
    `CREATE TEMP TABLE their_groups AS SELECT row_number() OVER () AS their_group, id, sub, cur, min(line) AS line, count(*) AS lines, CASE WHEN count(DISTINCT day) = 1 THEN min(day) END AS day,
      sum(amount) AS amount, sum(commission) AS commission, sum(amount_unit) AS amount_unit, sum(commission_unit) AS commission_unit FROM their_lines GROUP BY id, sub, cur`,
    `CREATE TEMP TABLE our_groups AS SELECT row_number() OVER () AS our_group, order_id AS id, sub, cur, is_in, sum(records) AS records, count(*) FILTER (records > 0 AND state IS DISTINCT FROM 'void') > 0 AS counts,
      min(day) AS day, string_agg(DISTINCT CASE WHEN records = 0 THEN 'gone' ELSE state END, ', ') AS state, min(seen_currency) AS seen_currency,
      sum(amount) AS amount, sum(commission) AS commission FROM our_lines GROUP BY order_id, sub, cur, is_in`,
  ];
}

/** What could be the difference of a group, file minus lake, and why: amounts of earlier readings, and copies of lines. */
function explanationsSql(): string {
  const since = `CASE WHEN records = 0 OR state = 'void' THEN 'voided_since' ELSE 'repriced_since' END`;
  const wasCounted = '(void_by IS NULL OR void_by > seen_by)';
  const then = (stage: string, prefix: string, condition: string) =>
    `SELECT order_id, sub, cur, is_in, row, ${literal(stage)} AS stage, ${since} AS cause, COALESCE(${prefix}amount, 0) - amount AS amount, COALESCE(${prefix}commission, 0) - commission AS commission FROM our_lines WHERE ${condition}`;
  const stages = [
    then('seen', 'seen_', wasCounted),
    ...KEPT_STATES.filter((state) => state !== 'void').map((state) =>
      then(state, `${state}_`, `${state}_by IS NOT NULL`),
    ),
    then(
      'last',
      'last_',
      `(state = 'void' AND ${wasCounted}) OR (records = 0 AND state IS DISTINCT FROM 'void')`,
    ),
    then('before void', 'void_', `state = 'void' AND ${wasCounted}`),
    then('void', '0 * last_', `void_by IS NOT NULL AND state IS DISTINCT FROM 'void'`),
    ...KEPT_AGES.map(
      (age) =>
        `SELECT order_id, sub, cur, is_in, row, '${age} days', ${since}, NULL, commission_${age} - commission FROM our_lines WHERE commission_${age} IS NOT NULL`,
    ),
  ];
  const copies = (lines: string, measure: string) => `CAST(${measure} * copy / ${lines} AS decimal(38,9))`;
  return `CREATE TEMP TABLE explanations AS
    WITH stages AS (${stages.join(' UNION ALL ')})
    SELECT order_id AS id, sub, cur, is_in, cause, 2 AS rank, amount, commission FROM stages
    UNION ALL SELECT order_id, sub, cur, is_in, max(cause), 2, sum(amount), sum(commission) FROM stages GROUP BY order_id, sub, cur, is_in, stage HAVING count(*) > 1
    UNION ALL SELECT id, sub, cur, true, 'duplicate', 1, copy * amount, copy * commission
      FROM (SELECT id, sub, cur, amount, commission, unnest(range(1, count(*))) AS copy FROM their_lines GROUP BY id, sub, cur, amount, commission)
    UNION ALL SELECT order_id, sub, cur, is_in, 'duplicate', 3, -${copies('records', 'amount')}, -${copies('records', 'commission')}
      FROM (SELECT *, unnest(range(1, records)) AS copy FROM our_lines WHERE records > 1 AND state IS DISTINCT FROM 'mixed')`;
}

/** The table of differences: each is of one currency, so an order in two currencies has one in each. */
function differencesSql(measures: readonly Measure[], { from, to }: { from: Json; to: Json }): string {
  const all = (condition: (measure: Measure) => string) => measures.map(condition).join(' AND ');
  const columns = (make: (measure: Measure) => string) => MEASURES.map(make).join(', ');
  const isNear = all((measure) => `abs(their_${measure} - our_${measure}) < ${measure}_unit`);
  // What explains the commission alone says nothing about the amount.
  const explains = all(
    (measure) => `COALESCE(abs(their_${measure} - our_${measure} - e.${measure}) < ${measure}_unit, true)`,
  );
  const isKnown = measures.map((measure) => `e.${measure} IS NOT NULL`).join(' OR ');
  const outside = `GREATEST(datediff('day', our_day, DATE ${literal(String(from))}), datediff('day', DATE ${literal(String(to))}, our_day))`;
  const money = (their: string, our: string) =>
    columns(
      (measure) =>
        `${their.replace('*', measure)} AS their_${measure}, ${our.replace('*', measure)} AS our_${measure}`,
    );
  const place = 'line, id AS order_id, sub AS product';
  return `CREATE TEMP TABLE differences AS
    WITH candidates AS (
      SELECT their_group, our_group, CASE WHEN o.counts THEN 0 ELSE 4 END + CASE WHEN o.is_in THEN 0 ELSE 2 END + CASE WHEN o.cur = t.cur THEN 0 ELSE 1 END AS rank
      FROM their_groups AS t JOIN our_groups AS o USING (id, sub)
    ), pairs AS (
      SELECT their_group, our_group FROM candidates
      QUALIFY row_number() OVER (PARTITION BY their_group ORDER BY rank, our_group) = 1 AND row_number() OVER (PARTITION BY our_group ORDER BY rank, their_group) = 1
    ), compared AS (
      SELECT t.id, t.sub, line, t.cur AS their_cur, o.cur AS our_cur, t.cur = o.cur AS is_same, is_in, counts, seen_currency, t.day AS their_day, o.day AS our_day, state,
        amount_unit, commission_unit, ${money('t.*', 'o.*')}
      FROM pairs JOIN their_groups AS t USING (their_group) JOIN our_groups AS o USING (our_group)
    ), judged AS (
      SELECT *, CASE WHEN NOT is_in THEN 'other_day' WHEN NOT is_same THEN 'other_currency' WHEN ${all((measure) => `their_${measure} = our_${measure}`)} THEN CASE WHEN their_day <> our_day THEN 'other_day' END
          WHEN ${isNear} THEN 'rounding' ELSE COALESCE((SELECT arg_min(e.cause, e.rank) FROM explanations AS e WHERE e.id = c.id AND e.sub = c.sub AND e.cur = our_cur AND e.is_in AND (${isKnown}) AND ${explains}), 'unexplained') END AS cause
      FROM compared AS c
    ), proved AS (
      SELECT *, CASE cause WHEN 'other_day' THEN is_same AND ${isNear} AND CASE WHEN is_in THEN abs(datediff('day', their_day, our_day)) ELSE ${outside} END <= 1
          WHEN 'other_currency' THEN seen_currency = their_cur ELSE cause IN (${PROVED.map((each) => literal(each)).join(', ')}) END AS explained FROM judged
    ), entries AS (
      SELECT cause, COALESCE(explained, false) AS explained, their_cur AS currency, ${place}, their_day, our_day, state, ${money('their_*', 'CASE WHEN is_in AND is_same THEN our_* ELSE 0 END')} FROM proved WHERE cause IS NOT NULL
      UNION ALL SELECT cause, COALESCE(explained, false), our_cur, ${place}, their_day, our_day, state, ${money('0', 'our_*')} FROM proved WHERE is_in AND NOT is_same AND counts
      UNION ALL SELECT 'missing_here', false, cur, ${place}, day, NULL, NULL, ${money('*', '0')} FROM their_groups WHERE their_group NOT IN (SELECT their_group FROM pairs)
      UNION ALL SELECT 'missing_there', false, cur, NULL, id, sub, NULL, day, state, ${money('0', '*')} FROM our_groups WHERE is_in AND counts AND our_group NOT IN (SELECT our_group FROM pairs)
    )
    SELECT *, ${columns((measure) => `their_${measure} - our_${measure} AS ${measure}_difference`)} FROM entries ORDER BY cause, line, order_id, product`;
}

/** By currency, lines, records and both sums; and by cause, how many differences there are and what they add up to. */
export async function totals(connection: DuckDBConnection, measures: readonly Measure[]) {
  const columns = (make: (measure: Measure) => string) => measures.map(make).join(', ');
  const sums = await rowsOf(
    connection,
    `SELECT cur, sum(lines), sum(records), ${columns((measure) => `sum(their_${measure}), sum(our_${measure}), sum(their_${measure}) - sum(our_${measure})`)}
      FROM (SELECT cur, lines, 0 AS records, ${columns((measure) => `${measure} AS their_${measure}, 0 AS our_${measure}`)} FROM their_groups
        UNION ALL SELECT cur, 0, records, ${columns((measure) => `0, ${measure}`)} FROM our_groups WHERE is_in) GROUP BY cur ORDER BY cur`,
  );
  const causes = await rowsOf(
    connection,
    `SELECT currency, cause, explained, count(*), ${columns((measure) => `sum(${measure}_difference)`)} FROM differences GROUP BY ALL ORDER BY ALL`,
  );
  return { sums, causes };
}
