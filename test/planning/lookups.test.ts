import { describe, expect, it } from '@jest/globals';
import { HOUR_MS } from '../../shared/base/days.ts';
import type { RefusedLookup, Slice } from '../../shared/lake/progress.ts';
import {
  EMPTY_LOOKUP_RETRY,
  REFUSED_LOOKUP_RETRY,
  missingAfter,
  refusedLookup,
  refusedSummary,
} from '../../shared/planning/lookups.ts';
import { newestAnswers } from '../../shared/day/staged-records.ts';
import { ownersAmong, recordListOf } from '../../shared/records/record-list.ts';

it('I1: the response of the newest slice that found an upstream record stays', () => {
  const upstream = new Map([
    ['7', {}],
    ['08', {}],
  ]);
  const ofSlice = newestAnswers('click', ownersAmong(upstream));
  const stays = (...clicks: string[]) => {
    const isNewest = ofSlice()(recordListOf(clicks.map((click) => ({ click }))));
    return clicks.filter((_click, index) => isNewest(index));
  };
  expect([stays('7', '7', '9'), stays('7', '8', '9'), stays('7', '08')]).toEqual([['7', '7'], ['8'], []]);
});

const START_MS = Date.parse('2026-03-10T00:00:00.000Z');
const at = (hours: number) => new Date(START_MS + hours * HOUR_MS).toISOString();

interface SliceOptions {
  refused?: RefusedLookup[];
  empty?: string[];
  closed?: boolean;
}

function slice(
  startedAtHours: number,
  { refused = [], empty = [], closed = true }: SliceOptions = {},
): Slice {
  return {
    fromMs: 0,
    toMs: 0,
    whole: true,
    startedAt: at(startedAtHours),
    upstream: { snapshot: 'u', digest: 'd', bytes: 1, closed },
    parts: [
      {
        role: 'include',
        fields: {},
        cursor: null,
        seen: [],
        pages: 1,
        records: 0,
        chunks: [],
        refused,
        empty,
        done: true,
      },
    ],
    observations: {},
    withoutKey: 0,
    done: true,
  };
}

const refused = (key: string, tries = 1) => ({ key, code: 'service_code', tries });
const last = REFUSED_LOOKUP_RETRY.maxAttempts;

/** The waits of a lookup that each slice repeats as soon as it may, in hours. The last wait does not end. */
function waitsOf(answer: (slices: readonly Slice[]) => SliceOptions): (number | undefined)[] {
  const slices: Slice[] = [];
  const waits: (number | undefined)[] = [];
  for (let hours: number | undefined = 0; hours !== undefined && slices.length < 20; ) {
    slices.push(slice(hours, answer(slices)));
    const retryAt: string | undefined = refusedSummary(slices)?.retryAt;
    const next = retryAt === undefined ? undefined : (Date.parse(retryAt) - START_MS) / HOUR_MS;
    waits.push(next === undefined ? undefined : next - hours);
    hours = next;
  }
  return waits;
}

describe('a lookup without a record', () => {
  it('waits twice as long after each refusal, at most a day, and is given up after its last try', () => {
    const waits = waitsOf((slices) => ({
      refused: [refusedLookup('a', 'other_id', missingAfter(slices).get('a'), true)],
    }));
    expect(waits).toEqual([1, 2, 4, 8, 16, 24, 24, undefined]);
    expect(waits).toHaveLength(REFUSED_LOOKUP_RETRY.maxAttempts);
  });

  it('waits four times as long after each empty response, and is given up within four days', () => {
    const waits = waitsOf(() => ({ empty: ['a'] }));
    expect(waits).toEqual([1, 4, 16, 64, undefined]);
    expect(waits).toHaveLength(EMPTY_LOOKUP_RETRY.maxAttempts);
  });

  it('is never given up because of refusals in runs in which the service answered no lookup', () => {
    const waits = waitsOf((slices) => ({
      refused: [refusedLookup('a', 'other_id', missingAfter(slices).get('a'), false)],
    }));
    expect(new Set(waits)).toEqual(new Set([1]));
  });

  it('has all its tries left if it is refused after empty responses', () => {
    const [before] = missingAfter([slice(0, { empty: ['a'] }), slice(1, { empty: ['a'] })]).values();
    expect(before).toMatchObject({ tries: 2 });
    expect(refusedLookup('a', 'c', before, true)).toEqual({ key: 'a', code: 'c', tries: 1 });
  });
});

describe('after several slices', () => {
  const keysAfter = (slices: readonly Slice[]) => [...missingAfter(slices).keys()].sort();
  const openEmpty = slice(0, { empty: ['a'], closed: false });

  it.each<[string, Slice[], string[]]>([
    ['nothing, without slices', [], []],
    ['refused and empty lookups', [slice(0, { refused: [refused('a')], empty: ['b'] })], ['a', 'b']],
    [
      'not a lookup that a clock ahead keeps waiting, after a later slice has found its record',
      [{ ...slice(0, { refused: [refused('a')] }), stagedAt: at(240) }, slice(1)],
      [],
    ],
    [
      'a lookup that was refused again, until its new wait is over',
      [{ ...slice(0, { refused: [refused('a')] }), stagedAt: at(5) }, slice(5.9)],
      ['a'],
    ],
    [
      'a lookup that a later slice did not repeat',
      [slice(0, { refused: [refused('a')] }), slice(0.9)],
      ['a'],
    ],
    [
      'not lookups whose records a later slice found',
      [slice(0, { refused: [refused('a')], empty: ['b'] }), slice(1)],
      [],
    ],
    ['a lookup that was given up', [slice(0, { refused: [refused('a', last)] }), slice(99)], ['a']],
    [
      'an empty lookup of the open day, until the day is closed',
      [openEmpty, slice(9, { closed: false })],
      ['a'],
    ],
    ['not a lookup whose record the closed day has', [openEmpty, slice(9)], []],
  ])('lists as missing: %s', (_name, slices, keys) => {
    expect(keysAfter(slices)).toEqual(keys);
  });

  it.each<[string, SliceOptions, object | undefined]>([
    ['nothing, if nothing is missing', {}, undefined],
    [
      'the number of refused lookups, and the first retry',
      { refused: [refused('a', 3), refused('b'), refused('g', last)] },
      { count: 3, retryAt: at(1) },
    ],
    ['the number of refused lookups, after all tries', { refused: [refused('g', last)] }, { count: 1 }],
    ['the first retry, if no lookup was refused', { empty: ['a'] }, { count: 0, empty: 1, retryAt: at(1) }],
    ['nothing for an empty lookup of the open day', { empty: ['a'], closed: false }, undefined],
  ])('records in the ledger %s', (_name, options, summary) => {
    expect(refusedSummary([slice(0, options)])).toEqual(summary);
  });
});
