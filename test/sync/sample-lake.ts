import { type ReportName, type SampleBrand, type SampleRecords, recordsOfDay } from '../../sample/brand.ts';
import type { Readings } from '../../sample/readings.ts';
import { seedBrand } from '../../sample/seed.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { daysFrom } from '../../shared/days.ts';
import { type JsonObject, isJsonObject, parseJson } from '../../shared/json.ts';
import { type Row, parseSchema, rowMapper } from '../../shared/lake/table/columns.ts';
import { Digest } from '../../shared/lake/table/digest.ts';
import { type DayEntry, type Ledger, parseLedger } from '../../shared/lake/documents/ledger.ts';
import { readParquetRows } from '../../shared/lake/table/parquet.ts';
import { dayPartition, ledgerKey, partitionPath, schemaKey, snapshotKey } from '../../shared/lake/paths.ts';
import type { DayOutcome, SyncOutcome } from '../../shared/outcome.ts';
import type { Lake, ObjectStore, Partition, RunRegistry } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RunOptions, runSync } from '../../shared/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';

export const BRAND = 'acme';
export const ZONE = 'America/New_York';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const REPORTS = Object.keys(reports).filter((name): name is ReportName => name in reports);
/** Out of time from the beginning: a run does one unit of work. */
export const NO_TIME = { softMs: 0, hardMs: Number.POSITIVE_INFINITY };

const CREDENTIALS = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };

/** A registry of runs that cannot know who is gone. */
export const unknowing: RunRegistry = { register: async () => async () => {}, isDead: async () => false };

export type SyncChange = Partial<Omit<RunOptions, 'settings'>> & {
  /** Merged into the brand's settings. */
  change?: JsonObject;
};

/** A lake in memory, beside a brand's service, in time that tests set: every run is a process of its own. */
export interface SampleLake {
  service: SampleService;
  brand: SampleBrand;
  store: MemoryStore;
  catalog: ReturnType<typeof memoryCatalog>;
  /** The present of the core, the machine and the service. */
  nowMs: number;
  startDate: string;
  sync(options?: SyncChange): Promise<SyncOutcome>;
  /** Lets time pass, with all that happens every so often. */
  pass(ms: number): void;
  /** Another lake of the same service: empty, at the time at which this one began, or as this one is now. */
  beside(state?: 'empty' | 'copied'): SampleLake;
  close(): Promise<void>;
}

export interface SampleLakeOptions {
  now: string;
  startDate: string;
  /** Up to when there will be records, which the service holds as soon as it is their time; `now` by default. */
  recordsTo?: string;
  clicksPerDay?: number;
  readings?: Partial<Readings>;
  /** Merged into the brand's settings. */
  brand?: JsonObject;
  /** What `sync` reads where it is not told otherwise; all reports by default. */
  reports?: readonly ReportName[];
}

interface Time {
  nowMs: number;
  sleptMs: number;
}

/** What the service will hold, each record from its time on. */
interface Future {
  all: SampleRecords;
  heldUntilMs: number;
}

export async function sampleLake(options: SampleLakeOptions): Promise<SampleLake> {
  const all = seedBrand({
    seed: 7,
    timeZone: ZONE,
    from: new Date(`${options.startDate}T12:00:00Z`),
    to: new Date(options.recordsTo ?? options.now),
    clicksPerDay: options.clicksPerDay ?? 6,
  });
  const time: Time = { nowMs: Date.parse(options.now), sleptMs: 0 };
  const future: Future = { all, heldUntilMs: Number.NEGATIVE_INFINITY };
  const service = await startSampleService({
    brands: { [BRAND]: { timeZone: ZONE, ...CREDENTIALS, records: noRecords() } },
    now: () => new Date(time.nowMs + time.sleptMs),
    ...(options.readings && { readings: options.readings }),
  });
  return lakeOf(service, { time, future }, options);
}

function noRecords(): SampleRecords {
  return {
    clicks_list: [],
    clicks_detail: [],
    order_list: [],
    transaction_list: [],
    amazon_attribution_report: [],
  };
}

/** Gives the service what has come up to now. */
function bring({ records }: SampleBrand, { time, future }: World): void {
  const nowMs = time.nowMs + time.sleptMs;
  for (const report of REPORTS) {
    const come = future.all[report].filter(({ at }) => future.heldUntilMs < at && at <= nowMs);
    if (come.length > 0) records[report] = [...records[report], ...come];
  }
  future.heldUntilMs = Math.max(future.heldUntilMs, nowMs);
}

interface World {
  time: Time;
  future: Future;
}

function lakeOf(
  service: SampleService,
  world: World,
  options: SampleLakeOptions,
  copied?: SampleLake,
): SampleLake {
  const { time, future } = world;
  const brand = service.brands[BRAND];
  if (!brand) throw new Error(`the service has no brand ${BRAND}`);
  const wallMs = () => time.nowMs + time.sleptMs;
  const store = memoryStore({ now: () => new Date(wallMs()) });
  const catalog = memoryCatalog();
  const ticks = new Set<{ everyMs: number; nextMs: number; tick: () => void }>();
  for (const [key, object] of copied?.store.objects ?? [])
    store.objects.set(key, { ...object, etag: `copied-${object.etag}` });
  for (const [path, snapshot] of copied?.catalog.pointers ?? []) catalog.pointers.set(path, snapshot);
  let ids = copied ? 500_000 : 0;
  bring(brand, world);
  return {
    service,
    brand,
    store,
    catalog,
    startDate: options.startDate,
    get nowMs() {
      return time.nowMs;
    },
    set nowMs(nowMs: number) {
      time.nowMs = nowMs;
    },
    sync({ change, ...given }: SyncChange = {}) {
      bring(brand, world);
      const settings = {
        baseUrl: brand.baseUrl,
        service: service.serviceName,
        timeZone: ZONE,
        startDate: options.startDate,
        secretName: 'none',
        reports: { clicks_detail: { enabled: true } },
        ...options.brand,
        ...change,
      };
      const lake: Lake = { store, catalog, runs: unknowing };
      return runSync({
        settings: parseSettings({ brands: { [BRAND]: settings }, requestsPerSecond: 1000 }, reports),
        reports,
        lake,
        credentials: { read: async () => CREDENTIALS },
        clock: {
          now: () => new Date(time.nowMs),
          wallMs,
          async sleep(ms) {
            time.sleptMs += ms;
          },
          every(everyMs, tick) {
            const timer = { everyMs, nextMs: wallMs() + everyMs, tick };
            ticks.add(timer);
            return () => void ticks.delete(timer);
          },
        },
        log: () => {},
        random: () => 0.5,
        newId() {
          ids += 1;
          return `id-${String(ids).padStart(6, '0')}`;
        },
        ...given,
        scope: { ...(options.reports && { reports: options.reports }), ...given.scope },
      });
    },
    pass(ms) {
      const untilMs = wallMs() + ms;
      for (;;) {
        const [next] = [...ticks].sort((a, b) => a.nextMs - b.nextMs);
        if (!next || next.nextMs > untilMs) break;
        time.nowMs += Math.max(0, next.nextMs - wallMs());
        next.nextMs += next.everyMs;
        next.tick();
      }
      time.nowMs += untilMs - wallMs();
    },
    beside(state = 'empty') {
      if (state === 'copied') return lakeOf(service, world, options, this);
      time.nowMs = Date.parse(options.now);
      time.sleptMs = 0;
      future.heldUntilMs = Number.NEGATIVE_INFINITY;
      brand.records = noRecords();
      return lakeOf(service, world, options);
    },
    close: () => service.close(),
  };
}

/** What became of each day of a report. */
export function outcomesOf(outcome: SyncOutcome, report: ReportName): Record<string, DayOutcome['outcome']> {
  const days = outcome.reports.find((one) => one.report === report)?.days ?? [];
  return Object.fromEntries(days.map(({ dt, outcome }) => [dt, outcome]));
}

export function errorOf(
  outcome: SyncOutcome,
  report: ReportName,
): { kind: string; code: string } | undefined {
  return outcome.reports.find((one) => one.report === report)?.error;
}

/** Runs of one unit of work each until one is complete. @returns how many it took */
export async function syncUntilComplete(
  lake: SampleLake,
  options: SyncChange & { betweenMs?: number; atMost?: number } = {},
): Promise<number> {
  const { betweenMs = 0, atMost = 200, ...given } = options;
  for (let runs = 1; runs <= atMost; runs += 1) {
    const outcome = await lake.sync({ deadline: NO_TIME, ...given });
    if (outcome.status === 'complete') return runs;
    if (outcome.status !== 'incomplete') throw new Error(`run ${runs}: ${JSON.stringify(outcome)}`);
    lake.nowMs += betweenMs;
  }
  throw new Error(`not complete after ${atMost} runs`);
}

/** Every published day of a report as its snapshot's object says: by day, the digest of the rows. */
export async function publishedDays(lake: SampleLake, report: ReportName): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const table = tableOf(report);
  for (const [day, { committed }] of await entriesOf(lake, report)) {
    if (!committed) continue;
    const key = snapshotKey(table, dayPartition(BRAND, day), committed.snapshot);
    const digest = new Digest();
    for (const row of await rowsOf(lake, key)) digest.add(row);
    if (digest.value() !== committed.digest) throw new Error(`${key} is not what the ledger says`);
    const pointed = lake.catalog.pointers.get(`${table}/${partitionPath(dayPartition(BRAND, day))}`);
    if (pointed !== committed.snapshot) throw new Error(`the catalog points at ${pointed} for ${key}`);
    found.set(day, digest.value());
  }
  return found;
}

async function rowsOf({ store }: SampleLake, key: string): Promise<Row[]> {
  const bytes = store.objects.get(key)?.body.length;
  if (bytes === undefined) throw new Error(`${key} is missing`);
  const range = (start: number, end: number) => store.range(key, start, end);
  const rows: Row[] = [];
  for await (const row of readParquetRows({ bytes, range })) rows.push(row);
  return rows;
}

/** By day: the digest of exactly the records that the service holds. */
export async function heldDays(
  lake: SampleLake,
  report: ReportName,
  to: string,
): Promise<Map<string, string>> {
  const stored = await lake.store.get(schemaKey(tableOf(report)));
  if (!stored) throw new Error(`nothing is known of ${report}`);
  const toRow = rowMapper(parseSchema(parseJson(Buffer.from(stored.body).toString())));
  return new Map(
    daysFrom(lake.startDate, to).map((day) => {
      const digest = new Digest();
      for (const record of recordsOfDay(lake.brand, report, day)) digest.add(toRow(record, new Date(0)));
      return [day, digest.value()];
    }),
  );
}

/** The reports whose days are not exactly what the service holds, up to and with `to`; none is right. */
export async function wrongReports(
  lake: SampleLake,
  to: string,
  which: readonly ReportName[] = REPORTS,
): Promise<Record<string, unknown>> {
  const wrong: Record<string, unknown> = {};
  for (const report of which) {
    const published = Object.fromEntries(await publishedDays(lake, report));
    const held = Object.fromEntries(await heldDays(lake, report, to));
    if (JSON.stringify(published) !== JSON.stringify(held)) wrong[report] = { published, held };
  }
  return wrong;
}

/** What `coverage` tells of a report: by day, its row in the month's current partition. */
export async function coverageOf(lake: SampleLake, report: ReportName): Promise<Record<string, Row>> {
  const leading: Partition = [
    ['brand', BRAND],
    ['report', report],
  ];
  const rows: [string, Row][] = [];
  for (const [path, [snapshot = '']] of await lake.catalog.snapshotsByPartition('coverage', leading))
    for (const row of await rowsOf(lake, `snapshots/coverage/${path}/${snapshot}/part-0000.parquet`))
      rows.push([String(row.dt), row]);
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The entries of a report's ledgers in the order of days. */
export async function entriesOf({ store }: SampleLake, report: ReportName): Promise<[string, DayEntry][]> {
  const ledgers: Ledger[] = [];
  for await (const { key } of store.list(ledgerKey(report, BRAND, '').replace('.json', ''))) {
    if (key.endsWith('index.json')) continue;
    ledgers.push(parseLedger(key, { report, brand: BRAND, month: '' })(await storedJson(store, key)));
  }
  return ledgers.flatMap(({ days }) => Object.entries(days)).sort(([a], [b]) => (a < b ? -1 : 1));
}

export async function entryOf(lake: SampleLake, report: ReportName, day: string): Promise<DayEntry> {
  return Object.fromEntries(await entriesOf(lake, report))[day] ?? {};
}

/** Changes a stored document as another process would. */
export async function rewrite(
  { store }: SampleLake,
  key: string,
  change: (stored: JsonObject) => JsonObject,
): Promise<void> {
  const stored = await store.get(key);
  const json = await storedJson(store, key);
  if (!stored || !isJsonObject(json)) throw new Error(`${key} is missing`);
  await store.put(key, Buffer.from(JSON.stringify(change(json))), { ifMatch: stored.etag });
}

async function storedJson(store: ObjectStore, key: string) {
  const stored = await store.get(key);
  return stored && parseJson(Buffer.from(stored.body).toString());
}

/** How many rows of a report the service was asked for, by day or in all. */
export function requestsOf(
  { service }: SampleLake,
  report: ReportName,
  when: (fields: JsonObject) => boolean = () => true,
) {
  return service.requests.filter(({ action, fields }) => action === `report/${report}` && when(fields));
}

export function tableOf(report: ReportName): string {
  return reports[report]?.table ?? '';
}
