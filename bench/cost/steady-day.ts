/**
 * Simulates a day of a deployment that has been running for a long time, to count its requests to AWS. The core of the
 * Lambda functions runs every hour for every report, against local S3, Glue and Secrets Manager servers and the sample
 * service. Before the measured day all history is read, spread over the weeks before, so that only ordinary re-reads
 * are due. Time is virtual (virtual-clock.ts) and ids are counted, so each simulation counts about the same. `ASSUMED`
 * has the values that a local run lacks (cold starts, latencies, Lambda's own log lines).
 */
import { hash } from 'node:crypto';
import { timeLimits } from '../../functions/function-context.ts';
import { REPORT_NAMES, type ReportName, type SampleRecords } from '../../sample/brand.ts';
import { seedBrand } from '../../sample/seed.ts';
import { startSampleService } from '../../sample/server.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { secretsOf } from '../../shared/adapters/aws/secrets-manager-credentials.ts';
import { openGlueCatalog } from '../../shared/adapters/aws/glue-catalog.ts';
import { leaseOnlyRuns, openS3Store } from '../../shared/adapters/aws/s3-store.ts';
import { DAY_MS, HOUR_MS, addDays, dayOf, earlier, intervalMs, startOfDay } from '../../shared/base/days.ts';
import { parseJson } from '../../shared/base/json.ts';
import { parseLedger } from '../../shared/lake/ledger.ts';
import { dayPartition, parseLedgerKey, snapshotKey } from '../../shared/lake/paths.ts';
import { type LogEvent, levelOf } from '../../shared/base/log-events.ts';
import { updateCatalog } from '../../shared/catalog/update.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RunOptions, type RunScope, runSync } from '../../shared/run/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { startGlueServer } from '../../test/fakes/glue-server.ts';
import { startS3Server } from '../../test/fakes/s3-server.ts';
import { startSecretsServer } from '../../test/fakes/secrets-server.ts';
import { virtualClock } from './virtual-clock.ts';
import { type WatcherRun, watcherRun, watcherRunOver } from './watcher.ts';

const BRAND = 'acme';
const ZONE = 'America/New_York';
const SECRET = 'brand-reports/acme';
const CREDENTIALS = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };

/** The measured day. Together with the two days before it, which are re-read, it includes one busy day of three. */
const DAY = '2026-07-05';
/** Older clicks are settled: no run reads them, so the simulation leaves them out. */
const CLICK_DAYS = 5;
/** Until this age, every day has changed since its last reading, in one record of fifty (assumed). */
const CHANGING_DAYS = 30;
const names = REPORT_NAMES.filter((name) => name in reports);
/** The sample has no records of other reports, so a run of them costs as little as a run without a day that is due. */
const reportSettings = Object.fromEntries(
  Object.keys(reports).map((name) => [name, { enabled: names.some((own) => own === name) }]),
);
const historyDays = 1 + Math.max(...names.map((name) => reports[name]?.refresh.at(-1)?.untilAgeDays ?? 0));
const startDate = addDays(DAY, -historyDays);

/** The values that a local run lacks. */
export const ASSUMED = {
  /** Every hourly start is a cold start. */
  initSeconds: 0.6,
  requestSeconds: 0.3,
  awsCallSeconds: 0.02,
  /** CPU for each of these requests: the CPU of all runs of the day ÷ their requests, with the local servers. */
  cpuSeconds: 0.005,
  /**
   * CPU for each document that the watcher reads, the page included: the CPU of a run over 20 brands ÷ its documents.
   */
  cpuSecondsPerLedger: 0.008,
  /** The bytes that Lambda and CloudWatch add to each log line, and Lambda's own lines per run. */
  lineBytes: 180,
  runBytes: 1500,
};

/** The usage of an hourly deployment of all reports of one brand on one day. */
export interface SteadyDay {
  /** PUT and LIST of a run in which no day is due, and of a run that reads due days without a new record. */
  idleWrites: number;
  unchangedWrites: number;
  /** By the number of brands. */
  watcherRunsOfMany: ReadonlyMap<number, WatcherRun>;
  /** The requests of one update of the whole catalog, and its number of ledgers. */
  updateRequests: number;
  months: number;
  /** The bytes of a day of all reports in the brand's object in `coverage`. */
  coverageDayBytes: number;
  /** Of a day of the brand that changed: the objects in tables such as `orders_before`, and their size, on average. */
  beforeDayObjects: number;
  beforeDayBytes: number;
  clicks: number;
  runs: number;
  /** The seconds that Lambda bills for runs, how many of them are CPU, and the seconds of watcher runs. */
  seconds: number;
  cpuSeconds: number;
  watcherSeconds: number;
  /** Requests to the brand's service. */
  requests: number;
  /** Requests to AWS, by the name of the SDK command. */
  calls: ReadonlyMap<string, number>;
  logBytes: number;
  /** The number of events sent to EventBridge. */
  events: number;
  /** Watcher runs; the figures above include them. */
  watcherRuns: number;
  /** The bytes that each further day adds permanently to the lake and to the catalog. */
  keptBytes: number;
  keptPartitions: number;
  /** Versions that were replaced on the day, and their size: they stay for `snapshotRetentionDays`. */
  versions: number;
  versionBytes: number;
  snapshotRetentionDays: number;
}

/** The requests that S3 bills as PUT. */
export const WRITES = /^(PutObject|ListObjects|(Create|Complete)Multipart|UploadPart)/;

type World = Awaited<ReturnType<typeof openWorld>>;

/**
 * @param clicksPerDay of an ordinary day; every third day has three times as many
 * @param counts numbers of brands, for each of which a watcher run is measured
 */
export async function steadyDay(
  clicksPerDay: number,
  timeoutSeconds: number,
  counts: readonly number[],
): Promise<SteadyDay> {
  const world = await openWorld(clicksPerDay);
  try {
    await readHistory(world);
    world.tally.clear();
    const before = world.events();
    const measured = { runs: 0, seconds: 0, cpuSeconds: 0, requests: 0, logBytes: 0 };
    const watchers = { watcherRuns: 0, watcherSeconds: 0 };
    for (let hour = 0; hour < 24; hour += 1) {
      const hourMs = startOfDay(DAY, ZONE) + hour * HOUR_MS;
      const run = await scheduledRun(world, hourMs, timeoutSeconds);
      measured.runs += 1;
      measured.seconds += run.seconds;
      measured.cpuSeconds += run.cpuSeconds;
      measured.requests += run.requests;
      measured.logBytes += run.logBytes;
      const watched = await scheduledWatcherRun(world, hourMs + HOUR_MS);
      watchers.watcherRuns += 1;
      watchers.watcherSeconds += watched.seconds;
      measured.logBytes += watched.logBytes;
    }
    const { clicks, kept } = world;
    const calls = new Map(world.tally);
    const nowMs = startOfDay(DAY, ZONE) + 24 * HOUR_MS;
    const day = {
      clicks,
      ...measured,
      ...watchers,
      events: world.events() - before,
      calls,
      ...kept(),
      ...world.scanned(),
    };
    const idleWrites = await writesOfSecondRun(world, nowMs, world.slowSettings);
    const unchangedWrites = await writesOfSecondRun(world, nowMs, world.settings);
    const watcherRunOfMany = (names: readonly string[]) =>
      watcherRunOver(names, settingsOf(names), world.documents(), BRAND, nowMs);
    const watcherRunsOfMany = new Map<number, WatcherRun>();
    for (const count of counts) watcherRunsOfMany.set(count, await watcherRunOfMany(brandNames(count)));
    return {
      ...day,
      idleWrites,
      unchangedWrites,
      watcherRunsOfMany,
      updateRequests: await world.updateCatalog(nowMs),
      months: world.months(),
    };
  } finally {
    await world.close();
  }
}

async function writesOfSecondRun(world: World, nowMs: number, settings: World['settings']): Promise<number> {
  await world.sync(names, nowMs, { settings });
  world.tally.clear();
  await world.sync(names, nowMs, { settings });
  return [...world.tally].reduce((sum, [name, count]) => sum + (WRITES.test(name) ? count : 0), 0);
}

/**
 * Reads everything once, as if over the weeks before: of the days that are re-read every seven days, one seventh is due
 * on each day.
 */
async function readHistory(world: World): Promise<void> {
  for (const name of names) {
    const [last, younger] = reports[name]?.refresh.toReversed() ?? [];
    const everyDays = last ? intervalMs(last.every) / DAY_MS : 0;
    if (!last || !younger || everyDays <= 1) continue;
    const share = Math.ceil((last.untilAgeDays - younger.untilAgeDays) / everyDays);
    for (let slot = 0; slot < everyDays; slot += 1) {
      const from = addDays(DAY, slot * share - last.untilAgeDays);
      const to = earlier(addDays(from, share - 1), addDays(DAY, -younger.untilAgeDays - 1));
      await world.sync([name], startOfDay(addDays(DAY, slot - everyDays), ZONE), {
        scope: { from, to },
        settings: world.fastSettings,
      });
    }
  }
  // Early enough that every day that is due again after a day is due within the measured day.
  for (const hoursBefore of [4, 1])
    await world.sync(names, startOfDay(DAY, ZONE) - hoursBefore * HOUR_MS, { settings: world.fastSettings });
}

async function scheduledRun(world: World, startMs: number, timeoutSeconds: number) {
  const { requestsPerSecond } = world.settings;
  const { deadline } = timeLimits(timeoutSeconds * 1000);
  const shiftMs = startMs - performance.now();
  const before = world.requestsToAws();
  const { requests, elapsedMs, logged } = await world.sync(names, startMs, {
    deadline: { softMs: deadline.softMs + shiftMs, hardMs: deadline.hardMs + shiftMs },
  });
  const { initSeconds, requestSeconds, cpuSeconds, lineBytes, runBytes } = ASSUMED;
  const cpu = (requests + world.requestsToAws() - before) * cpuSeconds;
  // A response overlaps with the next request's wait for the rate limit, except the last response.
  const latency = Math.max(requestSeconds, requests * (requestSeconds - 1 / requestsPerSecond));
  return {
    seconds: initSeconds + elapsedMs / 1000 + (requests > 0 ? latency : 0) + cpu,
    cpuSeconds: cpu,
    requests,
    logBytes: runBytes + logged.join('').length + lineBytes * logged.length,
  };
}

async function scheduledWatcherRun(world: World, startMs: number) {
  const before = world.requestsToAws();
  const { elapsedMs, logged } = await world.watcherRun(startMs);
  const { initSeconds, cpuSeconds, lineBytes, runBytes } = ASSUMED;
  return {
    seconds: initSeconds + elapsedMs / 1000 + (world.requestsToAws() - before) * cpuSeconds,
    logBytes: runBytes + logged.join('').length + lineBytes * logged.length,
  };
}

/** A service with its records, an empty lake, and a function that syncs the service into the lake. */
async function openWorld(clicksPerDay: number) {
  const clock = virtualClock();
  const s3 = await startS3Server({ bucket: 'lake', pageSize: 1000 });
  const glue = await startGlueServer('brand_reports');
  const secrets = await startSecretsServer();
  const all = recordsOf(clicksPerDay);
  const service = await startSampleService({
    now: () => new Date(clock.wallMs()),
    brands: { [BRAND]: { timeZone: ZONE, ...CREDENTIALS, records: all } },
  });
  const { [BRAND]: brand } = service.brands;
  if (!brand) throw new Error(`the service has no brand ${BRAND}`);
  secrets.secrets.set(SECRET, JSON.stringify({ ...CREDENTIALS, baseUrl: brand.baseUrl }));
  const brands = { [BRAND]: brandSettings(brand.baseUrl) };
  const settings = parseSettings({ brands }, reports);
  const fastSettings = parseSettings({ brands, requestsPerSecond: 1000 }, reports);
  const daily = names.map((name) => [name, { enabled: true, every: '1 day' }]);
  const slow = {
    ...brandSettings(brand.baseUrl),
    reports: { ...reportSettings, ...Object.fromEntries(daily) },
  };
  const slowSettings = parseSettings({ brands: { [BRAND]: slow }, requestsPerSecond: 1000 }, reports);

  const tally = new Map<string, number>();
  let ids = 0;
  const newId = () => {
    ids += 1;
    const digits = hash('sha256', String(ids), 'hex');
    return [
      digits.slice(0, 8),
      digits.slice(8, 12),
      `4${digits.slice(13, 16)}`,
      `8${digits.slice(17, 20)}`,
      digits.slice(20, 32),
    ].join('-');
  };
  let events = 0;
  const bus = {
    async send(sent: readonly unknown[]) {
      events += sent.length;
    },
  };
  const counted =
    <Call extends { input: object }, Answer>(
      next: (call: Call) => Promise<Answer>,
      { commandName = '' }: { commandName?: string },
    ) =>
    async (call: Call) => {
      // Glue's pages are larger than the pages of its test double, so only first pages count.
      if (!('NextToken' in call.input) || call.input.NextToken === undefined) {
        tally.set(commandName, (tally.get(commandName) ?? 0) + 1);
        await clock.sleep(ASSUMED.awsCallSeconds * 1000);
      }
      return next(call);
    };
  s3.client.middlewareStack.add(counted, { step: 'initialize' });
  glue.client.middlewareStack.add(counted, { step: 'initialize' });
  secrets.client.middlewareStack.add(counted, { step: 'initialize' });
  const store = openS3Store({ client: s3.client, bucket: s3.bucket, prefix: '' });
  const database = 'brand_reports';
  const catalog = openGlueCatalog(database, store.url, glue.client);
  const credentials = secretsOf(settings, true, secrets.client);

  const world = {
    settings,
    fastSettings,
    slowSettings,
    tally,
    events: () => events,
    requestsToAws: () => tally.values().reduce((sum, count) => sum + count, 0),
    clicks: all.clicks_list.length / (CLICK_DAYS + 1),
    async sync(some: readonly string[], startMs: number, options: SyncOptions) {
      const startedAtMs = Date.now();
      clock.startAt(startMs);
      brand.records = recordsAt(all, startMs);
      const logged: string[] = [];
      const { status, reports: outcomes } = await runSync({
        settings,
        reports,
        lake: { store, catalog, runs: leaseOnlyRuns },
        credentials,
        send: sendRequest,
        events: bus,
        clock,
        log: (event) => void (levelOf(event) !== 'debug' && logged.push(JSON.stringify(event))),
        random: () => 0.5,
        newId,
        ...options,
        scope: { ...options.scope, brands: [BRAND], reports: some },
      });
      if (status === 'failed')
        throw new Error(`a run failed: ${outcomes.map(({ error }) => error?.message).join(' ')}`);
      const requests = outcomes.reduce((sum, outcome) => sum + outcome.requests, 0);
      for (const object of s3.objects.values())
        if (object.modifiedAt.getTime() >= startedAtMs) object.modifiedAt = new Date(startMs);
      return { requests, elapsedMs: clock.wallMs() - startMs, logged };
    },
    async watcherRun(startMs: number) {
      clock.startAt(startMs);
      const logged: string[] = [];
      const log = (event: LogEvent) => void logged.push(JSON.stringify(event));
      await watcherRun({ settings, store, clock, newId, events: bus, log });
      return { elapsedMs: clock.wallMs() - startMs, logged };
    },
    /** Counting stops after the update. */
    async updateCatalog(startMs: number) {
      clock.startAt(startMs);
      tally.clear();
      const lake = { store, catalog, runs: leaseOnlyRuns };
      const access = { settings, reports, lake, clock, random: () => 0.5, newId };
      const { status } = await updateCatalog({
        ...access,
        log: () => {},
        program: '1.0.0',
        catalogId: 'test',
      });
      if (status !== 'complete') throw new Error(`the update is ${status}`);
      return world.requestsToAws();
    },
    /** The documents of every report and month. */
    documents: () =>
      new Map(
        [...s3.objects].flatMap(([key, { body }]) =>
          /^(ledger|schema)\//.test(key) ? [[key, body] as const] : [],
        ),
      ),
    months: () => [...s3.objects.keys()].filter((key) => parseLedgerKey(key)).length,
    /** The sizes of the tables over all brands. */
    scanned: () => {
      const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);
      const objects = [...s3.objects].map(([key, { body }]) => ({ key, bytes: body.length }));
      // The objects of the brand are numbered, and the newest has all its days.
      const coverage = objects.filter(({ key }) => key.startsWith('snapshots/coverage/'));
      const newest = coverage.toSorted((a, b) => (a.key < b.key ? -1 : 1)).at(-1);
      // Each object of a partition contains the objects before it, so the largest is the current object.
      const before = Map.groupBy(objects, ({ key }) => /^snapshots\/\w+_before\/.*dt=[^/]+/.exec(key)?.[0]);
      const current = [...before].flatMap(([partition, own]) =>
        partition === undefined
          ? []
          : [{ day: partition.slice(-10), bytes: Math.max(...own.map(({ bytes }) => bytes)) }],
      );
      const days = new Set(current.map(({ day }) => day)).size;
      return {
        coverageDayBytes: (newest?.bytes ?? 0) / historyDays,
        beforeDayObjects: current.length / days,
        beforeDayBytes: sum(current.map(({ bytes }) => bytes)) / days,
      };
    },
    kept: () => {
      const replaced = replacedVersions(s3.objects);
      const isWholeDay = (key: string) => {
        const [, day = ''] = /\/dt=([^/]+)/.exec(key) ?? [];
        return addDays(DAY, -CLICK_DAYS) <= day && day < DAY;
      };
      const objects = [...s3.objects].filter(([key]) => isWholeDay(key) && !replaced.has(key));
      const today = [...replaced].filter(([, atMs]) => atMs >= startOfDay(DAY, ZONE));
      const partitions = [...glue.tables.values()].map((table) => table.partitions.size);
      return {
        keptBytes: objects.reduce((sum, [, { body }]) => sum + body.length, 0) / CLICK_DAYS,
        keptPartitions: partitions.reduce((sum, count) => sum + count, 0) / historyDays,
        versions: today.length,
        versionBytes: today.reduce((sum, [key]) => sum + (s3.objects.get(key)?.body.length ?? 0), 0),
        snapshotRetentionDays: settings.brands[BRAND]?.snapshotRetentionDays ?? 0,
      };
    },
    close: () => Promise.all([s3, glue, secrets, service].map((server) => server.close())),
  };
  return world;
}

/** The keys of the versions that are kept beside the current ones, and when each was replaced. */
function replacedVersions(objects: ReadonlyMap<string, { body: Uint8Array }>): Map<string, number> {
  const found = new Map<string, number>();
  for (const [key, { body }] of objects) {
    const of = parseLedgerKey(key);
    const table = of && reports[of.report]?.table;
    if (!of || table === undefined) continue;
    const ledger = parseLedger(key, of)(parseJson(Buffer.from(body).toString()));
    for (const [day, { superseded = [] }] of Object.entries(ledger.days))
      for (const { snapshot, at } of superseded)
        if (at !== null) found.set(snapshotKey(table, dayPartition(of.brand, day), snapshot), Date.parse(at));
  }
  return found;
}

type SyncOptions = { scope?: RunScope } & Pick<Partial<RunOptions>, 'settings' | 'deadline'>;

/** Names with the usual length of brand names. */
export const brandNames = (count: number) =>
  Array.from({ length: count }, (_, index) => `a-brand-of-the-agency-${index + 1}`);

/** The settings of the simulated day. */
export function settingsOf(names: readonly string[]) {
  const brand = brandSettings('https://service.example/api/brand');
  return parseSettings({ brands: Object.fromEntries(names.map((name) => [name, brand])) }, reports);
}

function brandSettings(baseUrl: string) {
  return {
    baseUrl,
    service: 'SAMPLE',
    timeZone: ZONE,
    startDate,
    secretName: SECRET,
    reports: reportSettings,
  };
}

function recordsOf(clicksPerDay: number): SampleRecords {
  const from = (day: string) => new Date(startOfDay(day, ZONE));
  const to = from(addDays(DAY, 1));
  const seeded = seedBrand({ seed: 7, timeZone: ZONE, from: from(startDate), to, clicksPerDay });
  const isRecent = ({ at }: { at: number }) => at >= startOfDay(addDays(DAY, -CLICK_DAYS), ZONE);
  return {
    ...seeded,
    clicks_list: seeded.clicks_list.filter(isRecent),
    clicks_detail: seeded.clicks_detail.filter(isRecent),
  };
}

/** The records that exist at `nowMs`, in their state on that day. */
function recordsAt(all: SampleRecords, nowMs: number): SampleRecords {
  const today = dayOf(nowMs, ZONE);
  const existing = (name: ReportName) => all[name].filter(({ at }) => at <= nowMs);
  const changing = (name: ReportName) =>
    existing(name).map(({ at, record }, index) =>
      index % 50 === 0 && nowMs - at < CHANGING_DAYS * DAY_MS
        ? { at, record: { ...record, last_change: today } }
        : { at, record },
    );
  return {
    clicks_list: existing('clicks_list'),
    clicks_detail: existing('clicks_detail'),
    order_list: changing('order_list'),
    transaction_list: changing('transaction_list'),
    amazon_attribution_report: changing('amazon_attribution_report'),
  };
}
