import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayPartition, partitionPath } from '../../shared/lake/paths.ts';
import type { Catalog, Partition, TableShape, ValueRange } from '../../shared/ports.ts';
import type { View } from '../../shared/reports/definition.ts';

export interface CatalogUnderTest {
  /** Opens the same catalog again, as another run does. */
  open(): Catalog;
  /** Stores a snapshot's object at the place that the catalog expects. */
  snapshot(table: string, partition: Partition, id: string): Promise<void>;
  close(): Promise<void>;
}

export const ORDERS: TableShape = {
  name: 'orders',
  description: 'Orders',
  partitionKeys: ['brand', 'dt'],
  columns: [
    { name: 'transid', type: 'string', field: 'transid' },
    { name: 'amount', type: 'decimal(38,9)', field: 'amount' },
  ],
};

export const ORDERS_DAILY: View = {
  name: 'orders_daily',
  description: 'Orders by day',
  columns: [
    ['dt', 'string', 'The day'],
    ['orders', 'bigint', 'How many'],
    ['amount', 'decimal(38,9)', "What they're worth"],
    ['last_seen', 'timestamp', 'When'],
  ],
  sql: 'SELECT dt, orders, amount, last_seen FROM orders',
};

/** The behaviour that the core needs of every catalog: each adapter's test runs it. */
export function catalogContract(name: string, setUp: () => Promise<CatalogUnderTest>): void {
  describe(`${name} as a catalog`, () => {
    const day = dayPartition('acme', '2026-01-31');
    let underTest: CatalogUnderTest;
    let catalog: Catalog;

    async function publish(id: string, partition = day): Promise<void> {
      await underTest.snapshot('orders', partition, id);
      await catalog.setSnapshot(ORDERS, partition, id);
    }

    async function snapshotsOf(partition: Partition, of = catalog): Promise<readonly string[]> {
      const found = await of.snapshotsByPartition('orders', partition);
      return found.get(partitionPath(partition)) ?? [];
    }

    beforeEach(async () => {
      underTest = await setUp();
      catalog = underTest.open();
      await catalog.ensureTable(ORDERS);
    });
    afterEach(() => underTest.close());

    it('has no snapshot of a partition at first', async () => {
      expect(await catalog.snapshotsByPartition('orders', [])).toEqual(new Map());
    });

    it('has no trace of a partition that was removed, once or twice, and keeps all other partitions', async () => {
      const other = dayPartition('acme', '2026-02-01');
      await publish('s1');
      await publish('s2', other);
      await catalog.removePartition('orders', day);
      await catalog.removePartition('orders', day);
      expect(await catalog.snapshotsByPartition('orders', [])).toEqual(
        new Map([[partitionPath(other), ['s2']]]),
      );
      await publish('s3');
      expect(await snapshotsOf(day)).toEqual(['s3']);
    });

    it('I3: points at the snapshot that was set last', async () => {
      for (const id of ['s1', 's2', 's1', 's1']) {
        await publish(id);
        expect(await snapshotsOf(day, underTest.open())).toEqual([id]);
      }
    });

    it('I5: points at one of the snapshots that concurrent runs set', async () => {
      const ids = ['s1', 's2', 's3', 's4', 's5'];
      for (const id of ids) await underTest.snapshot('orders', day, id);
      await Promise.all(ids.map((id) => underTest.open().setSnapshot(ORDERS, day, id)));
      const [found = '', ...others] = await snapshotsOf(day);
      expect(others).toEqual([]);
      expect(ids).toContain(found);
    });

    it('lists the snapshots under leading partition keys', async () => {
      const days = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05'];
      for (const dt of days) await publish(`acme-${dt}`, dayPartition('acme', dt));
      await publish('bolt-1', dayPartition('bolt', '2026-01-01'));
      const acme = days.map((dt): [string, string[]] => [`brand=acme/dt=${dt}`, [`acme-${dt}`]]);
      const bolt: [string, string[]] = ['brand=bolt/dt=2026-01-01', ['bolt-1']];
      expect(await catalog.snapshotsByPartition('orders', [['brand', 'acme']])).toEqual(new Map(acme));
      expect(await catalog.snapshotsByPartition('orders', [])).toEqual(new Map([...acme, bolt]));
      expect(await catalog.snapshotsByPartition('orders', [['brand', 'none']])).toEqual(new Map());
    });

    it('lists only the snapshots whose next key is in a range, both ends included', async () => {
      const days = ['2025-12-31', '2026-01-01', '2026-01-15', '2026-01-31', '2026-02-01'];
      for (const dt of days) await publish(`acme-${dt}`, dayPartition('acme', dt));
      await publish('bolt-1', dayPartition('bolt', '2026-01-15'));
      const listed = (within: ValueRange) =>
        catalog.snapshotsByPartition('orders', [['brand', 'acme']], within);
      const expected = (...listed: string[]) =>
        new Map(listed.map((dt) => [`brand=acme/dt=${dt}`, [`acme-${dt}`]]));
      const january = { from: '2026-01-01', to: '2026-01-31' };
      expect(await listed(january)).toEqual(expected('2026-01-01', '2026-01-15', '2026-01-31'));
      expect(await listed({ from: '2026-01-15', to: '2026-01-15' })).toEqual(expected('2026-01-15'));
      expect(await listed({ from: '2026-03-01', to: '2026-03-31' })).toEqual(new Map());
      expect(await catalog.snapshotsByPartition('none', [['brand', 'acme']], january)).toEqual(new Map());
    });

    it('accepts the same view again, and a changed one, in addition to tables', async () => {
      await publish('s1');
      for (const sql of ['SELECT 1 AS one', 'SELECT 1 AS one', 'SELECT 2 AS one'])
        await catalog.ensureView({ ...ORDERS_DAILY, sql });
      expect(await snapshotsOf(day)).toEqual(['s1']);
    });

    it.each(['', '..', '.hidden', 'a\\b'])('refuses the snapshot id %j', async (id) => {
      await expect(catalog.setSnapshot(ORDERS, day, id)).rejects.toMatchObject({ code: 'bad_key' });
    });
  });
}
