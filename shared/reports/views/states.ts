import type { ReportView } from '../definition.ts';
import { NOW_PLACE, daysSql } from './history.ts';
import { SUM, allSql } from './view-sql.ts';

/** The states whose first reading views show, in the words of the interface. */
const STATES = ['effective', 'locked', 'paid', 'void'] as const;
/** Ages of a day, in days after its end. Coverage has their instants, because SQL computes no time zones. */
export const AGES = [30, 60, 90] as const;

const GROUP = 'brand, dt, key';
const TEXTS = ['order_id', 'product', 'publisher_id', 'publisher_name'];
const SUMS = ['amount', 'commission', 'counted'];
/** A record that came later counts 0 before; so does a record that is gone. */
const COUNTED = "CASE WHEN what = 'added' THEN 0 ELSE counted END";
const IS_THERE = "what <> 'added'";

function sumOfGroup(amount: string): string {
  const isOneCurrency = "min(COALESCE(currency, '')) = max(COALESCE(currency, ''))";
  return `CAST(CASE WHEN ${allSql(`${amount} IS NOT NULL`)} AND ${isOneCurrency} THEN sum(${amount}) END AS ${SUM}) AS ${amount}`;
}

function lastSql(column: string): string {
  return `max_by(${column}, place) AS ${column}`;
}

function firstSql(state: string): string {
  const where = state === 'seen' ? IS_THERE : `state = '${state}'`;
  const first = (column: string) => `min_by(${column}, CASE WHEN ${where} THEN place END)`;
  return `${first('began_after')} AS ${state}_after, ${first('began_by')} AS ${state}_by, ${first('amount')} AS ${state}_amount, ${first('commission')} AS ${state}_commission`;
}

/** The row of an age is the first that a later reading changed. Before the first close, or a new beginning, none is known. */
function atAgeSql(age: number): string {
  const at = `age_${age}`;
  const isLater = `what = 'now' OR changed_by > ${at}`;
  const known = `max(first_by) <= max(${at}) AND COALESCE(max(anew_by) <= max(${at}), true)`;
  return `CASE WHEN ${known} THEN CASE WHEN count(CASE WHEN ${isLater} THEN 1 END) = 0 THEN 0 ELSE min_by(${COUNTED}, CASE WHEN ${isLater} THEN place END) END END`;
}

/**
 * Each record with the instants of its states and its amounts then. Rows of history and current rows are stacked and added
 * up by group and place: a row began when the row before it ended.
 */
function statesView(
  table: 'orders' | 'transactions',
  { name, description }: Pick<ReportView, 'name' | 'description'>,
): ReportView {
  const one = table.slice(0, -1);
  return {
    name,
    description,
    columns: [
      ['brand', 'string', 'The brand'],
      ['dt', 'string', "The day of the record, in the brand's time zone"],
      ['key', 'string', 'The key of the record; records without a key are in no row'],
      ['records', 'bigint', 'How many records of the day have this key, usually 1; 0: the record is gone'],
      ['order_id', 'string', 'The id of the order'],
      ['product', 'string', 'The product of the line; NULL: the line has no product'],
      ['kind', 'string', 'sale, or bonus (a bonus or a campaign payment)'],
      ['publisher_id', 'string', 'The id of the latest publisher'],
      ['publisher_name', 'string', 'The latest name of the publisher'],
      ['currency', 'string', 'The currency of the amounts, in capitals; NULL: not known, or several'],
      ['state', 'string', 'The latest state, in the words of the interface; mixed: its records differ'],
      ['amount', SUM, 'The amount in the last reading that had it; NULL: not known, or several currencies'],
      ['commission', SUM, 'The commission in the last reading that had the record, whatever its state'],
      ['counted_commission', SUM, 'The part of commission that counts: 0 if the record is void or gone'],
      ['gone_after', 'timestamp', 'When the last reading with the record began; NULL: the record is there'],
      ['gone_by', 'timestamp', 'When the first reading without the record ended; NULL: the record is there'],
      ['seen_currency', 'string', 'The currency when the record was first seen'],
      ...['seen', ...STATES].flatMap((state) => {
        const became = state === 'seen' ? 'appeared' : `became ${state}`;
        const after = `It ${became} after this time; NULL: never, or before the day was first closed`;
        const by = `It ${became} by this time, the end of a reading; NULL: never, or the day is open`;
        return [
          [`${state}_after`, 'timestamp', after],
          [`${state}_by`, 'timestamp', by],
          [`${state}_amount`, SUM, `The amount in the first reading in which it ${became}`],
          [`${state}_commission`, SUM, `The commission in the first reading in which it ${became}`],
        ] as const;
      }),
      ['commission_0', SUM, 'What counted when the day first closed; 0: void or not there; NULL: not known'],
      ...AGES.map((age) => {
        const text = `What counted ${age} days after the day ended, or now if younger; NULL: first closed later`;
        return [`commission_${age}`, SUM, text] as const;
      }),
    ],
    tables: [`${one}_history`, 'coverage'],
    sql: `SELECT ${GROUP}, CAST(max(CASE WHEN what = 'now' THEN records ELSE 0 END) AS bigint) AS records,
  ${['order_id', 'product', 'kind', 'publisher_id', 'publisher_name', 'currency', 'state', 'amount', 'commission'].map(lastSql).join(', ')},
  CAST(CASE WHEN max(place) = ${NOW_PLACE} THEN max_by(counted, place) ELSE 0 END AS ${SUM}) AS counted_commission,
  CASE WHEN max(place) < ${NOW_PLACE} THEN max_by(changed_after, place) END AS gone_after,
  CASE WHEN max(place) < ${NOW_PLACE} THEN max_by(changed_by, place) END AS gone_by,
  min_by(currency, CASE WHEN ${IS_THERE} THEN place END) AS seen_currency,
  ${['seen', ...STATES].map(firstSql).join(',\n  ')},
  CAST(CASE WHEN max(first_by) IS NOT NULL AND max(anew_by) IS NULL THEN min_by(${COUNTED}, place) END AS ${SUM}) AS commission_0,
  ${AGES.map((age) => `CAST(${atAgeSql(age)} AS ${SUM}) AS commission_${age}`).join(',\n  ')}
FROM (
  SELECT spans.*, first_by, anew_by, ${AGES.map((age) => `age_${age}`).join(', ')},
    lag(changed_after) OVER of_group AS began_after, COALESCE(lag(changed_by) OVER of_group, anew_by, first_by) AS began_by
  FROM (
    SELECT ${GROUP}, place, what, max(changed_after) AS changed_after, max(changed_by) AS changed_by, count(*) AS records,
      ${[...TEXTS, 'kind'].map((column) => `max(${column}) AS ${column}`).join(', ')},
      CASE WHEN min(currency) = max(currency) AND count(currency) = count(*) THEN max(currency) END AS currency,
      CASE WHEN min(COALESCE(state, '')) = max(COALESCE(state, '')) THEN max(state) ELSE CAST('mixed' AS varchar) END AS state,
      ${SUMS.map(sumOfGroup).join(',\n      ')}
    FROM ${one}_history
    WHERE key IS NOT NULL
    GROUP BY ${GROUP}, place, what
  ) AS spans
  LEFT JOIN ${daysSql(AGES)} ON of_brand = brand AND of_report = '${table}' AND of_dt = dt
  WINDOW of_group AS (PARTITION BY ${GROUP} ORDER BY place)
) AS begun
GROUP BY ${GROUP}`,
  };
}

export const orderStates = statesView('orders', {
  name: 'order_states',
  description: 'Each order with a key: when first seen, effective, void; its amounts then and now',
});

export const transactionStates = statesView('transactions', {
  name: 'transaction_states',
  description: 'Each transaction with a key: when first seen, locked, paid, void; its amounts then and now',
});
