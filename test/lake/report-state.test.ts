import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../../shared/base/json.ts';
import {
  type KnownMonth,
  type ReportState,
  type SeenMonths,
  recordMonths,
  mayBeDue,
  monthContent,
  NO_STATE,
  parseBrandState,
  markMonthsDirty,
} from '../../shared/lake/report-state.ts';
import { brandStateKey } from '../../shared/lake/paths.ts';
import { readAt } from '../planning/entries.ts';

const KEY = brandStateKey('acme');
const NOW = '2026-03-10T10:00:00.000Z';
const NOW_MS = Date.parse(NOW);
const MONTH = '2026-02';

const parse = parseBrandState(KEY);
const empty = NO_STATE;
const me = { id: 'mine', nowMs: NOW_MS };

function stateOf(known: KnownMonth): ReportState {
  return { ...empty, policy: 'p1', months: { [MONTH]: known } };
}

/** The months that a run saw if it read this state before the ledgers. */
function seenIn({ months }: ReportState): SeenMonths {
  return new Map(Object.entries(months));
}

function dirtyBy(dirty: string): ReportState {
  return stateOf({ nextDue: null, dirty });
}

describe('a month of the report state', () => {
  it.each<[string, ReportState, boolean]>([
    ['it is unknown', empty, true],
    [
      'only other months are known',
      { ...stateOf({ nextDue: null }), months: { '2026-01': { nextDue: null } } },
      true,
    ],
    ['its due time has come', stateOf({ nextDue: NOW }), true],
    ['its due time has come, as the last run computed', stateOf({ nextDue: NOW, asOf: NOW }), true],
    ['its due time has not come', stateOf({ nextDue: '2026-03-10T10:00:00.001Z', asOf: NOW }), false],
    ['it was due when the run left it', stateOf({ nextDue: '2026-03-10T10:00:00.001Z' }), true],
    ['all its days are settled', stateOf({ nextDue: null, asOf: NOW }), false],
    ['it was computed for another policy', { ...stateOf({ nextDue: null }), policy: 'p0' }, true],
    ['a run is at work in it', dirtyBy('other'), true],
  ])('may have due days, or not: %s', (_name, state, expected) => {
    expect(mayBeDue(state, 'p1', MONTH, NOW_MS)).toBe(expected);
  });
});

describe('a month of a report that looks up another report', () => {
  const upstreamOf = (known: KnownMonth) => stateOf(known);
  const settled = { nextDue: null, asOf: NOW };
  const examined = stateOf({ ...settled, upstream: 'c1' });

  it.each<[string, ReportState, ReportState, boolean]>([
    [
      'the upstream month has the examined content',
      examined,
      upstreamOf({ ...settled, content: 'c1' }),
      false,
    ],
    [
      'the upstream month has the examined content and is due',
      examined,
      upstreamOf({ nextDue: NOW, content: 'c1' }),
      false,
    ],
    ['the upstream month has changed', examined, upstreamOf({ ...settled, content: 'c2' }), true],
    ['a run is at work in the upstream month', examined, dirtyBy('other'), true],
    [
      'a run is at work in the upstream month, which still has the examined content',
      examined,
      upstreamOf({ nextDue: null, asOf: NOW, content: 'c1', dirty: 'other' }),
      true,
    ],
    ['the upstream month is unknown', examined, empty, true],
    ['the content of the upstream month is unknown', examined, upstreamOf(settled), true],
    ['the examined content is unknown', stateOf(settled), upstreamOf({ ...settled, content: 'c1' }), true],
    ['both contents are unknown', stateOf(settled), upstreamOf(settled), true],
  ])('may have due days, or not: %s', (_name, state, upstream, expected) => {
    expect(mayBeDue(state, 'p1', MONTH, NOW_MS, upstream)).toBe(expected);
  });
});

describe('the content of a month', () => {
  const contentOf = (days: Parameters<typeof monthContent>[0]['days']) => monthContent({ days });
  const closed = readAt(NOW, { digest: 'd1' });
  const base = contentOf({ '2026-02-01': closed });

  it.each([
    ['another day is committed', { '2026-02-01': closed, '2026-02-02': closed }],
    ['it belongs to another day', { '2026-02-02': closed }],
    ['records changed', { '2026-02-01': readAt(NOW, { digest: 'd2' }) }],
    ['the day is not closed', { '2026-02-01': readAt(NOW, { digest: 'd1', state: 'open' as const }) }],
    ['nothing is committed', { '2026-02-01': {} }],
  ])('differs if %s', (_name, days) => {
    expect(contentOf(days)).not.toBe(base);
  });

  it.each([
    [
      'the day was read again without changes',
      { '2026-02-01': readAt('2026-04-01T00:00:00.000Z', { digest: 'd1', state: 'settled' }) },
    ],
    ['the month has a day without a commit', { '2026-02-03': {}, '2026-02-01': closed }],
  ])('is the same if %s', (_name, days) => {
    expect(contentOf(days)).toBe(base);
  });
});

describe('a run at work in months', () => {
  const mark = 'mine';

  it('I4: marks them dirty first, so that later runs examine them if it dies', () => {
    const before = stateOf({ nextDue: null, asOf: NOW });
    const state = markMonthsDirty(before, [MONTH, '2026-03'], mark, seenIn(before));
    expect(state.months).toEqual({
      [MONTH]: { nextDue: null, dirty: mark },
      '2026-03': { nextDue: null, dirty: mark },
    });
    for (const month of [MONTH, '2026-03']) expect(mayBeDue(state, 'p1', month, NOW_MS)).toBe(true);
  });

  it('writes nothing if all months are already marked', () => {
    const state = markMonthsDirty(empty, [MONTH], mark, new Map());
    expect(markMonthsDirty(state, [MONTH], mark, seenIn(state))).toBe(state);
    expect(markMonthsDirty(empty, [], mark, new Map())).toBe(empty);
  });

  it.each([
    ['is at work there', dirtyBy('other'), dirtyBy('other')],
    ['began there since', dirtyBy('other'), stateOf({ nextDue: null, asOf: NOW })],
    ['has ended there since', stateOf({ nextDue: NOW, asOf: NOW }), stateOf({ nextDue: null, asOf: NOW })],
  ])('I5: notes that another run %s', (_name, now, before) => {
    const { months } = markMonthsDirty(now, [MONTH], mark, seenIn(before));
    expect(months[MONTH]).toEqual({ nextDue: null, dirty: 'several' });
  });

  it('changes no other month and no other hint', () => {
    const before = { ...stateOf({ nextDue: null }), hasReturnedRecords: true, probedEndDate: 'whole_day' };
    expect(markMonthsDirty(before, ['2026-03'], mark, seenIn(before))).toEqual({
      ...before,
      months: { ...before.months, '2026-03': { nextDue: null, dirty: mark } },
    });
  });
});

describe('a run that ends', () => {
  const examined = (dueMs: number | null) => new Map([[MONTH, { dueMs, content: 'c1' }]]);
  const record = (state: ReportState, dueMs: number | null, seen = seenIn(state)) =>
    recordMonths(state, examined(dueMs), 'p1', { ...me, seen });
  /** Makes the next run read the month. */
  const unknown = stateOf({ nextDue: NOW });

  it.each<[string, ReportState]>([
    ['it has marked', dirtyBy('mine')],
    ['no run has marked', stateOf({ nextDue: null })],
    ['the state does not have', { ...empty, policy: 'p1' }],
  ])('records the next due time of a month that %s', (_name, state) => {
    expect(record(state, NOW_MS + 1)).toEqual(
      stateOf({ nextDue: '2026-03-10T10:00:00.001Z', asOf: NOW, content: 'c1' }),
    );
    expect(record(state, null)).toEqual(stateOf({ nextDue: null, asOf: NOW, content: 'c1' }));
  });

  it.each<[string, ReportState, ReportState]>([
    ['has ended there since', stateOf({ nextDue: null, asOf: NOW }), stateOf({ nextDue: NOW, asOf: NOW })],
    ['was at work there when it began', dirtyBy('several'), empty],
    ['is at work or died there', dirtyBy('other'), dirtyBy('other')],
    [
      'was there before a restore forgot the month',
      { ...empty, policy: 'p1' },
      stateOf({ nextDue: null, asOf: NOW }),
    ],
  ])('I5: makes the next run read the month if another run %s', (_name, state, before) => {
    for (const dueMs of [null, NOW_MS, NOW_MS + 1])
      expect(record(state, dueMs, seenIn(before))).toEqual(unknown);
    expect(mayBeDue(unknown, 'p1', MONTH, NOW_MS)).toBe(true);
  });

  it('I11: hides no due day from a run with an earlier current time than the run that computed it', () => {
    const settled = record(empty, null);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS)).toBe(false);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS - 1)).toBe(true);
  });

  it.each([
    ['the first', 'mine', 'other'],
    ['the last', 'other', 'mine'],
  ])(
    'I5: makes the next run read a month in which two runs worked, if it is %s to end',
    (_name, first, last) => {
      const mine = markMonthsDirty(empty, [MONTH], 'mine', new Map());
      const both = markMonthsDirty(mine, [MONTH], 'other', seenIn(mine));
      const gone = recordMonths(both, examined(null), 'p1', { ...me, id: first, seen: seenIn(mine) });
      expect(gone).toEqual(unknown);
      expect(recordMonths(gone, examined(null), 'p1', { ...me, id: last, seen: new Map() })).toEqual(unknown);
    },
  );

  it('writes nothing if the state is already the same', () => {
    const state = stateOf({ nextDue: NOW, content: 'c1' });
    expect(record(state, NOW_MS)).toBe(state);
  });

  it('drops due times of another policy, but keeps the marks of other runs', () => {
    const others = { nextDue: null, dirty: 'other' };
    const state: ReportState = {
      ...empty,
      policy: 'p0',
      months: { '2026-01': { nextDue: null }, '2026-02': { nextDue: null }, '2026-03': others },
    };
    expect(record(state, NOW_MS)).toEqual({
      ...state,
      policy: 'p1',
      months: { '2026-02': { nextDue: NOW, content: 'c1' }, '2026-03': others },
    });
  });
});

describe('a stored report state', () => {
  const full: ReportState = {
    ...dirtyBy('other'),
    months: {
      [MONTH]: { nextDue: null, dirty: 'several' },
      '2026-03': { nextDue: NOW, asOf: NOW, content: 'c1', upstream: 'c2' },
    },
    continuations: { '2026-01-01..2026-01-05': { id: 'q1', since: NOW } },
    hasReturnedRecords: true,
    probedEndDate: 'whole_day',
    vacuumedAt: NOW,
    examinedAt: NOW,
  };
  const stored = (state: object) => ({ version: 1, reports: { order_list: state }, recentWrites: ['w1'] });

  it('has no hints if no state is stored', () => {
    expect(parse(undefined)).toEqual({ version: 1, reports: {}, recentWrites: [] });
    expect(empty).toEqual({ policy: '', months: {}, continuations: {}, hasReturnedRecords: false });
  });

  it('is read exactly as it was written', () => {
    expect(parse(parseJson(JSON.stringify(stored(full))))).toEqual(stored(full));
  });

  it('is refused with its key and the field if a time does not exist', () => {
    const value = stored({ ...full, months: { [MONTH]: { nextDue: '2026-02-30T00:00:00.000Z' } } });
    expect(() => parse(parseJson(JSON.stringify(value)))).toThrow(
      expect.objectContaining({ code: 'damaged_document', message: expect.stringContaining('nextDue') }),
    );
  });
});
