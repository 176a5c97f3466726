import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { versionAt } from '../../shared/history/versions.ts';
import { readLedgers, readSchema } from '../../shared/lake/documents/read.ts';
import { dayPartition, rateBudgetKey, snapshotKey, versionKey } from '../../shared/lake/paths.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import { tableStatuses } from '../../shared/status/table-statuses.ts';
import { type RepairOutcome, repairLake } from '../../shared/repair/repair.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { changesOf } from '../sync/changes-of-day.ts';
import { alter, coverageOf, ledgerEntry, outcomesOf, rowsOf, wrongReports } from '../sync/lake-contents.ts';
import { BRAND, type SampleLake, blindRegistry } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

const FIRST = '2026-03-07';
const TODAY = '2026-03-10';
const LEDGER = 'ledger/order_list/acme/2026-03.json';
const STATE = 'ledger/order_list/acme/state.json';
const SCHEMA = 'schema/orders.json';
const scope = { reports: ['order_list'] };

const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: FIRST, clicksPerDay: 6 });

async function syncedLake(): Promise<SampleLake> {
  const lake = sample.emptyLake();
  await lake.sync({ scope });
  lake.nowMs += HOUR_MS;
  return lake;
}

function damage(lake: SampleLake, key: string, text = '{"version":1,'): void {
  const found = lake.store.objects.get(key);
  if (!found) throw new Error(`${key} is missing`);
  lake.store.objects.set(key, { ...found, body: Buffer.from(text), etag: `${found.etag}-damaged` });
}

function repair(lake: SampleLake, apply: boolean, of?: Lake): Promise<RepairOutcome> {
  return repairLake({ ...lake.access(), ...(of && { lake: of }), apply });
}

function textOf(lake: SampleLake, key: string): string {
  return Buffer.from(lake.store.objects.get(key)?.body ?? []).toString();
}

/** The ledger's facts about the first day's version; without a zone it is unknown whether the version is whole. */
async function versionOf(lake: SampleLake) {
  const { state, timeZone } = (await ledgerEntry(lake, 'order_list', FIRST)).committed ?? {};
  return { state, ...(timeZone !== undefined && { timeZone }) };
}

const progressKey = (lake: SampleLake) =>
  [...lake.store.objects.keys()].find((key) => key.startsWith('raw/order_list/') && key.endsWith('.json')) ??
  '';

describe('a repair', () => {
  it('finds nothing in a lake that is whole', async () => {
    expect(await repair(await syncedLake(), true)).toEqual({ status: 'ok', documents: [] });
  });

  it('leaves objects alone whose keys are not ours', async () => {
    const lake = await syncedLake();
    const foreign = [
      'ledger/',
      'ledger/order_list/acme/',
      'ledger/order_list/.old/state.json',
      'ledger/of_no_report/acme/state.json',
      'raw/order_list/brand=acme/progress.json',
      'raw/order_list/brand=acme/dt=2026-03-07/',
      'rates/',
      'rates/.json',
      'schema/of_no_table.json',
    ];
    for (const key of foreign)
      lake.store.objects.set(key, {
        body: new Uint8Array(),
        etag: key,
        modifiedAt: new Date(lake.nowMs),
      });
    expect(await repair(lake, true)).toEqual({ status: 'ok', documents: [] });
  });

  it('lists every damaged document with what is wrong, and changes nothing', async () => {
    const lake = await syncedLake();
    const rates = rateBudgetKey('acme');
    lake.store.objects.set(rates, {
      body: Buffer.from('[]'),
      etag: 'rates',
      modifiedAt: new Date(lake.nowMs),
    });
    for (const key of [LEDGER, STATE, SCHEMA, progressKey(lake)]) damage(lake, key);
    const before = new Map(lake.store.objects);
    const { status, documents } = await repair(lake, false);
    expect(status).toBe('damaged');
    expect(documents.map(({ key, kind, outcome }) => [kind, key, outcome])).toEqual([
      ['state', STATE, 'damaged'],
      ['progress', progressKey(lake), 'damaged'],
      ['rate', rates, 'damaged'],
      ['schema', SCHEMA, 'damaged'],
      ['ledger', LEDGER, 'damaged'],
    ]);
    for (const { problem } of documents) expect(problem).toMatch(/not JSON|expected/);
    expect(new Map(lake.store.objects)).toEqual(before);
  });

  it.each<[string, (lake: SampleLake) => string[]]>([
    ['a ledger', () => [LEDGER]],
    ['all of them at once', (lake) => [LEDGER, STATE, SCHEMA, progressKey(lake)]],
  ])('I3: restores %s, readers keep what is published, and the next run is right', async (_name, of) => {
    const lake = await syncedLake();
    const keys = of(lake);
    const pointers = new Map(lake.catalog.pointers);
    const columns = await readSchema(lake.store, ordersReport());
    for (const key of keys) damage(lake, key, 'no JSON');
    const { status, documents } = await repair(lake, true);
    expect(status).toBe('repaired');
    for (const { copy = '' } of documents) expect(textOf(lake, copy)).toBe('no JSON');
    expect(lake.catalog.pointers).toEqual(pointers);
    expect((await readSchema(lake.store, ordersReport())).columns).toEqual(columns.columns);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    expect((await repair(lake, true)).status).toBe('ok');
    if (keys.includes(LEDGER)) expect(await versionOf(lake)).toEqual({ state: 'unconfirmed' });

    lake.nowMs += HOUR_MS;
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    expect((await coverageOf(lake, 'order_list'))[FIRST]?.state).toBe('complete');
    expect(await versionOf(lake)).toEqual({ state: 'closed', timeZone: 'America/New_York' });
  });

  it('leads to a new reading of every day of a month whose ledger was restored, even of settled days', async () => {
    const lake = await syncedLake();
    const refresh = [{ untilAgeDays: 2, every: 'run' }];
    const brandSettings = { reports: { order_list: { refresh, ...ALL_FINAL } } };
    for (let run = 0; run < 4; run += 1) {
      lake.nowMs += 2 * DAY_MS;
      await lake.sync({ scope, brandSettings });
    }
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('settled');
    damage(lake, LEDGER);
    const { documents } = await repair(lake, true);
    expect(documents[0]?.notes.join('\n')).toMatch(
      /^12 days were found in the catalog[\s\S]*read these days again/,
    );
    lake.nowMs += HOUR_MS;
    const { reports } = await lake.sync({ scope, brandSettings });
    expect(reports.flatMap(({ days }) => days).map(({ dt }) => dt)).toContain(FIRST);
    expect(await versionOf(lake)).toEqual({ state: 'settled', timeZone: 'America/New_York' });
  });

  it('uses the newest snapshot of each day if no catalog is named, and notes that', async () => {
    const lake = await syncedLake();
    damage(lake, LEDGER);
    const { documents } = await repair(lake, true, { store: lake.store, runs: blindRegistry });
    expect(documents[0]).toMatchObject({ outcome: 'repaired' });
    expect(documents[0]?.notes[0]).toContain('--database');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('counts a day as missing if its snapshot cannot be read, and notes that', async () => {
    const lake = await syncedLake();
    damage(lake, LEDGER);
    const snapshot =
      [...lake.store.objects.keys()].find((key) =>
        key.startsWith(`snapshots/orders/brand=acme/dt=${FIRST}/`),
      ) ?? '';
    damage(lake, snapshot, 'PAR1 of nothing');
    const { documents } = await repair(lake, true);
    expect(documents[0]?.notes.join('\n')).toContain(`${FIRST}: ${snapshot} cannot be read`);
    lake.nowMs += HOUR_MS;
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I5: leaves a document alone that another program has written in the meantime', async () => {
    const lake = await syncedLake();
    damage(lake, STATE);
    const store = {
      ...lake.store,
      put: (...[key, body, precondition]: Parameters<typeof lake.store.put>) => {
        if (key === STATE) damage(lake, STATE, '{"of":"another"}');
        return lake.store.put(key, body, precondition);
      },
    };
    const { status, documents } = await repair(lake, true, lake.over(store));
    expect([status, documents[0]?.outcome]).toEqual(['damaged', 'changed']);
    expect(textOf(lake, STATE)).toBe('{"of":"another"}');
  });

  it('I7: restores the fields of a schema’s columns, whatever their names in SQL', async () => {
    const lake = sample.emptyLake();
    for (const held of lake.brand.records.amazon_attribution_report) held.record.someNewField = 1;
    const attribution = { reports: ['amazon_attribution_report'] };
    await lake.sync({ scope: attribution });
    const report = reports.amazon_attribution_report;
    if (!report) throw new Error('there is no attribution');
    const before = await readSchema(lake.store, report);
    expect(before.columns).toContainEqual(
      expect.objectContaining({ field: 'adGroupId', name: 'ad_group_id' }),
    );
    damage(lake, 'schema/attribution.json');
    await repair(lake, true);
    expect((await readSchema(lake.store, report)).columns).toEqual(before.columns);
  });

  it.each<[string, number]>([
    ['no record', 0],
    ['fewer records', 2],
  ])('I11: a day keeps its rows if the service has %s for it after its last reading', async (_name, rows) => {
    const lake = await syncedLake();
    const before = (await ledgerEntry(lake, 'order_list', FIRST)).committed;
    damage(lake, LEDGER);
    await repair(lake, true);
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(0, rows));
    const refresh = [{ untilAgeDays: 2, every: 'run' }];
    const brandSettings = { reports: { order_list: { refresh, ...ALL_FINAL } } };
    lake.nowMs += DAY_MS;
    const outcome = await lake.sync({ scope, brandSettings });
    expect(outcomesOf(outcome, 'order_list')[FIRST]).toBe('kept');
    const { committed, disregarded } = await ledgerEntry(lake, 'order_list', FIRST);
    expect(disregarded).toMatchObject({ rows });
    expect(committed).toMatchObject({ snapshot: before?.snapshot, rows: before?.rows, published: true });
    expect(committed).toMatchObject({ state: 'settled', contradictions: expect.any(Number) });
    lake.nowMs += DAY_MS;
    expect(outcomesOf(await lake.sync({ scope, brandSettings }), 'order_list')).not.toHaveProperty(FIRST);
  });

  it('a day is read once more if a reading before its last reading has fewer records', async () => {
    const lake = await syncedLake();
    damage(lake, LEDGER);
    await repair(lake, true);
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(1));
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('unconfirmed');
    lake.nowMs += HOUR_MS;
    expect(outcomesOf(await lake.sync({ scope }), 'order_list')[FIRST]).toBe('unchanged');
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('closed');
  });

  it('keeps the older versions and their changes, but without times', async () => {
    const lake = await syncedLake();
    const first = (await ledgerEntry(lake, 'order_list', FIRST)).committed?.snapshot;
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(1));
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const before = await ledgerEntry(lake, 'order_list', FIRST);
    const changes = await changesOf(lake, 'order_list', FIRST);
    lake.nowMs += HOUR_MS;
    damage(lake, LEDGER);
    const { documents } = await repair(lake, true);
    expect(documents[0]?.notes).toContainEqual(
      expect.stringContaining(`${FIRST}: 1 other versions are kept`),
    );
    const entry = await ledgerEntry(lake, 'order_list', FIRST);
    expect(entry.superseded).toEqual([{ snapshot: first, at: expect.any(String) }]);
    expect(entry.committed?.changes).toEqual(before.committed?.changes);
    expect(await changesOf(lake, 'order_list', FIRST)).toEqual(changes);
    const anHourAgo = lake.nowMs - HOUR_MS / 2;
    expect(versionAt(entry, anHourAgo, lake.nowMs + 1)).toBe('unknown');
    const { snapshot, lifecycle } = before.committed ?? {};
    expect(versionAt(entry, lake.nowMs, lake.nowMs + 1)).toEqual({
      snapshot,
      lifecycle: lifecycle?.snapshot,
    });
    expect(entry.committed?.lifecycle).toEqual({ ...lifecycle, basis: expect.any(String) });
    const rowsOfLifecycle = async () => {
      const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
      const key = versionKey('order_states', BRAND, FIRST, committed?.lifecycle?.snapshot ?? '');
      return { key, rows: await rowsOf(lake, key) };
    };
    // The lifecycle rows go on from there.
    const known = await rowsOfLifecycle();
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const next = await rowsOfLifecycle();
    expect(next.key).not.toBe(known.key);
    expect(next.rows).toEqual(known.rows);
  });

  it.each<[string, (lake: SampleLake) => Lake | undefined]>([
    ['with a catalog', () => undefined],
    ['without a catalog', ({ store }) => ({ store, runs: blindRegistry })],
  ])('I3: keeps the version that a rollback chose and the version before: %s', async (_name, lakeOf) => {
    const lake = await syncedLake();
    const first = (await ledgerEntry(lake, 'order_list', FIRST)).committed?.snapshot ?? '';
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(1));
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const second = (await ledgerEntry(lake, 'order_list', FIRST)).committed?.snapshot ?? '';
    const access = { ...lake.access(), settings: lake.settings(), report: ordersReport(), day: FIRST };
    await rollBack(access, first);
    damage(lake, LEDGER);
    await repair(lake, true, lakeOf(lake));
    const { committed, superseded } = await ledgerEntry(lake, 'order_list', FIRST);
    expect([committed?.snapshot, superseded?.map(({ snapshot }) => snapshot)]).toEqual([first, [second]]);
    expect(committed?.changes).toMatchObject({ times: 2 });
    for (let day = 0; day < 3; day += 1) {
      lake.nowMs += DAY_MS;
      await lake.sync({ scope });
    }
    for (const id of [first, second])
      expect(lake.store.objects.has(snapshotKey('orders', dayPartition('acme', FIRST), id))).toBe(true);
  });

  it('I2: marks no version as whole until a run has read the day again', async () => {
    const lake = await syncedLake();
    const part = (await ledgerEntry(lake, 'order_list', TODAY)).committed?.snapshot ?? '';
    alter(lake, 'order_list', TODAY, { word: 'later' });
    lake.nowMs += DAY_MS;
    damage(lake, LEDGER);
    await repair(lake, true);
    const settings = lake.settings();
    const readers = { settings, reports, nowMs: lake.nowMs };
    const status = async (day: string) => {
      const lakes = await readLedgers(lake.store, reports);
      const [orders] = tableStatuses(readers.settings, readers.reports, lakes, readers.nowMs).filter(
        ({ report }) => report === 'order_list',
      );
      return orders?.days.find(({ dt }) => dt === day)?.state;
    };
    expect([await status(FIRST), await status(TODAY)]).toEqual(['unverified', 'unverified']);
    await lake.sync({ scope });
    expect([await status(FIRST), await status(TODAY)]).toEqual(['complete', 'complete']);
    const access = { ...lake.access(), settings, report: ordersReport(), day: TODAY };
    await expect(rollBack(access, part)).rejects.toMatchObject({ code: 'version_is_part' });
    expect(await wrongReports(lake, '2026-03-11', ['order_list'])).toEqual({});
  });

  it('I11: days that the service no longer has settle with their rows after one request', async () => {
    const lake = await syncedLake();
    const before = (await ledgerEntry(lake, 'order_list', FIRST)).committed;
    const refresh = [{ untilAgeDays: 2, every: 'run' }];
    const brandSettings = { reports: { order_list: { refresh, ...ALL_FINAL } } };
    damage(lake, LEDGER);
    await repair(lake, true);
    lake.nowMs += 30 * DAY_MS;
    const isOld = ({ at }: { at: number }) => at < lake.nowMs - 20 * DAY_MS;
    lake.brand.records.order_list = lake.brand.records.order_list.filter((held) => !isOld(held));
    const outcomes = [];
    for (let run = 0; run < 4; run += 1) {
      outcomes.push(outcomesOf(await lake.sync({ scope, brandSettings }), 'order_list')[FIRST]);
      lake.nowMs += DAY_MS;
    }
    expect(outcomes).toEqual(['kept', undefined, undefined, undefined]);
    const { committed, failure } = await ledgerEntry(lake, 'order_list', FIRST);
    expect(committed).toMatchObject({ snapshot: before?.snapshot, rows: before?.rows, state: 'settled' });
    expect(failure).toBeUndefined();
  });
});

function ordersReport() {
  const report = reports.order_list;
  if (!report) throw new Error('there are no orders');
  return report;
}
