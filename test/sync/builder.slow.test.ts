import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/base/json.ts';
import { readMetadata } from '../../shared/table/parquet-footer.ts';
import { ROW_GROUP_CELLS } from '../../shared/table/row-group-limits.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { countingLake } from '../fakes/counting-lake.ts';
import { startHttpServer } from '../fakes/http-server.ts';
import { NO_TIME, type SampleLake, type SyncOptions, sampleLake } from './sample-lake.ts';

/*
 * Builds a version while its pages arrive, which must equal the version of its raw records: a rebuild finds it unchanged.
 * The requests to the lake show whether the builder read chunks. With 16 days in flight a row group ends at 4 MB of
 * values, about 2,000 of these records.
 */

const DAY = '2026-03-09';
const [PAGES, RECORDS_PER_PAGE] = [4, 1_000];
/** In the second row group. */
const LATE = 3_500;
/** The lease is renewed meanwhile. */
const RENEWAL_MS = 15_000;

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: DAY, reports: ['order_list'] });
});
afterAll(() => lake.close());

type PageOf = (page: number) => JsonObject[];
type PageOptions = Pick<SyncOptions, 'deadline'> & { brandSettings?: JsonObject };
type RecordOf = (number: number) => JsonObject;

const small: RecordOf = (number) => ({ transid: `o${number}`, amount: number % 7 });
const plain: RecordOf = (number) => ({ ...small(number), text: 'x'.repeat(2_000) });
const late =
  (fields: JsonObject): RecordOf =>
  (number) => ({ ...plain(number), ...(number === LATE && fields) });
const pagesOf =
  (recordOf: RecordOf, pages = PAGES): PageOf =>
  (page) =>
    Array.from({ length: page < pages ? RECORDS_PER_PAGE : 0 }, (_, place) =>
      recordOf(page * RECORDS_PER_PAGE + place),
    );
const smallOnOnePage = (count: number) => Array.from({ length: count }, (_, number) => small(number));
const manyFields = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field_${index}`, index]));
const withKey = { reports: { order_list: { key: 'transid' } } };

/** Notes the snapshots that are begun but neither finished nor aborted. */
function watched(store: ObjectStore) {
  const begun = new Set<string>();
  const create: ObjectStore['create'] = (key) => {
    const writer = store.create(key);
    const ended = (end: () => Promise<void>) => () => end().then(() => void begun.delete(key));
    const write = (bytes: Uint8Array) => writer.write(bytes).then(() => void begun.add(key));
    return { write, finish: ended(() => writer.finish()), abort: ended(() => writer.abort()) };
  };
  return { store: { ...store, create }, begun };
}

/** Runs one process after another until the day is published or a run fails. */
async function syncPages(
  pageOf: PageOf,
  storeOf: (own: SampleLake) => ObjectStore,
  { brandSettings, ...options }: PageOptions = {},
) {
  const own = lake.emptyLake();
  const store = storeOf(own);
  const server = await startHttpServer((_request, body, response) => {
    const fields = parseJson(body.toString());
    const { page_number, start_time, end_time } = isJsonObject(fields) ? fields : {};
    const list = start_time === end_time ? [] : pageOf(Number(page_number) - 1);
    response.setHeader('Date', new Date(own.nowMs).toUTCString());
    response.end(JSON.stringify({ code: 0, msg: 'success', data: { list } }));
  });
  const settings = { baseUrl: `${server.url}/api`, ...brandSettings };
  try {
    let status = '';
    for (let run = 0; status !== 'complete' && status !== 'failed'; run += 1) {
      if (run > 2 * PAGES) throw new Error(`the day is not published after ${run} runs: ${status}`);
      ({ status } = await own.sync({
        lake: own.over(store),
        brandSettings: settings,
        commonSettings: { pagesInFlight: 16 },
        scope: { from: DAY, to: DAY },
        ...options,
      }));
    }
    return { own, status, settings };
  } finally {
    await server.close();
  }
}

async function mostCells({ store }: SampleLake): Promise<number> {
  const [, file] = [...store.objects].find(([key]) => key.startsWith('snapshots/orders/')) ?? [];
  const bytes = file?.body ?? new Uint8Array();
  const range = async (start: number, end: number) => bytes.subarray(start, end);
  const { row_groups } = await readMetadata({ bytes: bytes.length, range });
  return Math.max(...row_groups.map(({ num_rows, columns }) => Number(num_rows) * columns.length));
}

it.each<[string, PageOf, { chunks: boolean } & PageOptions]>([
  ['all alike', pagesOf(plain), { chunks: false }],
  ['fewer than a row group, with new fields', pagesOf(late({ shop: 'a' }), 2), { chunks: false }],
  ['with a key', pagesOf(plain), { chunks: false, brandSettings: withKey }],
  ['read by several runs', pagesOf(plain), { chunks: true, deadline: NO_TIME }],
  ['with a field that only a later row group has', pagesOf(late({ shop: 'a' })), { chunks: true }],
  [
    'with a number that later is a text',
    pagesOf((number) => ({ ...plain(number), rank: number === LATE ? 'last' : number })),
    { chunks: true },
  ],
  [
    'with so many fields that a row group has fewer rows',
    (page) => (page === 0 ? [...smallOnOnePage(12_000), { ...small(12_000), ...manyFields }] : []),
    { chunks: true },
  ],
  [
    'with a huge record that fills a row group, followed by small ones',
    (page) =>
      [[{ ...small(99_999), ...manyFields, text: 'x'.repeat(5_000_000) }], smallOnOnePage(12_000)][page] ??
      [],
    { chunks: true },
  ],
  ['with one that lacks the key', pagesOf(late({ transid: null })), { chunks: true, brandSettings: withKey }],
  [
    'with two that have one key and are the same',
    pagesOf((number) => plain(number === LATE ? 1 : number)),
    { chunks: false, brandSettings: withKey },
  ],
  [
    'with two that have one key and differ',
    pagesOf((number) => ({ ...plain(number === LATE ? 1 : number), amount: number })),
    { chunks: true, brandSettings: withKey },
  ],
])(
  'I1, I7, I12: a day of records %s equals the version built from its raw records',
  async (_name, pageOf, { chunks: wanted, ...options }) => {
    let taken = (): Record<string, number> => ({});
    let begun = new Set<string>();
    const { own, settings } = await syncPages(
      pageOf,
      (empty) => {
        const counting = countingLake(empty);
        taken = () => counting.taken();
        const watching = watched(counting.store);
        ({ begun } = watching);
        return watching.store;
      },
      options,
    );
    const chunks = Object.keys(taken()).some((request) => /^get raw.*chunk/.test(request));
    const rebuilt = await own.rebuild(
      { reports: ['order_list'], from: DAY, to: DAY },
      { brandSettings: settings },
    );
    expect({ chunks, begun: [...begun] }).toEqual({ chunks: wanted, begun: [] });
    expect(rebuilt).toMatchObject({ reports: [{ days: [{ dt: DAY, outcome: 'unchanged' }] }] });
    expect(await mostCells(own)).toBeLessThan(1.01 * ROW_GROUP_CELLS);
  },
);

it('I4: a snapshot is aborted if the store is out of reach after the last page', async () => {
  let begun = new Set<string>();
  let isDown = false;
  let wasBegun = false;
  const { status } = await syncPages(pagesOf(plain), (own) => {
    const refuse = (key: string) => {
      if (isDown && key.endsWith('progress.json'))
        throw new BrandReportsError('transient', 'aws_unavailable', `${key} is out of reach`);
    };
    const watching = watched({
      ...own.store,
      async get(key) {
        refuse(key);
        return own.store.get(key);
      },
      async put(key, body, precondition) {
        refuse(key);
        const outcome = await own.store.put(key, body, precondition);
        if (key.endsWith('progress.json') && Buffer.from(body).includes('"done":true')) {
          isDown = true;
          wasBegun = begun.size > 0;
          own.advance(RENEWAL_MS);
        }
        return outcome;
      },
    });
    ({ begun } = watching);
    return watching.store;
  });
  expect({ status, wasBegun, begun: [...begun] }).toEqual({ status: 'failed', wasBegun: true, begun: [] });
});
