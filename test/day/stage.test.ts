import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import {
  type JsonObject,
  isJsonObject,
  parseJson,
  rawNumber,
  stringifyJson,
} from '../../shared/base/json.ts';
import { chunkName } from '../../shared/lake/paths.ts';
import { emptySlice } from '../../shared/planning/attempt-decision.ts';
import type { Attempt } from '../../shared/day/claim.ts';
import type { RunContext } from '../../shared/context/context.ts';
import { openDay } from '../../shared/context/open-day.ts';
import { Stage, type StagedPage } from '../../shared/day/stage.ts';
import { readChunk } from '../../shared/day/staged-records.ts';
import { recordListOf, recordsOfList } from '../../shared/records/record-list.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { createTimeBudget } from '../../shared/context/time-budget.ts';
import { StoredSettings } from '../../shared/lake/brand-settings.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import { createRunContext } from '../../shared/run/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { losesAnswers } from '../fakes/loses-answers-store.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { pagedService } from '../fakes/paged-service.ts';
import { virtualTime } from '../fakes/virtual-time.ts';
import { runs } from '../fixtures/property-runs.ts';

const DAY = '2026-01-05';
const PREFIX = `raw/order_list/brand=acme/dt=${DAY}/a1/`;
const NOW_MS = Date.parse('2026-01-06T10:00:00.000Z');
const PARTS = [
  { role: 'include', fields: {} },
  { role: 'exclude', fields: {} },
] as const;

const settings = parseSettings(
  {
    brands: {
      acme: {
        baseUrl: 'https://service.example/api',
        service: 'S',
        timeZone: 'UTC',
        startDate: '2026-01-01',
        secretName: 'none',
        reports: { order_list: {} },
      },
    },
  },
  reports,
);

const unused = async () => {
  throw new Error('staging sends no request');
};

function runOn(store: ObjectStore, { id = 'r1' } = {}) {
  const time = virtualTime(NOW_MS);
  let ids = 0;
  const report = reports.order_list;
  if (!report) throw new Error('there are no orders');
  const options = {
    settings,
    reports,
    lake: { store, runs: { register: async () => async () => {}, isDead: async () => false } },
    credentials: { read: unused },
    scope: {},
    clock: { ...time, now: () => new Date(time.wallMs()), every: () => () => {} },
    log: () => {},
    send: sendRequest,
    random: () => 0,
    newId: () => `${id}-${++ids}`,
  };
  const run = createRunContext(
    options,
    {
      id,
      time: createTimeBudget(undefined, time.wallMs),
      documents: createLakeDocuments({ ...options, store }),
      stored: new StoredSettings(options),
    },
    { brand: 'acme', report, service: pagedService(unused).service },
  );
  return { run, time };
}

async function claimed(run: RunContext): Promise<Attempt> {
  const window = { fromMs: 0, toMs: 1, whole: true, startedAt: '2026-01-06T10:00:00.000Z' };
  const progress = run.progress(DAY, 'a1');
  await progress.update((current) => ({
    ...current,
    run: run.runId,
    slices: [emptySlice(window, PARTS)],
  }));
  return {
    ...(await openDay(run, DAY)),
    id: 'a1',
    progress,
    restarts: 0,
    upstream: undefined,
  };
}

function page(number: number, records: readonly JsonObject[], isLast = false): StagedPage {
  return {
    records: recordListOf(records),
    cursor: number,
    hash: `h${number}`,
    next: isLast ? null : number + 1,
    seen: `c${number}`,
  };
}

/** The records in the chunks that the progress document lists, by part, as a resuming run finds them. */
async function staged(store: ObjectStore): Promise<JsonObject[][]> {
  const { slices } = await runOn(store).run.progress(DAY, 'a1').refresh();
  const parts = slices.at(-1)?.parts ?? [];
  return Promise.all(
    parts.map(async ({ chunks }) =>
      (await Promise.all(chunks.map((chunk) => readChunk(store, PREFIX, chunk))))
        .flat()
        .flatMap(recordsOfList),
    ),
  );
}

async function partOf(attempt: Attempt, index = 0) {
  return (await attempt.progress.refresh()).slices.at(-1)?.parts[index];
}

describe('staging', () => {
  it('collects small pages and stages them together, at the latest with the last page', async () => {
    const store = memoryStore();
    const { run } = runOn(store);
    const attempt = await claimed(run);
    const stage = new Stage(run, attempt, 0, 'transid');
    await stage.add(page(1, [{ transid: 'a' }]));
    await stage.add(page(2, [{ transid: 'b' }, {}]));
    expect(await partOf(attempt)).toMatchObject({ cursor: null, pages: 0, chunks: [] });
    await stage.add(page(3, [], true));
    expect(await partOf(attempt)).toMatchObject({
      cursor: null,
      last: { cursor: 3, hash: 'h3' },
      pages: 3,
      records: 3,
      chunks: [{ name: expect.stringMatching(/^chunk-/), records: 3 }],
      done: true,
    });
    expect(await staged(store)).toEqual([[{ transid: 'a' }, { transid: 'b' }, {}], []]);
    expect((await attempt.progress.cached()).slices.at(-1)).toMatchObject({ withoutKey: 1, done: false });
  });

  it.each<[string, number, number]>([
    ['four million characters', 2_000_000, 0],
    ['ten seconds', 1, 10_000],
  ])('I12: stages a group when it reaches %s', async (_name, length, ms) => {
    const { run, time } = runOn(memoryStore());
    const attempt = await claimed(run);
    const stage = new Stage(run, attempt, 0, undefined);
    await stage.add(page(1, [{ text: 'x'.repeat(length) }]));
    expect(await partOf(attempt)).toMatchObject({ pages: 0 });
    time.advance(ms);
    await stage.add(page(2, [{ text: 'x'.repeat(length) }]));
    expect(await partOf(attempt)).toMatchObject({ pages: 2, cursor: 3, seen: ['c1', 'c2'], done: false });
    await stage.add(page(3, []));
    expect(await partOf(attempt)).toMatchObject({ pages: 2 });
  });

  it('I4: writes the chunk before the progress document that lists it', async () => {
    const memory = memoryStore();
    const written: string[] = [];
    const store: ObjectStore = {
      ...memory,
      put(key, ...rest) {
        written.push(key.slice(PREFIX.length));
        return memory.put(key, ...rest);
      },
    };
    const { run } = runOn(store);
    const attempt = await claimed(run);
    const stage = new Stage(run, attempt, 0, undefined);
    await stage.add(page(1, [{}]));
    await stage.flush();
    await stage.add(page(2, [{}], true));
    const { chunks: [one, two] = [] } = (await partOf(attempt)) ?? {};
    expect(written).toEqual(['progress.json', one?.name, 'progress.json', two?.name, 'progress.json']);
    expect(one?.name).not.toBe(two?.name);
  });

  it('writes no chunk for pages without records, and nothing without a page', async () => {
    const store = memoryStore();
    const { run } = runOn(store);
    const attempt = await claimed(run);
    const stage = new Stage(run, attempt, 1, undefined);
    await stage.flush();
    expect(await partOf(attempt, 1)).toMatchObject({ pages: 0 });
    await stage.add(page(1, [], true));
    expect(await partOf(attempt, 1)).toMatchObject({ pages: 1, chunks: [], done: true });
    expect([...store.objects.keys()]).toEqual([`${PREFIX}progress.json`]);
  });

  it('I4: neither overwrites nor reads the unlisted chunks of a dead run', async () => {
    const store = memoryStore();
    const dead = runOn(store, { id: 'dead' }).run;
    await new Stage(dead, await claimed(dead), 0, undefined).add(page(1, [{ of: 'the dead' }], true));
    const left = new Map(store.objects);
    left.delete(`${PREFIX}progress.json`);
    const { run } = runOn(store);
    const attempt = await claimed(run);
    await new Stage(run, attempt, 0, undefined).add(page(1, [{ of: 'mine' }], true));
    expect(await staged(store)).toEqual([[{ of: 'mine' }], []]);
    expect([...store.objects]).toEqual(expect.arrayContaining([...left]));
    expect(left.size).toBe(1);
  });

  it('I5: adds nothing to the progress document if another run has taken the attempt over', async () => {
    const store = memoryStore();
    const { run } = runOn(store);
    const stage = new Stage(run, await claimed(run), 0, undefined);
    const other = runOn(store, { id: 'r2' });
    await other.run.progress(DAY, 'a1').update((current) => ({ ...current, run: 'r2' }));
    await expect(stage.add(page(1, [{ a: 1 }], true))).rejects.toMatchObject({
      kind: 'conflict',
      code: 'claim_lost',
    });
    expect(await staged(store)).toEqual([[], []]);
  });

  it.each([
    [50_000, 'staged'],
    [50_001, 'too_many_fields'],
  ])('I12: a page of %d fields is %s', async (count, becomes) => {
    const memory = memoryStore();
    const { run } = runOn(memory);
    const record = Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
    const stage = new Stage(run, await claimed(run), 0, undefined);
    const added = stage.add(page(1, [record], true)).then(
      () => 'staged',
      ({ kind, code }: BrandReportsError) => (kind === 'contract' ? code : kind),
    );
    expect(await added).toBe(becomes);
  });

  it.each(['lost', 'denied'] as const)(
    'I1: counts a group once if the response to its write is %s',
    async (fate) => {
      const memory = memoryStore();
      // The first put writes the claim, the second the chunk, the third the progress document.
      const store = losesAnswers(memory, (put) => (put === 2 ? fate : 'answered'));
      const { run } = runOn(store);
      const attempt = await claimed(run);
      await new Stage(run, attempt, 0, undefined).add(page(1, [{ a: 1 }, { a: 1 }], true));
      expect(await staged(memory)).toEqual([[{ a: 1 }, { a: 1 }], []]);
      expect(await partOf(attempt)).toMatchObject({ pages: 1, records: 2 });
    },
  );

  it('stages the collected pages at the next try if a chunk could not be written', async () => {
    const memory = memoryStore();
    const store = losesAnswers(memory, (put) => (put === 1 ? 'refused' : 'answered'));
    const { run } = runOn(store);
    const stage = new Stage(run, await claimed(run), 0, undefined);
    await expect(stage.add(page(1, [{ a: 1 }], true))).rejects.toMatchObject({ kind: 'transient' });
    await stage.flush();
    expect(await staged(memory)).toEqual([[{ a: 1 }], []]);
  });

  // Pages are dropped only after the progress document is seen to list them: a second flush stages them once more.
  it('I1: counts a group once, however often it is flushed, if a response is lost and the store fails', async () => {
    const memory = memoryStore();
    let down = false;
    const flaky: ObjectStore = {
      ...memory,
      async get(key) {
        if (!down) return memory.get(key);
        down = false;
        throw new BrandReportsError('transient', 'aws_unavailable', 'the store gave no answer');
      },
    };
    const fail = async () => {
      down = true;
    };
    const store = losesAnswers(flaky, (put) => (put === 2 ? 'lost' : 'answered'), fail);
    const { run } = runOn(store);
    const stage = new Stage(run, await claimed(run), 0, undefined);
    await expect(stage.add(page(1, [{ a: 1 }], true))).rejects.toMatchObject({ kind: 'transient' });
    await stage.flush();
    expect(await staged(memory)).toEqual([[{ a: 1 }], []]);
  });

  it('I1: loses and duplicates nothing, however pages are divided into groups and parts', async () => {
    const pages = fc.array(fc.record({ count: fc.nat(3), part: fc.nat(1), flushed: fc.boolean() }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(pages, async (given) => {
        const store = memoryStore();
        const { run } = runOn(store);
        const attempt = await claimed(run);
        const stages = [0, 1].map((part) => new Stage(run, attempt, part, undefined));
        const expected: JsonObject[][] = [[], []];
        for (const [number, { count, part, flushed }] of given.entries()) {
          const records = Array.from({ length: count }, (_, index) => ({
            page: number,
            isDuplicate: index > 1,
          }));
          expected[part]?.push(...records);
          await stages[part]?.add(page(number, records));
          if (flushed) await stages[part]?.flush();
        }
        for (const stage of stages) await stage.flush();
        expect(await staged(store)).toEqual(expected);
      }),
      runs(40),
    );
  });
});

describe('a staged chunk', () => {
  it('I6: keeps every digit of its records', async () => {
    const store = memoryStore();
    const inherited = parseJson('{"__proto__":{"a":1}}');
    const record: JsonObject = {
      ...(isJsonObject(inherited) && inherited),
      id: rawNumber('9007199254740993'),
      amount: rawNumber('1.10'),
      name: '😀 "\n\u2028',
      half: '\ud83d',
      nested: { list: [null, rawNumber('1e400'), { '': true }] },
    };
    const { run } = runOn(store);
    await new Stage(run, await claimed(run), 0, undefined).add(page(1, [record, record], true));
    const [records = []] = await staged(store);
    expect(records.map(stringifyJson)).toEqual([record, record].map(stringifyJson));
  });

  const pages = '\x1e[{"a":1}]\x1e[{"a":2}]';
  const zstd = (text: string | Uint8Array) => zstdCompressSync(text);

  it.each<[string, Uint8Array | undefined, string]>([
    ['it is missing', undefined, 'is missing'],
    ['it is empty', Buffer.from(''), 'cannot be read'],
    ['it is not compressed', Buffer.from(pages), 'cannot be read'],
    ['an older version compressed it', gzipSync('{"a":1}\n{"a":2}\n'), 'cannot be read'],
    ['it is cut off', zstd(pages).subarray(0, -4), 'cannot be read'],
    ['a page is not JSON', zstd('\x1e[{"a":1}]\x1e[{"a":}]'), 'cannot be read'],
    ['a page is cut off', zstd('\x1e[{"a":1}]\x1e[{"a":1}'), 'cannot be read'],
    ['a page is not UTF-8', zstd(Buffer.from('\x1e[{"a":1},{"a":"\xff"}]', 'latin1')), 'cannot be read'],
    ['a record is missing', zstd('\x1e[{"a":1}]'), 'does not contain the 2 records'],
    ['there is an extra record', zstd(`${pages}\x1e[{"a":3}]`), 'does not contain the 2 records'],
    ['a record is not an object', zstd('\x1e[{"a":1},[2]]'), 'cannot be read'],
    ['it begins with something else', zstd(`?[{"a":1}]\x1e[{"a":2}]`), 'cannot be read'],
    ['a page is not a list', zstd('\x1e[{"a":1}]\x1e{"a":2}'), 'cannot be read'],
  ])('is rejected as damaged if %s', async (_name, body, what) => {
    const store = memoryStore();
    if (body) await store.put(PREFIX + chunkName('c0'), body, { ifAbsent: true });
    const records = readChunk(store, PREFIX, { name: chunkName('c0'), records: 2 });
    await expect(records).rejects.toMatchObject({
      kind: 'transient',
      code: 'damaged_chunk',
      message: expect.stringMatching(new RegExp(`${PREFIX}${chunkName('c0')} ${what}`)),
    });
  });
});
