import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addDays } from '../../shared/base/days.ts';
import type { Committed } from '../../shared/lake/ledger.ts';
import { type FindingFacts, comparedWith, findingsOf, findingsText } from '../../shared/findings/findings.ts';
import type { Column } from '../../shared/base/column-types.ts';
import { NOW, policy, readAt } from '../planning/entries.ts';

const DAY = '2026-03-15';
const READ = '2026-03-16T06:00:00.000Z';
/** A day after weeks with these rows on its weekday, the last week first; `undefined` for an unknown week. */
function facts(change: Partial<Committed>, weeks: readonly (number | undefined)[] = []): FindingFacts {
  const known = new Map([[DAY, readAt(READ, change)]]);
  for (const [week, rows] of weeks.entries())
    if (rows !== undefined) known.set(addDays(DAY, -7 * (week + 1)), readAt(READ, { rows }));
  return {
    day: DAY,
    report: { name: 'order_list', day: { by: 'timestamps' } },
    entryOn: (day) => known.get(day),
    policy,
  };
}
const found = (change: Partial<Committed>, weeks?: readonly (number | undefined)[]) =>
  findingsText(findingsOf(facts(change, weeks)));

const earlier = (rows: number, sum?: string) => ({
  ...{ rows, at: READ },
  ...(sum !== undefined && { sum }),
});
const sums = (commission: string) => ({
  totals: { fields: { commission: ['commission'] }, byCurrency: { USD: { commission } } },
});

describe('a day compared with its earlier content', () => {
  it.each<[string, Partial<Committed>, string | null]>([
    ['more rows', { rows: 500, comparedWith: earlier(120) }, null],
    ['two rows of three', { rows: 2, comparedWith: earlier(3) }, null],
    ['nine rows fewer', { rows: 1, comparedWith: earlier(10) }, null],
    ['ten rows fewer', { rows: 1, comparedWith: earlier(11) }, 'rows_fell (11 rows before, 1 now)'],
    ['no earlier version', { rows: 0 }, null],
    [
      'a lower sum of equally many rows',
      { rows: 50, values: sums('79.900000000'), comparedWith: earlier(50, '100.000000000') },
      'sum_fell (100 before, 79.90 now, in USD)',
    ],
    ['a sum that fell by less', { rows: 50, values: sums('80'), comparedWith: earlier(50, '100') }, null],
    ['a sum of few rows', { rows: 19, values: sums('1'), comparedWith: earlier(19, '100') }, null],
    ['a sum that was negative', { rows: 50, values: sums('-90'), comparedWith: earlier(50, '-10') }, null],
    [
      'no value left to sum',
      {
        rows: 50,
        values: { totals: { fields: {}, byCurrency: {} } },
        comparedWith: earlier(50, '100'),
      },
      'sum_fell (100 before, 0 now)',
    ],
    [
      'fewer rows and a lower sum',
      { rows: 20, values: sums('1E+2'), comparedWith: earlier(50, '10000') },
      'rows_fell (50 rows before, 20 now); sum_fell (10,000 before, 1E+2 now, in USD)',
    ],
    ['fewer rows while the day is open', { rows: 1, state: 'open', comparedWith: earlier(100) }, null],
  ])('with %s', (_name, change, text) => {
    expect(found(change)).toBe(text);
  });

  it('may fall by a fifth, even if the report is not enabled', () => {
    const textAt = (rows: number) =>
      findingsText(findingsOf({ ...facts({ rows, comparedWith: earlier(100) }), policy: undefined }));
    expect([79, 80].map(textAt)).toEqual(['rows_fell (100 rows before, 79 now)', null]);
  });

  it('is certain if no other reading has to confirm it', () => {
    const fallen = { rows: 60, comparedWith: earlier(100) };
    expect(findingsOf(facts(fallen))).toMatchObject([{ isCertain: true }]);
    expect(findingsOf(facts({ ...fallen, state: 'unconfirmed' }))).toMatchObject([{ isCertain: false }]);
  });
});

const EIGHT = Array.from({ length: 8 }, () => 100);

describe('a day compared with its weekday', () => {
  it.each<[string, number, readonly (number | undefined)[], string | null]>([
    ['half as many', 50, EIGHT, null],
    ['fewer than half', 48, EIGHT, 'unusual_rows (48 rows, usual are about 100)'],
    ['none', 0, EIGHT, 'unusual_rows (0 rows, usual are about 100)'],
    ['more than twice as many', 203, EIGHT, 'unusual_rows (203 rows, usual are about 100)'],
    ['few rows, and usually few', 0, EIGHT.map(() => 19), null],
    ['three weeks to compare it with', 0, [100, 100, 100], null],
    ['four weeks', 0, [100, 100, 100, 100], 'unusual_rows (0 rows, usual are about 100)'],
    [
      'four weeks among gaps',
      0,
      [100, undefined, 100, undefined, 100, undefined, undefined, 100],
      'unusual_rows (0 rows, usual are about 100)',
    ],
    ['four of five weeks too long ago', 0, [...EIGHT.map(() => undefined), 100, 100, 100, 100, 100], null],
    ['weeks that vary by more', 30, [100, 40, 250, 100, 60, 160, 90, 30], null],
    [
      'an outage three weeks ago',
      3,
      [100, 110, 0, 90, 100, 95, 105, 100],
      'unusual_rows (3 rows, usual are about 100)',
    ],
    ['as many rows as every third week', 300, [100, 110, 300, 90, 100, 310, 105, 100], null],
    ['as many rows as one of five weeks', 300, [100, 110, 300, 90, 100], null],
    ['its first rows after weeks without any', 500, EIGHT.map(() => 0), null],
    ['usual rows on a weekday with frequent outages', 100, [0, 100, 0, 100, 100, 100, 0, 100], null],
  ])('with %s', (_name, rows, weeks, text) => {
    expect(found({ rows }, weeks)).toBe(text);
  });

  it('is not also reported as unusual if its rows fell', () => {
    expect(found({ rows: 10, comparedWith: earlier(100) }, EIGHT)).toBe(
      'rows_fell (100 rows before, 10 now)',
    );
    expect(found({ rows: 10, values: sums('1'), comparedWith: earlier(20, '90') }, EIGHT)).toMatch(
      /rows_fell.*sum_fell/,
    );
    expect(found({ rows: 10, comparedWith: earlier(11) }, EIGHT)).toMatch(/^unusual_rows/);
  });

  it('is not compared with a weekday that is not over', () => {
    const open = facts({ rows: 0 }, EIGHT);
    const entryOn = (day: string) =>
      day < DAY ? readAt(READ, { rows: 100, state: 'open' }) : open.entryOn(day);
    expect(findingsOf({ ...open, entryOn })).toEqual([]);
  });
});

describe('a brand whose days never change', () => {
  it('has no finding, whatever its number of rows and the known weeks', () => {
    fc.assert(
      fc.property(
        fc.nat(1_000_000),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.array(fc.boolean(), { maxLength: 10 }),
        (rows, sum, isKnown) => {
          const same = {
            rows,
            values: sums(String(sum)),
            comparedWith: earlier(rows, String(sum)),
          };
          const weeks = isKnown.map((known) => (known ? rows : undefined));
          const constant = facts(same, weeks);
          expect(findingsOf(constant)).toEqual([]);
        },
      ),
    );
  });
});

describe('the values of a day', () => {
  const column = (name: string, type: Column['type'] = 'string') => ({ name, type, field: name });
  const columns = [column('comm'), column('fee', 'decimal(38,9)'), column('price')];
  const unreadable = { comm: { rows: 12, example: '1,500.25' }, 'price.net': { rows: 0 } };
  it.each<[string, Partial<Committed>, FindingFacts['roles'], string | null]>([
    ['that are amounts', { values: { unreadable } }, { amount: ['price.net'] }, null],
    ['of a column without a role', { values: { unreadable } }, { amount: ['fee'] }, null],
    [
      'that are no amounts',
      { values: { unreadable } },
      { commission: ['fee', 'comm'] },
      'unreadable_amounts (comm: 12 values such as "1,500.25")',
    ],
    ['of a column that was never read', { values: { filled: { price: 3 } } }, { amount: ['price'] }, null],
    [
      'that are objects, at their escaped beginning',
      { values: { unreadable: { price: { rows: 1, example: '{"value":"\u001b' } } } },
      { amount: ['price'] },
      'unreadable_amounts (price: 1 value such as "{\\"value\\":\\"\\u001b")',
    ],
    [
      'that are unknown states, whatever the words were when they were counted',
      { values: { words: { status: { rows: { paid: 1, Lost: 2, '4': 3, '': 4 } } } } },
      {},
      'unknown_states ("Lost" in 2 rows)',
    ],
  ])('%s have their findings', (_name, change, roles, text) => {
    const own = { ...policy, words: { '4': 'void' } };
    expect(findingsText(findingsOf({ ...facts(change), policy: own, columns, roles }))).toBe(text);
  });

  it('that are sums of other fields than the settings name are not compared', () => {
    const fallen = { rows: 50, values: sums('1'), comparedWith: earlier(50, '100') };
    expect(findingsOf({ ...facts(fallen), columns, roles: { commission: ['fee'] } })).toEqual([]);
  });
});

describe('the next reading', () => {
  const reading = (rows: number, change: Partial<Committed> = {}) => ({
    ...{ rows, unchanged: false, at: '2026-03-17T06:00:00.000Z' },
    queryFingerprint: policy.queryFingerprint,
    ...change,
  });
  const carried = (now: Partial<Committed>, next: ReturnType<typeof reading> & { unchanged: boolean }) =>
    comparedWith(readAt(READ, now).committed, next);

  it('is compared with the content that it replaces', () => {
    const now = { rows: 120, values: sums('12.5'), comparedWith: earlier(100) };
    const before = { rows: 120, at: '2026-03-17T06:00:00.000Z' };
    expect(carried(now, reading(121, { values: sums('1') }))).toEqual({ ...before, sum: '12.5' });
    const others = { totals: { fields: { commission: ['fee'] }, byCurrency: {} } };
    expect(carried(now, reading(121, { values: others }))).toEqual(before);
  });

  it('stays compared with the content before the fall until the day is back', () => {
    const fallen = { rows: 40, comparedWith: earlier(100) };
    expect(carried(fallen, reading(41))).toEqual(earlier(100));
    expect(carried(fallen, reading(79))).toEqual(earlier(100));
    expect(carried(fallen, reading(95))).toMatchObject({ rows: 40 });
  });

  it('stays compared with the same figures if its content is the same', () => {
    const now = { rows: 120, comparedWith: earlier(100) };
    expect(carried(now, { ...reading(120), unchanged: true })).toEqual(earlier(100));
  });

  it('is compared with nothing if its query differs, or if it is the first reading', () => {
    const now = { rows: 100, comparedWith: earlier(100) };
    expect(carried(now, reading(1, { queryFingerprint: 'filtered' }))).toBeUndefined();
    expect(comparedWith(undefined, reading(1))).toBeUndefined();
  });
});

describe('a day in another time zone than the day before', () => {
  const zones = { timeZone: 'UTC' };
  const seam = (dayBefore: Partial<Committed>, day: FindingFacts['report']['day'] = { by: 'timestamps' }) => {
    const own = facts(zones);
    const before = new Map([[addDays(DAY, -1), readAt(READ, dayBefore)]]);
    const report = { ...own.report, day };
    return { ...own, report, entryOn: (each: string) => before.get(each) ?? own.entryOn(each) };
  };
  const moved = { state: 'settled' as const, timeZone: 'Asia/Tokyo' };

  it.each<[string, FindingFacts, string | null]>([
    ['which is settled', seam(moved), 'zone_seam (Asia/Tokyo before, UTC now)'],
    ['which will be read again', seam({ ...moved, state: 'closed', queryFingerprint: 'old' }), null],
    ['which was read again', seam({ ...moved, state: 'closed' }), 'zone_seam (Asia/Tokyo before, UTC now)'],
    ['in the same zone', seam({ ...moved, ...zones }), null],
    ['whose zone is lost', seam({ state: 'settled', timeZone: undefined }), null],
    ['of a report that is requested by date', seam(moved, { by: 'dates' }), null],
  ])('is a finding if no reading will change that: the day before, %s', (_name, given, text) => {
    expect(findingsText(findingsOf(given))).toBe(text);
  });
});

describe('a day whose last readings are not believed', () => {
  const ofDay = (change: Partial<Committed>, rows?: number): FindingFacts => {
    const disregarded = rows !== undefined && { at: NOW, rows, queryFingerprint: policy.queryFingerprint };
    const own = facts({ rows: 7, ...change });
    const entryOn = (day: string) => {
      const entry = own.entryOn(day);
      return entry && { ...entry, ...(disregarded && { disregarded }) };
    };
    return { ...own, entryOn };
  };

  it.each<[string, FindingFacts, string | null]>([
    ['no finding after two', ofDay({ state: 'unconfirmed', contradictions: 2 }), null],
    [
      'a finding after three, although it was read on schedule',
      ofDay({ contradictions: 3 }),
      'never_agrees (3 in a row failed or differed)',
    ],
    ['no finding after a reading is believed', ofDay({}), null],
    ['no finding if it settles by the policy', ofDay({ state: 'settled' }), null],
    [
      'a finding if it is given up',
      ofDay({ state: 'settled', contradictions: 12 }),
      'given_up (12 in a row failed or differed)',
    ],
    ['a finding if its rows stay', ofDay({ state: 'settled' }, 2), 'rows_kept (7 rows, 2 now)'],
    ['a finding if it came back empty', ofDay({}, 0), 'came_back_empty (7 rows, 0 now)'],
    [
      'one finding if its rows stay and it is given up',
      ofDay({ state: 'settled', contradictions: 1 }, 2),
      'rows_kept (7 rows, 2 now)',
    ],
    ['no finding while it is open', ofDay({ state: 'open', contradictions: 3 }), null],
    [
      'a finding if it is open and came back empty',
      ofDay({ state: 'open' }, 0),
      'came_back_empty (7 rows, 0 now)',
    ],
  ])('has %s', (_name, given, expected) => {
    expect(findingsText(findingsOf(given))).toBe(expected);
  });

  it.each<[string, FindingFacts, string]>([
    ['never agrees', ofDay({ contradictions: 3, comparedWith: earlier(1) }), READ],
    ['is given up', ofDay({ state: 'settled', contradictions: 12, comparedWith: earlier(1) }), READ],
    ['keeps its rows', ofDay({ state: 'settled', comparedWith: earlier(1) }, 2), NOW],
  ])('is reported with the time of the reading that shows it: it %s', (_name, given, since) => {
    const findings = findingsOf(given);
    expect(findings).toMatchObject([{ since, isCertain: true }]);
  });
});
