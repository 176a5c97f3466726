import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Json, parseJson, rawNumber, stringifyJson } from '../../shared/base/json.ts';
import {
  type SlicePart,
  type Progress,
  type Slice,
  type StagedGroup,
  parseProgress,
  withStagedGroup,
} from '../../shared/lake/progress.ts';
import { assertOwn } from '../../shared/day/claim.ts';
import { emptySlice } from '../../shared/planning/attempt-decision.ts';
import { HOSTILE_IDS } from '../fixtures/hostile-ids.ts';

const KEY = 'raw/order_list/brand=acme/dt=2026-01-05/a1/progress.json';
const AT = '2026-01-06T10:00:00.000Z';

const window = { fromMs: 0, toMs: 86_400_000, whole: true, startedAt: AT };
const queries = [
  { role: 'include', fields: { start_time: 0, end_time: 86_400, publisher_id: '7' } },
  { role: 'exclude', fields: { start_time: 86_400, end_time: 86_400 } },
] as const;

const part: SlicePart = {
  ...queries[0],
  cursor: '2',
  last: { cursor: '1', hash: 'h1' },
  seen: ['c1'],
  pages: 1,
  records: 2,
  chunks: [{ name: 'chunk-000000.json-seq.zst', records: 2 }],
  done: false,
};

function progressOf(...slices: Slice[]): Progress {
  return {
    queryFingerprint: 'as-now',
    run: 'r1',
    slices,
    recentWrites: [],
  };
}

function groupOf(change: Partial<StagedGroup> = {}): StagedGroup {
  return {
    part: 0,
    chunk: { name: 'chunk-000000.json-seq.zst', records: 2 },
    cursor: '2',
    last: { cursor: '1', hash: 'h1' },
    seen: ['c1'],
    pages: 1,
    records: 2,
    refused: [],
    empty: [],
    observations: { id: 1 },
    withoutKey: 0,
    done: false,
    stagedAt: AT,
    ...change,
  };
}

function lastSlice({ slices }: Progress): Slice {
  const slice = slices.at(-1);
  if (!slice) throw new Error('no slice');
  return slice;
}

describe('a staged group', () => {
  it('I4: advances its part’s cursor together with its chunk, and changes nothing else', () => {
    const before = progressOf({ ...emptySlice(window, queries), done: true }, emptySlice(window, queries));
    const after = withStagedGroup(before, groupOf());
    expect(after.slices).toHaveLength(2);
    expect(after.slices[0]).toBe(before.slices[0]);
    expect(lastSlice(after)).toEqual({
      ...lastSlice(before),
      parts: [part, lastSlice(before).parts[1]],
      observations: { id: 1 },
      stagedAt: AT,
    });
  });

  it('adds the refused lookups to the refused lookups of earlier groups', () => {
    const [one, two] = ['1', '2'].map((key) => ({ key, code: 'c', tries: 1 }));
    if (!one || !two) throw new Error('there are two');
    const refusedAfter = (...groups: (typeof one)[][]) =>
      lastSlice(
        groups.reduce(
          (progress, refused) => withStagedGroup(progress, groupOf({ refused })),
          progressOf(emptySlice(window, queries)),
        ),
      ).parts[0];
    expect(refusedAfter([])).not.toHaveProperty('refused');
    expect(refusedAfter([one])?.refused).toEqual([one]);
    expect(refusedAfter([one], [], [two])?.refused).toEqual([one, two]);
  });

  it('keeps the page to fetch again if the group has no page', () => {
    const once = withStagedGroup(progressOf(emptySlice(window, queries)), groupOf());
    const twice = withStagedGroup(once, groupOf({ last: undefined, cursor: '3' }));
    expect(lastSlice(twice).parts[0]).toMatchObject({ last: { cursor: '1', hash: 'h1' }, cursor: '3' });
  });

  it('I8: keeps the cursors of a part until its end is proven', () => {
    const once = withStagedGroup(progressOf(emptySlice(window, queries)), groupOf());
    const twice = withStagedGroup(once, groupOf({ seen: ['c2', 'c3'] }));
    expect(lastSlice(twice).parts[0]?.seen).toEqual(['c1', 'c2', 'c3']);
    const ended = withStagedGroup(twice, groupOf({ seen: ['c4'], cursor: null, done: true }));
    expect(lastSlice(ended).parts[0]).toMatchObject({ seen: [], cursor: null, done: true });
  });

  it('I2: ends the slice only with its last part', () => {
    const ended = groupOf({ cursor: null, done: true });
    const one = withStagedGroup(progressOf(emptySlice(window, queries)), ended);
    expect(lastSlice(one).done).toBe(false);
    expect(lastSlice(withStagedGroup(one, { ...ended, part: 1 })).done).toBe(true);
  });

  it('gives the same totals for every grouping of the pages', () => {
    const sizes = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(sizes, (records) => {
        const staged = records.reduce(
          (progress, count, number) =>
            withStagedGroup(
              progress,
              groupOf({
                part: number % 2,
                records: count,
                withoutKey: count % 2,
                observations: { [`f${count}`]: 1 },
                chunk: count === 0 ? undefined : { name: `chunk-${number}`, records: count },
              }),
            ),
          progressOf(emptySlice(window, queries)),
        );
        const { parts, withoutKey, observations } = lastSlice(staged);
        const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);
        expect(sum(parts.map((part) => part.records))).toBe(sum(records));
        expect(sum(parts.flatMap(({ chunks }) => chunks.map((chunk) => chunk.records)))).toBe(sum(records));
        expect(sum(parts.map(({ pages }) => pages))).toBe(records.length);
        expect(withoutKey).toBe(sum(records.map((count) => count % 2)));
        expect(Object.keys(observations).sort()).toEqual(
          [...new Set(records.map((count) => `f${count}`))].sort(),
        );
      }),
    );
  });

  it('is refused without a slice', () => {
    expect(() => withStagedGroup(progressOf(), groupOf())).toThrow('staged into a slice');
  });
});

it('I5: the progress of an attempt is changed by the run that reads the day alone', () => {
  const { run: _run, ...ofNobody } = progressOf();
  expect(assertOwn(progressOf(), 'r1', '2026-01-05')).toEqual(progressOf());
  for (const progress of [progressOf(), ofNobody])
    expect(() => assertOwn(progress, 'r2', '2026-01-05')).toThrow(
      expect.objectContaining({ kind: 'conflict', code: 'claim_lost' }),
    );
});

describe('stored progress', () => {
  const parse = parseProgress(KEY);
  const upstream = { snapshot: 's1', digest: '1:ab', bytes: 5, closed: true };
  const slice: Slice = { ...emptySlice({ ...window, upstream }, queries), parts: [part] };

  it('is empty if no progress is stored', () => {
    expect(parse(undefined)).toEqual({ queryFingerprint: '', slices: [], recentWrites: [] });
  });

  it.each<[string, Json]>([
    ['a text', '00017'],
    ['the first position', 0],
    ['an integer past 2^53', rawNumber('9007199254740993')],
    ['an object', { after: [1, null] }],
    ['null', null],
  ])('I6: keeps a cursor exactly as the service sent it: %s', (_name, cursor) => {
    const stored = {
      ...progressOf(slice),
      slices: [{ ...slice, parts: [{ ...part, cursor, last: { cursor, hash: 'h' } }] }],
    };
    const text = JSON.stringify(stored);
    expect(stringifyJson(parseJson(JSON.stringify(parse(parseJson(text)))))).toBe(text);
  });

  const broken = (change: object): unknown => ({ ...progressOf(slice), ...change });
  const brokenSlice = (change: object): unknown => broken({ slices: [{ ...slice, ...change }] });
  const brokenPart = (change: object): unknown => brokenSlice({ parts: [{ ...part, ...change }] });

  it.each<[string, unknown, string]>([
    ['null', null, 'the document'],
    ['a window with a fraction', brokenSlice({ fromMs: 0.5 }), 'slices.0.fromMs is 0.5'],
    ['an unknown role', brokenPart({ role: 'more' }), 'role is "more"'],
    ['a query field that is an object', brokenPart({ fields: { start_time: {} } }), 'fields.start_time'],
    ['no cursor', brokenPart({ cursor: undefined }), 'cursor is undefined: a JSON value was expected'],
    ['a negative number of pages', brokenPart({ pages: -1 }), 'pages is -1'],
  ])('is refused with its key and the field: %s', (_name, value, place) => {
    const damaged = { kind: 'config', code: 'damaged_document', message: expect.stringContaining(KEY) };
    expect(() => parse(parseJson(JSON.stringify(value)))).toThrow(expect.objectContaining(damaged));
    expect(() => parse(parseJson(JSON.stringify(value)))).toThrow(place);
  });

  /** Every field that becomes part of a key. */
  describe.each<[string, (id: string) => unknown]>([
    ['slices.0.parts.0.chunks.0.name', (id) => brokenPart({ chunks: [{ name: id, records: 1 }] })],
    ['slices.0.upstream.snapshot', (id) => brokenSlice({ upstream: { ...upstream, snapshot: id } })],
  ])('the id at %s', (field, change) => {
    it.each(HOSTILE_IDS)('is refused as %j, which leads to another place', (id) => {
      expect(() => parse(parseJson(JSON.stringify(change(id))))).toThrow(`${field} is `);
    });
  });
});
