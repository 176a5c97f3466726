import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import { countingLake } from '../fakes/counting-lake.ts';
import { startHttpServer } from '../fakes/http-server.ts';
import { ledgerEntry } from './lake-contents.ts';
import { NO_TIME, type SampleLake, type SyncOptions, blindRegistry, sampleLake } from './sample-lake.ts';

/*
 * A snapshot is built while its pages come in. What it is must be what its raw records make: a rebuild from them finds it
 * unchanged. Whether it was built so shows in what is read: nobody needs the raw records again.
 */

const DAY = '2026-03-09';
/** A row group has at most 30,000 rows. */
const PAGES = 4;
const RECORDS_PER_PAGE = 10_000;
/** In the second row group. */
const LATE = 35_000;

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: DAY,
    reports: ['order_list'],
  });
});
afterAll(() => lake.close());

type RecordOf = (number: number) => JsonObject;

const plain: RecordOf = (number) => ({ transid: `o${number}`, amount: number % 7 });
const late =
  (fields: JsonObject): RecordOf =>
  (number) => ({ ...plain(number), ...(number === LATE && fields) });

/** Runs of a process each, until the day is there. */
async function syncRecords(
  recordOf: RecordOf,
  {
    brandSettings,
    commonSettings,
    deadline,
    pages = PAGES,
  }: Pick<SyncOptions, 'deadline' | 'commonSettings'> & { brandSettings?: JsonObject; pages?: number } = {},
) {
  const server = await startHttpServer((_request, body, response) => {
    const fields = parseJson(body.toString());
    const { page_number, start_time, end_time } = isJsonObject(fields) ? fields : {};
    const page = Number(page_number) - 1;
    const length = page < pages && start_time !== end_time ? RECORDS_PER_PAGE : 0;
    const list = Array.from({ length }, (_, place) => recordOf(page * RECORDS_PER_PAGE + place));
    response.setHeader('Date', new Date(lake.nowMs).toUTCString());
    response.end(JSON.stringify({ code: 0, msg: 'success', data: { list } }));
  });
  try {
    const own = lake.emptyLake();
    const counting = countingLake(own);
    const settings = { baseUrl: `${server.url}/api`, ...brandSettings };
    for (let run = 0, status = ''; status !== 'complete'; run += 1) {
      if (run > 2 * PAGES) throw new Error(`the day is not there after ${run} runs: ${status}`);
      ({ status } = await own.sync({
        lake: { ...counting, runs: blindRegistry },
        brandSettings: settings,
        ...(commonSettings && { commonSettings }),
        scope: { from: DAY, to: DAY },
        ...(deadline && { deadline }),
      }));
    }
    const { committed } = await ledgerEntry(own, 'order_list', DAY);
    const rawReads = Object.keys(counting.taken()).filter((asked) => /^get raw.*chunk/.test(asked)).length;
    const rebuilt = await own.rebuild(
      { reports: ['order_list'], from: DAY, to: DAY },
      { brandSettings: settings },
    );
    return { own, committed, rawReads, rebuilt };
  } finally {
    await server.close();
  }
}

it.each<
  [
    string,
    RecordOf,
    { raw: boolean; brandSettings?: JsonObject; commonSettings?: JsonObject; pages?: number },
  ]
>([
  ['all alike', plain, { raw: false }],
  ['fewer than a row group, with new fields', late({ shop: 'a' }), { raw: false, pages: 2 }],
  ['with a key', plain, { raw: false, brandSettings: { reports: { order_list: { key: 'transid' } } } }],
  ['with a field that only a later row group has', late({ shop: 'a' }), { raw: true }],
  [
    'with a number that later is a text',
    (number) => ({ ...plain(number), rank: number === LATE ? 'last' : number }),
    { raw: true },
  ],
  [
    'so long that a row group is full of fewer, beside other days in flight',
    (number) => ({ ...plain(number), text: 'x'.repeat(2_000) }),
    { raw: false, pages: 1, commonSettings: { pagesInFlight: 16 } },
  ],
  [
    'with so many fields that a row group has fewer rows',
    (number) => ({ ...plain(number), ...(number % 1_000 === 0 && manyFields) }),
    { raw: true },
  ],
  [
    'one of which lacks the key',
    late({ transid: null }),
    { raw: true, brandSettings: { reports: { order_list: { key: 'transid' } } } },
  ],
  [
    'of which two have one key and are the same',
    (number) => plain(number === LATE ? 1 : number),
    { raw: false, brandSettings: { reports: { order_list: { key: 'transid' } } } },
  ],
  [
    'of which two have one key and differ',
    (number) => ({ ...plain(number === LATE ? 1 : number), amount: number }),
    { raw: true, brandSettings: { reports: { order_list: { key: 'transid' } } } },
  ],
])(
  'I1, I7: a day of records %s is what its raw records make',
  async (_name, recordOf, { raw, ...options }) => {
    const { committed, rawReads, rebuilt } = await syncRecords(recordOf, options);
    expect(rawReads > 0).toBe(raw);
    expect(rebuilt).toMatchObject({ reports: [{ days: [{ dt: DAY, outcome: 'unchanged' }] }] });
    expect(committed?.rows).toBeGreaterThan(0);
  },
);

it('a day that several runs read is built from its raw records', async () => {
  const { committed, rawReads, rebuilt } = await syncRecords(plain, { deadline: NO_TIME });
  expect(rawReads).toBeGreaterThan(0);
  expect(committed?.rows).toBe(PAGES * RECORDS_PER_PAGE);
  expect(rebuilt).toMatchObject({ reports: [{ days: [{ dt: DAY, outcome: 'unchanged' }] }] });
});

const manyFields = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field_${index}`, index]));
