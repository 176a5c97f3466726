import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/days.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { ledgerEntry, rowsOf, wrongReports } from './lake-contents.ts';
import { changesOf, sumsOfChanges } from './changes-of-day.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-09';
const TODAY = '2026-03-10';
const refresh = [{ untilAgeDays: 20, every: 'run' }];
const scope = { reports: ['order_list'] };

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: '2026-03-08',
    clicksPerDay: 8,
    brandSettings: {
      reports: { order_list: { refresh }, transaction_list: { refresh } },
    },
  });
});
afterAll(() => sample.close());

/** The status of each order of the day by its place; the amount stays. `undefined` removes it. */
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
  it('is recorded with what was added, removed and altered, in the commit that replaces it', async () => {
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
    expect(sums).toMatchObject([{ old_value: first?.sums?.amount, new_value: committed?.sums?.amount }]);
    expect(log).toContainEqual({
      event: 'day_changed',
      brand: 'acme',
      report: 'order_list',
      day: DAY,
      ...{ rowsBefore: first?.rows, rows: committed?.rows, added: 0, removed: 1, altered: 2 },
    });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('explains every difference: its changes lead from the first version to the last', async () => {
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
    restate(lake.brand, 'order_list', TODAY, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, status: 'of later' } })),
    );
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
      'is another one',
      (lake, key) => {
        const [, other] =
          [...lake.store.objects].find(([name]) => /orders.*parquet$/.test(name) && name !== key) ?? [];
        if (other) lake.store.objects.set(key, other);
      },
    ],
  ])(
    'is replaced all the same where its version before %s: how much changed is unknown',
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

  it('begins its changes anew where those before are lost, and says so', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    setStatus(lake, () => 'void');
    await syncLater(lake);
    for (const key of changesObjects(lake)) lake.store.objects.delete(key);
    setStatus(lake, () => 'effective');
    const log: LogEvent[] = [];
    await syncLater(lake, log);
    expect(log.filter(({ event }) => event === 'changes_lost')).toHaveLength(1);
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.changes?.times).toBe(1);
    expect(sumsOfChanges(await changesOf(lake, 'order_list', DAY))).toHaveLength(1);
  });

  it('is published anew where the catalog has lost its changes', async () => {
    const lake = sample.emptyLake();
    setStatus(lake, () => 'new');
    await lake.sync({ scope });
    setStatus(lake, () => 'void');
    await syncLater(lake);
    const pointer = `changes/brand=acme/report=order_list/dt=${DAY}`;
    expect(lake.catalog.pointers.delete(pointer)).toBe(true);
    await syncLater(lake);
    expect(await changesOf(lake, 'order_list', DAY)).not.toEqual([]);
  });
});

describe('a report without a key', () => {
  it('has its changes as rows that were removed and added', async () => {
    const lake = sample.emptyLake();
    const transactions = { reports: ['transaction_list'] };
    await lake.sync({ scope: transactions });
    restate(lake.brand, 'transaction_list', DAY, (held) =>
      held.map(({ at, record }, index) => ({ at, record: index === 0 ? { ...record, note: 'x' } : record })),
    );
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

function changesObjects({ store }: SampleLake): string[] {
  return [...store.objects.keys()].filter((key) => key.startsWith('snapshots/changes/'));
}
