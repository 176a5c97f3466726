import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../../../shared/json.ts';
import { CasDocument } from '../../../shared/lake/documents/cas-document.ts';
import {
  type MonthIndex,
  latestRecordedMs,
  recordDueTimes,
  mayBeDue,
  parseMonthIndex,
  markMonthsDirty,
} from '../../../shared/lake/documents/month-index.ts';
import { indexKey } from '../../../shared/lake/paths.ts';
import { memoryStore } from '../../fakes/memory-store.ts';

const KEY = indexKey('order_list', 'acme');
const NOW = '2026-03-10T10:00:00.000Z';
const NOW_MS = Date.parse(NOW);
const HOUR_MS = 3_600_000;
const MONTH = '2026-02';

const parse = parseMonthIndex(KEY);
const empty = parse(undefined);
const mine = { id: 'mine', wallMs: NOW_MS, nowMs: NOW_MS };

function indexOf(known: MonthIndex['months'][string]): MonthIndex {
  return { ...empty, policy: 'p1', months: { [MONTH]: known } };
}

function dirtyBy(by: string, agoMs = 0): MonthIndex {
  return indexOf({ nextDue: null, dirty: { by, at: new Date(NOW_MS - agoMs).toISOString() } });
}

describe('a month of the index', () => {
  it.each<[string, MonthIndex, boolean]>([
    ['nothing is known of it', empty, true],
    [
      'only others are known',
      { ...indexOf({ nextDue: null }), months: { '2026-01': { nextDue: null } } },
      true,
    ],
    ['its time has come', indexOf({ nextDue: NOW }), true],
    ['its time has come, as the last run said', indexOf({ nextDue: NOW, asOf: NOW }), true],
    ['its time has not come', indexOf({ nextDue: '2026-03-10T10:00:00.001Z', asOf: NOW }), false],
    ['it was due when it was left', indexOf({ nextDue: '2026-03-10T10:00:00.001Z' }), true],
    ['all of it is settled', indexOf({ nextDue: null, asOf: NOW }), false],
    ['it was reckoned by another policy', { ...indexOf({ nextDue: null }), policy: 'p0' }, true],
    ['it was settled by another policy', { ...indexOf({ nextDue: null, asOf: NOW }), policy: 'p0' }, true],
    ['a run is at work in it', dirtyBy('other'), true],
    ['a run that died was at work in it', dirtyBy('other', 1_000 * HOUR_MS), true],
  ])('may have due days, or none: %s', (_name, index, expected) => {
    expect(mayBeDue(index, 'p1', MONTH, NOW_MS)).toBe(expected);
  });
});

describe('a run at work in months', () => {
  const mark = { by: 'mine', at: NOW };

  it('I4: marks them dirty first, so that later runs examine them if it dies', () => {
    const index = markMonthsDirty(indexOf({ nextDue: null }), [MONTH, '2026-03'], mark);
    expect(index.months).toEqual({
      [MONTH]: { nextDue: null, dirty: mark },
      '2026-03': { nextDue: null, dirty: mark },
    });
    for (const month of [MONTH, '2026-03']) expect(mayBeDue(index, 'p1', month, NOW_MS)).toBe(true);
  });

  it('writes nothing where all are already marked', () => {
    const index = markMonthsDirty(empty, [MONTH], mark);
    expect(markMonthsDirty(index, [MONTH], { by: 'mine', at: '2026-03-10T11:00:00.000Z' })).toBe(index);
    expect(markMonthsDirty(empty, [], mark)).toBe(empty);
  });

  it('changes no other month and no other hint', () => {
    const before = { ...indexOf({ nextDue: null }), hasReturnedRecords: true, endDate: 'whole_day' };
    expect(markMonthsDirty(before, ['2026-03'], mark)).toEqual({
      ...before,
      months: { ...before.months, '2026-03': { nextDue: null, dirty: mark } },
    });
  });
});

describe('a run that ends', () => {
  const due = (dueMs: number | null) => new Map([[MONTH, dueMs]]);

  it.each<[string, MonthIndex]>([
    ['it has marked', dirtyBy('mine')],
    ['no run has marked', indexOf({ nextDue: null })],
    ['it knows nothing of', { ...empty, policy: 'p1' }],
    ['a run has marked that is long gone', dirtyBy('other', HOUR_MS)],
  ])('records when a month is next due that %s', (_name, index) => {
    expect(recordDueTimes(index, due(NOW_MS + 1), 'p1', mine)).toEqual(
      indexOf({ nextDue: '2026-03-10T10:00:00.001Z', asOf: NOW }),
    );
    expect(recordDueTimes(index, due(null), 'p1', mine)).toEqual(indexOf({ nextDue: null, asOf: NOW }));
  });

  it('I11: hides nothing from a run with an earlier current time than the run that computed it', () => {
    const settled = recordDueTimes(empty, due(null), 'p1', mine);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS)).toBe(false);
    expect(mayBeDue(settled, 'p1', MONTH, NOW_MS - 1)).toBe(true);
  });

  it('I5: leaves a month alone that another run marked within the hour', () => {
    const index = dirtyBy('other', HOUR_MS - 1);
    expect(recordDueTimes(index, due(null), 'p1', mine)).toBe(index);
  });

  it('writes nothing where the index says so already', () => {
    const index = indexOf({ nextDue: NOW });
    expect(recordDueTimes(index, due(NOW_MS), 'p1', mine)).toBe(index);
  });

  it('keeps what other months say, and its policy even where no month is there', () => {
    const index = { ...empty, policy: 'p1', months: { '2026-01': { nextDue: NOW } } };
    expect(recordDueTimes(index, due(NOW_MS), 'p1', mine).months).toEqual({
      '2026-01': { nextDue: NOW },
      [MONTH]: { nextDue: NOW },
    });
    expect(recordDueTimes(empty, new Map(), 'p1', mine)).toEqual({ ...empty, policy: 'p1' });
  });

  it('drops due times of another policy, but keeps the marks of active runs', () => {
    const others = { nextDue: null, dirty: { by: 'other', at: NOW } };
    const index: MonthIndex = {
      ...empty,
      policy: 'p0',
      months: { '2026-01': { nextDue: null }, '2026-02': { nextDue: null }, '2026-03': others },
    };
    expect(recordDueTimes(index, due(NOW_MS), 'p1', mine)).toEqual({
      ...index,
      policy: 'p1',
      months: { '2026-02': { nextDue: NOW }, '2026-03': others },
    });
  });
});

describe('the latest time that a run has recorded', () => {
  const earlier = '2026-03-09T10:00:00.000Z';
  const months = {
    '2026-01': { nextDue: null, asOf: earlier },
    '2026-02': { nextDue: '2027-01-01T00:00:00.000Z' },
  };

  it.each<[string, Partial<MonthIndex>, number]>([
    ['none, where nothing was', {}, 0],
    ['none, where no month has one', { months: { '2026-02': { nextDue: NOW } } }, 0],
    ['that of a month', { months }, Date.parse(earlier)],
    ['that of the latest month', { months: { ...months, '2026-03': { nextDue: null, asOf: NOW } } }, NOW_MS],
    ['that of the vacuum, where it is later', { months, vacuumedAt: NOW }, NOW_MS],
    [
      'that of a month, where the vacuum was earlier',
      { months, vacuumedAt: '2026-03-01T00:00:00.000Z' },
      Date.parse(earlier),
    ],
  ])('is %s', (_name, change, latestMs) => {
    expect(latestRecordedMs({ ...empty, ...change })).toBe(latestMs);
  });
});

describe('a stored index', () => {
  const full: MonthIndex = {
    ...dirtyBy('other'),
    continuations: { '2026-01-01..2026-01-05': { id: 'q1', since: NOW } },
    hasReturnedRecords: true,
    endDate: 'whole_day',
    vacuumedAt: NOW,
    recentWrites: ['w1'],
  };

  it('has no hints where none is stored', () => {
    expect(empty).toEqual({
      version: 1,
      policy: '',
      months: {},
      continuations: {},
      hasReturnedRecords: false,
      recentWrites: [],
    });
  });

  it('is read exactly as it was written, including fields that a later version has added', () => {
    const later = { ...full, months: { [MONTH]: { nextDue: NOW, weight: 7 } }, color: 'blue' };
    for (const index of [full, later]) expect(parse(parseJson(JSON.stringify(index)))).toEqual(index);
  });

  const broken = (change: object): unknown => ({ ...full, ...change });
  const brokenMonth = (change: object): unknown =>
    broken({ months: { [MONTH]: { nextDue: NOW, ...change } } });

  it.each<[string, unknown, string]>([
    ['null', null, 'the document'],
    ['a list', [], 'the document'],
    ['another version', broken({ version: 2 }), 'version is 2'],
    ['no policy', broken({ policy: undefined }), 'policy'],
    ['months as a list', broken({ months: [] }), 'months'],
    ['no months', broken({ months: undefined }), 'months'],
    ['a month without a due time', brokenMonth({ nextDue: undefined }), 'nextDue'],
    ['a month due at no time', brokenMonth({ nextDue: 'soon' }), 'nextDue is "soon"'],
    ['a month due on no day', brokenMonth({ nextDue: '2026-02-30T00:00:00.000Z' }), 'nextDue'],
    ['a mark at no time', brokenMonth({ dirty: { by: 'other', at: '' } }), 'dirty.at is ""'],
    ['a mark without a run', brokenMonth({ dirty: { at: NOW } }), 'dirty.by'],
    ['a request since no time', broken({ continuations: { due: { id: 'q', since: 'x' } } }), 'since is "x"'],
    ['a request without an id', broken({ continuations: { due: { since: NOW } } }), 'continuations.due.id'],
    ['proof that is a text', broken({ hasReturnedRecords: 'yes' }), 'hasReturnedRecords is "yes"'],
    ['a vacuum at no time', broken({ vacuumedAt: 'x' }), 'vacuumedAt is "x"'],
    ['no recent writes', broken({ recentWrites: {} }), 'recentWrites'],
  ])('is refused with its key and the field, and is not changed: %s', async (_name, value, place) => {
    const store = memoryStore();
    const body = Buffer.from(JSON.stringify(value));
    await store.put(KEY, body, { ifAbsent: true });
    const document = new CasDocument({ store, key: KEY, parse, newId: () => 'w2', pause: async () => {} });
    const refusal = { kind: 'config', code: 'damaged_document', message: expect.stringContaining(KEY) };
    await expect(document.update((index) => ({ ...index, hasReturnedRecords: true }))).rejects.toMatchObject(
      refusal,
    );
    await expect(document.refresh()).rejects.toThrow(place);
    expect(Buffer.from(store.objects.get(KEY)?.body ?? []).equals(body)).toBe(true);
  });
});
