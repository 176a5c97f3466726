import { describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import type { Catalog } from '../../shared/ports.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { ProcessDied } from '../fakes/dies-at-n-store.ts';
import { gatedStore } from '../fakes/gated-store.ts';
import { alter, coverageOf, ledgerEntry, wrongReports } from './lake-contents.ts';
import type { SampleLake, SyncOptions } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-08';
const TODAY = '2026-03-10';
const scope = { reports: ['transaction_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 4,
  brandSettings: {
    snapshotRetentionDays: 1,
    reports: {
      transaction_list: { refresh: [{ untilAgeDays: 2, every: 'run' }], ...ALL_FINAL },
    },
  },
});

function restateFirst(lake: SampleLake): void {
  alter(lake, 'transaction_list', FIRST, { seen: lake.nowMs });
}

/** Runs far enough apart for a vacuum in each. */
async function syncDaily(lake: SampleLake, runs: number, options: SyncOptions = { scope }): Promise<void> {
  for (let run = 0; run < runs; run += 1) {
    lake.nowMs += DAY_MS + HOUR_MS;
    await lake.sync(options);
  }
}

const keys = (lake: SampleLake, prefix: string) =>
  [...lake.store.objects.keys()].filter((key) => key.startsWith(prefix));
const snapshotsOf = (lake: SampleLake, table = 'transactions') =>
  keys(lake, `snapshots/${table}/brand=acme/dt=${FIRST}/`);

describe('the vacuum', () => {
  it('keeps a replaced snapshot for the days of the setting, and removes it then', async () => {
    const lake = sample.emptyLake();
    const bothOf = () => ['transactions', 'transactions_before'].map((table) => snapshotsOf(lake, table));
    await lake.sync({ scope });
    const old = bothOf().flat();
    lake.nowMs += 2 * DAY_MS - HOUR_MS;
    restateFirst(lake);
    await lake.sync({ scope });
    const { committed } = await ledgerEntry(lake, 'transaction_list', FIRST);
    // The snapshot is then two days old, but was replaced only now.
    expect(bothOf().map(({ length }) => length)).toEqual([2, 1]);
    lake.nowMs += 23 * HOUR_MS;
    await lake.sync({ scope });
    expect(bothOf().flat()).toEqual(expect.arrayContaining(old));
    await syncDaily(lake, 2);
    expect(bothOf()).toEqual(
      [committed, committed?.history?.object].map((object) => [
        expect.stringContaining(`/${object?.snapshot}/`),
      ]),
    );
    expect((await wrongReports(lake, '2026-03-15', ['transaction_list'])).transaction_list).toBeUndefined();
  });

  it('I3: removes nothing in a run whose clock is 60 days ahead and not corrected by a response', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const [old = ''] = snapshotsOf(lake);
    lake.nowMs += HOUR_MS;
    restateFirst(lake);
    await lake.sync({ scope });
    const mend = lake.service.addFault({ on: {}, fault: { kind: 'reset' } });
    await lake.sync({ scope, clockAheadMs: 60 * DAY_MS });
    mend();
    expect(snapshotsOf(lake)).toContain(old);
  });

  it('I3: keeps a snapshot for a day after the catalog left it, even if it was replaced long before', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const [old = ''] = snapshotsOf(lake);
    lake.nowMs += HOUR_MS;
    restateFirst(lake);
    const catalog: Catalog = {
      ...lake.catalog,
      setSnapshot: () => Promise.reject(new BrandReportsError('transient', 'aws_unavailable', 'no Glue')),
    };
    await lake.sync({ scope, lake: lake.over(lake.store, catalog) });
    lake.nowMs += 2 * DAY_MS;
    await lake.sync({ scope });
    expect((await ledgerEntry(lake, 'transaction_list', FIRST)).committed?.published).toBe(true);
    expect(snapshotsOf(lake)).toContain(old);
    await syncDaily(lake, 2);
    expect(snapshotsOf(lake)).not.toContain(old);
  });

  it.each([
    ['machine’s', 9 * DAY_MS, 0],
    ['service’s', 0, 9 * DAY_MS],
  ])(
    'removes nothing that is young by one clock, even if the %s clock is ahead',
    async (_whose, clockAheadMs, skewMs) => {
      const lake = sample.emptyLake();
      await lake.sync({ scope });
      lake.nowMs += HOUR_MS;
      restateFirst(lake);
      await lake.sync({ scope });
      const before = keys(lake, '');
      const mend = lake.service.addFault({ on: {}, fault: { kind: 'skewed_clock', skewMs } });
      await lake.sync({ scope, clockAheadMs });
      mend();
      expect(keys(lake, '')).toEqual(expect.arrayContaining(before));
    },
  );

  it.each([
    ['a snapshot that a run built and never committed', `transactions/brand=acme/dt=${FIRST}`],
    ['what records were before of such a run', `transactions_before/brand=acme/dt=${FIRST}`],
    [
      'coverage of a future month that a run wrote and never published',
      'coverage/brand=acme/report=transaction_list/month=2026-05',
    ],
  ])('removes %s', async (_name, partition) => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const orphan = `snapshots/${partition}/orphan/part-0000.parquet`;
    const writer = lake.store.create(orphan);
    await writer.write(Buffer.from('PAR1'));
    await writer.finish();
    lake.nowMs += DAY_MS - HOUR_MS;
    await lake.sync({ scope });
    expect(keys(lake, 'snapshots/')).toContain(orphan);
    lake.nowMs += DAY_MS + HOUR_MS;
    await lake.sync({ scope });
    expect(keys(lake, 'snapshots/')).not.toContain(orphan);
  });

  it.each([
    ['the table’s prefix', 'snapshots/transactions/'],
    ['a brand', 'snapshots/transactions/brand=acme/'],
    ['a day', `snapshots/transactions/brand=acme/dt=${FIRST}/`],
    ['the name of a foreign object', 'snapshots/transactions/brand=acme/New folder/'],
    ['a day of raw records', `raw/transaction_list/brand=acme/dt=${FIRST}/`],
    ['a month of coverage', 'snapshots/coverage/brand=acme/report=transaction_list/month=2026-03/'],
  ])('leaves a folder object at %s alone, and the run ends normally', async (_where, folder) => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const made = { body: new Uint8Array(), etag: 'folder', modifiedAt: new Date(lake.nowMs) };
    lake.store.objects.set(folder, made);
    lake.nowMs += 9 * DAY_MS;
    const outcome = await lake.sync({ scope });
    expect(outcome.status).toBe('complete');
    expect(lake.store.objects.get(folder)).toEqual(made);
    expect(Object.keys(await coverageOf(lake, 'transaction_list'))).toContain('2026-03-18');
  });

  it('deletes forgotten versions a day later, even if the run dies after forgetting them', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const [old = ''] = snapshotsOf(lake);
    restateFirst(lake);
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    lake.nowMs += 2 * DAY_MS;
    let isDead = false;
    const alive = <T>(work: () => T): T => {
      if (isDead) throw new ProcessDied();
      return work();
    };
    const store: typeof lake.store = {
      ...lake.store,
      get: (key) => alive(() => lake.store.get(key)),
      create: (key) => alive(() => lake.store.create(key)),
      async put(key, body, precondition) {
        const written = await alive(() => lake.store.put(key, body, precondition));
        isDead ||= key.startsWith('ledger/') && !Buffer.from(body).includes(old);
        return written;
      },
    };
    await lake.sync({ scope, lake: lake.over(store) }).catch(() => {});
    expect([isDead, snapshotsOf(lake).includes(old)]).toEqual([true, true]);
    lake.nowMs += 5 * MINUTE_MS;
    await lake.sync({ scope });
    expect(snapshotsOf(lake)).toContain(old);
  });

  it('stops nothing else if it fails, and the next run tries it again', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    restateFirst(lake);
    lake.nowMs += DAY_MS + HOUR_MS;
    await lake.sync({ scope });
    lake.nowMs += 2 * DAY_MS;
    const events: string[] = [];
    const store = {
      ...lake.store,
      delete: () =>
        Promise.reject(new BrandReportsError('config', 'aws_refused', 's3:DeleteObject is denied')),
    };
    const failing = await lake.sync({
      scope,
      lake: lake.over(store),
      log: ({ event }) => void events.push(event),
    });
    expect(failing.status).toBe('complete');
    expect(events).toContain('vacuum_failed');
    expect(Object.keys(await coverageOf(lake, 'transaction_list'))).toContain('2026-03-12');
    expect(snapshotsOf(lake).length).toBeGreaterThan(1);
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    // A successful vacuum has forgotten the objects, and the next day's vacuum deletes them.
    expect((await ledgerEntry(lake, 'transaction_list', FIRST)).superseded).toEqual([]);
    await syncDaily(lake, 1);
    expect(snapshotsOf(lake)).toHaveLength(1);
  });

  it('keeps current snapshots of the catalog, and versions that the run with the claim may be about to commit', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    lake.nowMs += 2 * HOUR_MS;
    restateFirst(lake);
    const gate = gatedStore(
      lake.store,
      (key) => key === 'ledger/transaction_list/acme/2026-03.json' && snapshotsOf(lake).length > 1,
    );
    const slow = lake.sync({
      scope,
      lake: lake.over(gate.store),
    });
    await gate.reached;
    const [first, second] = snapshotsOf(lake);
    lake.nowMs += 3 * DAY_MS;
    // Another run vacuums, and reads only other days.
    await lake.sync({ scope: { ...scope, from: '2026-03-09', to: '2026-03-09' } });
    expect(snapshotsOf(lake)).toEqual([first, second]);
    gate.letGo();
    await slow;
    lake.nowMs += MINUTE_MS;
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrongReports(lake, '2026-03-13', ['transaction_list'])).toEqual({});
  });

  it('removes the raw pages of an attempt a week after the ledger stopped referencing it', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const { attempt } = (await ledgerEntry(lake, 'transaction_list', FIRST)).committed ?? {};
    const attemptsOf = () =>
      new Set(keys(lake, `raw/transaction_list/brand=acme/dt=${FIRST}/`).map((key) => key.split('/')[4]));
    lake.nowMs += HOUR_MS;
    restateFirst(lake);
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const second = (await ledgerEntry(lake, 'transaction_list', FIRST)).committed?.attempt;
    lake.nowMs += 6 * DAY_MS;
    await lake.sync({ scope: { ...scope, from: TODAY, to: TODAY } });
    expect(attemptsOf()).toEqual(new Set([attempt, second]));
    lake.nowMs += 2 * DAY_MS;
    await lake.sync({ scope: { ...scope, from: TODAY, to: TODAY } });
    expect(attemptsOf()).toEqual(new Set([second]));
  });

  it('I3: keeps coverage for its readers for a day after its replacement, however old it is', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const [old = ''] = keys(lake, 'snapshots/coverage/');
    lake.nowMs += 23 * HOUR_MS;
    await lake.sync({ scope });
    expect(keys(lake, 'snapshots/coverage/')).toHaveLength(2);
    lake.nowMs += 2 * HOUR_MS;
    await lake.sync({ scope });
    expect(keys(lake, 'snapshots/coverage/')).toContain(old);
    lake.nowMs += DAY_MS;
    await lake.sync({ scope });
    expect(keys(lake, 'snapshots/coverage/')).not.toContain(old);
  });

  it('removes nothing of another brand or report', async () => {
    const lake = sample.emptyLake();
    await lake.sync();
    const others = [
      'snapshots/transactions/brand=acme-2/',
      'snapshots/orders/brand=acme/',
      'raw/order_list/',
      'other/',
    ];
    for (const other of others) {
      const writer = lake.store.create(`${other}dt=${FIRST}/x/part-0000.parquet`);
      await writer.write(Buffer.from('x'));
      await writer.finish();
    }
    lake.nowMs += 30 * DAY_MS;
    await lake.sync({ scope });
    for (const other of others)
      expect(keys(lake, other)).toContain(`${other}dt=${FIRST}/x/part-0000.parquet`);
  });
});

describe('coverage', () => {
  const stateOf = async (lake: SampleLake, report: ReportName, day: string) =>
    (await coverageOf(lake, report))[day]?.state;

  it('has no complete day of a report before the report has returned a record', async () => {
    const lake = sample.emptyLake();
    const records = lake.brand.records.transaction_list;
    lake.brand.records.transaction_list = [];
    lake.nowMs += MINUTE_MS;
    await lake.sync({ scope });
    expect(await stateOf(lake, 'transaction_list', FIRST)).toBe('unverified');
    lake.brand.records.transaction_list = records.filter(({ at }) => at > Date.parse('2026-03-10T03:00:00Z'));
    lake.nowMs += MINUTE_MS;
    await lake.sync({ scope });
    expect(await stateOf(lake, 'transaction_list', FIRST)).toBe('complete');
  });
});
