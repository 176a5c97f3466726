/*
 * The lifecycle tables have a row for each record of a day, by its key, with the readings between which the record was
 * first seen, effective, locked, paid and void. Their columns have the same names for every brand, so that views,
 * statements and comparisons need no roles.
 */
import { columnsOf } from '../lake/documents/described-columns.ts';
import { DAY_PARTITION_KEYS } from '../lake/paths.ts';
import type { TableShape } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';

/** The states whose first reading is kept, in the words of the interface. */
export const KEPT_STATES = ['effective', 'locked', 'paid', 'void'] as const;

/** Ages of a day, in days after its end, for which the commission of each record is kept. */
export const KEPT_AGES = [0, 30, 60, 90] as const;

const COLUMNS = columnsOf([
  ['key', 'string', 'The key of the record as in the table changes; NULL: the record has none'],
  [
    'records',
    'bigint',
    'How many records of the day have this key, currency and publisher, mostly 1; 0: none any more',
  ],
  ['order_id', 'string', 'The order'],
  ['product', 'string', 'The product of the line, where it has one'],
  ['kind', 'string', 'sale, or bonus: a bonus or a campaign payment'],
  ['publisher_id', 'string', 'The publisher'],
  ['publisher_name', 'string', 'A name of the publisher'],
  ['currency', 'string', 'Of the amounts, in capitals; NULL: the service names none'],
  ['state', 'string', 'The last state, in the words of the interface; mixed: records with one key differ'],
  ['amount', 'decimal(38,9)', 'What it is worth, by the last reading that showed it'],
  ['commission', 'decimal(38,9)', 'Its commission, by the last reading that showed it, whatever its state'],
  ['counted_amount', 'decimal(38,9)', 'The part of amount that counts: neither void nor gone'],
  ['counted_commission', 'decimal(38,9)', 'The part of commission that counts: neither void nor gone'],
  ['gone_after', 'timestamp', 'When the last reading began that showed it; NULL: it is there'],
  ['gone_by', 'timestamp', 'When the reading ended that did not show it any more; NULL: it is there'],
  ['seen_currency', 'string', 'Its currency when it was first seen'],
  ...['seen', ...KEPT_STATES].flatMap((state) => {
    const what = state === 'seen' ? 'was there' : `was ${state}`;
    return [
      [
        `${state}_after`,
        'timestamp',
        `When the last reading began that did not show that it ${what}; NULL: there was none`,
      ],
      [
        `${state}_by`,
        'timestamp',
        `When the reading ended that showed first that it ${what}; NULL: none did`,
      ],
      [`${state}_amount`, 'decimal(38,9)', `Its amount in that reading`],
      [`${state}_commission`, 'decimal(38,9)', `Its commission in that reading`],
    ] as const;
  }),
  ...KEPT_AGES.map(
    (age) =>
      [
        `commission_${age}`,
        'decimal(38,9)',
        age === 0
          ? 'Its commission that counted in the first reading after the day ended: 0 if void or not there; NULL: as now'
          : `Its commission that counted ${age} days after the day ended: 0 if void or not there; NULL: as now`,
      ] as const,
  ),
]);

/** The lifecycle tables of all reports. */
export function lifecycleTables(reports: ReportRegistry): TableShape[] {
  return Object.values(reports).flatMap((report) => lifecycleShape(report) ?? []);
}

/** The lifecycle table of a report; `undefined`: its records have no states. */
export function lifecycleShape({ lifecycle }: Pick<ReportDefinition, 'lifecycle'>): TableShape | undefined {
  return (
    lifecycle && {
      name: lifecycle.table,
      description: lifecycle.description,
      partitionKeys: DAY_PARTITION_KEYS,
      columns: COLUMNS,
    }
  );
}
