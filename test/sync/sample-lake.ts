import { type ReportName, recordsOfDay } from '../../sample/brand.ts';
import { seedBrand } from '../../sample/seed.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import type { Readings } from '../../sample/readings.ts';
import { daysFrom } from '../../shared/days.ts';
import { type JsonObject, isJsonObject } from '../../shared/json.ts';
import { parseSchema, rowMapper } from '../../shared/lake/columns.ts';
import { Digest } from '../../shared/lake/digest.ts';
import { type Ledger, parseLedger } from '../../shared/lake/ledger.ts';
import { readParquetRows } from '../../shared/lake/parquet.ts';
import { dayPartition, ledgerKey, partitionPath, schemaKey, snapshotKey } from '../../shared/lake/paths.ts';
import { parseJson } from '../../shared/json.ts';
import type { Lake, ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RunOptions, runSync } from '../../shared/run.ts';
import { parseSettings } from '../../shared/settings.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';

export const BRAND = 'acme';
export const ZONE = 'America/New_York';

/** A brand's service, a lake in memory, and time that tests set: every run is a process of its own. */
export interface SampleLake {
  service: SampleService;
  store: MemoryStore;
  catalog: ReturnType<typeof memoryCatalog>;
  /** The present of the core and of the service; the wall clock is the same. */
  nowMs: number;
  startDate: string;
  sync(options?: Partial<RunOptions> & { settings?: never; change?: JsonObject }): Promise<SyncOutcome>;
  close(): Promise<void>;
}

export async function sampleLake(options: {
  now: string;
  startDate: string;
  clicksPerDay?: number;
  readings?: Partial<Readings>;
  /** Merged into the brand's settings. */
  brand?: JsonObject;
}): Promise<SampleLake> {
  const records = seedBrand({
    seed: 7,
    timeZone: ZONE,
    from: new Date(`${options.startDate}T12:00:00Z`),
    to: new Date(options.now),
    clicksPerDay: options.clicksPerDay ?? 6,
  });
  const self = { nowMs: Date.parse(options.now) };
  let sleptMs = 0;
  const wallMs = () => self.nowMs + sleptMs;
  const service = await startSampleService({
    brands: { [BRAND]: { timeZone: ZONE, bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme', records } },
    now: () => new Date(wallMs()),
    ...(options.readings && { readings: options.readings }),
  });
  const store = memoryStore({ now: () => new Date(wallMs()) });
  const catalog = memoryCatalog();
  let ids = 0;
  return Object.assign(self, {
    service,
    store,
    catalog,
    startDate: options.startDate,
    sync({ change, ...given }: Partial<RunOptions> & { change?: JsonObject } = {}) {
      const brand = {
        baseUrl: service.brands[BRAND]?.baseUrl ?? '',
        service: service.serviceName,
        timeZone: ZONE,
        startDate: options.startDate,
        secretName: 'none',
        reports: { clicks_detail: { enabled: true } },
        ...options.brand,
        ...change,
      };
      const lake: Lake = { store, catalog, runs: { enter: async () => async () => {}, isGone: async () => false } };
      return runSync({
        settings: parseSettings({ brands: { [BRAND]: brand }, requestsPerSecond: 1000 }, reports),
        reports,
        lake,
        credentials: {
          read: async () => ({ bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' }),
        },
        request: {},
        clock: {
          now: () => new Date(self.nowMs),
          wallMs,
          async sleep(ms) {
            sleptMs += ms;
          },
          every: () => () => {},
        },
        log: () => {},
        random: () => 0.5,
        newId: () => `id-${String((ids += 1)).padStart(6, '0')}`,
        ...given,
      });
    },
    close: () => service.close(),
  });
}

/** Every published day of a report as its snapshot's object says: by day, the digest of the rows. */
export async function publishedDays(lake: SampleLake, report: ReportName): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const table = reports[report]?.table ?? '';
  for (const ledger of await ledgersOf(lake.store, report)) {
    for (const [day, { published }] of Object.entries(ledger.days)) {
      if (!published) continue;
      const key = snapshotKey(table, dayPartition(BRAND, day), published.snapshot);
      const digest = new Digest();
      const range = (start: number, end: number) => lake.store.range(key, start, end);
      for await (const row of readParquetRows({ bytes: published.bytes, range })) digest.add(row);
      if (digest.value() !== published.digest) throw new Error(`${key} is not what the ledger says`);
      const pointed = lake.catalog.pointers.get(`${table}/${partitionPath(dayPartition(BRAND, day))}`);
      if (pointed !== published.snapshot) throw new Error(`the catalog points at ${pointed} for ${key}`);
      found.set(day, digest.value());
    }
  }
  return new Map([...found].sort());
}

/** By day: the digest of exactly the records that the service holds. */
export async function heldDays(lake: SampleLake, report: ReportName, to: string): Promise<Map<string, string>> {
  const brand = lake.service.brands[BRAND];
  const table = reports[report]?.table ?? '';
  const stored = await lake.store.get(schemaKey(table));
  if (!brand || !stored) throw new Error(`nothing is known of ${table}`);
  const toRow = rowMapper(parseSchema(parseJson(Buffer.from(stored.body).toString())));
  return new Map(
    daysFrom(lake.startDate, to).map((day) => {
      const digest = new Digest();
      for (const record of recordsOfDay(brand, report, day)) digest.add(toRow(record, new Date(0)));
      return [day, digest.value()];
    }),
  );
}

export const REPORTS = Object.keys(reports).filter((name): name is ReportName => name in reports);

/** The reports whose days are not exactly what the service holds, up to and with `to`; none is right. */
export async function wrongReports(lake: SampleLake, to: string): Promise<Record<string, unknown>> {
  const wrong: Record<string, unknown> = {};
  for (const report of REPORTS) {
    const published = Object.fromEntries(await publishedDays(lake, report));
    const held = Object.fromEntries(await heldDays(lake, report, to));
    if (JSON.stringify(published) !== JSON.stringify(held)) wrong[report] = { published, held };
  }
  return wrong;
}

export async function ledgersOf(store: ObjectStore, report: string): Promise<Ledger[]> {
  const ledgers: Ledger[] = [];
  for await (const { key } of store.list(ledgerKey(report, BRAND, ''). replace('.json', ''))) {
    if (key.endsWith('index.json')) continue;
    const stored = await store.get(key);
    const json = stored && parseJson(Buffer.from(stored.body).toString());
    if (isJsonObject(json)) ledgers.push(parseLedger(key, { report, brand: BRAND, month: '' })(json));
  }
  return ledgers;
}
