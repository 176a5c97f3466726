import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS, MINUTE_MS, addMonths, daysFrom, monthOf } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import type { Committed } from '../../shared/lake/ledger.ts';
import { LAST_RUN_RENEWED_MS } from '../../shared/lake/report-state.ts';
import {
  brandSettingsKey,
  dayPartition,
  brandStateKey,
  ledgerKey,
  partitionPath,
} from '../../shared/lake/paths.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { readAt } from '../planning/entries.ts';
import { countingLake } from '../fakes/counting-lake.ts';
import { changeState } from '../fakes/report-states.ts';
import {
  type SampleLake,
  type SyncOptions,
  REPORTS,
  ZONE,
  blindRegistry,
  sampleLake,
} from './sample-lake.ts';

/*
 * Counts the requests of a run to a lake of ten years. All days are settled, including today, except two days of orders
 * that are due DUE_AFTER_MS after the daily check that wrote the report states. All responses of the service are empty.
 */
const FIRST = '2016-03-11';
const TODAY = '2026-03-10';
const NOW = '2026-03-10T15:00:00Z';
const BRANDS = ['acme', 'bolt'];
const DUE_DAYS = ['2016-05-03', '2021-07-07'];
const DUE_AFTER_MS = 45 * MINUTE_MS;
/** A day is due this long before the week is over. */
const SLACK_MS = 30 * MINUTE_MS;

let sample: SampleLake;
let grown: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({ now: NOW, startDate: TODAY, clicksPerDay: 0 });
  grown = sample.emptyLake();
  const settings = parseSettings({ ...settingsOf(BRANDS), requestsPerSecond: 1000 }, reports);
  for (const name of BRANDS)
    for (const report of Object.values(reports)) {
      const { queryFingerprint } = enabledPolicy(settings, name, report) ?? {};
      if (queryFingerprint === undefined) throw new Error(`${report.name} is not enabled`);
      await fill(grown, name, report, queryFingerprint);
    }
  expect(await sync(grown)).toMatchObject({ 'get ledger/order_list/acme/2016-03.json': expect.any(Number) });
  // The service answered no request, so the vacuum did not run.
  for (const name of BRANDS)
    for (const report of REPORTS)
      await changeState(grown.store, report, name, (state) => ({ ...state, vacuumedAt: NOW }));
}, 120_000);
afterAll(() => sample.close());

/** The ledgers of the two months before a day: the day's coverage compares its days with their weeks. */
function weeksBefore(report: string, day: string): [requested: string, times: number][] {
  const month = monthOf(day);
  return [-2, -1].map((months) => [ledgerOf(report, 'acme', `${addMonths(month, months)}-01`), 1]);
}

/** All brands use one service. */
function settingsOf(brands: readonly string[]): JsonObject {
  const brand: JsonObject = {
    baseUrl: sample.brand.baseUrl,
    service: sample.service.serviceName,
    timeZone: ZONE,
    startDate: FIRST,
    secretName: 'none',
    reports: {
      clicks_detail: { enabled: true },
      order_list: { refresh: [{ untilAgeDays: 4000, every: '7 days' }] },
    },
  };
  return { brands: Object.fromEntries(brands.map((name) => [name, brand])) };
}

async function fill(lake: SampleLake, brand: string, report: ReportDefinition, queryFingerprint: string) {
  const entries = daysFrom(FIRST, TODAY).map((day): [string, { committed: Committed }] => {
    const isDue = report.name === 'order_list' && DUE_DAYS.includes(day);
    const readMs = Date.parse(NOW) - (isDue ? 7 * DAY_MS - SLACK_MS - DUE_AFTER_MS : HOUR_MS);
    const read = new Date(readMs).toISOString();
    const { committed } = readAt(read, {
      snapshot: `s-${day}`,
      rows: DUE_DAYS.includes(day) ? 0 : 3,
      digest: `v2:${day}`,
      state: isDue ? 'closed' : 'settled',
      queryFingerprint,
      ...(report.day.by === 'upstream' && { upstreamDigest: `v2:${day}` }),
    });
    lake.catalog.pointers.set(`${report.table}/${partitionPath(dayPartition(brand, day))}`, `s-${day}`);
    return [day, { committed }];
  });
  for (const [month, own] of Map.groupBy(entries, ([day]) => monthOf(day))) {
    const days = Object.fromEntries(own);
    const ledger = { version: 2, report: report.name, brand, month, days, recentWrites: [] };
    const body = Buffer.from(JSON.stringify(ledger));
    await lake.store.put(ledgerKey(report.name, brand, month), body, { ifAbsent: true });
  }
}

/** One scheduled run. @param opened the store as the run sees it @returns its requests to the lake, with their counts */
async function sync(lake: SampleLake, options: SyncOptions = {}): Promise<Record<string, number>> {
  const counting = countingLake(lake);
  const { store, catalog } = counting;
  const outcome = await lake.sync({
    commonSettings: settingsOf(BRANDS),
    lake: { store, catalog, runs: blindRegistry },
    ...options,
  });
  expect(outcome).toMatchObject({ status: 'complete' });
  return counting.taken();
}

function only(requested: Record<string, number>, prefix: string): Record<string, number> {
  return Object.fromEntries(Object.entries(requested).filter(([what]) => what.startsWith(prefix)));
}

function laterFork(ms: number): SampleLake {
  grown.nowMs = Date.parse(NOW) + ms;
  return grown.fork();
}

const stateOf = (brand: string) => `get ${brandStateKey(brand)}`;
const settingsIn = (brand: string) => `get ${brandSettingsKey(brand)}`;
const ledgerOf = (report: string, brand: string, day: string) =>
  `get ${ledgerKey(report, brand, monthOf(day))}`;

describe('a scheduled run over ten years', () => {
  it('reads two objects per brand if nothing is due, and nothing else', async () => {
    const lake = laterFork(DUE_AFTER_MS - MINUTE_MS);
    // Fifty brands: most have only report states, because the run may read nothing else.
    const brands = Array.from({ length: 50 }, (_, number) => BRANDS[number] ?? `brand-${number}`);
    const adopted = Buffer.from((await lake.store.get(brandSettingsKey('acme')))?.body ?? []).toString();
    for (const name of brands.slice(BRANDS.length)) {
      const own = Buffer.from(adopted.replace('"brand":"acme"', `"brand":"${name}"`));
      await lake.store.put(brandSettingsKey(name), own, { ifAbsent: true });
      const state = await lake.store.get(brandStateKey('acme'));
      if (state) await lake.store.put(brandStateKey(name), state.body, { ifAbsent: true });
    }
    const requested = await sync(lake, { commonSettings: settingsOf(brands) });
    const read = brands.flatMap((brand) => [stateOf(brand), settingsIn(brand)]);
    expect(requested).toEqual(Object.fromEntries(read.map((request) => [request, 1])));
  });

  it('writes that object only if its last sign of life is three hours old', async () => {
    const scope = { reports: ['clicks_list'], brands: ['acme'] };
    const key = brandStateKey('acme');
    const lake = laterFork(LAST_RUN_RENEWED_MS + MINUTE_MS);
    const read = { [`get ${key}`]: 1, [settingsIn('acme')]: 1 };
    expect(await sync(lake, { scope })).toEqual({ ...read, [`put ${key}`]: 1 });
    expect(await sync(lake, { scope })).toEqual(read);
  });

  it('reads only the ledgers of due months, and lists only their partitions', async () => {
    const lake = laterFork(DUE_AFTER_MS);
    const scope = { reports: ['order_list'], brands: ['acme'] };
    const requested = await sync(lake, { scope });
    // A day is published, then the coverage of its month: after each the ledger is read again.
    const ledgers = DUE_DAYS.map((day) => [ledgerOf('order_list', 'acme', day), 1 + 2]);
    expect(only(requested, 'get ledger/')).toEqual({
      [stateOf('acme')]: 1,
      ...Object.fromEntries([...ledgers, ...DUE_DAYS.flatMap((day) => weeksBefore('order_list', day))]),
    });
    expect(only(requested, 'list')).toEqual({});
    const [from = '', to = ''] = DUE_DAYS.map(monthOf);
    expect(only(requested, 'snapshotsByPartition')).toEqual({
      [`snapshotsByPartition orders ${from}-01..${to}-31`]: 1,
      [`snapshotsByPartition orders_before ${from}-01..${to}-31`]: 1,
      'snapshotsByPartition coverage all': 1,
    });
    await sync(lake, { scope });
    expect(await sync(lake, { scope })).toEqual({
      [stateOf('acme')]: 1,
      [settingsIn('acme')]: 1,
    });
  });
});
