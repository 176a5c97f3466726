import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReportName, restate } from '../../sample/brand.ts';
import { gatedStore } from '../fakes/gated-store.ts';
import {
  DAY,
  HOUR,
  MINUTE,
  type SampleLake,
  coverageOf,
  entryOf,
  sampleLake,
  unknowing,
  wrongReports,
} from './sample-lake.ts';

const FIRST = '2026-03-08';
const TODAY = '2026-03-10';
const request = { reports: ['transaction_list'] };

let service: SampleLake;
beforeAll(async () => {
  service = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 4,
    brand: { reports: { transaction_list: { refresh: [{ untilAgeDays: 2, every: 'run' }] } } },
  });
});
afterAll(() => service.close());

function restateFirst(lake: SampleLake): void {
  restate(lake.brand, 'transaction_list', FIRST, (held) =>
    held.map(({ at, record }) => ({ at, record: { ...record, seen: lake.nowMs } })),
  );
}

const keys = (lake: SampleLake, prefix: string) =>
  [...lake.store.objects.keys()].filter((key) => key.startsWith(prefix));
const snapshotsOf = (lake: SampleLake) => keys(lake, `snapshots/transactions/brand=acme/dt=${FIRST}/`);

describe('the sweep', () => {
  it('leaves a replaced snapshot to its readers for a day, and removes it then', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    const [old = ''] = snapshotsOf(lake);
    lake.nowMs += 2 * DAY - HOUR;
    restateFirst(lake);
    await lake.sync({ scope: request });
    const current = (await entryOf(lake, 'transaction_list', FIRST)).committed?.snapshot ?? '';
    // Two days old by then, but replaced only just now.
    expect(snapshotsOf(lake)).toHaveLength(2);
    lake.nowMs += 23 * HOUR;
    await lake.sync({ scope: request });
    expect(snapshotsOf(lake)).toContain(old);
    lake.nowMs += DAY + HOUR;
    await lake.sync({ scope: request });
    expect(snapshotsOf(lake)).toEqual([expect.stringContaining(current)]);
    expect((await wrongReports(lake, '2026-03-14', ['transaction_list'])).transaction_list).toBeUndefined();
  });

  it('removes what a run has built and never committed', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    const orphan = `snapshots/transactions/brand=acme/dt=${FIRST}/orphan/part-0000.parquet`;
    const writer = lake.store.create(orphan);
    await writer.write(Buffer.from('PAR1'));
    await writer.finish();
    lake.nowMs += DAY - HOUR;
    await lake.sync({ scope: request });
    expect(snapshotsOf(lake)).toContain(orphan);
    lake.nowMs += DAY + HOUR;
    await lake.sync({ scope: request });
    expect(snapshotsOf(lake)).not.toContain(orphan);
  });

  it('never removes what the catalog points at, or what a day that is claimed may be about to commit', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    lake.nowMs += 2 * HOUR;
    restateFirst(lake);
    const gate = gatedStore(
      lake.store,
      (key) => key === 'ledger/transaction_list/acme/2026-03.json' && snapshotsOf(lake).length > 1,
    );
    const slow = lake.sync({
      scope: request,
      lake: { store: gate.store, catalog: lake.catalog, runs: unknowing },
    });
    await gate.reached;
    const [first, second] = snapshotsOf(lake);
    lake.nowMs += 3 * DAY;
    // Another run sweeps, and reads other days only.
    await lake.sync({ scope: { ...request, from: '2026-03-09', to: '2026-03-09' } });
    expect(snapshotsOf(lake)).toEqual([first, second]);
    gate.letGo();
    await slow;
    lake.nowMs += MINUTE;
    expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect(await wrongReports(lake, '2026-03-13', ['transaction_list'])).toEqual({});
  });

  it('removes the raw pages of attempts that no ledger names after a week, and keeps those that it names', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    const { attempt } = (await entryOf(lake, 'transaction_list', FIRST)).committed ?? {};
    const attemptsOf = () =>
      new Set(keys(lake, `raw/transaction_list/brand=acme/dt=${FIRST}/`).map((key) => key.split('/')[4]));
    lake.nowMs += HOUR;
    restateFirst(lake);
    await lake.sync({ scope: { ...request, from: FIRST, to: FIRST } });
    const second = (await entryOf(lake, 'transaction_list', FIRST)).committed?.attempt;
    lake.nowMs += 6 * DAY;
    await lake.sync({ scope: { ...request, from: TODAY, to: TODAY } });
    expect(attemptsOf()).toEqual(new Set([attempt, second]));
    lake.nowMs += 2 * DAY;
    await lake.sync({ scope: { ...request, from: TODAY, to: TODAY } });
    expect(attemptsOf()).toEqual(new Set([second]));
  });

  it('removes coverage that nothing points at after a day', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    lake.nowMs += HOUR;
    await lake.sync({ scope: request });
    expect(keys(lake, 'snapshots/coverage/').length).toBeGreaterThan(1);
    lake.nowMs += 2 * DAY;
    await lake.sync({ scope: request });
    lake.nowMs += 2 * DAY;
    await lake.sync({ scope: request });
    // The one that is pointed at, and the one that it replaced in this run.
    expect(keys(lake, 'snapshots/coverage/').length).toBeLessThanOrEqual(2);
    expect(Object.keys(await coverageOf(lake, 'transaction_list'))).toContain(FIRST);
  });

  it('takes nothing of another brand or report', async () => {
    const lake = service.beside();
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
    lake.nowMs += 30 * DAY;
    await lake.sync({ scope: request });
    for (const other of others)
      expect(keys(lake, other)).toContain(`${other}dt=${FIRST}/x/part-0000.parquet`);
  });
});

describe('coverage', () => {
  const stateOf = async (lake: SampleLake, report: ReportName, day: string) =>
    (await coverageOf(lake, report))[day]?.state;

  it('says what each day is', async () => {
    const lake = service.beside();
    const heal = lake.service.addFault({
      on: { when: ({ fields }) => fields.start_date === '20260309' && fields.end_date === '20260309' },
      fault: { kind: 'html' },
    });
    await lake.sync({ scope: request });
    heal();
    expect(await stateOf(lake, 'transaction_list', TODAY)).toBe('open');
    expect(await stateOf(lake, 'transaction_list', FIRST)).toBe('complete');
    const rows = await coverageOf(lake, 'transaction_list');
    expect(rows['2026-03-09']).toMatchObject({
      state: 'failed',
      failure: expect.stringContaining('contract'),
    });
    lake.nowMs += 10 * DAY;
    await lake.sync({ scope: request });
    expect(await stateOf(lake, 'transaction_list', FIRST)).toBe('settled');
    expect((await coverageOf(lake, 'transaction_list'))[FIRST]).toMatchObject({
      rows: BigInt((await entryOf(lake, 'transaction_list', FIRST)).committed?.rows ?? -1),
      next_due: null,
    });
  });

  it('calls a report unproven that never had a record, and every day complete once it has one', async () => {
    const lake = service.beside();
    const held = lake.brand.records.transaction_list;
    lake.brand.records.transaction_list = [];
    lake.nowMs += MINUTE;
    await lake.sync({ scope: request });
    expect(await stateOf(lake, 'transaction_list', FIRST)).toBe('unproven');
    lake.brand.records.transaction_list = held.filter(({ at }) => at > Date.parse('2026-03-10T03:00:00Z'));
    lake.nowMs += MINUTE;
    await lake.sync({ scope: request });
    expect(await stateOf(lake, 'transaction_list', FIRST)).toBe('complete');
  });
});
