import { describe, expect, it } from '@jest/globals';
import { HOUR_MS } from '../../shared/days.ts';
import type { RefusedLookup, Slice } from '../../shared/lake/documents/progress.ts';
import {
  LOOKUP_RETRY,
  isDue,
  refusedAfter,
  refusedLookup,
  refusedSummary,
  newestAnswers,
} from '../../shared/planning/lookups.ts';
import { ownersAmong, recordListOf } from '../../shared/records/record-list.ts';

it('I1: the newest slice that found a record of the upstream day has the answer that stays', () => {
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

function slice(startedAtHours: number, refused: RefusedLookup[]): Slice {
  return {
    fromMs: 0,
    toMs: 0,
    whole: true,
    startedAt: at(startedAtHours),
    parts: [
      {
        role: 'include',
        fields: {},
        cursor: null,
        seen: [],
        pages: 1,
        recordPages: 0,
        records: 0,
        chunks: [],
        refused,
        done: true,
      },
    ],
    observations: {},
    withoutKey: 0,
    done: true,
  };
}

const once = (key: string, hours = 1) => ({ key, code: 'service_code', tries: 1, retryAt: at(hours) });
const givenUp = { key: 'g', code: 'other_id', tries: 8 };

describe('a refused lookup', () => {
  it('waits twice as long each time, a day at most, and is given up after its last try', () => {
    const waits: (number | undefined)[] = [];
    let before: RefusedLookup | undefined;
    for (let tries = 1; tries <= LOOKUP_RETRY.maxAttempts; tries += 1) {
      before = refusedLookup('a', 'other_id', before, START_MS);
      expect(before).toMatchObject({ key: 'a', code: 'other_id', tries });
      waits.push(
        before.retryAt === undefined ? undefined : (Date.parse(before.retryAt) - START_MS) / HOUR_MS,
      );
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 24, 24, undefined]);
  });

  it.each<[string, RefusedLookup, number, boolean]>([
    ['not before its wait is over', once('a'), HOUR_MS - 1, false],
    ['when its wait is over', once('a'), HOUR_MS, true],
    ['never again once it is given up', givenUp, 1000 * HOUR_MS, false],
  ])('is due %s', (_name, refused, afterMs, due) => {
    expect(isDue(refused, START_MS + afterMs)).toBe(due);
  });
});

describe('after some slices', () => {
  it.each<[string, Slice[], RefusedLookup[]]>([
    ['is nothing without slices', [], []],
    ['is what the slice was refused', [slice(0, [once('a'), givenUp])], [once('a'), givenUp]],
    ['keeps what a later slice did not ask for', [slice(0, [once('a')]), slice(0.5, [])], [once('a')]],
    ['lacks what a later slice asked for and found', [slice(0, [once('a')]), slice(1, [])], []],
    [
      'has the last refusal of what a later slice asked for',
      [slice(0, [once('a'), once('b')]), slice(1, [{ ...once('a', 3), tries: 2 }])],
      [{ ...once('a', 3), tries: 2 }],
    ],
    ['keeps what was given up', [slice(0, [givenUp]), slice(99, [])], [givenUp]],
  ])('what is refused %s', (_name, slices, refused) => {
    expect([...refusedAfter(slices).values()]).toEqual(refused);
  });

  it.each<[string, RefusedLookup[], object | undefined]>([
    ['nothing', [], undefined],
    [
      'their number and the earliest retry',
      [once('a', 3), once('b', 1), givenUp],
      { count: 3, retryAt: at(1) },
    ],
    ['their number alone, where all are given up', [givenUp], { count: 1 }],
  ])('what is refused is %s in the ledger', (_name, refused, summary) => {
    expect(refusedSummary([slice(0, refused)])).toEqual(summary);
  });
});
