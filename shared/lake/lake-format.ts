/*
 * The guard of the format refuses every read and write of a lake that has another format number than this program. Such
 * a program would return wrong numbers, and its vacuum would delete the objects that it does not recognise.
 * The store of every lake that is opened is guarded here, so that no command and no function can skip the check. The
 * guard reads the format document once, in parallel with the first object, so that no run waits for it.
 */
import { BrandReportsError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import type { ObjectStore } from '../ports.ts';
import { shellWord } from '../base/shell-word.ts';
import { CLOSES_PREFIX, FORMAT_KEY, LEDGERS_PREFIX, RAW_PREFIX, SNAPSHOTS_PREFIX } from './paths.ts';
import { parseJsonDocument } from './cas-document.ts';

/**
 * Raise it with each issue that changes stored documents: after such a change an older program would misread a lake, or
 * a newer program an older lake. No program migrates a lake. Version 0.2.0 wrote 1.
 */
export const LAKE_FORMAT = 2;

/** What every program of this project writes. A lake with any of it has a number, which is the first object of a lake. */
const CONTENTS = [LEDGERS_PREFIX, SNAPSHOTS_PREFIX, RAW_PREFIX, CLOSES_PREFIX];

/** Guards a store. @returns a store whose operations throw `config` `other_format` if the lake has another format */
export function inOurFormat(store: ObjectStore): ObjectStore {
  const readable = unlessFailed(() => formatOf(store));
  const writable = unlessFailed(async () => {
    if ((await readable()) === 'empty') await numberLake(store);
  });
  return {
    ...store,
    get: async (key) => (await Promise.all([store.get(key), readable()]))[0],
    async range(key, start, end) {
      await readable();
      return store.range(key, start, end);
    },
    async *list(prefix) {
      await readable();
      yield* store.list(prefix);
    },
    async put(key, body, precondition) {
      await writable();
      return store.put(key, body, precondition);
    },
    create(key) {
      const writer = store.create(key);
      return {
        async write(bytes) {
          await writable();
          await writer.write(bytes);
        },
        async finish() {
          await writable();
          await writer.finish();
        },
        abort: () => writer.abort(),
      };
    },
    async delete(keys) {
      await writable();
      await store.delete(keys);
    },
  };
}

/** Acts once; after a failure, the next call acts again. */
function unlessFailed<T>(act: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () =>
    (done ??= act().catch((thrown: unknown) => {
      done = undefined;
      throw thrown;
    }));
}

/** @throws BrandReportsError `config` if the lake has another format, or has contents but no number */
async function formatOf(store: ObjectStore): Promise<'ours' | 'empty'> {
  if (await hasOurNumber(store)) return 'ours';
  for (const prefix of CONTENTS)
    for await (const _object of store.list(prefix)) {
      // Another run may have numbered the lake in the meantime, and then written its first object.
      if (await hasOurNumber(store)) return 'ours';
      throw otherFormat(store, `has ${prefix}, but no document ${FORMAT_KEY} with its format`, true);
    }
  return 'empty';
}

/** @returns `false` if the lake has no number. @throws BrandReportsError `config` if it has another number */
async function hasOurNumber(store: ObjectStore): Promise<boolean> {
  const stored = await store.get(FORMAT_KEY);
  if (!stored) return false;
  const format = parseFormat(stored.body);
  if (format === LAKE_FORMAT) return true;
  throw format === undefined
    ? otherFormat(store, `has no format number in ${FORMAT_KEY}`, true)
    : otherFormat(store, `has format ${format}`);
}

function parseFormat(body: Uint8Array): number | undefined {
  try {
    const document = parseJsonDocument(FORMAT_KEY, body);
    const { format } = isJsonObject(document) ? document : {};
    return typeof format === 'number' ? format : undefined;
  } catch {
    return undefined;
  }
}

async function numberLake(store: ObjectStore): Promise<void> {
  const document = Buffer.from(`${JSON.stringify({ format: LAKE_FORMAT })}\n`);
  const outcome = await store.put(FORMAT_KEY, document, { ifAbsent: true });
  if (outcome === 'conflict') await hasOurNumber(store);
}

/** How to restore a lost number in a folder. In S3 the bucket keeps older versions of the document. */
function restoring({ localFolder }: ObjectStore): string {
  if (localFolder === undefined) return '';
  const path = shellWord(`${localFolder}/${FORMAT_KEY}`);
  return ` If this version wrote the lake, write it again: printf '{"format":${LAKE_FORMAT}}' > ${path}`;
}

function otherFormat(store: ObjectStore, found: string, isLost = false): BrandReportsError {
  return new BrandReportsError(
    'config',
    'other_format',
    `The lake ${store.url} ${found}; this program reads and writes format ${LAKE_FORMAT}. Nothing was changed. ` +
      'Next step: use the version of brand-reports that wrote the lake, or read the days again into an empty lake with this version: a new folder, or a new stack.' +
      (isLost ? restoring(store) : ''),
  );
}
