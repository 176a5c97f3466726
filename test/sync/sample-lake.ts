/**
 * Creates lakes in memory with a brand's service, in a time that tests set, for the scenarios of this folder:
 * - `sampleLake()` starts the service (real HTTP on the loopback) and creates records up to a stated time. The service
 *   shows each record from its own time on.
 * - `sync()` is one process of the product, which shares only the lake with the process before.
 * - `emptyLake()` starts an empty lake with the same service, and `fork()` copies the lake as it is.
 * - `advance()` lets time pass, with all work that is done at intervals.
 *
 * `lake-contents.ts` reads a lake and compares it with the service.
 */
import { REPORT_NAMES, type ReportName, type SampleBrand, type SampleRecords } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { seedBrand } from '../../sample/seed.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import type { SyncOutcome } from '../../shared/base/outcome.ts';
import type { Catalog, Lake, ObjectStore, RunRegistry, SendRequest } from '../../shared/ports.ts';
import type { LakeAccess } from '../../shared/context/context.ts';
import type { ReportRegistry } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import {
  type RebuildOptions,
  type RebuildOutcome,
  type RebuildScope,
  rebuildDays,
} from '../../shared/operations/rebuild-days.ts';
import { type RunOptions, runSync } from '../../shared/run/run.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { withoutBugs } from '../fakes/dies-at-n-store.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';

export const BRAND = 'acme';
export const ZONE = 'America/New_York';
/** The reports of which the sample service has records: a further report may be defined without any. */
export const REPORTS = REPORT_NAMES.filter((name) => name in reports);
/** A deadline that has passed: a run does one unit of work and stops. */
export const NO_TIME = { softMs: 0, hardMs: Number.POSITIVE_INFINITY };

export const CREDENTIALS = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };

/** A registry that cannot detect a dead run: only the run's lease expires. */
export const blindRegistry: RunRegistry = { register: async () => async () => {}, isDead: async () => false };

export type SyncOptions = Partial<Omit<RunOptions, 'settings'>> & {
  /** Merged into the brand's settings, only for this run. */
  brandSettings?: JsonObject;
  /** Merged into the settings of all brands, only for this run. */
  commonSettings?: JsonObject;
  /** How far the machine's clock is ahead of the service's clock in this run; a function if the test sets it meanwhile. */
  clockAheadMs?: number | (() => number);
  /** Replaces the current time of this run. */
  fixedNow?: Date;
  /** Whether a bug becomes an outcome of its report, as for a user; otherwise it is thrown. */
  mayHaveBugs?: boolean;
};

export interface SampleLake {
  service: SampleService;
  brand: SampleBrand;
  store: MemoryStore;
  catalog: ReturnType<typeof memoryCatalog>;
  /** The time of the core, the machine and the service. */
  nowMs: number;
  startDate: string;
  /** The settings of this lake's runs. */
  settings(own?: Pick<SyncOptions, 'brandSettings' | 'commonSettings'>): Settings;
  /** One run, as a separate process. */
  sync(options?: SyncOptions): Promise<SyncOutcome>;
  /** One rebuild from raw records, as a separate process. */
  rebuild(
    scope: RebuildScope,
    options?: Partial<Omit<RebuildOptions, 'settings'>> & Pick<SyncOptions, 'brandSettings'>,
  ): Promise<RebuildOutcome>;
  /** The same lake with another store or another catalog. */
  over(store: ObjectStore, catalog?: Catalog): Lake;
  /** The options of any other operation on the lake, as a separate process. */
  access(): LakeAccess & { reports: ReportRegistry };
  /** Lets time pass, with the work that is done at intervals, such as the renewal of a lease. */
  advance(ms: number): void;
  /** An empty lake of the same service, with its records and time as at the beginning. */
  emptyLake(): SampleLake;
  /** A copy of this lake as it is now, with the same service. */
  fork(): SampleLake;
  close(): Promise<void>;
}

export interface SampleLakeOptions {
  now: string;
  startDate: string;
  /** The time of the last records; `now` by default. */
  recordsTo?: string;
  clicksPerDay?: number;
  interpretations?: Partial<Interpretations>;
  /** Merged into the brand's settings, for every run. */
  brandSettings?: JsonObject;
  /** The default scope of `sync`; all reports by default. */
  reports?: readonly ReportName[];
}

interface Time {
  nowMs: number;
  sleptMs: number;
}

/** All future records, and the time up to which the service has them. */
interface Feed {
  all: SampleRecords;
  releasedToMs: number;
}

/** Shared by all lakes of one service. */
interface World {
  time: Time;
  feed: Feed;
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
  const feed: Feed = { all, releasedToMs: Number.NEGATIVE_INFINITY };
  const service = await startSampleService({
    brands: { [BRAND]: { timeZone: ZONE, ...CREDENTIALS, records: noRecords() } },
    now: () => new Date(time.nowMs + time.sleptMs),
    ...(options.interpretations && { interpretations: options.interpretations }),
  });
  return createLake(service, { time, feed }, options);
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

/** Gives the service every record whose time has passed. */
function releaseRecords({ records }: SampleBrand, { time, feed }: World): void {
  const nowMs = time.nowMs + time.sleptMs;
  for (const report of REPORTS) {
    const due = feed.all[report].filter(({ at }) => feed.releasedToMs < at && at <= nowMs);
    if (due.length > 0) records[report] = [...records[report], ...due];
  }
  feed.releasedToMs = Math.max(feed.releasedToMs, nowMs);
}

function createLake(
  service: SampleService,
  world: World,
  options: SampleLakeOptions,
  original?: SampleLake,
): SampleLake {
  const { time, feed } = world;
  const brand = service.brands[BRAND];
  if (!brand) throw new Error(`the service has no brand ${BRAND}`);
  const wallMs = () => time.nowMs + time.sleptMs;
  const store = memoryStore({ now: () => new Date(wallMs()) });
  const catalog = memoryCatalog();
  const ticks = new Set<{ everyMs: number; nextMs: number; tick: () => void }>();
  for (const [key, object] of original?.store.objects ?? [])
    store.objects.set(key, { ...object, etag: `copied-${object.etag}` });
  for (const [path, snapshot] of original?.catalog.pointers ?? []) catalog.pointers.set(path, snapshot);
  // A copy must not repeat ids of the original.
  let ids = original ? 500_000 : 0;
  releaseRecords(brand, world);
  const settingsWith = ({ brandSettings, commonSettings }: SyncOptions) => {
    const settings = {
      baseUrl: brand.baseUrl,
      service: service.serviceName,
      timeZone: ZONE,
      startDate: options.startDate,
      secretName: 'none',
      reports: { clicks_detail: { enabled: true } },
      ...options.brandSettings,
      ...brandSettings,
    };
    return parseSettings(
      { brands: { [BRAND]: settings }, requestsPerSecond: 1000, ...commonSettings },
      reports,
    );
  };
  const accessOf = (machineMs: () => number, fixedNow?: Date) => ({
    reports,
    lake: { store, catalog, runs: blindRegistry } satisfies Lake,
    clock: {
      monotonicMs: wallMs,
      ...(fixedNow && { fixedNow }),
      wallMs: machineMs,
      async sleep(ms: number) {
        time.sleptMs += ms;
      },
      every(everyMs: number, tick: () => void) {
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
  });
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
    settings: (own = {}) => settingsWith(own),
    sync({
      brandSettings,
      commonSettings,
      clockAheadMs = 0,
      fixedNow,
      mayHaveBugs,
      ...given
    }: SyncOptions = {}) {
      const aheadMs = typeof clockAheadMs === 'number' ? () => clockAheadMs : clockAheadMs;
      const machineMs = () => wallMs() + aheadMs();
      releaseRecords(brand, world);
      const ended = runSync({
        settings: settingsWith({
          ...(brandSettings && { brandSettings }),
          ...(commonSettings && { commonSettings }),
        }),
        ...accessOf(machineMs, fixedNow),
        credentials: { read: async () => CREDENTIALS },
        ...given,
        send: withoutFirst(service, given.send ?? sendRequest),
        scope: { ...(options.reports && { reports: options.reports }), ...given.scope },
      });
      return mayHaveBugs ? ended : withoutBugs(ended);
    },
    over: (behind, pointing = catalog) => ({ store: behind, catalog: pointing, runs: blindRegistry }),
    access: () => accessOf(() => time.nowMs),
    rebuild(scope, { brandSettings, ...given } = {}) {
      const ended = rebuildDays({
        settings: settingsWith(brandSettings ? { brandSettings } : {}),
        ...accessOf(wallMs),
        scope,
        ...given,
      });
      return withoutBugs(ended);
    },
    advance(ms) {
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
    emptyLake() {
      time.nowMs = Date.parse(options.now);
      time.sleptMs = 0;
      feed.releasedToMs = Number.NEGATIVE_INFINITY;
      brand.records = noRecords();
      return createLake(service, world, options);
    },
    fork() {
      return createLake(service, world, options, this);
    },
    close: () => service.close(),
  };
}

/**
 * Leaves the first request of a run, which is for the service's time, out of the log of the service, so that tests see the
 * requests of the days. If it gets a fault or a refusal, it stays.
 */
function withoutFirst({ requests }: SampleService, send: SendRequest): SendRequest {
  let isFirst = true;
  return async (request, limits) => {
    if (!isFirst) return await send(request, limits);
    isFirst = false;
    const before = requests.length;
    const result = await send(request, limits);
    const [entry] = requests.slice(before);
    if (entry?.fault === undefined && entry?.code === 0) requests.splice(before, 1);
    return result;
  };
}

/** Runs of one unit of work each until one is complete. @returns how many it took */
export async function syncUntilComplete(
  lake: SampleLake,
  options: SyncOptions & { betweenMs?: number; maxRuns?: number } = {},
): Promise<number> {
  const { betweenMs = 0, maxRuns = 200, ...given } = options;
  for (let runs = 1; runs <= maxRuns; runs += 1) {
    const outcome = await lake.sync({ deadline: NO_TIME, ...given });
    if (outcome.status === 'complete') return runs;
    if (outcome.status !== 'incomplete') throw new Error(`run ${runs}: ${JSON.stringify(outcome)}`);
    lake.nowMs += betweenMs;
  }
  throw new Error(`not complete after ${maxRuns} runs`);
}
