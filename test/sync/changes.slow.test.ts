import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/base/days.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { parseJson } from '../../shared/base/json.ts';
import { dayPartition, schemaKey, snapshotKey, versionKey } from '../../shared/lake/paths.ts';
import { storeAround } from '../fakes/lake-around.ts';
import { alter, coverageOf, ledgerEntry, wrongReports } from './lake-contents.ts';
import { changesOf } from './changes-of-day.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-09';
const TODAY = '2026-03-10';
const refresh = [{ untilAgeDays: 20, every: 'run' }];
const scope = { reports: ['order_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: '2026-03-08',
  clicksPerDay: 8,
  brandSettings: {
    reports: { order_list: { refresh }, transaction_list: { refresh } },
  },
});

/** Sets the status of each order of the day by its place; the amount stays. `undefined` removes the order. */
function setStatus(lake: SampleLake, statusOf: (index: number) => string | undefined): void {
  restate(lake.brand, 'order_list', DAY, (held) =>
    held.flatMap(({ at, record }, index) => {
      const status = statusOf(index);
      return status === undefined ? [] : [{ at, record: { ...record, status } }];
    }),
  );
}

async function syncLater(lake: SampleLake, log: LogEvent[] = []): Promise<void> {
  lake.nowMs += HOUR_MS;
  expect((await lake.sync({ scope, log: (event) => log.push(event) })).status).toBe('complete');
}

const historyOf = async (lake: SampleLake) => (await ledgerEntry(lake, 'order_list', DAY)).committed?.history;

describe('a closed day that changes', () => {
  it('has what its changed records were, in the commit that replaces it', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    const { committed: first } = await ledgerEntry(lake, 'order_list', DAY);
    expect(first?.history).toEqual({
      ...{ after: first?.readFrom, by: expect.any(String), timeZone: first?.timeZone },
      ...{ key: 'transid', place: 0 },
    });
    const log: LogEvent[] = [];
    setStatus(lake, (index) => (index === 0 ? undefined : index < 3 ? 'void' : 'new'));
    await syncLater(lake, log);
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    const counts = { rowsBefore: first?.rows, added: 0, removed: 1, altered: 2 };
    expect(committed?.history).toEqual({
      ...first?.history,
      ...{ place: 1, lastBy: expect.any(String), last: { at: committed?.history?.lastBy, ...counts } },
      object: { snapshot: expect.any(String), rows: 3, bytes: expect.any(Number) },
    });
    const rows = await changesOf(lake, 'order_list', DAY);
    expect(rows.map(({ _what, status }) => `${String(_what)} ${String(status)}`).sort()).toEqual([
      ...['altered new', 'altered new', 'removed new'],
    ]);
    for (const row of rows)
      expect(row).toMatchObject({
        ...{ _key: row.transid, _place: 1n, _cause: 'reading' },
        ...{ _version: committed?.snapshot, _previous: first?.snapshot },
        ...{ _after: new Date(first?.readFrom ?? ''), _by: new Date(committed?.history?.lastBy ?? '') },
      });
    expect(log).toContainEqual({
      ...{ event: 'day_changed', brand: 'acme', report: 'order_list', day: DAY },
      ...{ ...counts, rows: committed?.rows },
    });
    const schema = parseJson(Buffer.from((await lake.store.get(schemaKey('orders')))?.body ?? []).toString());
    expect(schema).toMatchObject({ keys: ['transid'] });
    expect((await coverageOf(lake, 'order_list'))[DAY]).toMatchObject({
      ...{ key: 'transid', place: 1n, first_by: new Date(first?.history?.by ?? '') },
      age_30: new Date('2026-04-09T04:00:00Z'),
    });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('has nothing of it while it is open, nor after a reading with equal content', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const before = (await ledgerEntry(lake, 'order_list', TODAY)).committed;
    alter(lake, 'order_list', TODAY, { status: 'of later' });
    await syncLater(lake);
    const { committed } = await ledgerEntry(lake, 'order_list', TODAY);
    expect(committed?.digest).not.toBe(before?.digest);
    expect(committed?.history).toBeUndefined();
    expect(await historyOf(lake)).toMatchObject({ place: 0 });
  });

  it('is replaced even if its previous version is damaged, and its history begins anew', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    const { committed: before } = await ledgerEntry(lake, 'order_list', DAY);
    cut(lake, snapshotKey('orders', dayPartition('acme', DAY), before?.snapshot ?? ''));
    setStatus(lake, () => 'void');
    const log: LogEvent[] = [];
    await syncLater(lake, log);
    const history = await historyOf(lake);
    expect(history).toMatchObject({ place: 1, anewPlace: 1, anewBy: history?.lastBy });
    expect(history?.last).toEqual({ at: history?.lastBy, rowsBefore: before?.rows });
    expect(await changesOf(lake, 'order_list', DAY)).toEqual([]);
    expect(log.filter(({ event }) => event === 'history_anew')).toHaveLength(1);
  });
});

const cut: Damage = (lake, key) => {
  const object = lake.store.objects.get(key);
  if (object) lake.store.objects.set(key, { ...object, body: object.body.subarray(0, 100) });
};
const remove: Damage = (lake, key) => lake.store.objects.delete(key);
type Damage = (lake: SampleLake, key: string) => void;

describe('changes whose object is lost', () => {
  async function changedTwice(): Promise<SampleLake> {
    const lake = sample.emptyLake();
    for (const status of ['new', 'void', 'effective']) {
      setStatus(lake, () => status);
      await syncLater(lake);
    }
    return lake;
  }
  const objectOf = async (lake: SampleLake) =>
    versionKey('orders_before', 'acme', DAY, (await historyOf(lake))?.object?.snapshot ?? '');

  it.each<[string, Damage]>([
    ['is missing', remove],
    ['is cut off', cut],
  ])('begin anew with the next change if it %s, which a finding names', async (_name, damage) => {
    const lake = await changedTwice();
    damage(lake, await objectOf(lake));
    setStatus(lake, () => 'new');
    const log: LogEvent[] = [];
    await syncLater(lake, log);
    expect(await historyOf(lake)).toMatchObject({ place: 3, anewPlace: 3 });
    expect(await changesOf(lake, 'order_list', DAY)).toEqual([]);
    expect(log.filter(({ event }) => event === 'history_anew')).toHaveLength(1);
    expect((await coverageOf(lake, 'order_list'))[DAY]?.findings).toContain('history_anew');
    setStatus(lake, () => 'void');
    await syncLater(lake);
    expect(await historyOf(lake)).toMatchObject({ place: 4, anewPlace: 3 });
    expect(new Set((await changesOf(lake, 'order_list', DAY)).map(({ _place }) => _place))).toEqual(
      new Set([4n]),
    );
  });

  it('stay whole if reading them fails once in an unexpected way', async () => {
    const lake = await changedTwice();
    const before = await changesOf(lake, 'order_list', DAY);
    const key = await objectOf(lake);
    let failures = 0;
    const store = storeAround(lake.store, async ({ name, on }, act) => {
      if (name !== 'range' || on !== key || failures > 0) return act();
      failures += 1;
      throw new RangeError('Array buffer allocation failed');
    });
    setStatus(lake, () => 'new');
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope, lake: { ...lake.access().lake, store } });
    expect(failures).toBe(1);
    const after = await changesOf(lake, 'order_list', DAY);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(await historyOf(lake)).toMatchObject({ place: 3 });
  });
});
