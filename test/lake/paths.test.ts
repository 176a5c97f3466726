import { describe, expect, it } from '@jest/globals';
import {
  brandRawPrefix,
  chunkName,
  attemptPrefix,
  brandPartitions,
  dayPartition,
  brandStateKey,
  ledgerKey,
  parseDayKey,
  brandOfState,
  parseLedgerKey,
  partitionPrefix,
  progressKey,
  leaseKey,
  schemaKey,
  snapshotKey,
  snapshotOfKey,
} from '../../shared/lake/paths.ts';

describe('keys of a lake', () => {
  it('follow the documented layout', () => {
    expect([
      snapshotKey('orders', dayPartition('acme', '2026-01-31'), 's1'),
      snapshotKey('coverage', brandPartitions('acme'), 's2'),
      `${attemptPrefix('order_list', 'acme', '2026-01-31', 'a1')}${chunkName('c7')}`,
      progressKey('order_list', 'acme', '2026-01-31', 'a1'),
      ledgerKey('order_list', 'acme', '2026-01'),
      brandStateKey('acme'),
      schemaKey('orders'),
      leaseKey('acme'),
    ]).toEqual([
      'snapshots/orders/brand=acme/dt=2026-01-31/s1/part-0000.parquet',
      'snapshots/coverage/brand=acme/s2/part-0000.parquet',
      'raw/order_list/brand=acme/dt=2026-01-31/a1/chunk-c7.json-seq.zst',
      'raw/order_list/brand=acme/dt=2026-01-31/a1/progress.json',
      'ledger/order_list/acme/2026-01.json',
      'ledger/acme/state.json',
      'schema/orders.json',
      'leases/acme.json',
    ]);
  });

  it('are recognised as keys of documents', () => {
    const state = brandStateKey('acme');
    expect([brandOfState(state), brandOfState(`old/${state}`)]).toEqual(['acme', undefined]);
    expect(brandOfState(ledgerKey('order_list', 'acme', '2026-01'))).toBeUndefined();
  });

  it('can be parsed back to the ledger', () => {
    const scope = { report: 'order_list', brand: 'acme', month: '2026-01' };
    expect(parseLedgerKey(ledgerKey('order_list', 'acme', '2026-01'))).toEqual(scope);
  });

  it.each([
    ['a report state', brandStateKey('acme')],
    ['a month with a day', 'ledger/order_list/acme/2026-01-31.json'],
    ['a month of no calendar', 'ledger/order_list/acme/2026-13.json'],
    ['a file of an operating system', 'ledger/order_list/.DS_Store/2026-01.json'],
    ['one folder too many', 'ledger/order_list/acme/old/2026-01.json'],
    ['a ledger elsewhere', 'backup/ledger/order_list/acme/2026-01.json'],
  ])('are not those of a ledger: %s', (_name, key) => expect(parseLedgerKey(key)).toBeUndefined());

  it('can be parsed back to the day and the snapshot or attempt', () => {
    const snapshots = partitionPrefix('orders', brandPartitions('acme'));
    const key = snapshotKey('orders', dayPartition('acme', '2026-01-31'), 's1');
    expect(parseDayKey(snapshots, key)).toEqual({ day: '2026-01-31', id: 's1' });
    expect(snapshotOfKey(key)).toBe('s1');
    const attempts = brandRawPrefix('order_list', 'acme');
    const progress = progressKey('order_list', 'acme', '2026-01-31', 'a1');
    expect(parseDayKey(attempts, progress)).toEqual({ day: '2026-01-31', id: 'a1' });
  });

  it.each([
    ['not a day', 'raw/order_list/brand=acme/dt=2026-02-30/a1/progress.json'],
    ['a file of another name', 'raw/order_list/brand=acme/dt=2026-01-31/a1/notes.txt'],
    ['one folder more', 'raw/order_list/brand=acme/dt=2026-01-31/a1/b/progress.json'],
    ['another partition key', 'raw/order_list/brand=acme/day=2026-01-31/a1/progress.json'],
    ['no attempt', 'raw/order_list/brand=acme/dt=2026-01-31/progress.json'],
    ['an attempt of another name', 'raw/order_list/brand=acme/dt=2026-01-31/~old copy/progress.json'],
    ['another brand', 'raw/order_list/brand=other/dt=2026-01-31/a1/progress.json'],
  ])('I4: an object with a foreign key is not treated as one of ours: %s', (_name, key) => {
    expect(parseDayKey(brandRawPrefix('order_list', 'acme'), key)).toBeUndefined();
  });
});
