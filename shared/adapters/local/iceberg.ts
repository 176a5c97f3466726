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
      // Before the list: if another run commits in between, the hint that it writes stays.
      const hint = await openHint(store, `${prefix}version-hint.text`);
      const version = await newestVersion(store, prefix);
      const found = version > 0 ? await store.get(`${prefix}v${version}.metadata.json`) : undefined;
      if (found && String(version) !== hint.text) await hint.write(version);
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

async function openHint(store: ObjectStore, key: string) {
  const found = await store.get(key);
  let etag = found?.etag;
  return {
    text: found && Buffer.from(found.body).toString('utf8'),
    async write(version: number): Promise<void> {
      const precondition = etag === undefined ? ({ ifAbsent: true } as const) : { ifMatch: etag };
      const outcome = await store.put(key, Buffer.from(String(version)), precondition);
      // A conflict means that another run has committed since; its hint is newer.
      if (outcome !== 'conflict') ({ etag } = outcome);
    },
  };
}

/** 0 if there is none. The hint may be lost or old, and the table must not reuse a number. */
async function newestVersion(store: ObjectStore, prefix: string): Promise<number> {
  let newest = 0;
  for await (const { key } of store.list(prefix)) {
    const [, version = 0] = /^v(\d+)\.metadata\.json$/.exec(key.slice(prefix.length)) ?? [];
    newest = Math.max(newest, Number(version));
  }
  return newest;
}
