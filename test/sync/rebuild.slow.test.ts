import { describe, expect, it } from '@jest/globals';
import { type Held, type ReportName, restate } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { type Committed, attemptOfRollback } from '../../shared/lake/ledger.ts';
import { dayPartition, leaseKey, progressKey, snapshotKey } from '../../shared/lake/paths.ts';
import type { RebuildOutcome } from '../../shared/operations/rebuild-days.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { changesOf } from './changes-of-day.ts';
import {
  alter,
  coverageOf,
  ledgerEntries,
  ledgerEntry,
  outcomesOf,
  publishedDays,
  rewriteDocument,
  rowsOf,
  serviceDays,
  tableOf,
  wrongReports,
} from './lake-contents.ts';
import { BRAND, NO_TIME, REPORTS, type SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-06';
const [DAY, LAST, TODAY] = ['2026-03-07', '2026-03-09', '2026-03-10'];
const LEDGER = 'ledger/order_list/acme/2026-03.json';

const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: FIRST, clicksPerDay: 6 });

async function synced(reports: readonly ReportName[] = ['order_list']): Promise<SampleLake> {
  const lake = sample.emptyLake();
  expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
  lake.nowMs += 5 * MINUTE_MS;
  return lake;
}

const scopeOf = (report: ReportName, from = FIRST, to = TODAY) => ({ reports: [report], from, to });

function outcomes({ reports }: RebuildOutcome): Record<string, string> {
  return Object.fromEntries(
    reports.flatMap(({ days }) => days).map(({ dt, outcome, reason }) => [dt, reason ?? outcome]),
  );
}

const every = (outcome: string, from = 6, to = 10) =>
  Object.fromEntries(
    Array.from({ length: to - from + 1 }, (_, index) => [
      `2026-03-${String(from + index).padStart(2, '0')}`,
      outcome,
    ]),
  );

async function currentRows(lake: SampleLake, report: ReportName, day: string) {
  const { committed } = await ledgerEntry(lake, report, day);
  return rowsOf(lake, snapshotKey(tableOf(report), dayPartition(BRAND, day), committed?.snapshot ?? ''));
}

/** The days that a run would read next, found without reading them in this lake. */
async function readNext(lake: SampleLake, report: ReportName, brandSettings = {}) {
  const copy = lake.fork();
  return Object.keys(outcomesOf(await copy.sync({ scope: { reports: [report] }, brandSettings }), report));
}

function howRead(committed: Committed | undefined) {
  const facts = ['state', 'contradictions', 'attempt', 'pages'] as const;
  const times = ['readFrom', 'readTo', 'queryFingerprint'] as const;
  return [...facts, ...times].map((fact) => committed?.[fact]);
}

const ordersWith = (settings: JsonObject) => ({ reports: { order_list: settings } });

describe('a rebuild from raw records', () => {
  it.each(REPORTS)('changes nothing if nothing has changed: %s', async (report) => {
    const lake = await synced(['clicks_list', report]);
    const before = new Map(lake.store.objects);
    const days = await ledgerEntries(lake, report);
    const requests = lake.service.requests.length;
    const outcome = await lake.rebuild(scopeOf(report));
    expect(outcome.status).toBe('complete');
    expect(outcomes(outcome)).toEqual(every('unchanged'));
    expect(lake.service.requests).toHaveLength(requests);
    const changed = [...lake.store.objects].filter(([key, { etag }]) => before.get(key)?.etag !== etag);
    // Only the claims were added and removed.
    expect(changed.map(([key]) => key).sort()).toEqual([
      'ledger/acme/state.json',
      `ledger/${report}/acme/2026-03.json`,
    ]);
    expect(await ledgerEntries(lake, report)).toEqual(days);
  });

  it('gives earlier days a second column with the type of the new setting', async () => {
    const lake = await synced();
    const before = await ledgerEntry(lake, 'order_list', DAY);
    const brandSettings = ordersWith({
      columns: { create_time: 'timestamp', amount: 'decimal(18,2)', commission: 'string' },
    });
    const outcome = await lake.rebuild(scopeOf('order_list'), { brandSettings });
    expect(outcomes(outcome)).toEqual(every('published'));
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    for (const row of await currentRows(lake, 'order_list', DAY)) {
      expect(row.create_time_timestamp).toEqual(new Date(Number(row.create_time) / 1e6));
      expect(Number(row.amount_decimal_18_2) * 1e7).toBe(Number(row.amount));
      expect(row.commission_string).toMatch(/^\d+\.\d\d$/);
      expect(row._rescued).toBeUndefined();
    }
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    expect(howRead(committed)).toEqual(howRead(before.committed));
    expect(committed?.snapshot).not.toBe(before.committed?.snapshot);
    expect((await ledgerEntry(lake, 'order_list', DAY)).superseded).toMatchObject([
      { snapshot: before.committed?.snapshot },
    ]);
  });

  it('is recorded in coverage, and as a change of the records whose values it moves', async () => {
    const lake = await synced();
    const { committed: before } = await ledgerEntry(lake, 'order_list', DAY);
    await lake.rebuild(scopeOf('order_list'), {
      brandSettings: ordersWith({ columns: { create_time: 'timestamp' } }),
    });
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    const altered = before?.rows ?? 0;
    expect(committed?.history).toMatchObject({ place: 1, last: { added: 0, removed: 0, altered } });
    const changes = await changesOf(lake, 'order_list', DAY);
    expect(changes.map(({ _cause }) => _cause)).toEqual(Array.from({ length: altered }, () => 'rebuild'));
    expect((await coverageOf(lake, 'order_list'))[DAY]?.digest).toBe(committed?.digest);
  });

  it('leaves the due days of the next run unchanged, and later readings agree with it', async () => {
    const lake = await synced();
    const brandSettings = ordersWith({ columns: { create_time: 'timestamp' } });
    lake.nowMs += HOUR_MS;
    const due = await readNext(lake, 'order_list', brandSettings);
    await lake.rebuild(scopeOf('order_list'), { brandSettings });
    expect(await readNext(lake, 'order_list', brandSettings)).toEqual(due);
    const again = await lake.sync({ scope: scopeOf('order_list', FIRST, LAST), brandSettings });
    expect(outcomesOf(again, 'order_list')).toEqual(every('unchanged', 6, 9));
  });

  it('recreates a damaged snapshot, which is no change', async () => {
    const lake = await synced();
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    const key = snapshotKey('orders', dayPartition(BRAND, DAY), committed?.snapshot ?? '');
    const body = Buffer.from(lake.store.objects.get(key)?.body ?? []).fill(0, 4, 60);
    lake.store.objects.set(key, { body, etag: 'damaged', modifiedAt: new Date(lake.nowMs) });
    expect(outcomes(await lake.rebuild(scopeOf('order_list', DAY, DAY)))).toEqual({ [DAY]: 'published' });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    const { history } = (await ledgerEntry(lake, 'order_list', DAY)).committed ?? {};
    expect(history).toEqual(committed?.history);
  });

  it('publishes versions that were committed and never published', async () => {
    const lake = await synced();
    await rewriteDocument(lake, LEDGER, (ledger) => {
      const days = JSON.parse(JSON.stringify(ledger.days));
      days[DAY].committed.published = false;
      return { ...ledger, days };
    });
    lake.catalog.pointers.delete(`orders/brand=acme/dt=${DAY}`);
    expect(outcomes(await lake.rebuild(scopeOf('order_list', DAY, DAY)))).toEqual({ [DAY]: 'unchanged' });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('rebuilds at least one day if time is up, and lists the remaining days', async () => {
    const lake = await synced();
    const outcome = await lake.rebuild(scopeOf('order_list'), { deadline: NO_TIME });
    expect(outcome.status).toBe('incomplete');
    expect(outcomes(outcome)).toEqual({ ...every('pending'), [FIRST]: 'unchanged' });
  });

  it('goes on if the ledger of a month is damaged, and reports it', async () => {
    const lake = await synced();
    const damaged = 'ledger/order_list/acme/2026-02.json';
    lake.store.objects.set(damaged, { body: Buffer.from('{'), etag: 'x', modifiedAt: new Date(lake.nowMs) });
    const outcome = await lake.rebuild(scopeOf('order_list', '2026-02-01'));
    expect(outcomes(outcome)).toEqual(every('unchanged'));
    expect(outcome).toMatchObject({ status: 'failed', reports: [{ error: { code: 'damaged_document' } }] });
  });
});

describe('a day with insufficient raw records', () => {
  const progressOf = async (lake: SampleLake, day: string, report: ReportName = 'order_list') =>
    progressKey(report, BRAND, day, (await ledgerEntry(lake, report, day)).committed?.attempt ?? '');
  const chunksOf = (lake: SampleLake, progress: string) =>
    [...lake.store.objects.keys()].filter(
      (key) => key.startsWith(progress.replace('progress.json', '')) && key !== progress,
    );
  const damage = (lake: SampleLake, key: string) =>
    lake.store.objects.set(key, { body: Buffer.from('{'), etag: 'damaged', modifiedAt: new Date(0) });

  it.each<[string, string, (lake: SampleLake, progress: string) => void]>([
    [
      'all its raw records have expired',
      'raw_expired',
      (lake, progress) => {
        for (const key of [progress, ...chunksOf(lake, progress)]) lake.store.objects.delete(key);
      },
    ],
    [
      'its chunks have expired before their progress document',
      'raw_expired',
      (lake, progress) => {
        for (const key of chunksOf(lake, progress)) lake.store.objects.delete(key);
      },
    ],
    [
      'its chunks are damaged',
      'raw_damaged',
      (lake, progress) => {
        for (const key of chunksOf(lake, progress)) damage(lake, key);
      },
    ],
    ['its progress document is damaged', 'raw_damaged', (lake, progress) => damage(lake, progress)],
  ])('stays as it is, with the reason, if %s', async (_name, reason, spoil) => {
    const lake = await synced();
    const before = await ledgerEntries(lake, 'order_list');
    spoil(lake, await progressOf(lake, DAY));
    const outcome = await lake.rebuild(scopeOf('order_list', DAY, DAY));
    expect([outcome.status, outcomes(outcome)]).toEqual(['failed', { [DAY]: reason }]);
    expect(outcome.reports[0]?.days[0]?.message).toContain(DAY);
    expect(await ledgerEntries(lake, 'order_list')).toEqual(before);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each<[string, ReportName, JsonObject]>([
    ['fewer records', 'order_list', ordersWith({ filters: { status: 'new' } })],
    ['another first page', 'order_list', { firstPage: 0 }],
    ['another range', 'order_list', { endTime: 'inclusive' }],
    ['times in another unit', 'clicks_list', { timestampUnit: 'milliseconds' }],
    ['another meaning of dates', 'transaction_list', { endDate: 'midnight' }],
  ])(
    'stays as it is if the settings have %s, and is re-read unless it is settled',
    async (_name, report, brandSettings) => {
      const lake = await synced([report]);
      const before = await ledgerEntries(lake, report);
      const outcome = await lake.rebuild(scopeOf(report, FIRST, LAST), { brandSettings });
      expect(outcomes(outcome)).toEqual(every('read_by_other_queries', 6, 9));
      expect(await ledgerEntries(lake, report)).toEqual(before);
      expect(outcome.reports[0]?.days[0]?.message).toContain(
        `brand-reports sync ${report} --brand acme --from ${FIRST} --to ${FIRST}`,
      );
      const isSettled = before.every(([day, { committed }]) => day > DAY || committed?.state === 'settled');
      const next = await readNext(lake, report, brandSettings);
      expect([FIRST, DAY].map((day) => next.includes(day))).toEqual([!isSettled, !isSettled]);
    },
  );

  it('stays as it is after a rollback', async () => {
    const lake = await synced();
    await rewriteDocument(lake, LEDGER, (ledger) => {
      const days = JSON.parse(JSON.stringify(ledger.days));
      days[DAY].committed.attempt = attemptOfRollback('b');
      return { ...ledger, days };
    });
    const outcome = await lake.rebuild(scopeOf('order_list', DAY, DAY));
    expect(outcomes(outcome)).toEqual({ [DAY]: 'rolled_back' });
  });
});

describe('another key', () => {
  const noKey = ordersWith({ key: 'no_such_field' });
  const paged = sharedLakes({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 6,
    interpretations: { pageCap: 2 },
  });

  /** The three orders of the day in the order of their pages. */
  const restated = (lake: SampleLake, change: (orders: Held[]) => Held[]) =>
    restate(lake.brand, 'order_list', DAY, (held) =>
      change(held.toSorted((a, b) => Number(a.record.transid) - Number(b.record.transid))),
    );

  it('drops duplicates under the new key, and restores them without that key', async () => {
    const lake = paged.emptyLake();
    // The second order is the last of one page and the first of the next.
    restated(lake, (orders) => [...orders, ...orders.slice(1, 2)]);
    await lake.sync({ scope: { reports: ['order_list'] }, brandSettings: noKey });
    const rows = (await ledgerEntry(lake, 'order_list', DAY)).committed?.rows ?? 0;
    lake.nowMs += 5 * MINUTE_MS;
    expect(outcomes(await lake.rebuild(scopeOf('order_list', DAY, DAY)))).toEqual({ [DAY]: 'published' });
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.rows).toBe(rows - 1);
    await lake.rebuild(scopeOf('order_list', DAY, DAY), { brandSettings: noKey });
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.rows).toBe(rows);
  });

  it('is recorded even if the rows stay the same, so that the day is not re-read', async () => {
    const lake = await synced();
    const before = await ledgerEntry(lake, 'order_list', DAY);
    expect(await readNext(lake, 'order_list', noKey)).toContain(DAY);
    const outcome = await lake.rebuild(scopeOf('order_list', DAY, DAY), { brandSettings: noKey });
    expect(outcomes(outcome)).toEqual({ [DAY]: 'unchanged' });
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    const { queryFingerprint, values, ...same } = committed ?? { queryFingerprint: '' };
    expect(before.committed).toMatchObject(same);
    expect(values).toEqual({
      ...before.committed?.values,
      keyUnused: expect.stringMatching(/"no_such_field"/),
    });
    expect(queryFingerprint).not.toBe(before.committed?.queryFingerprint);
    lake.nowMs += HOUR_MS;
    expect(await readNext(lake, 'order_list', noKey)).not.toContain(DAY);
  });

  it('that different records share is left to a second reading', async () => {
    const lake = paged.emptyLake();
    const withRef = ({ at, record }: Held, ref: unknown) => ({ at, record: { ...record, ref: String(ref) } });
    lake.brand.records.order_list = lake.brand.records.order_list.map((held) =>
      withRef(held, held.record.transid),
    );
    restated(lake, (orders) => orders.map((held, index) => withRef(held, index === 1 ? 'b' : 'a')));
    await lake.sync({ scope: { reports: ['order_list'] } });
    const brandSettings = ordersWith({ key: 'ref' });
    const outcome = await lake.rebuild(scopeOf('order_list', DAY, DAY), { brandSettings });
    expect(outcomes(outcome)).toEqual({ [DAY]: 'key_unclear' });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    expect(await readNext(lake, 'order_list', brandSettings)).toContain(DAY);
  });
});

describe('another time zone', () => {
  const berlin = { timeZone: 'Europe/Berlin' };

  it.each(REPORTS)(
    'leaves the days of %s as they are, and prints the command that reads them',
    async (report) => {
      const lake = await synced(['clicks_list', report]);
      const before = await ledgerEntries(lake, report);
      const outcome = await lake.rebuild(scopeOf(report, FIRST, LAST), { brandSettings: berlin });
      expect(outcomes(outcome)).toEqual(every('other_time_zone', 6, 9));
      expect(await ledgerEntries(lake, report)).toEqual(before);
      expect(outcome.reports[0]?.days[0]?.message).toContain(
        `America/New_York, and in Europe/Berlin it begins and ends at other times; to read it again: brand-reports sync ${report} --brand acme --from ${FIRST} --to ${FIRST}`,
      );
    },
  );

  it('makes runs re-read days that are not settled; settled days stay whole, and the seam is a finding', async () => {
    const lake = sample.emptyLake();
    const reports = { order_list: { refresh: [{ untilAgeDays: 1, every: 'run' }], ...ALL_FINAL } };
    const scope = { reports: ['order_list'] };
    for (let run = 0; run < 2; run += 1) {
      await lake.sync({ scope, brandSettings: { reports } });
      lake.nowMs += HOUR_MS;
    }
    const before = new Map(await ledgerEntries(lake, 'order_list'));
    expect(before.get(DAY)?.committed).toMatchObject({ state: 'settled', timeZone: 'America/New_York' });
    expect(before.get(LAST)?.committed?.state).toBe('closed');

    const outcome = await lake.sync({ scope, brandSettings: { ...berlin, reports } });
    expect(Object.keys(outcomesOf(outcome, 'order_list')).sort()).toEqual([LAST, TODAY]);
    const after = new Map(await ledgerEntries(lake, 'order_list'));
    for (const day of [FIRST, DAY, '2026-03-08']) expect(after.get(day)).toEqual(before.get(day));
    const rows = await coverageOf(lake, 'order_list');
    expect(
      [FIRST, DAY, '2026-03-08', LAST, TODAY].map((day) => [rows[day]?.time_zone, rows[day]?.findings]),
    ).toEqual([
      ...Array.from({ length: 3 }, () => ['America/New_York', undefined]),
      ['Europe/Berlin', 'zone_seam (America/New_York before, Europe/Berlin now)'],
      ['Europe/Berlin', undefined],
    ]);
  });
});

describe('a rebuild beside other runs', () => {
  const brandSettings = ordersWith({ columns: { create_time: 'timestamp' } });

  it('I5: leaves a day to the run that reads it', async () => {
    const lake = await synced();
    await rewriteDocument(lake, LEDGER, (ledger) => {
      const days = JSON.parse(JSON.stringify(ledger.days));
      days[DAY].claim = { attempt: 'a', runId: 'alive', at: new Date(lake.nowMs).toISOString() };
      return { ...ledger, days };
    });
    const held = { holder: { run: 'alive', name: 'a run' }, recentWrites: [] };
    lake.store.objects.delete(leaseKey('acme'));
    await lake.store.put(leaseKey('acme'), Buffer.from(JSON.stringify(held)), { ifAbsent: true });
    const outcome = await lake.rebuild(scopeOf('order_list'), { brandSettings });
    expect([outcome.status, outcomes(outcome)]).toEqual(['busy', { ...every('published'), [DAY]: 'busy' }]);
    lake.store.objects.delete(leaseKey('acme'));
    const later = await lake.rebuild(scopeOf('order_list', DAY, DAY), { brandSettings });
    expect(outcomes(later)).toEqual({ [DAY]: 'published' });
    // If the run that held the day wakes up, its commit must not restore the version before.
    expect((await ledgerEntry(lake, 'order_list', DAY)).claim).toMatchObject({ attempt: 'a', runId: null });
  });

  it('I5: changes nothing if a run commits the day meanwhile: the run’s reading stays', async () => {
    const lake = await synced();
    alter(lake, 'order_list', DAY, { status: 'restated' });
    let runs = 0;
    const store = {
      ...lake.store,
      create(key: string) {
        const writer = lake.store.create(key);
        return {
          ...writer,
          async finish() {
            await writer.finish();
            runs += 1;
            if (runs > 1) return;
            // The rebuild is slow: its claim has expired.
            lake.nowMs += 2 * MINUTE_MS;
            await lake.sync({ scope: { reports: ['order_list'], from: DAY, to: DAY }, brandSettings });
          },
        };
      },
    };
    const outcome = await lake.rebuild(scopeOf('order_list', DAY, DAY), {
      brandSettings,
      lake: lake.over(store),
    });
    expect(outcomes(outcome)).toEqual({ [DAY]: 'busy' });
    expect((await publishedDays(lake, 'order_list')).get(DAY)).toBe(
      (await serviceDays(lake, 'order_list', TODAY)).get(DAY),
    );
    lake.nowMs += MINUTE_MS;
    expect(outcomes(await lake.rebuild(scopeOf('order_list', DAY, DAY), { brandSettings }))).toEqual({
      [DAY]: 'unchanged',
    });
  });
});
