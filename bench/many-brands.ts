/**
 * Measures what grows with brands: `npm run bench:brands [brands] [months]` (300 and 33). A server has the ledgers of all
 * brands, and a process of its own does each kind of run through the real S3 adapter, with a latency for each request. The
 * catalog is a double that points at every committed version, as before an upgrade.
 */
import { hash } from 'node:crypto';
import { consoleControls } from '../functions/console-controls.ts';
import { openBucket } from '../shared/adapters/aws/s3-lake.ts';
import { leaseOnlyRuns } from '../shared/adapters/aws/s3-store.ts';
import { tuneHeap } from '../shared/adapters/heap.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { updateCatalog } from '../shared/catalog/update.ts';
import { addDays, DAY_MS, dayOf, daysFrom, monthOf } from '../shared/base/days.ts';
import { hashOfSettings } from '../shared/lake/brand-settings.ts';
import { createLakeDocuments } from '../shared/lake/lake-documents.ts';
import { brandPartitions, dayPartition, partitionPath } from '../shared/lake/paths.ts';
import { enabledPolicy, policyFingerprint } from '../shared/planning/policy.ts';
import type { Catalog, Lake } from '../shared/ports.ts';
import { reports } from '../shared/reports/index.ts';
import { runSync } from '../shared/run/run.ts';
import { parseSettings, type Settings } from '../shared/settings/settings.ts';
import { watch } from '../shared/watch/watcher/index.ts';
import { storeAround } from '../test/fakes/lake-around.ts';
import { memoryStore } from '../test/fakes/memory-store.ts';
import { startS3Server } from '../test/fakes/s3-server.ts';
import { readDay, storeDays } from '../test/watch/stored-ledgers.ts';
import { type Measured, measure } from './compare/measure.ts';
import { prices } from './cost/prices.ts';

const LATENCY_MS = 20;
/** The timeout of the function `watch`, and what it leaves for the catalog before it (functions/function-context.ts). */
const TIMEOUT_MS = 300_000;
const SOFT_MS = TIMEOUT_MS - 75_000;
const KINDS = ['watch', 'settings', 'rebuild', 'continue', 'sync'] as const;
type Kind = (typeof KINDS)[number];
const BRAND = 'brand-000';
const [first = '300', second = '33', kind] = process.argv.slice(2);
const BRANDS = Number(first);
const names = Array.from({ length: BRANDS }, (_, index) => `brand-${String(index).padStart(3, '0')}`);
const today = dayOf(Date.now(), 'UTC');
const startDate = `${monthOf(addDays(today, -Math.round((Number(second) - 1) * 30.44)))}-01`;
const settings = settingsFrom(startDate);

/** @param refresh another one makes another policy, so that every month is judged and read */
function settingsFrom(start: string, refresh?: object): Settings {
  const brand = {
    baseUrl: 'https://service.example/api/brand',
    service: 'ACME',
    timeZone: 'UTC',
    startDate: start,
  };
  const enabled = { enabled: true, ...refresh };
  const own = { ...brand, reports: Object.fromEntries(Object.keys(reports).map((name) => [name, enabled])) };
  return parseSettings({ brands: Object.fromEntries(names.map((name) => [name, own])) }, reports);
}

if (KINDS.some((known) => known === kind)) await once(KINDS.find((known) => known === kind) ?? 'watch');
else await all();

async function once(what: Kind): Promise<void> {
  tuneHeap();
  const store = storeAround(openBucket('s3://lake', undefined), async (_operation, act) => {
    await new Promise((resolve) => setTimeout(resolve, LATENCY_MS));
    return act();
  });
  const lake: Lake = { store, catalog: pointedCatalog(), runs: leaseOnlyRuns };
  const clock = systemClock();
  const used = what === 'settings' ? settingsFrom(startDate, { every: '12 hours' }) : settings;
  const newId = () => crypto.randomUUID();
  const access = { lake, clock, settings: used, reports, log: () => {}, random: Math.random, newId };
  const begun = performance.now();
  let result: string;
  if (what === 'sync') {
    const nobody = async (): Promise<never> => {
      throw new Error('a quiet brand sends no request');
    };
    const adoption = { by: 'functions' as const };
    const outcome = await runSync({
      ...access,
      scope: {},
      adoption,
      credentials: { read: nobody },
      send: nobody,
    });
    result = outcome.status;
    if (result !== 'complete') throw new Error(JSON.stringify(outcome).slice(0, 3000));
  } else {
    const { problems } = await watch({
      ...{ ...access, store, notifier: { tell: async () => {} }, events: { send: async () => {} } },
      pageAt: (key) => key,
      ...{ pipeline: 'BrandReports', controls: consoleControls('us-east-1', 'BrandReports') },
    });
    const deadline = { softMs: begun + SOFT_MS, hardMs: begun + SOFT_MS };
    const again = what === 'rebuild';
    const update = { ...access, program: '1.0.0', catalogId: 'bench', again, deadline };
    const catalog = again || what === 'continue' ? await updateCatalog(update) : undefined;
    result = catalog
      ? `${catalog.status}, ${catalog.brandsLeft.length} brands left`
      : `${problems.length} problems`;
  }
  console.log(result);
  process.exit();
}

/** A catalog in which every day has the version of its ledger. */
function pointedCatalog(): Catalog {
  const made = new Map<string, string>();
  const days = daysFrom(startDate, today);
  return {
    ensureTable: async () => {},
    ensureView: async () => {},
    removePartition: async () => {},
    setSnapshot: async ({ name }, partition, snapshot) =>
      void made.set(`${name}/${partitionPath(partition)}`, snapshot),
    async snapshotsByPartition(table, leading, within) {
      const of = `${table}/${partitionPath(leading)}`;
      const own = made.get(of);
      if (own !== undefined) return new Map([[partitionPath(leading), [own]]]);
      const brand = leading[0]?.[1] ?? '';
      const isOfDays = Object.values(reports).some((report) => report.table === table);
      const found = isOfDays ? days.filter((day) => !within || (within.from <= day && day <= within.to)) : [];
      return new Map(found.map((day) => [partitionPath(dayPartition(brand, day)), ['s1']]));
    },
  };
}

async function all(): Promise<void> {
  const s3 = await startS3Server({ pageSize: 1000 });
  const documents = await documentsOfOne();
  let ledgers = 0;
  for (const name of names)
    for (const [key, { body, etag, modifiedAt }] of documents) {
      const text = Buffer.from(body).toString();
      // Bodies are made when they are read: those of 300 brands take gigabytes.
      const stored = {
        etag,
        modifiedAt,
        get body() {
          return Buffer.from(text.replaceAll(BRAND, name));
        },
      };
      s3.objects.set(key.replace(BRAND, name), stored);
      if (/\d{4}-\d\d\.json$/.test(key)) ledgers += 1;
    }
  console.log(`### ${BRANDS} brands, ${ledgers.toLocaleString('en-US')} ledgers, ${LATENCY_MS} ms a request`);
  const env = {
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
  };
  console.log(
    '| a run | peak MB | seconds | CPU seconds | GET | PUT and LIST | result |\n| - | - | - | - | - | - | - |',
  );
  const run = async (name: string, what: Kind): Promise<Measured> => {
    s3.requests.length = 0;
    const args = ['--disable-warning=ExperimentalWarning', import.meta.filename, first, second, what];
    const measured = await measure({ program: process.execPath, args, env });
    if (measured.code !== 0) throw new Error(measured.stderr.slice(-2000));
    const gets = s3.requests.filter((each) => /^(GET|HEAD) ./.test(each) && !each.includes('?')).length;
    const seconds = (ms: number) => (ms / 1000).toFixed(0);
    const cells = [name, measured.peakMb.toFixed(0), seconds(measured.wallMs), seconds(measured.cpuMs)];
    cells.push(String(gets), String(s3.requests.length - gets), measured.stdout.trim());
    console.log(`| ${cells.join(' | ')} |`);
    return measured;
  };
  await run('sync {}, nothing due', 'sync');
  await run('watch {}', 'watch');
  await run('watch {}, all settings changed', 'settings');
  for (
    let measured = await run('watch {"rebuildCatalog": true}', 'rebuild');
    !measured.stdout.startsWith('complete');
  )
    measured = await run('watch {}, which continues', 'continue');
  const sizes = (start: string) =>
    [...s3.objects].flatMap(([key, { body }]) => (key.startsWith(start) ? [body.length] : []));
  const coverage = sizes(`snapshots/coverage/${partitionPath(brandPartitions(BRAND))}/`).at(-1) ?? 0;
  const { s3Write, s3Read, athenaTb } = prices;
  const usd =
    (BRANDS * s3Write.usd) / s3Write.per +
    (3 * BRANDS * s3Read.usd) / s3Read.per +
    ((BRANDS * coverage) / 1e12) * athenaTb.usd;
  console.log(
    `Coverage of a brand: ${coverage} bytes; a query over all brands: ${usd.toFixed(4)} USD (a LIST and three GET an object).`,
  );
  console.log(
    `The largest page of a brand: ${Math.max(...sizes('status/coverage/'))} bytes; the index: ${sizes('status/coverage.html').join()}.`,
  );
  process.exit();
}

/** The documents of a lake in which nothing is due. */
async function documentsOfOne() {
  const store = memoryStore();
  const clock = { wallMs: () => Date.now(), sleep: async () => {} };
  const [at, later] = [new Date().toISOString(), new Date(Date.now() + DAY_MS).toISOString()];
  const own = settings.brands[BRAND];
  const values = {
    filled: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`column_${index}`, 1000 + index])),
  };
  for (const report of Object.values(reports)) {
    // Storing days changes the state of the brand, so an earlier reading of it is outdated.
    const documents = createLakeDocuments({ store, clock, newId: () => 'made', random: Math.random });
    const looksUp = report.day.by === 'upstream';
    const readOn = (day: string) => {
      // Different days have different contents, so that Parquet cannot code them as one.
      const digest = `3:${hash('sha256', day, 'hex').slice(0, 32)}`;
      const read = (time: string) => `${addDays(day, 1)}T${time}:06.789Z`;
      const [readFrom, readTo] = [read('04:05'), read('04:09')];
      const history = { after: readFrom, by: readTo, timeZone: 'UTC', key: 'order_id', place: 0 };
      const times =
        day === today ? { readFrom: at, readTo: at, state: 'open' as const } : { readFrom, readTo, history };
      const entry = readDay(settings, report.name, {
        ...{
          snapshot: 's1',
          timeZone: 'UTC',
          values,
          digest,
          rows: Number.parseInt(digest.slice(2, 5), 16) + 50,
        },
        ...{ ...times, ...(looksUp && { upstreamDigest: digest }) },
      });
      return { ...entry, firstCommittedAt: read('04:09') };
    };
    const days = Object.fromEntries(daysFrom(startDate, today).map((day) => [day, readOn(day)]));
    await storeDays(store, { report: report.name, brand: BRAND }, days);
    const months = [...new Set(Object.keys(days).map(monthOf))];
    const policy = enabledPolicy(settings, BRAND, report);
    await documents.reportState(report.name, BRAND).update((state) => ({
      ...state,
      ...{
        policy: policy ? policyFingerprint(policy) : '',
        hasReturnedRecords: true,
        examinedAt: at,
        vacuumedAt: at,
      },
      months: Object.fromEntries(
        months.map((month) => [
          month,
          { nextDue: later, asOf: at, content: 'x', ...(looksUp && { upstream: 'x' }) },
        ]),
      ),
      viewsOf: own ? hashOfSettings(own) : '',
      lastRun: {
        at,
        since: at,
        completeAt: at,
        status: 'complete',
        failedDays: 0,
      },
    }));
  }
  return store.objects;
}
