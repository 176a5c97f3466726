import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/days.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import { changesKey, dayPartition, schemaKey, snapshotKey } from '../../shared/lake/paths.ts';
import { storeAround } from '../fakes/lake-around.ts';
import { alter, ledgerEntry, rowsOf, wrongReports } from './lake-contents.ts';
import { changesInTable, changesOf, sumsOfChanges } from './changes-of-day.ts';
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

describe('a closed day that changes', () => {
  it('is recorded with its added, removed and altered records, in the commit that replaces it', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    const first = (await ledgerEntry(lake, 'order_list', DAY)).committed;
    expect(first?.changes).toBeUndefined();
    const log: LogEvent[] = [];
    setStatus(lake, (index) => (index === 0 ? undefined : index < 3 ? 'void' : 'new'));
    await syncLater(lake, log);
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    expect(committed?.changes).toMatchObject({
      times: 1,
      last: { at: committed?.committedAt, rowsBefore: first?.rows, added: 0, removed: 1, altered: 2 },
    });
    const rows = await changesOf(lake, 'order_list', DAY);
    expect(rows.filter(({ what }) => what === 'day')).toEqual([
      {
        dt: DAY,
        change_id: committed?.snapshot,
        previous_id: first?.snapshot,
        changed_at: new Date(committed?.committedAt ?? ''),
        cause: 'reading',
        what: 'day',
        rows_before: BigInt(first?.rows ?? 0),
        rows_after: BigInt(first?.rows ?? 0) - 1n,
        added: 0n,
        removed: 1n,
        altered: 2n,
        listed: true,
      },
    ]);
    expect(rows.filter(({ what }) => what === 'altered')).toMatchObject([
      { column_name: 'status', old_value: 'new', new_value: 'void' },
      { column_name: 'status', old_value: 'new', new_value: 'void' },
    ]);
    const sums = rows.filter(({ what, column_name }) => what === 'sum' && column_name === 'amount');
    expect(sums).toMatchObject([
      { old_value: first?.values?.sums?.amount, new_value: committed?.values?.sums?.amount },
    ]);
    expect(log).toContainEqual({
      event: 'day_changed',
      brand: 'acme',
      report: 'order_list',
      day: DAY,
      ...{ rowsBefore: first?.rows, rows: committed?.rows, added: 0, removed: 1, altered: 2 },
    });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('has changes that explain every difference: they lead from the first version to the last', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    const ids = async () => {
      const { committed } = await ledgerEntry(lake, 'order_list', DAY);
      const key = snapshotKey('orders', dayPartition('acme', DAY), committed?.snapshot ?? '');
      const rows = await rowsOf(lake, key);
      return new Map(rows.map((row) => [String(row.transid), String(row.status)]));
    };
    const state = await ids();
    for (const statusOf of [
      (index: number) => (index % 2 === 0 ? 'void' : 'new'),
      (index: number) => (index === 1 ? undefined : 'effective'),
      () => 'effective',
    ]) {
      setStatus(lake, statusOf);
      await syncLater(lake);
    }
    for (const { what, key, column_name, new_value, record } of await changesOf(lake, 'order_list', DAY)) {
      if (what === 'altered' && column_name === 'status') state.set(String(key), String(new_value));
      if (what === 'removed') state.delete(String(key));
      if (what === 'added') state.set(String(key), JSON.parse(String(record)).status);
    }
    expect(state).toEqual(await ids());
  });

  it('has no changes while it is open', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const before = (await ledgerEntry(lake, 'order_list', TODAY)).committed;
    alter(lake, 'order_list', TODAY, { status: 'of later' });
    await syncLater(lake);
    const { committed } = await ledgerEntry(lake, 'order_list', TODAY);
    expect(committed?.digest).not.toBe(before?.digest);
    expect(committed?.changes).toBeUndefined();
  });

  it.each<[string, (lake: SampleLake, key: string) => void]>([
    ['is missing', (lake, key) => lake.store.objects.delete(key)],
    [
      'is cut off',
      (lake, key) => {
        const object = lake.store.objects.get(key);
        if (object) lake.store.objects.set(key, { ...object, body: object.body.subarray(0, 100) });
      },
    ],
    [
      'is the file of another version',
      (lake, key) => {
        const [, other] =
          [...lake.store.objects].find(([name]) => /orders.*parquet$/.test(name) && name !== key) ?? [];
        if (other) lake.store.objects.set(key, other);
      },
    ],
  ])(
    'is replaced even if its previous version %s: the number of changes is then unknown',
    async (_name, damage) => {
      const lake = sample.emptyLake();
      setStatus(lake, () => 'new');
      await lake.sync({ scope });
      const { committed: before } = await ledgerEntry(lake, 'order_list', DAY);
      damage(lake, snapshotKey('orders', dayPartition('acme', DAY), before?.snapshot ?? ''));
      setStatus(lake, () => 'void');
      const log: LogEvent[] = [];
      await syncLater(lake, log);
      const { committed } = await ledgerEntry(lake, 'order_list', DAY);
      expect(committed?.changes).toMatchObject({ times: 1, last: { rowsBefore: before?.rows } });
      expect(committed?.changes?.last).not.toHaveProperty('added');
      const [change] = await changesOf(lake, 'order_list', DAY);
      expect(change).not.toHaveProperty('added');
      expect(change).toMatchObject({ what: 'day', listed: false });
      expect(log.filter(({ event }) => event === 'change_not_compared')).toHaveLength(1);
    },
  );

  it('is recorded without news if another version has the same content', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const { committed: before } = await ledgerEntry(lake, 'order_list', DAY);
    lake.store.objects.delete(snapshotKey('orders', dayPartition('acme', DAY), before?.snapshot ?? ''));
    const log: LogEvent[] = [];
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope: { ...scope, from: DAY, to: DAY }, log: (event) => log.push(event) });
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    expect(committed?.snapshot).not.toBe(before?.snapshot);
    expect(committed?.changes).toMatchObject({ times: 0 });
    expect(await changesOf(lake, 'order_list', DAY)).toMatchObject([
      {
        ...{ change_id: committed?.snapshot, previous_id: before?.snapshot },
        ...{ added: 0n, removed: 0n, altered: 0n, listed: true },
      },
      ...(await changesOf(lake, 'order_list', DAY)).slice(1),
    ]);
    expect(log.filter(({ event }) => event === 'day_changed')).toEqual([]);
    setStatus(lake, () => 'void');
    await syncLater(lake);
    const { committed: next } = await ledgerEntry(lake, 'order_list', DAY);
    expect(next?.changes).toMatchObject({ times: 1, last: { at: next?.changes?.at } });
  });

  it('has the sums of roles by currency before and after, even if amounts are texts', async () => {
    const lake = sample.emptyLake();
    const setCommission = (commission: string) => alter(lake, 'order_list', DAY, { commission });
    const range = { ...scope, from: DAY, to: DAY };
    setCommission('1.50');
    await lake.sync({ scope: range });
    setCommission('2.50');
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope: range });
    const { rows = 0 } = (await ledgerEntry(lake, 'order_list', DAY)).committed ?? {};
    const sums = (await changesOf(lake, 'order_list', DAY)).filter(
      ({ what, column_name }) => what === 'total' && column_name === 'commission',
    );
    const places = (sum: number) => `${sum.toFixed(1)}00000000`;
    expect(sums).toMatchObject([
      { key: 'USD', old_value: places(1.5 * rows), new_value: places(2.5 * rows) },
    ]);
    const schema = await lake.store.get(schemaKey('orders'));
    expect(String(Buffer.from(schema?.body ?? []))).toMatch(/"name":"commission","type":"string"/);
  });

  it.each<[string, Record<string, string>]>([
    ['texts', { amount: 'string' }],
    ['a narrower number', { amount: 'decimal(18,2)' }],
    ['instants', { create_time: 'timestamp' }],
    ['several types', { amount: 'string', create_time: 'timestamp', transid: 'bigint' }],
  ])('counts no record as altered if only the types in the settings changed: %s', async (_name, columns) => {
    const lake = sample.emptyLake();
    restate(lake.brand, 'order_list', DAY, (held) =>
      held.map(({ at, record }, index) => ({
        at,
        record: { ...record, amount: index === 0 ? 'on request' : (record.amount ?? null) },
      })),
    );
    const brandSettings = (own: object) => ({ reports: { order_list: { refresh, ...own } } });
    await lake.sync({ scope, brandSettings: brandSettings({ columns: { amount: 'decimal(38,9)' } }) });
    const { committed: before } = await ledgerEntry(lake, 'order_list', DAY);
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope, brandSettings: brandSettings({ columns }) });
    const { committed } = await ledgerEntry(lake, 'order_list', DAY);
    expect(committed?.digest).not.toBe(before?.digest);
    expect(sumsOfChanges(await changesOf(lake, 'order_list', DAY))).toMatchObject([
      { added: 0n, removed: 0n, altered: 0n },
    ]);
    alter(lake, 'order_list', DAY, { amount: 1.5 }, 1);
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope, brandSettings: brandSettings({ columns: { amount: 'decimal(38,9)' } }) });
    expect(sumsOfChanges(await changesOf(lake, 'order_list', DAY)).at(-1)).toMatchObject({ altered: 1n });
  });

  it('appears in the table with the run that found it, in the partition of its month', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    setStatus(lake, () => 'void');
    await syncLater(lake);
    const partitions = [...lake.catalog.pointers.keys()].filter((path) => path.startsWith('changes/'));
    expect(partitions).toEqual([TABLE_POINTER]);
    expect(sumsOfChanges(await changesInTable(lake, 'order_list'))).toMatchObject([{ dt: DAY }]);
  });
});

describe('changes that are lost or damaged', () => {
  const cut: Damage = (lake, key) => {
    const object = lake.store.objects.get(key);
    if (object) lake.store.objects.set(key, { ...object, body: object.body.subarray(0, 100) });
  };
  const remove: Damage = (lake, key) => lake.store.objects.delete(key);

  async function changedTwice(): Promise<SampleLake> {
    const lake = sample.emptyLake();
    for (const status of ['new', 'void', 'effective']) {
      setStatus(lake, () => status);
      await syncLater(lake);
    }
    return lake;
  }

  it.each<[string, Damage]>([
    ['is missing', remove],
    ['is cut off', cut],
  ])('are taken from the table by the next change if the object of the day %s', async (_name, damage) => {
    const lake = await changedTwice();
    const before = await changesOf(lake, 'order_list', DAY);
    damage(lake, await changesObject(lake));
    setStatus(lake, () => 'new');
    await syncLater(lake);
    const after = await changesOf(lake, 'order_list', DAY);
    expect(after.slice(0, before.length)).toEqual(before);
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.changes?.times).toBe(3);
  });

  it.each<[string, Damage]>([
    ['is missing', remove],
    ['is cut off', cut],
  ])('are taken from the table by the daily work if the object of the day %s', async (_name, damage) => {
    const lake = await changedTwice();
    const before = await changesOf(lake, 'order_list', DAY);
    damage(lake, await changesObject(lake));
    lake.nowMs += 25 * HOUR_MS;
    await syncLater(lake);
    expect(await changesOf(lake, 'order_list', DAY)).toEqual(before);
  });

  it.each<[string, (lake: SampleLake) => void]>([
    ['the catalog has lost the partition', (lake) => lake.catalog.pointers.delete(TABLE_POINTER)],
    ['its object is missing', (lake) => remove(lake, tableObject(lake))],
  ])('are in the table again after the daily work if %s', async (_name, damage) => {
    const lake = await changedTwice();
    const before = await changesInTable(lake, 'order_list');
    damage(lake);
    lake.nowMs += 25 * HOUR_MS;
    await syncLater(lake);
    expect(await changesInTable(lake, 'order_list')).toEqual(before);
  });

  it('begin anew if the object of the day and the table are lost; unreadable objects are kept', async () => {
    const lake = await changedTwice();
    const damaged = await changesObject(lake);
    cut(lake, damaged);
    remove(lake, tableObject(lake));
    setStatus(lake, () => 'new');
    const log: LogEvent[] = [];
    await syncLater(lake, log);
    expect(log.filter(({ event }) => event === 'changes_lost')).toHaveLength(1);
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.changes?.times).toBe(1);
    expect(sumsOfChanges(await changesOf(lake, 'order_list', DAY))).toHaveLength(1);
    lake.nowMs += 40 * 24 * HOUR_MS;
    await syncLater(lake);
    expect(lake.store.objects.has(damaged)).toBe(true);
  });

  it('are left out of the table by day only, and return with their object', async () => {
    const lake = await changedTwice();
    const key = await changesObject(lake);
    const object = lake.store.objects.get(key);
    const before = await changesInTable(lake, 'order_list');
    remove(lake, key);
    remove(lake, tableObject(lake));
    lake.nowMs += 25 * HOUR_MS;
    await syncLater(lake);
    expect((await changesInTable(lake, 'order_list')).filter(({ dt }) => dt === DAY)).toEqual([]);
    if (object) lake.store.objects.set(key, object);
    lake.nowMs += 25 * HOUR_MS;
    await syncLater(lake);
    expect((await changesInTable(lake, 'order_list')).filter(({ dt }) => dt === DAY)).toEqual(before);
  });

  it('stay whole if reading them fails once in an unexpected way', async () => {
    const lake = await changedTwice();
    const before = await changesOf(lake, 'order_list', DAY);
    const key = await changesObject(lake);
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
    expect(sumsOfChanges(after)).toHaveLength(3);
  });
});

describe('a report without a key', () => {
  it('records changes as removed and added rows', async () => {
    const lake = sample.emptyLake();
    const transactions = { reports: ['transaction_list'] };
    await lake.sync({ scope: transactions });
    alter(lake, 'transaction_list', DAY, { note: 'x' }, 1);
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope: transactions });
    const rows = await changesOf(lake, 'transaction_list', DAY);
    expect(sumsOfChanges(rows)).toMatchObject([{ added: 1n, removed: 1n, altered: 0n }]);
    expect(rows.filter(({ what }) => what === 'removed' || what === 'added')).toMatchObject([
      { what: 'removed', copies: 1n },
      { what: 'added', copies: 1n, record: expect.stringContaining('"note":"x"') },
    ]);
  });
});

type Damage = (lake: SampleLake, key: string) => void;

const TABLE_POINTER = 'changes/brand=acme/report=order_list/month=2026-03';

async function changesObject(lake: SampleLake): Promise<string> {
  const { committed } = await ledgerEntry(lake, 'order_list', DAY);
  return changesKey('acme', 'order_list', DAY, committed?.changes?.snapshot ?? '');
}

function tableObject({ catalog }: SampleLake): string {
  return `snapshots/${TABLE_POINTER}/${catalog.pointers.get(TABLE_POINTER)}/part-0000.parquet`;
}
