/*
 * Deletes metadata of an Iceberg table that no snapshot since yesterday needs: a reader may have opened the table a day ago.
 * An earlier commit has already dropped the older snapshots from the metadata.
 */
import type { BrandReport } from '../context/context.ts';
import { DAY_MS } from '../days.ts';
import { icebergMetadataPrefix } from '../lake/paths.ts';
import { readManifestList } from './manifests.ts';
import { parseMetadata } from './metadata.ts';
import { nameIn, readAt } from './publish.ts';

/** The names that this program gives; other objects there are left alone. */
const METADATA = /^v\d+(-[0-9a-f]{16})?\.metadata\.json$/;
const AVRO = /^(snap-\d+|.+-\d{4}-\d\d-[0-9a-f]{16}-\d+)\.avro$/;

/**
 * Keeps the newest metadata that is a day old, all newer objects, and the objects that its oldest snapshot names:
 * every object of a later snapshot was written after that snapshot or taken from it. Objects of failed commits are
 * deleted too.
 */
export async function vacuumIceberg(context: BrandReport): Promise<void> {
  const { iceberg, lake, report, clock } = context;
  if (!iceberg) return;
  const prefix = icebergMetadataPrefix(report.table);
  const objects = await Array.fromAsync(lake.store.list(prefix), ({ key, modifiedAt }) => ({
    name: nameIn(key),
    key,
    writtenMs: modifiedAt.getTime(),
  }));
  const yesterdayMs = clock.earlierMs() - DAY_MS;
  const yesterday = objects
    .filter(({ name, writtenMs }) => METADATA.test(name) && writtenMs <= yesterdayMs)
    .toSorted((a, b) => a.writtenMs - b.writtenMs)
    .at(-1);
  if (!yesterday) return;
  const ctx = { ...context, iceberg };
  const addressOf = (key: string) => `${iceberg.catalog.url}/${key}`;
  const oldest = (await readAt(ctx, addressOf(yesterday.key), parseMetadata))?.snapshots[0];
  const manifests = oldest && (await readAt(ctx, oldest['manifest-list'], readManifestList));
  if (!manifests) return;
  const named = new Set([oldest['manifest-list'], ...manifests.map((each) => each.manifest_path)]);
  // The clock of the store may differ from the clock that dated the snapshot.
  const sinceMs = oldest['timestamp-ms'] - DAY_MS;
  const isGarbage = ({ key, name, writtenMs }: (typeof objects)[number]) =>
    METADATA.test(name)
      ? writtenMs < yesterday.writtenMs
      : AVRO.test(name) && writtenMs < sinceMs && !named.has(addressOf(key));
  const keys = objects.filter(isGarbage).map(({ key }) => key);
  if (keys.length > 0) await lake.store.delete(keys);
}
