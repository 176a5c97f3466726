import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/errors.ts';
import { isJsonObject, parseJson } from '../../shared/json.ts';
import { readMetadata } from '../../shared/lake/table/parquet.ts';
import { ROW_GROUP_CELLS } from '../../shared/lake/table/row-group-limits.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { startHttpServer } from '../fakes/http-server.ts';
import { type SampleLake, blindRegistry, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-09';
const RECORDS_PER_PAGE = 10_000;
/** A row group has at most 30,000 rows. */
const PAGES = 4;
/** The lease is renewed meanwhile. */
const RENEWAL_MS = 15_000;

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: DAY, reports: ['order_list'] });
});
afterAll(() => lake.close());

/** Notes the objects that are begun and neither finished nor aborted. `failing`: keys that are out of reach. */
function failingStore(store: ObjectStore, onWritten: (key: string, body: Uint8Array) => void) {
  const begun = new Set<string>();
  const met = { begun: 0 };
  let failing = (_key: string) => false;
  const refuse = (key: string) => {
    if (failing(key)) throw new BrandReportsError('transient', 'store_unavailable', `${key} is out of reach`);
  };
  const failingStore: ObjectStore = {
    ...store,
    async get(key) {
      refuse(key);
      return store.get(key);
    },
    async put(key, body, precondition) {
      refuse(key);
      const outcome = await store.put(key, body, precondition);
      onWritten(key, body);
      return outcome;
    },
    create(key) {
      const writer = store.create(key);
      return {
        async write(bytes) {
          begun.add(key);
          met.begun += 1;
          await writer.write(bytes);
        },
        async finish() {
          await writer.finish();
          begun.delete(key);
        },
        async abort() {
          await writer.abort();
          begun.delete(key);
        },
      };
    },
  };
  return {
    store: failingStore,
    begun,
    met,
    fail: (keys: typeof failing): void => {
      failing = keys;
    },
  };
}

it('I4: a snapshot that was begun is aborted where the store is out of reach when the last page is in', async () => {
  const own = lake.emptyLake();
  const { store, begun, met, fail } = failingStore(own.store, (key, body) => {
    const isLast = key.endsWith('progress.json') && Buffer.from(body).includes('"done":true');
    if (!isLast) return;
    fail((each) => each.endsWith('progress.json'));
    own.advance(RENEWAL_MS);
  });
  const server = await startHttpServer((_request, body, response) => {
    const fields = parseJson(body.toString());
    const page = Number(isJsonObject(fields) ? fields.page_number : 0) - 1;
    const length = page < PAGES ? RECORDS_PER_PAGE : 0;
    const list = Array.from({ length }, (_, place) => ({ transid: `o${page * RECORDS_PER_PAGE + place}` }));
    response.setHeader('Date', new Date(own.nowMs).toUTCString());
    response.end(JSON.stringify({ code: 0, msg: 'success', data: { list } }));
  });
  try {
    const { status } = await own.sync({
      lake: { store, catalog: own.catalog, runs: blindRegistry },
      brandSettings: { baseUrl: `${server.url}/api`, endTime: 'exclusive' },
      scope: { from: DAY, to: DAY },
    });
    expect({ status, met: met.begun > 0, begun: [...begun] }).toEqual({
      status: 'failed',
      met: true,
      begun: [],
    });
  } finally {
    await server.close();
  }
});

it('I12: a row group behind one of huge records has no more cells than others', async () => {
  const own = lake.emptyLake();
  const huge = 'x'.repeat(2_500_000);
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field_${index}`, index]));
  const pages = [
    ...Array.from({ length: 8 }, () => Array.from({ length: 4 }, () => ({ ...wide, text: huge }))),
    ...Array.from({ length: 4 }, () => Array.from({ length: RECORDS_PER_PAGE }, () => ({ field_0: 1 }))),
  ];
  const server = await startHttpServer((_request, body, response) => {
    const fields = parseJson(body.toString());
    const page = Number(isJsonObject(fields) ? fields.page_number : 0) - 1;
    const list = (pages[page] ?? []).map((record, place) => ({ transid: `o${page}-${place}`, ...record }));
    response.setHeader('Date', new Date(own.nowMs).toUTCString());
    response.end(JSON.stringify({ code: 0, msg: 'success', data: { list } }));
  });
  try {
    const { status } = await own.sync({
      brandSettings: { baseUrl: `${server.url}/api`, endTime: 'exclusive' },
      commonSettings: { pagesInFlight: 1 },
      scope: { from: DAY, to: DAY },
    });
    const [, file] = [...own.store.objects].find(([key]) => key.startsWith('snapshots/orders/')) ?? [];
    const bytes = file?.body ?? new Uint8Array();
    const range = async (start: number, end: number) => bytes.subarray(start, end);
    const { row_groups } = await readMetadata({ bytes: bytes.length, range });
    const cells = row_groups.map(({ num_rows, columns }) => Number(num_rows) * columns.length);
    expect(status).toBe('complete');
    expect(Math.max(...cells)).toBeLessThan(1.01 * ROW_GROUP_CELLS);
  } finally {
    await server.close();
  }
});
