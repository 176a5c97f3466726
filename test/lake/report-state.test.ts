import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../../shared/base/json.ts';
import {
  type KnownMonth,
  type ReportState,
  recordMonths,
  mayBeDue,
  monthContent,
  NO_STATE,
  parseBrandState,
  withoutHints,
} from '../../shared/lake/report-state.ts';
import { brandStateKey } from '../../shared/lake/paths.ts';
import { readAt } from '../planning/entries.ts';

const KEY = brandStateKey('acme');
const NOW = '2026-03-10T10:00:00.000Z';
const NOW_MS = Date.parse(NOW);
const MONTH = '2026-02';

const parse = parseBrandState(KEY);
const empty = NO_STATE;

function stateOf(known: KnownMonth): ReportState {
  return { ...empty, policy: 'p1', months: { [MONTH]: known } };
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
    ['a run is at work in it', stateOf({ nextDue: null }), true],
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
      upstreamOf({ nextDue: NOW, asOf: NOW, content: 'c1' }),
      false,
    ],
    ['the upstream month has changed', examined, upstreamOf({ ...settled, content: 'c2' }), true],
    [
      'a run is at work in the upstream month, which still has the examined content',
      examined,
      upstreamOf({ nextDue: null, content: 'c1' }),
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
  it('I4: removes their due times first, so that later runs examine them if it dies', () => {
    const before = { ...stateOf({ nextDue: null, asOf: NOW, content: 'c1' }), hasReturnedRecords: true };
    const state = withoutHints(before, [MONTH, '2026-03']);
    expect(state).toEqual({ ...before, months: { [MONTH]: { nextDue: null, content: 'c1' } } });
    for (const month of [MONTH, '2026-03']) expect(mayBeDue(state, 'p1', month, NOW_MS)).toBe(true);
    expect(withoutHints(state, [MONTH])).toBe(state);
    expect(withoutHints(before, ['2026-03'])).toBe(before);
  });
});

describe('a run that ends', () => {
  const record = (state: ReportState, dueMs: number | null) =>
    recordMonths(state, new Map([[MONTH, { dueMs, content: 'c1' }]]), 'p1', NOW_MS);

  it('records the next due time of each month', () => {
    for (const state of [stateOf({ nextDue: null }), { ...empty, policy: 'p1' }]) {
      expect(record(state, NOW_MS + 1)).toEqual(
        stateOf({ nextDue: '2026-03-10T10:00:00.001Z', asOf: NOW, content: 'c1' }),
      );
      expect(record(state, null)).toEqual(stateOf({ nextDue: null, asOf: NOW, content: 'c1' }));
      expect(record(state, NOW_MS)).toEqual(stateOf({ nextDue: NOW, content: 'c1' }));
    }
  });

  it('I11: hides no due day from a run with an earlier current time than the run that computed it', () => {
    const settled = record(empty, null);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS)).toBe(false);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS - 1)).toBe(true);
  });

  it('writes nothing if the state is already the same', () => {
    const state = stateOf({ nextDue: NOW, content: 'c1' });
    expect(record(state, NOW_MS)).toBe(state);
  });

  it('keeps the other months, unless another policy made their due times', () => {
    const months = { '2026-01': { nextDue: NOW } };
    const own = { [MONTH]: { nextDue: NOW, content: 'c1' } };
    expect(record({ ...empty, policy: 'p1', months }, NOW_MS).months).toEqual({ ...months, ...own });
    expect(record({ ...empty, policy: 'p0', months }, NOW_MS).months).toEqual(own);
  });
});

describe('a stored report state', () => {
  const full: ReportState = {
    ...empty,
    policy: 'p1',
    months: {
      [MONTH]: { nextDue: null },
      '2026-03': { nextDue: NOW, asOf: NOW, content: 'c1', upstream: 'c2' },
    },
    continuations: { '2026-01-01..2026-01-05': { id: 'q1', since: NOW } },
    hasReturnedRecords: true,
    probedEndDate: 'whole_day',
    vacuumedAt: NOW,
    examinedAt: NOW,
  };
  const stored = (state: object) => ({ reports: { order_list: state }, recentWrites: ['w1'] });

  it('has no hints if no state is stored', () => {
    expect(parse(undefined)).toEqual({ reports: {}, recentWrites: [] });
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
