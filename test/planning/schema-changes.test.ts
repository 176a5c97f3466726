import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addDays, daysBetween } from '../../shared/days.ts';
import type { Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import { MAX_FILLED } from '../../shared/lake/table/column-facts.ts';
import {
  HISTORY_DAYS,
  fieldDays,
  newSchemaChanges,
  schemaChangeText,
  schemaChanges,
} from '../../shared/planning/schema-changes.ts';
import { readAt } from './entries.ts';

const FIRST = '2026-01-01';

/** A day: how many of 100 rows have `coupon`, or its ledger entry; `undefined`: it was never read. */
type Day = number | undefined | Facts;
type Facts = Partial<Committed> & { firstCommittedAt?: string };

function entryOf(dt: string, day: Day): DayEntry {
  if (day === undefined) return {};
  const given: Facts = typeof day === 'number' ? of(day) : day;
  const { firstCommittedAt = `${addDays(dt, 1)}T06:00:00.000Z`, ...committed } = given;
  return { ...readAt(firstCommittedAt, { ...of(0), ...committed }), firstCommittedAt };
}

/** This many rows have `coupon`; all have `id`. */
function of(coupon: number, rows = 100): Partial<Committed> {
  return { rows, values: { filled: { id: rows, _synced_at: rows, ...(coupon > 0 && { coupon }) } } };
}

/** `coupon` is text in this many of 100 rows. */
function asText(rescued: number, filled = 100 - rescued): Partial<Committed> {
  const { values, ...facts } = of(filled);
  return { ...facts, values: { ...values, rescued: { coupon: rescued } } };
}

function times<T>(count: number, day: T): T[] {
  return Array.from({ length: count }, () => day);
}

function entriesOf(days: readonly Day[]): [string, DayEntry][] {
  return days.map((day, index) => {
    const dt = addDays(FIRST, index);
    return [dt, entryOf(dt, day)];
  });
}

/** The changes as day (counted from 1), column and kind of change. */
function found(days: readonly Day[]): string[] {
  return schemaChanges(fieldDays(entriesOf(days))).map(
    ({ dt, column, change }) => `${daysBetween(FIRST, dt) + 1} ${column} ${change}`,
  );
}

const usual = times(14, 90);

describe('a field', () => {
  it.each<[string, Day[], string[]]>([
    ['that is always there', [...usual, 90, 91, 90], []],
    ['that only the first days do not have', [0, 90, ...usual], []],
    ['that appears after only six days', [...times(6, 0), 90, 90], []],
    ['that appears after seven days', [...times(7, 0), 90, 90], ['8 coupon new']],
    ['that three rows of the first day have', [...times(7, 0), 3, 90], ['8 coupon new']],
    ['that two rows of the first day have', [...times(14, 0), 2, 90], []],
    ['that few rows have, after small days', [...times(7, of(0, 20)), of(3, 100)], []],
    ['that was there once, within the days of comparison', [...times(6, 0), 1, ...times(30, 0), 90], []],
    ['that was there once, long before', [1, ...times(HISTORY_DAYS, 0), 90], ['47 coupon new']],
    [
      'that appears on a day of the history',
      [...times(7, 0), { ...of(90), firstCommittedAt: '2026-03-01T00:00:00.000Z' }],
      [],
    ],
    ['that vanishes', [...usual, 0], ['15 coupon vanished']],
    ['that vanishes and returns', [...usual, 0, 0, 90, 90], ['15 coupon vanished', '17 coupon returned']],
    [
      'that vanishes and returns with few values',
      [...usual, 0, 1, 90],
      ['15 coupon vanished', '16 coupon returned'],
    ],
    [
      'that vanishes twice',
      [...usual, 0, ...times(4, 90), 0, 90],
      ['15 coupon vanished', '16 coupon returned', '20 coupon vanished', '21 coupon returned'],
    ],
    ['that vanishes after only six days', [...times(6, 90), 0], []],
    [
      'that is missing every Sunday',
      times(9, [90, 90, 90, 90, 90, 90, 0]).flat(),
      ['14 coupon vanished', '15 coupon returned'],
    ],
    ['that is there every other day', times(20, [90, 0]).flat(), []],
    [
      'that is there every other day after it was always there',
      [...usual, ...times(10, [0, 90]).flat()],
      ['15 coupon vanished', '16 coupon returned', '17 coupon vanished', '18 coupon returned'],
    ],
    [
      'that few rows have, and no row of a large day',
      [...times(14, 10), of(0, 1000)],
      ['15 coupon vanished'],
    ],
    ['that no row of a small day has', [...usual, of(0, 20), 90], []],
    ['that most rows lack from a day on', [...usual, 20, 20, 20], ['15 coupon null_share']],
    ['that more rows lack, but not many more', [...usual, 61], []],
    ['that fewer rows have each day', [...usual, 80, 70, 60, 50, 40, 30, 20, 10], []],
    ['whose share varies randomly', [10, 90, 40, 70, 20, 95, 60, 30, 80, 15, 85, 50, 5, 90, 10], []],
    ['that more rows have', [...times(14, 10), 90], []],
    ['whose values become text', [...usual, asText(90, 0), asText(90, 0)], ['15 coupon drifted']],
    ['some of whose values become text', [...usual, asText(10)], ['15 coupon drifted']],
    ['few of whose values do not fit', [...usual, asText(3)], []],
    ['some of whose values are always text', [...times(14, asText(50)), asText(52)], []],
    [
      'whose column keeps the meaning of its values, but not their text',
      [...usual, asText(90, 90)],
      ['15 coupon drifted'],
    ],
    ['whose values are numbers again', [...usual, asText(90, 0), 90, 90], ['15 coupon drifted']],
    ['that vanishes while it was text', [...times(14, asText(90, 0)), 0], ['15 coupon vanished']],
    ['that vanishes on an open day', [...usual, { ...of(0), state: 'open' }], []],
    [
      'that vanishes on a day after missing days',
      [...usual, ...times(9, undefined), 0],
      ['24 coupon vanished'],
    ],
    ['that vanishes long after the last day', [...usual, ...times(HISTORY_DAYS, undefined), 0], []],
    ['whose ledger entry has no column statistics', [...usual, { rows: 100, values: undefined }, 90], []],
  ])('has the expected changes: a field %s', (_name, days, expected) => {
    expect(found(days)).toEqual(expected);
  });

  it('is not missed if the ledger has only the fullest columns', () => {
    const full = Object.fromEntries(
      Array.from({ length: MAX_FILLED }, (_, index) => [`column_${index}`, 100]),
    );
    const known = { ...full, coupon: 90 };
    expect(
      found([
        ...times(14, { rows: 100, values: { filled: known } }),
        { rows: 100, values: { filled: full } },
      ]),
    ).toEqual([]);
  });
});

describe('a change', () => {
  const detailed = (days: readonly Day[]) => {
    const [change] = schemaChanges(fieldDays(entriesOf(days)), addDays(FIRST, 14));
    return change && { ...change, text: schemaChangeText(change) };
  };

  it.each<[string, Day[], object]>([
    [
      'new',
      [...times(14, 0), 25],
      {
        shareBefore: 0,
        shareAfter: 0.25,
        since: '2026-01-14',
        text: 'coupon is new: 25 % of 100 rows have a value, none of 1400 rows before',
      },
    ],
    [
      'vanished',
      [...usual, 0],
      {
        shareBefore: 0.9,
        shareAfter: 0,
        since: '2026-01-14',
        text: 'coupon has vanished: none of 100 rows has a value, usually 90 % of them',
      },
    ],
    [
      'returned',
      [...times(13, 90), 0, 80],
      {
        shareBefore: 0,
        shareAfter: 0.8,
        since: '2026-01-14',
        text: 'coupon has returned: 80 % of 100 rows have a value again, after it had vanished on 2026-01-14',
      },
    ],
    [
      'drifted',
      [...usual, asText(45, 45)],
      {
        shareBefore: 0,
        shareAfter: 1,
        since: '2026-01-14',
        text: 'coupon no longer fits its type: 45 of its values do not fit and are in _rescued (100 %, usually 0 %)',
      },
    ],
    [
      'null_share',
      [...times(14, 95), 20],
      {
        shareBefore: expect.closeTo(0.05),
        shareAfter: 0.8,
        since: '2026-01-14',
        text: 'coupon is NULL more often: 80 % of 100 rows have no value, usually 5 %',
      },
    ],
  ])('%s has its size, its start and its text', (change, days, expected) => {
    expect(detailed(days)).toMatchObject({
      dt: '2026-01-15',
      column: 'coupon',
      rows: 100,
      change,
      ...expected,
    });
  });
});

describe('the set of changes', () => {
  const shares = fc.array(fc.constantFrom<Day>(0, 0, 50, 90, 90, 100, undefined, asText(40), of(2, 4)), {
    minLength: 20,
    maxLength: 70,
  });

  it('depends on no later day, and on no day before the days of comparison', () => {
    fc.assert(
      fc.property(shares, fc.nat(60), (days, at) => {
        const dt = addDays(FIRST, at);
        const on = (some: readonly [string, DayEntry][]) =>
          schemaChanges(fieldDays(some), dt).filter((change) => change.dt === dt);
        const all = entriesOf(days);
        const needed = all.filter(([day]) => day <= dt && day >= addDays(dt, -HISTORY_DAYS));
        expect(on(needed)).toEqual(on(all));
      }),
    );
  });

  it('does not depend on the order of the days in the ledger', () => {
    fc.assert(
      fc.property(shares, (days) => {
        const all = entriesOf(days);
        expect(schemaChanges(fieldDays(all.toReversed()))).toEqual(schemaChanges(fieldDays(all)));
      }),
    );
  });

  it('is empty if only chance decides which rows have a field', () => {
    let seed = 1;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const drawn = (rows: number, share: number) =>
      of(Array.from({ length: rows }, random).filter((value) => value < share).length, rows);
    const quiet = [0.01, 0.05, 0.2, 0.5, 0.8, 0.97].flatMap((share) =>
      [5, 20, 60, 400].map((rows) => found(Array.from({ length: 300 }, () => drawn(rows, share)))),
    );
    expect(quiet.flat()).toEqual([]);
  });

  it('is news for two weeks', () => {
    const entries = entriesOf([...usual, 0]);
    const seen = (today: string) => newSchemaChanges(entries, today).map(({ change }) => change);
    expect([seen('2026-01-16'), seen('2026-01-29'), seen('2026-01-30')]).toEqual([
      ['vanished'],
      ['vanished'],
      [],
    ]);
  });

  describe('after a release of the service', () => {
    const releasedOn = addDays(FIRST, 60);
    /** A day read before the release has `coupon`; a day read since has `code` and `extra` instead. */
    const before: Day = { ...of(90), committedAt: '2026-02-01T00:00:00.000Z' };
    const since = (days = 0): Day => ({
      rows: 100,
      values: { filled: { id: 100, code: 90, extra: 95 } },
      committedAt: `${addDays(releasedOn, days)}T00:00:00.000Z`,
    });

    it.each<[string, Day[], string[]]>([
      [
        'all later days are read again',
        [...times(14, before), ...times(46, since())],
        ['15 coupon vanished'],
      ],
      [
        'a day settled with the old fields stays among them',
        [...times(14, before), ...times(8, since()), before, ...times(8, since())],
        ['15 coupon vanished'],
      ],
      ['days with the old fields alternate with them', times(20, [before, since(1)]).flat(), []],
      [
        'a day is restated, and has the field that vanished from the days before it',
        [...times(14, before), since(), { ...of(90), committedAt: '2026-03-03T00:00:00.000Z' }],
        ['15 coupon vanished', '16 coupon returned'],
      ],
    ])('has no change on a day that was read before the release: %s', (_name, days, changes) => {
      const ofOldFields = found(days).filter((change) => !/ new$/.test(change));
      expect(ofOldFields).toEqual(changes);
    });

    it('has as news, for two weeks, that the old field has vanished, however old the day is', () => {
      const entries = entriesOf([...times(14, before), ...times(46, since())]);
      const seen = (days: number) =>
        newSchemaChanges(entries, addDays(releasedOn, days)).map(
          ({ dt, column, change, found: foundOn }) => `${dt} ${column} ${change} ${foundOn}`,
        );
      const gone = [`${addDays(FIRST, 14)} coupon vanished ${releasedOn}`];
      expect([seen(0), seen(14), seen(15)]).toEqual([gone, gone, []]);
    });

    it('has a vanished field as news only once, even if older days are re-read too', () => {
      const entries = entriesOf([...times(10, before), ...times(4, since(3)), ...times(46, since())]);
      expect(newSchemaChanges(entries, addDays(releasedOn, 3))).toMatchObject([
        { dt: addDays(FIRST, 10), column: 'coupon', change: 'vanished', found: releasedOn },
      ]);
    });

    it('compares the days of a history, whose newest days are read first', () => {
      const history = (day: Facts, index: number): Facts => {
        const readAtMs = Date.parse('2026-04-01T00:00:00Z') - index * 60_000;
        const at = new Date(readAtMs).toISOString();
        return { ...day, committedAt: at, firstCommittedAt: at };
      };
      const days = [...times(14, of(90)), ...times(20, of(0))].map(history);
      expect(found(days)).toEqual(['15 coupon vanished']);
      expect(newSchemaChanges(entriesOf(days), '2026-04-02')).toEqual([]);
    });

    it('has no news of a field that vanished long ago if its day is restated', () => {
      const restated = { ...of(0), committedAt: `${releasedOn}T00:00:00.000Z` };
      const old = { ...of(0), committedAt: '2026-02-10T00:00:00.000Z' };
      const entries = entriesOf([...times(14, before), restated, ...times(40, old)]);
      expect(newSchemaChanges(entries, releasedOn)).toEqual([]);
    });
  });

  it('does not contain a column from the settings on a day that was not rebuilt', () => {
    const rebuilt: Day = {
      rows: 100,
      values: { filled: { id: 100, amount: 90, amount_string: 90 } },
      committedAt: '2026-03-01T00:00:00.000Z',
    };
    const kept: Day = {
      rows: 100,
      values: { filled: { id: 100, amount: 90 } },
      committedAt: '2026-02-01T00:00:00.000Z',
    };
    expect(found([...times(14, rebuilt), kept, rebuilt])).toEqual([]);
  });
});
