/*
 * A lake has a format number, in one document. A program that finds another number neither reads nor writes the lake: it
 * would return wrong numbers, take what it does not know for garbage, and its vacuum would delete that.
 * The store of every lake that is opened is guarded here, so that no command and no function can leave the check out. The
 * guard reads the document once, beside the first object that is read, so that no run waits for it.
 */
import { BrandReportsError } from '../../errors.ts';
import { isJsonObject } from '../../json.ts';
import type { ObjectStore } from '../../ports.ts';
import { commandLine } from '../../command-line.ts';
import { shellWord } from '../../shell-word.ts';
import { FORMAT_KEY, LEDGERS_PREFIX } from '../paths.ts';
import { parseJsonDocument } from './cas-document.ts';

/** To be raised with every change after which an older program would misread a lake, or a newer one an older lake. */
export const LAKE_FORMAT = 1;

/** Guards a store. @returns a store whose operations throw `config` `other_format` if the lake has another format */
export function inOurFormat(store: ObjectStore): ObjectStore {
  let reading: Promise<'ours' | 'empty'> | undefined;
  let writing: Promise<void> | undefined;
  // A failure is not kept: the next operation asks again.
  const readable = () =>
    (reading ??= formatOf(store).catch((thrown: unknown) => {
      reading = undefined;
      throw thrown;
    }));
  const writable = () =>
    (writing ??= readable()
      .then((found) => (found === 'empty' ? numberLake(store) : undefined))
      .catch((thrown: unknown) => {
        writing = undefined;
        throw thrown;
      }));
  return {
    ...store,
    // Beside the check: a run begins with a document, and does not wait for another one.
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

/** @throws BrandReportsError `config` if the lake has another format, or has ledgers and no number */
async function formatOf(store: ObjectStore): Promise<'ours' | 'empty'> {
  if (await hasOurNumber(store)) return 'ours';
  for await (const _ledger of store.list(LEDGERS_PREFIX)) {
    // Another run may have numbered the lake meanwhile, and then written its first ledger.
    if (await hasOurNumber(store)) return 'ours';
    throw otherFormat(store, `has ledgers, but no document ${FORMAT_KEY} with its format`, restoring(store));
  }
  return 'empty';
}

/** @returns `false` if the lake has no number. @throws BrandReportsError `config` if it has another one */
async function hasOurNumber(store: ObjectStore): Promise<boolean> {
  const stored = await store.get(FORMAT_KEY);
  if (!stored) return false;
  const { format, copyOf } = parseFormat(stored.body);
  if (format === LAKE_FORMAT) return true;
  if (format === undefined && copyOf !== undefined) throw unfinishedCopy(store, copyOf);
  throw format === undefined
    ? otherFormat(store, `has no format number in ${FORMAT_KEY}`, restoring(store))
    : otherFormat(store, `has format ${format}`);
}

/** What the document contains. A copy of another lake has no number until all of it is there. */
export interface StoredFormat {
  format?: number;
  /** The address of the lake that this one is a copy of. */
  copyOf?: string;
}

/** A damaged document contains nothing. */
export function parseFormat(body: Uint8Array | undefined): StoredFormat {
  try {
    const document = body && parseJsonDocument(FORMAT_KEY, body);
    const { format, copyOf } = isJsonObject(document) ? document : {};
    return {
      ...(typeof format === 'number' && { format }),
      ...(typeof copyOf === 'string' && { copyOf }),
    };
  } catch {
    return {};
  }
}

export function formatDocument(stored: StoredFormat): Uint8Array {
  return Buffer.from(`${JSON.stringify(stored)}\n`);
}

async function numberLake(store: ObjectStore): Promise<void> {
  const outcome = await store.put(FORMAT_KEY, formatDocument({ format: LAKE_FORMAT }), { ifAbsent: true });
  if (outcome === 'conflict') await hasOurNumber(store);
}

/** Of a lake that lost its number. In S3 the bucket has the versions of the document. */
function restoring({ localFolder }: ObjectStore): string {
  if (localFolder === undefined) return '';
  const path = shellWord(`${localFolder}/${FORMAT_KEY}`);
  return ` If it was this version, write it again: printf '{"format":${LAKE_FORMAT}}' > ${path}`;
}

function unfinishedCopy({ url }: ObjectStore, copyOf: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'unfinished_copy',
    `The lake ${url} is an unfinished copy of ${copyOf}. Nothing was changed. ` +
      `Next step: finish it: ${commandLine('copy', [copyOf, url], {})}`,
  );
}

function otherFormat({ url }: ObjectStore, found: string, restored = ''): BrandReportsError {
  return new BrandReportsError(
    'config',
    'other_format',
    `The lake ${url} ${found}; this program reads and writes format ${LAKE_FORMAT}. Nothing was changed. ` +
      'Next step: use the version of brand-reports that wrote the lake, or fill an empty lake with this one.' +
      restored,
  );
}
