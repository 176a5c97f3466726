import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../../shared/base/json.ts';
import {
  type KnownMonth,
  type ReportState,
  recordMonths,
  mayBeDue,
  NO_STATE,
  parseBrandState,
  withoutHints,
} from '../../shared/lake/report-state.ts';
import { brandStateKey } from '../../shared/lake/paths.ts';

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

describe('a run at work in months', () => {
  it('I4: removes their due times first, so that later runs examine them if it dies', () => {
    const before = { ...stateOf({ nextDue: null, asOf: NOW, hasDays: true }), hasReturnedRecords: true };
    const state = withoutHints(before, [MONTH, '2026-03']);
    expect(state).toEqual({ ...before, months: { [MONTH]: { nextDue: null, hasDays: true } } });
    for (const month of [MONTH, '2026-03']) expect(mayBeDue(state, 'p1', month, NOW_MS)).toBe(true);
    expect(withoutHints(state, [MONTH])).toBe(state);
    expect(withoutHints(before, ['2026-03'])).toBe(before);
  });
});

describe('a run that ends', () => {
  const record = (state: ReportState, dueMs: number | null) =>
    recordMonths(state, new Map([[MONTH, { dueMs, hasDays: true }]]), 'p1', NOW_MS);

  it('records the next due time of each month', () => {
    for (const state of [stateOf({ nextDue: null }), { ...empty, policy: 'p1' }]) {
      expect(record(state, NOW_MS + 1)).toEqual(
        stateOf({ nextDue: '2026-03-10T10:00:00.001Z', asOf: NOW, hasDays: true }),
      );
      expect(record(state, null)).toEqual(stateOf({ nextDue: null, asOf: NOW, hasDays: true }));
      expect(record(state, NOW_MS)).toEqual(stateOf({ nextDue: NOW, hasDays: true }));
    }
  });

  it('I11: hides no due day from a run with an earlier current time than the run that computed it', () => {
    const settled = record(empty, null);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS)).toBe(false);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS - 1)).toBe(true);
  });

  it('writes nothing if the state is already the same', () => {
    const state = stateOf({ nextDue: NOW, hasDays: true });
    expect(record(state, NOW_MS)).toBe(state);
  });

  it('keeps the other months, unless another policy made their due times', () => {
    const months = { '2026-01': { nextDue: NOW } };
    const own = { [MONTH]: { nextDue: NOW, hasDays: true } };
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
      '2026-03': { nextDue: NOW, asOf: NOW, hasDays: true },
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
