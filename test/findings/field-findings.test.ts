import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addDays } from '../../shared/base/days.ts';
import { type FieldFacts, fieldFindings } from '../../shared/findings/field-findings.ts';
import type { Committed, DayEntry } from '../../shared/lake/ledger.ts';
import type { NewColumns } from '../../shared/lake/schema.ts';
import { readAt } from '../planning/entries.ts';

const FIRST = '2026-03-01';
/** A day after two weeks. */
const DAY = '2026-03-15';

interface Made extends Partial<Committed> {
  /** By column: the share of rows with a value. */
  shares?: Record<string, number>;
  filledAtFirst?: Record<string, number>;
  firstCommittedAt?: string;
}

/** A day that was first read a minute after it was over. */
function made(day: string, { shares = {}, filledAtFirst, firstCommittedAt, ...change }: Made): DayEntry {
  const at = firstCommittedAt ?? `${addDays(day, 1)}T00:01:00.000Z`;
  const rows = change.rows ?? 200;
  const counts = Object.entries(shares).flatMap(([name, share]) =>
    share > 0 ? [[name, Math.round(share * rows)]] : [],
  );
  const filled = { id: rows, _synced_at: rows, ...Object.fromEntries(counts) };
  return {
    ...readAt(at, { rows, committedAt: at, ...change, values: { filled, ...change.values } }),
    firstCommittedAt: at,
    ...(filledAtFirst && { filledAtFirst }),
  };
}

/** Consecutive days from `FIRST` on; `undefined`: nothing was read. */
function daysOf(days: readonly (Made | undefined)[]): Map<string, DayEntry> {
  return new Map(
    days.flatMap((each, index) => {
      const day = addDays(FIRST, index);
      return each ? [[day, made(day, each)] as const] : [];
    }),
  );
}

/** `2026-03-15 emptied_column …`, of all days. */
function found(
  entries: ReadonlyMap<string, DayEntry>,
  newColumns?: NewColumns,
  more: Partial<FieldFacts> = {},
): string[] {
  return [...entries.keys()].sort().flatMap((day) => {
    const facts = { day, entryOn: (of: string) => entries.get(of), newColumns, ...more };
    return fieldFindings(facts).map(({ check, detail }) => `${day} ${check}: ${detail}`);
  });
}

const coupons = (days: number, more: Made = {}): Made[] =>
  Array.from({ length: days }, () => ({ ...more, shares: { coupon: 0.98, ...more.shares } }));
const without = (days: number, more: Made = {}): Made[] => Array.from({ length: days }, () => more);
const USUALLY = '2026-03-15 emptied_column: coupon (usually in 98 % of the rows)';

describe('a column with a role that was filled and is empty', () => {
  const columns = ['comm', 'commissionValue', 'note'].map((field) => ({
    ...{ name: field === 'commissionValue' ? 'commission_value' : field, type: 'string' as const, field },
  }));
  const roles = (...commission: string[]) => ({ columns, roles: { commission } });
  const days = [
    ...without(14, { shares: { comm: 1 } }),
    ...without(1, { shares: { note: 1, commission_value: 1 } }),
  ];
  const emptied = '2026-03-15 emptied_column: comm (usually in 100 % of the rows)';

  it.each<[string, Made[], Partial<FieldFacts>, string[]]>([
    [
      'names the role, the likeliest new column first, and the list of both',
      days,
      roles('comm'),
      [
        `${emptied}; new beside it: commission_value, note; comm has the role commission; if commissionValue, note replaces it, set "fields": { "commission": ["comm","commissionValue"] }`,
      ],
    ],
    [
      'names no candidate if no column is new',
      [...days.slice(0, 14), ...without(1)],
      roles('comm'),
      [`${emptied}; comm has the role commission, and no new column may replace it`],
    ],
    ['is no finding if the list has the new column', days, roles('comm', 'commissionValue'), []],
    [
      'has no role by another field',
      days,
      roles('note'),
      [`${emptied}; new beside it: commission_value, note`],
    ],
  ])('and %s', (_name, made, facts, expected) => {
    expect(found(daysOf(made), undefined, facts)).toEqual(expected);
  });
});

describe('a column that was filled and is empty', () => {
  it.each<[string, (Made | undefined)[], string[]]>([
    ['on one day', [...coupons(14), ...without(1), ...coupons(2)], [USUALLY]],
    ['from a day on is found on its first day only', [...coupons(14), ...without(20)], [USUALLY]],
    [
      'after a week of a brand is found',
      [...coupons(7), ...without(1)],
      ['2026-03-08 emptied_column: coupon (usually in 98 % of the rows)'],
    ],
    ['that had values for one of two weeks is no finding', [...without(7), ...coupons(7), ...without(1)], []],
    ['after six days of a brand may be chance', [...coupons(6), ...without(1)], []],
    ['is compared over days without records', [...coupons(13), undefined, ...without(1)], [USUALLY]],
    [
      'is found although one day before it lacked it',
      [...coupons(9), ...without(1), ...coupons(4), ...without(1)],
      ['2026-03-10 emptied_column: coupon (usually in 98 % of the rows)', USUALLY],
    ],
    ['is not judged on the open day', [...coupons(14), { state: 'open' }], []],
    ['is not judged on a day without rows', [...coupons(14), { rows: 0 }], []],
    ['is not judged on a day with so few rows that it may be chance', [...coupons(14), { rows: 9 }], []],
    [
      'is judged on the first later day with enough rows',
      [...coupons(13), { rows: 9 }, ...without(3)],
      [USUALLY],
    ],
    [
      'is judged on the first later day on which its share counts',
      [...coupons(13, { shares: { coupon: 0.5 } }), { rows: 12 }, ...without(3)],
      ['2026-03-15 emptied_column: coupon (usually in 50 % of the rows)'],
    ],
    [
      'in a few records of a large day is no finding',
      [...coupons(14, { rows: 1000, shares: { coupon: 0.003 } }), { rows: 1000 }],
      [],
    ],
    [
      'by values that no longer fit it names _rescued',
      [...coupons(14), { values: { rescued: { coupon: 196 } } }],
      [
        '2026-03-15 emptied_column: coupon (usually in 98 % of the rows; 196 values do not fit it and are in _rescued)',
      ],
    ],
    [
      'is named with the columns that are new beside it',
      [...coupons(14), ...without(2, { shares: { voucher: 0.9 } })],
      [`${USUALLY}; new beside it: voucher`],
    ],
    [
      'is named with a column that began in the middle of the day before',
      [
        ...coupons(13),
        ...coupons(1, { shares: { voucher: 0.4 } }),
        ...without(1, { shares: { voucher: 0.9 } }),
      ],
      [`${USUALLY}; new beside it: voucher`],
    ],
    [
      'is no finding any longer when a later reading has its values',
      [...coupons(14), ...coupons(1, { filledAtFirst: { coupon: 0 } })],
      [],
    ],
    [
      'that the service fills only in later readings is no finding on new days',
      [...coupons(14, { filledAtFirst: { coupon: 0 } }), ...without(3)],
      [],
    ],
    [
      'beyond the columns that a ledger keeps is not known',
      [
        ...coupons(14),
        {
          shares: Object.fromEntries(Array.from({ length: 250 }, (_, index) => [`c${index}`, 1])),
        },
      ],
      [],
    ],
  ])('is judged: %s', (_name, days, expected) => {
    expect(found(daysOf(days))).toEqual(expected);
  });

  it('is no finding in a first reading, which reads the newest day first, nor in a backfill', () => {
    const days = [...coupons(14), ...without(14)];
    const readBackwards = days.map((each, index) => ({
      ...each,
      firstCommittedAt: `2026-04-01T00:${59 - index}:00.000Z`,
    }));
    expect(found(daysOf(readBackwards))).toEqual([]);
  });

  it('lists at most ten names, and how many more there are', () => {
    const many = Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`c${10 + index}`, 1]));
    const [text = ''] = found(
      daysOf([...without(14, { shares: many }), ...without(1, { shares: { x: 1 } })]),
    );
    expect(text).toMatch(/c19 \(usually in 100 % of the rows\) and 3 more; new beside it: x$/);
    expect(text).not.toContain('c20');
  });

  it('is found on one of the days at most, whatever of the days is restated later', () => {
    const shape = fc.record({
      change: fc.integer({ min: 8, max: 25 }),
      restated: fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
    });
    fc.assert(
      fc.property(shape, ({ change, restated }) => {
        const days = restated.map((isRestated, index): Made => {
          if (index >= change) return { shares: { voucher: 1 } };
          if (!isRestated) return { shares: { coupon: 1 } };
          return { shares: { voucher: 1 }, filledAtFirst: { coupon: 200, voucher: 0 } };
        });
        expect(found(daysOf(days))).toEqual([
          `${addDays(FIRST, change)} emptied_column: coupon (usually in 100 % of the rows); new beside it: voucher`,
        ]);
      }),
    );
  });
});

describe('a new column', () => {
  const seenOn = (day: string, at = `${addDays(day, 1)}T00:01:00.000Z`): NewColumns =>
    new Map([[day, [{ column: 'coupon', at }]]]);

  it.each<[string, (Made | undefined)[], NewColumns, string[]]>([
    [
      'is found on the day in whose records it was first seen',
      [...without(14), ...coupons(5)],
      seenOn(DAY),
      ['2026-03-15 new_column: coupon in 196 of 200 rows'],
    ],
    [
      'of a few records is found too, because it is first seen once',
      [...without(14), { rows: 1000, shares: { coupon: 0.001 } }, ...without(3)],
      seenOn(DAY),
      ['2026-03-15 new_column: coupon in 1 of 1000 rows'],
    ],
    [
      'is found if a service also fills it on older days, of which one was read first',
      [...without(10), ...coupons(10)],
      seenOn(DAY),
      ['2026-03-15 new_column: coupon in 196 of 200 rows'],
    ],
    [
      'is not found in the first six days, when a brand has only begun',
      [...without(6), ...coupons(5)],
      seenOn('2026-03-07'),
      [],
    ],
    ['is not found for a brand that has never had it', without(20), seenOn(DAY), []],
    [
      'is not found while the day is open',
      [...without(14), ...coupons(1, { state: 'open' })],
      seenOn(DAY),
      [],
    ],
    [
      'is not found if it was seen before the days were read',
      coupons(20),
      seenOn(DAY, '2026-02-01T00:00:00.000Z'),
      [],
    ],
  ])('is judged: %s', (_name, days, seen, expected) => {
    expect(found(daysOf(days), seen)).toEqual(expected);
  });

  it('is found on an old day when its records are first filled much later', () => {
    const at = '2026-04-20T10:00:00.000Z';
    const entries = daysOf([...without(14), ...coupons(1, { filledAtFirst: { coupon: 0 } })]);
    const facts = { day: DAY, entryOn: (day: string) => entries.get(day), newColumns: seenOn(DAY, at) };
    expect(fieldFindings(facts)).toEqual([
      { check: 'new_column', detail: 'coupon in 196 of 200 rows', since: at },
    ]);
  });
});
