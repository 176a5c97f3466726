/*
 * The Iceberg catalog of a lake folder keeps tables as folders that readers open by path. It writes
 * `iceberg/<table>/metadata/v<N>.metadata.json` and a hint with the newest N, like Iceberg's own Hadoop tables. Creating
 * the next N is the commit (I5). If a run dies before it has written the hint, the next run writes it.
 */
import { icebergMetadataPrefix } from '../../lake/paths.ts';
import type { IcebergCatalog, ObjectStore } from '../../ports.ts';

/** @param url of the lake in metadata, without `/` at its end */
export function createFolderIceberg(store: ObjectStore, url: string): IcebergCatalog {
  return {
    url,
    async load(table) {
      const prefix = icebergMetadataPrefix(table);
      const versionAt = (version: number) => store.get(`${prefix}v${version}.metadata.json`);
      const hint = await openHint(store, `${prefix}version-hint.text`);
      let { version } = hint;
      let found = version > 0 ? await versionAt(version) : undefined;
      if (!found) {
        version = await newestVersion(store, prefix);
        found = version > 0 ? await versionAt(version) : undefined;
      }
      for (let next = await versionAt(version + 1); next; next = await versionAt(version + 1)) {
        version += 1;
        found = next;
      }
      if (found && version !== hint.version) await hint.write(version);
      return {
        ...(found && { metadata: found.body }),
        async replace(metadata) {
          const key = `${prefix}v${version + 1}.metadata.json`;
          if ((await store.put(key, metadata, { ifAbsent: true })) === 'conflict') return false;
          await hint.write(version + 1);
          return true;
        },
      };
    },
  };
}

/** @returns `version`: the version in the hint; 0 if the hint is missing or invalid */
async function openHint(store: ObjectStore, key: string) {
  const found = await store.get(key);
  let etag = found?.etag;
  const named = Number(found ? Buffer.from(found.body).toString('utf8') : 0);
  return {
    version: Number.isSafeInteger(named) && named > 0 ? named : 0,
    async write(version: number): Promise<void> {
      const precondition = etag === undefined ? ({ ifAbsent: true } as const) : { ifMatch: etag };
      const outcome = await store.put(key, Buffer.from(String(version)), precondition);
      // A conflict means that another run has committed since; its hint is newer.
      if (outcome !== 'conflict') ({ etag } = outcome);
    },
  };
}

/** Finds the newest version without a hint, so that the table does not reuse a number. */
async function newestVersion(store: ObjectStore, prefix: string): Promise<number> {
  let newest = 0;
  for await (const { key } of store.list(prefix)) {
    const [, version = 0] = /^v(\d+)\.metadata\.json$/.exec(key.slice(prefix.length)) ?? [];
    newest = Math.max(newest, Number(version));
  }
  return newest;
}
