import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { brandPartitions } from '../../shared/lake/paths.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { BRAND } from '../simulation/contents.ts';

/** Writes all objects of a lake to a folder, and the catalog's current snapshots as `current/<table>/<partition>/<snapshot>.parquet`. */
export async function writeFiles(lake: Lake, folder: string): Promise<void> {
  await writeLake(lake.store, folder);
  for (const { table } of Object.values(reports)) {
    const pointers = await lake.catalog?.snapshotsByPartition(table, brandPartitions(BRAND));
    for (const [partition, [snapshot = '']] of pointers ?? [])
      await cp(
        join(folder, `snapshots/${table}/${partition}/${snapshot}/part-0000.parquet`),
        join(folder, 'current', table, partition, `${snapshot}.parquet`),
      );
  }
}
