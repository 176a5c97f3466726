import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReportName, restate } from '../../sample/brand.ts';
import { createGlueCatalog } from '../../shared/adapters/aws/glue-catalog.ts';
import { openS3Store } from '../../shared/adapters/aws/s3-store.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { isJsonObject } from '../../shared/json.ts';
import { versionAt } from '../../shared/lake/documents/versions.ts';
import { readLedger, readSchema } from '../../shared/lake/documents/read.ts';
import { DAY_PARTITION_KEYS, dayPartition, rateBudgetKey } from '../../shared/lake/paths.ts';
import { type RepairOutcome, repairLake } from '../../shared/operations/repair.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { changesOf } from '../sync/changes-of-day.ts';
import {
  coverageOf,
  ledgerEntries,
  ledgerEntry,
  outcomesOf,
  rewriteDocument,
  wrongReports,
} from '../sync/lake-contents.ts';
import { REPORTS, type SampleLake, ZONE, blindRegistry, sampleLake } from '../sync/sample-lake.ts';

const FIRST = '2026-03-07';
const TODAY = '2026-03-10';
const LEDGER = 'ledger/order_list/acme/2026-03.json';
const STATE = 'ledger/order_list/acme/state.json';
const SCHEMA = 'schema/orders.json';
const scope = { reports: ['order_list'] };

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: FIRST, clicksPerDay: 6 });
});
afterAll(() => sample.close());

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

const brandSettings = {
  baseUrl: 'https://service.example/api/acme',
  service: 'SAMPLE',
  timeZone: ZONE,
  startDate: FIRST,
  secretName: 'none',
};
const SETTINGS = parseSettings({ brands: { acme: brandSettings } }, reports);

function repair(lake: SampleLake, apply: boolean, of?: Lake, settings?: Settings): Promise<RepairOutcome> {
  return repairLake({ ...lake.access(), ...(of && { lake: of }), ...(settings && { settings }), apply });
}

function textOf(lake: SampleLake, key: string): string {
  return Buffer.from(lake.store.objects.get(key)?.body ?? []).toString();
}

const progressKey = (lake: SampleLake) =>
  [...lake.store.objects.keys()].find((key) => key.startsWith('raw/order_list/') && key.endsWith('.json')) ??
  '';

describe('a repair', () => {
  it('finds nothing in a lake that is whole', async () => {
    expect(await repair(await syncedLake(), true)).toEqual({ status: 'ok', documents: [] });
  });

  it('leaves objects alone that are not shaped like ours', async () => {
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
    ['a report state', () => [STATE]],
    ['a schema', () => [SCHEMA]],
    ['a progress document', (lake) => [progressKey(lake)]],
    ['all at once', (lake) => [LEDGER, STATE, SCHEMA, progressKey(lake)]],
  ])('I3: makes %s again, readers keep what is published, and the next run is right', async (_name, of) => {
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

    lake.nowMs += HOUR_MS;
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    expect((await coverageOf(lake, 'order_list'))[FIRST]?.state).toBe('complete');
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('closed');
  });

  it('reads every day of a month again whose ledger was made again, settled ones too', async () => {
    const lake = await syncedLake();
    const refresh = [{ untilAgeDays: 2, every: 'run' }];
    const brandSettings = { reports: { order_list: { refresh, watchUnsettledDays: 0 } } };
    for (let run = 0; run < 4; run += 1) {
      lake.nowMs += 2 * DAY_MS;
      await lake.sync({ scope, brandSettings });
    }
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.settled).toBe(true);
    damage(lake, LEDGER);
    const { documents } = await repair(lake, true);
    expect(documents[0]?.notes.join('\n')).toMatch(/^12 days were found in the catalog[\s\S]*read again/);
    lake.nowMs += HOUR_MS;
    const { reports } = await lake.sync({ scope, brandSettings });
    expect(reports.flatMap(({ days }) => days).map(({ dt }) => dt)).toContain(FIRST);
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('closed');
  });

  it('works on S3 and Glue alike', async () => {
    const lake = await syncedLake();
    const s3 = await startS3Server();
    const glue = await startGlueServer('reports');
    try {
      const store = openS3Store({ client: s3.client, bucket: s3.bucket, prefix: 'lake' });
      const catalog = createGlueCatalog({ client: glue.client, database: 'reports', lakeUrl: store.url });
      const { columns } = await readSchema(lake.store, ordersReport());
      const shape = {
        ...{ name: 'orders', description: 'Orders', partitionKeys: DAY_PARTITION_KEYS },
        columns,
      };
      await catalog.ensureTable(shape);
      for (const [key, { body }] of lake.store.objects) await store.put(key, body, { ifAbsent: true });
      for (const day of [FIRST, '2026-03-08', '2026-03-09', TODAY]) {
        const snapshot = (await ledgerEntry(lake, 'order_list', day)).committed?.snapshot ?? '';
        await catalog.setSnapshot(shape, dayPartition('acme', day), snapshot);
      }
      const before = (await ledgerEntry(lake, 'order_list', FIRST)).committed;
      const { etag } = (await store.get(LEDGER)) ?? { etag: '' };
      await store.put(LEDGER, Buffer.from('{'), { ifMatch: etag });

      const { status, documents } = await repair(lake, true, { store, catalog, runs: blindRegistry });
      expect([status, documents.length]).toEqual(['repaired', 1]);
      const ledger = await readLedger(store, ordersReport(), 'acme', '2026-03');
      expect(Object.keys(ledger.days)).toEqual([FIRST, '2026-03-08', '2026-03-09', TODAY]);
      const { snapshot, rows, bytes, digest } = before ?? {};
      expect(ledger.days[FIRST]?.committed).toMatchObject({ snapshot, rows, bytes, digest, published: true });
    } finally {
      s3.client.destroy();
      glue.client.destroy();
      await s3.close();
      await glue.close();
    }
  });

  it('takes the newest snapshot of each day where no catalog is named, and says so', async () => {
    const lake = await syncedLake();
    damage(lake, LEDGER);
    const { documents } = await repair(lake, true, { store: lake.store, runs: blindRegistry });
    expect(documents[0]).toMatchObject({ outcome: 'repaired' });
    expect(documents[0]?.notes[0]).toContain('--database');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('counts a day as missing whose snapshot cannot be read, and says so', async () => {
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

  it('I5: leaves a document alone that somebody else has written meanwhile', async () => {
    const lake = await syncedLake();
    damage(lake, STATE);
    const store = {
      ...lake.store,
      put: (...[key, body, precondition]: Parameters<typeof lake.store.put>) => {
        if (key === STATE) damage(lake, STATE, '{"of":"another"}');
        return lake.store.put(key, body, precondition);
      },
    };
    const { status, documents } = await repair(lake, true, {
      store,
      catalog: lake.catalog,
      runs: blindRegistry,
    });
    expect([status, documents[0]?.outcome]).toEqual(['damaged', 'changed']);
    expect(textOf(lake, STATE)).toBe('{"of":"another"}');
  });

  it('I7: gives a schema the fields of its columns back, whatever they are called in SQL', async () => {
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
});

function ordersReport() {
  const report = reports.order_list;
  if (!report) throw new Error('there are no orders');
  return report;
}

describe('a ledger that is made again with the settings', () => {
  const repaired = async (lake: SampleLake, key = LEDGER) => {
    damage(lake, key);
    const { documents } = await repair(lake, true, undefined, SETTINGS);
    expect(documents).toMatchObject([{ outcome: 'repaired' }]);
    return documents[0]?.notes.join('\n') ?? '';
  };

  it.each<ReportName>(REPORTS)(
    'says of every day of %s how it was read, as the raw records prove, so that nothing is read again',
    async (report) => {
      const lake = sample.emptyLake();
      const both = { reports: ['clicks_list', report] };
      await lake.sync({ scope: both });
      lake.nowMs += HOUR_MS;
      await lake.sync({ scope: both });
      lake.nowMs += HOUR_MS;
      const before = new Map(await ledgerEntries(lake, report));
      const untouched = lake.fork();
      const notes = await repaired(lake, `ledger/${report}/acme/2026-03.json`);
      for (const [day, entry] of await ledgerEntries(lake, report)) {
        const known = before.get(day)?.committed;
        if (!known) throw new Error(`${day} was not committed`);
        // The next run makes the checks of its content again, and what earlier readings agreed on is not known.
        const { identicalPasses: _passes, confirmed: _confirmed, committedAt: _at, ...rest } = known;
        const { findings: _findings, examined: _examined, ...how } = rest;
        expect({ day, ...entry.committed }).toMatchObject({ day, ...how });
        expect(notes).toContain(
          `${day}: ${how.settled ? 'settled' : how.state}, read at ${how.readFrom} up to ${how.readTo}`,
        );
      }
      // What earlier readings agreed on is not in the raw records: such days are read once more.
      const due = outcomesOf(await untouched.sync({ scope: both }), report);
      lake.nowMs = Date.parse('2026-03-10T17:00:00Z');
      const read = outcomesOf(await lake.sync({ scope: both }), report);
      if (report !== 'order_list') expect(Object.keys(read)).toEqual(Object.keys(due));
      expect(await wrongReports(lake, TODAY, [report])).toEqual({});
    },
  );

  it('counts a day as open of which the raw records make another snapshot, and says so', async () => {
    const lake = await syncedLake();
    const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(1));
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    // As a rollback leaves it: readers find the version before.
    lake.catalog.pointers.set(`orders/brand=acme/dt=${FIRST}`, committed?.snapshot ?? '');
    for (const key of lake.store.objects.keys())
      if (key.startsWith(`raw/order_list/brand=acme/dt=${FIRST}/${committed?.attempt}/`))
        lake.store.objects.delete(key);
    expect(await repaired(lake)).toContain(`${FIRST}: no raw records prove how it was read`);
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed).toMatchObject({
      snapshot: committed?.snapshot,
      state: 'open',
      queryFingerprint: '',
    });
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each<[string, (lake: SampleLake, key: string) => void]>([
    ['damaged', (lake, key) => damage(lake, key, 'PAR1 of nothing')],
    ['gone', (lake, key) => void lake.store.objects.delete(key)],
  ])('builds a day again from its raw records whose snapshot is %s', async (_name, spoil) => {
    const lake = await syncedLake();
    const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
    spoil(lake, `snapshots/orders/brand=acme/dt=${FIRST}/${committed?.snapshot}/part-0000.parquet`);
    const requests = lake.service.requests.length;
    expect(await repaired(lake)).toMatch(
      new RegExp(`${FIRST}: .* so acme orders is built again; ${FIRST}: closed`),
    );
    const made = (await ledgerEntry(lake, 'order_list', FIRST)).committed;
    expect(made).toMatchObject({ digest: committed?.digest, state: 'closed', published: false });
    expect(lake.service.requests).toHaveLength(requests);
    await lake.sync({ scope });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  /** Orders and transactions far behind their policy, so that one reading settles a day of transactions. */
  const refresh = [{ untilAgeDays: 1, every: 'run' }];
  const oldReports = { transaction_list: { refresh, watchUnsettledDays: 0 } };
  const ofOld = { brandSettings: { reports: oldReports } };
  const TRANSACTIONS = 'ledger/transaction_list/acme/2026-03.json';
  const transactions = { reports: ['transaction_list'] };
  const asked = { ...transactions, from: FIRST, to: FIRST };

  async function repairedTransactions(lake: SampleLake) {
    damage(lake, TRANSACTIONS);
    const brands = { acme: { ...brandSettings, reports: oldReports } };
    await repair(lake, true, undefined, parseSettings({ brands }, reports));
    return (await ledgerEntry(lake, 'transaction_list', FIRST)).committed;
  }

  /** Gives what the attempt at the first day wrote another time of the store. @returns the keys */
  function writtenAt(lake: SampleLake, at: string, isMeant = (_key: string) => true): string[] {
    const prefix = `raw/transaction_list/brand=acme/dt=${FIRST}/`;
    const meant = [...lake.store.objects].filter(([key]) => key.startsWith(prefix) && isMeant(key));
    for (const [key, object] of meant) lake.store.objects.set(key, { ...object, modifiedAt: new Date(at) });
    return meant.map(([key]) => key);
  }

  it('I11: settles a day again whose only reading was its last one', async () => {
    const lake = sample.emptyLake();
    lake.nowMs += 5 * DAY_MS;
    await lake.sync({ scope: transactions, ...ofOld });
    expect((await ledgerEntry(lake, 'transaction_list', FIRST)).committed?.settled).toBe(true);
    expect(await repairedTransactions(lake)).toMatchObject({ settled: true, confirmed: true });
  });

  it.each<[string, (lake: SampleLake) => Promise<unknown>]>([
    [
      'which was read twice, with other content',
      async (lake) => {
        restate(lake.brand, 'transaction_list', FIRST, (held) => held.slice(1));
        await lake.sync({ scope: asked, ...ofOld });
      },
    ],
    ['which was read twice, with the same content', (lake) => lake.sync({ scope: asked, ...ofOld })],
    [
      'of which another snapshot is left',
      async (lake) => {
        const prefix = `snapshots/transactions/brand=acme/dt=${FIRST}/`;
        const [key = ''] = [...lake.store.objects.keys()].filter((each) => each.startsWith(prefix));
        const found = lake.store.objects.get(key);
        if (found) lake.store.objects.set(`${prefix}other/part-0000.parquet`, found);
      },
    ],
    [
      'whose first chunk was written before the day was over, by the time of the store',
      async (lake) => writtenAt(lake, '2026-03-08T05:14:59Z', (key) => key.includes('/chunk-')),
    ],
    [
      'which was staged when the day was over, by the time of the store, but began long before',
      async (lake) => {
        const progress = writtenAt(lake, '2026-03-08T05:19:59Z').find((key) => key.endsWith('.json')) ?? '';
        await rewriteDocument(lake, progress, (document) => {
          const [slice] = Array.isArray(document.slices) ? document.slices : [];
          const times = { startedAt: '2026-03-15T15:00:00.000Z', stagedAt: '2026-03-15T15:05:00.000Z' };
          return isJsonObject(slice) ? { ...document, slices: [{ ...slice, ...times }] } : document;
        });
      },
    ],
  ])('I11: believes no reading of a day %s: the next run reads it again', async (_name, happen) => {
    const lake = sample.emptyLake();
    lake.nowMs += 5 * DAY_MS;
    await lake.sync({ scope: transactions, ...ofOld });
    await happen(lake);
    lake.nowMs += HOUR_MS;
    expect(await repairedTransactions(lake)).toMatchObject({
      ...{ state: 'closed', settled: false, confirmed: false },
      // None at all would say that it was rolled back.
      identicalPasses: 1,
    });
    lake.nowMs += HOUR_MS;
    const outcome = await lake.sync({ scope: transactions, ...ofOld });
    expect(outcomesOf(outcome, 'transaction_list')).toHaveProperty(FIRST);
    expect(await wrongReports(lake, '2026-03-15', ['transaction_list'])).toEqual({});
  });

  it('keeps the versions before and what has changed since, but does not claim to know when', async () => {
    const lake = await syncedLake();
    const first = (await ledgerEntry(lake, 'order_list', FIRST)).committed?.snapshot;
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(1));
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const before = await ledgerEntry(lake, 'order_list', FIRST);
    const changes = await changesOf(lake, 'order_list', FIRST);
    lake.nowMs += HOUR_MS;
    expect(await repaired(lake)).toContain(`${FIRST}: 1 earlier versions are kept`);
    const entry = await ledgerEntry(lake, 'order_list', FIRST);
    expect(entry.superseded).toEqual([{ snapshot: first, at: expect.any(String) }]);
    expect(entry.committed?.changes).toEqual(before.committed?.changes);
    expect(await changesOf(lake, 'order_list', FIRST)).toEqual(changes);
    const anHourAgo = lake.nowMs - HOUR_MS / 2;
    expect(versionAt(entry, anHourAgo, lake.nowMs + 1)).toBe('unknown');
    expect(versionAt(entry, lake.nowMs, lake.nowMs + 1)).toEqual({ snapshot: before.committed?.snapshot });
  });

  it('says that nothing is proven of a brand that the settings do not have', async () => {
    const lake = await syncedLake();
    const { acme } = SETTINGS.brands;
    damage(lake, LEDGER);
    const settings: Settings = { ...SETTINGS, brands: acme ? { other: acme } : SETTINGS.brands };
    const { documents } = await repair(lake, true, undefined, settings);
    expect(documents[0]?.notes.join('\n')).toContain('the settings do not have the brand acme');
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('open');
  });
});
