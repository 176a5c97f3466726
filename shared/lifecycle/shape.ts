/*
 * The lifecycle tables have a row for each record of a day, by its key, with the readings between which the record was
 * first seen, effective, locked, paid and void. Their columns have the same names for every brand, so that views,
 * statements and comparisons need no roles.
 */
import { DAY_PARTITION_KEYS } from '../column-types.ts';
import { columnsOf } from '../lake/documents/described-columns.ts';
import type { TableShape } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';

/** The states whose first reading is kept, in the words of the interface. */
export const KEPT_STATES = ['effective', 'locked', 'paid', 'void'] as const;

/** Ages of a day, in days after its end, for which the commission of each record is kept. */
export const KEPT_AGES = [0, 30, 60, 90] as const;

const COLUMNS = columnsOf([
  ['key', 'string', 'The key of the record, as in the table changes; NULL: the record has no key'],
  [
    'records',
    'bigint',
    'How many records of the day have this key, currency and publisher, usually 1; 0: the record is gone',
  ],
  ['order_id', 'string', 'The id of the order'],
  ['product', 'string', 'The product of the line; NULL: the line has no product'],
  ['kind', 'string', 'sale, or bonus (a bonus or a campaign payment)'],
  ['publisher_id', 'string', 'The id of the publisher'],
  ['publisher_name', 'string', 'The name of the publisher'],
  ['currency', 'string', 'The currency of the amounts, in capitals; NULL: not known'],
  [
    'state',
    'string',
    'The latest state, in the words of the interface; mixed: records with this key have different states',
  ],
  ['amount', 'decimal(38,9)', 'The amount in the last reading that had the record'],
  [
    'commission',
    'decimal(38,9)',
    'The commission in the last reading that had the record, whatever its state',
  ],
  ['counted_amount', 'decimal(38,9)', 'The part of amount that counts: 0 if the record is void or gone'],
  [
    'counted_commission',
    'decimal(38,9)',
    'The part of commission that counts: 0 if the record is void or gone',
  ],
  ['gone_after', 'timestamp', 'When the last reading that had the record began; NULL: the record is there'],
  ['gone_by', 'timestamp', 'When the first reading without the record ended; NULL: the record is there'],
  ['seen_currency', 'string', 'The currency when the record was first seen'],
  ...['seen', ...KEPT_STATES].flatMap((state) => {
    const isSeen = state === 'seen';
    const became = isSeen ? 'appeared' : `became ${state}`;
    const first = `in the first reading that shows the record${isSeen ? '' : ` as ${state}`}`;
    const never = isSeen ? '' : '; NULL: it never did';
    return [
      [
        `${state}_after`,
        'timestamp',
        `The record ${became} after this time; NULL: ${isSeen ? '' : 'it never did, or '}no earlier reading is known`,
      ],
      [
        `${state}_by`,
        'timestamp',
        `The record ${became} by this time, the end of the first reading that shows it${never}`,
      ],
      [`${state}_amount`, 'decimal(38,9)', `The amount ${first}`],
      [`${state}_commission`, 'decimal(38,9)', `The commission ${first}`],
    ] as const;
  }),
  ...KEPT_AGES.map(
    (age) =>
      [
        `commission_${age}`,
        'decimal(38,9)',
        age === 0
          ? 'The commission that counted in the first reading after the day ended: 0 if void or not there; NULL: the same as counted_commission'
          : `The commission that counted ${age} days after the day ended: 0 if void or not there; NULL: the same as counted_commission`,
      ] as const,
  ),
]);

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
