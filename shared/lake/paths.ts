import type { Partition } from '../ports.ts';

/** `brand=acme/dt=2026-01-31` */
export function partitionPath(partition: Partition): string {
  return partition.map(([key, value]) => `${key}=${value}`).join('/');
}

export function dayPartition(brand: string, day: string): Partition {
  return [
    ['brand', brand],
    ['dt', day],
  ];
}

export function snapshotPrefix(table: string, partition: Partition, snapshot: string): string {
  return `snapshots/${table}/${partitionPath(partition)}/${snapshot}/`;
}

/** The one Parquet object of a snapshot. */
export function snapshotKey(table: string, partition: Partition, snapshot: string): string {
  return `${snapshotPrefix(table, partition, snapshot)}part-0000.parquet`;
}

export function attemptPrefix(report: string, brand: string, day: string, attempt: string): string {
  return `raw/${report}/${partitionPath(dayPartition(brand, day))}/${attempt}/`;
}

export function chunkName(number: number): string {
  return `chunk-${String(number).padStart(6, '0')}.ndjson.gz`;
}

export function progressKey(report: string, brand: string, day: string, attempt: string): string {
  return `${attemptPrefix(report, brand, day, attempt)}progress.json`;
}

export function ledgerKey(report: string, brand: string, month: string): string {
  return `ledger/${report}/${brand}/${month}.json`;
}

export function indexKey(report: string, brand: string): string {
  return `ledger/${report}/${brand}/index.json`;
}

export function schemaKey(table: string): string {
  return `schema/${table}.json`;
}
