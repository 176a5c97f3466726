import { link, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLocalCatalog } from '../../../shared/adapters/local/catalog.ts';
import { dayPartition, snapshotKey } from '../../../shared/lake/paths.ts';
import type { Partition } from '../../../shared/ports.ts';
import { catalogContract, ORDERS } from '../../contracts/catalog.ts';
import { temporaryFolder } from '../../fakes/temporary-folder.ts';

async function putSnapshot(lake: string, table: string, partition: Partition, id: string): Promise<void> {
  const path = join(lake, snapshotKey(table, partition, id));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, id);
}

catalogContract('a folder', async () => {
  const folder = await temporaryFolder();
  return {
    open: () => createLocalCatalog(folder.path),
    snapshot: (table, partition, id) => putSnapshot(folder.path, table, partition, id),
    close: () => folder.remove(),
  };
});

describe('the folder current/', () => {
  const day = dayPartition('acme', '2026-01-31');
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let links: string;

  beforeEach(async () => {
    folder = await temporaryFolder();
    links = join(folder.path, 'current/orders/brand=acme/dt=2026-01-31');
    for (const id of ['s1', 's2']) await putSnapshot(folder.path, 'orders', day, id);
  });
  afterEach(() => folder.remove());

  it('has the current snapshot under its id, for any tool that reads files', async () => {
    const catalog = createLocalCatalog(folder.path);
    await catalog.setSnapshot(ORDERS, day, 's1');
    await catalog.setSnapshot(ORDERS, day, 's2');
    expect(await readdir(links)).toEqual(['s2.parquet']);
    expect(await readFile(join(links, 's2.parquet'), 'utf8')).toBe('s2');
  });

  it('is read-only, as are the snapshots of a lake that was copied with other modes', async () => {
    await createLocalCatalog(folder.path).setSnapshot(ORDERS, day, 's1');
    const snapshot = join(folder.path, snapshotKey('orders', day, 's1'));
    for (const path of [snapshot, join(links, 's1.parquet')]) expect((await stat(path)).mode & 0o222).toBe(0);
  });

  it('I4: has two snapshots after a crash between two links, until the next publication repairs it', async () => {
    const catalog = createLocalCatalog(folder.path);
    await catalog.setSnapshot(ORDERS, day, 's1');
    await link(join(folder.path, snapshotKey('orders', day, 's2')), join(links, 's2.parquet'));
    expect(await catalog.snapshotsByPartition('orders', day)).toEqual(
      new Map([['brand=acme/dt=2026-01-31', expect.arrayContaining(['s1', 's2'])]]),
    );
    await catalog.setSnapshot(ORDERS, day, 's2');
    expect(await readdir(links)).toEqual(['s2.parquet']);
  });

  it('keeps its snapshot if the new snapshot is gone', async () => {
    const catalog = createLocalCatalog(folder.path);
    await catalog.setSnapshot(ORDERS, day, 's1');
    await expect(catalog.setSnapshot(ORDERS, day, 's3')).rejects.toMatchObject({
      kind: 'transient',
      code: 'object_missing',
    });
    expect([...(await catalog.snapshotsByPartition('orders', day)).values()]).toEqual([['s1']]);
  });
});
