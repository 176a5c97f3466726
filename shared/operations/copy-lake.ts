/*
 * `copy` copies a lake to another place with its history, so that days which the service has deleted survive a move. It copies
 * all versions, changes and raw records, and all documents except the rate budgets of running processes.
 * Data that contains addresses or follows from the ledgers (Glue, local links, Iceberg, `coverage`) is rebuilt at the target.
 * Until the copy is complete it has no format number, so every other command refuses it. Run an interrupted copy again to
 * finish it: objects that are complete stay.
 * Runs may write to the source during the copy. Report states are copied before ledgers, which may cause an unnecessary read;
 * schemas come last, so that they have every column. Objects are listed after the ledgers that name them were read, and a
 * vacuum deletes them a day after a ledger last named them. If a round takes longer than that, the next round corrects it.
 */
import { rebuildCatalog } from '../catalog/rebuild.ts';
import { forEachConcurrent } from '../concurrency.ts';
import type { LakeAccess } from '../context/context.ts';
import { BrandReportsError, configError } from '../errors.ts';
import {
  LAKE_FORMAT,
  type StoredFormat,
  formatDocument,
  parseFormat,
} from '../lake/documents/lake-format.ts';
import * as paths from '../lake/paths.ts';
import type { ListedObject, ObjectStore } from '../ports.ts';
import type { ReportRegistry } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';

const CONCURRENCY = 16;
/** I12: the bytes of an object that are in memory at a time. */
const BLOCK_BYTES = 4 * 2 ** 20;
/** A round that copies and deletes nothing proves that both lakes are equal; runs may prevent such a round for a while. */
const MAX_ROUNDS = 5;
const OBJECTS = [paths.SNAPSHOTS_PREFIX, paths.CHANGES_PREFIX, paths.RAW_PREFIX, paths.DAMAGED_PREFIX];
/** What a deployment and its watcher write into a bucket before the first day is read. */
const NO_DATA = [paths.STATUS_PREFIX, paths.DEPLOYMENTS_PREFIX, paths.QUERY_RESULTS_PREFIX, paths.FORMAT_KEY];

/** `lake` is the copy. Its store must not be guarded by its format. */
export interface CopyOptions extends LakeAccess {
  from: ObjectStore;
  reports: ReportRegistry;
  /** Decides which days are due in `coverage` of the copy. */
  settings?: Settings | undefined;
}

export interface CopyOutcome {
  /** `incomplete`: a part of the catalog could not be rebuilt; run the copy again to continue. */
  status: 'complete' | 'incomplete';
  from: string;
  to: string;
  /** The objects and bytes of both lakes in the last round, and the objects copied now; all 0 if the copy was finished before. */
  objects: number;
  bytes: number;
  copiedObjects: number;
}

/** @throws BrandReportsError `config` if the copy has other data or the source has no days, `conflict` if others write to the copy */
export async function copyLake(options: CopyOptions): Promise<CopyOutcome> {
  const { from, log } = options;
  const { store: to, catalog } = options.lake;
  const outcome = { from: from.url, to: to.url, objects: 0, bytes: 0, copiedObjects: 0 };
  if ((await begin(from, to)) === 'finished') return { status: 'complete', ...outcome };

  for (let round = 1, differing = 1; differing > 0 && round <= MAX_ROUNDS; round += 1) {
    [outcome.objects, outcome.bytes] = [0, 0];
    const keys = await keysIn(from, paths.LEDGERS_PREFIX);
    const isState = (key: string) => paths.parseReportStateKey(key) !== undefined;
    const states = await copyDocuments(from, to, keys.filter(isState));
    const ledgers = keys.filter((key) => !isState(key));
    differing = states + (await copyDocuments(from, to, ledgers));
    const closes = await keysIn(from, paths.CLOSES_PREFIX);
    differing += await copyDocuments(from, to, closes);
    await to.delete((await keysIn(to, paths.CLOSES_PREFIX)).filter((key) => !closes.includes(key)));
    for (const prefix of OBJECTS) {
      const objects = compared(from, to, prefix);
      await forEachConcurrent(Array(CONCURRENCY).fill(objects), CONCURRENCY, async () => {
        for await (const { key, bytes, isThere, isSurplus } of objects) {
          if (isSurplus) {
            await to.delete([key]);
            differing += 1;
            continue;
          }
          outcome.objects += 1;
          outcome.bytes += bytes;
          if (isThere) continue;
          differing += 1;
          if (!(await copyObject(from, to, key, bytes))) continue;
          outcome.copiedObjects += 1;
          log({ event: 'object_copied', key, bytes });
        }
      });
    }
  }
  await copyDocuments(from, to, [...(await keysIn(from, paths.SCHEMAS_PREFIX)), paths.WATCH_KEY]);
  const rebuilt = catalog && (await rebuildCatalog({ ...options, isFatal: () => false }));
  const status = rebuilt?.status ?? 'complete';
  if (status === 'complete') await putFormat(to, { format: LAKE_FORMAT, copyOf: from.url });
  return { status, ...outcome };
}

/** Marks the copy as unfinished. */
async function begin(from: ObjectStore, to: ObjectStore): Promise<'unfinished' | 'finished'> {
  if ((await keysIn(from, paths.LEDGERS_PREFIX)).length === 0)
    throw configError(
      'nothing_to_copy',
      `The lake ${from.url} has no days. Name the folder or bucket of a lake. Nothing was copied.`,
    );
  const { format, copyOf } = parseFormat((await to.get(paths.FORMAT_KEY))?.body);
  if (copyOf === from.url) return format === undefined ? 'unfinished' : 'finished';
  if (copyOf !== undefined || (format ?? LAKE_FORMAT) !== LAKE_FORMAT) {
    const found = copyOf === undefined ? `a lake of format ${format}` : `a copy of ${copyOf}`;
    throw configError('other_data', `${to.url} is ${found}. Name an empty place. Nothing was copied.`);
  }
  for await (const { key } of to.list(''))
    if (!NO_DATA.some((prefix) => key.startsWith(prefix)))
      throw configError(
        'other_data',
        `${to.url} has other data, e.g. ${key}. Name an empty place. Nothing was copied.`,
      );
  await putFormat(to, { copyOf: from.url });
  return 'unfinished';
}

async function putFormat(to: ObjectStore, document: StoredFormat): Promise<void> {
  const etag = (await to.get(paths.FORMAT_KEY))?.etag;
  const condition = etag === undefined ? { ifAbsent: true as const } : { ifMatch: etag };
  const outcome = await to.put(paths.FORMAT_KEY, formatDocument(document), condition);
  if (outcome === 'conflict') throw writtenByOthers(to, paths.FORMAT_KEY);
}

/** The keys below a prefix, without the format document. */
async function keysIn(store: ObjectStore, prefix: string): Promise<string[]> {
  const keys = (await Array.fromAsync(store.list(prefix))).map(({ key }) => key);
  return keys.filter((key) => key !== paths.FORMAT_KEY);
}

/**
 * Lists the objects of the source, and whether the copy has them with the same size. `isSurplus`: only the copy has the
 * object, because the source has deleted or erased it since it was copied.
 */
async function* compared(
  from: ObjectStore,
  to: ObjectStore,
  prefix: string,
): AsyncGenerator<ListedObject & { isThere: boolean; isSurplus: boolean }> {
  const isCopied = ({ key }: ListedObject) =>
    !paths.LEDGER_TABLES.some((table) => key.startsWith(paths.tablePrefix(table)));
  const there = to.list(prefix)[Symbol.asyncIterator]();
  let next = await there.next();
  async function* surplusBefore(key?: string) {
    for (; !next.done && (key === undefined || isBefore(next.value.key, key)); next = await there.next())
      if (isCopied(next.value)) yield { ...next.value, isThere: true, isSurplus: true };
  }
  for await (const object of from.list(prefix)) {
    if (!isCopied(object)) continue;
    yield* surplusBefore(object.key);
    const found = !next.done && next.value.key === object.key ? next.value : undefined;
    if (found) next = await there.next();
    yield { ...object, isThere: found?.bytes === object.bytes, isSurplus: false };
  }
  yield* surplusBefore();
}

/** Compares keys in the order in which stores list them. */
function isBefore(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

/** @returns `false` if the vacuum has deleted the object since it was listed */
async function copyObject(from: ObjectStore, to: ObjectStore, key: string, bytes: number): Promise<boolean> {
  const writer = to.create(key);
  try {
    for (let at = 0; at < bytes; at += BLOCK_BYTES)
      await writer.write(await from.range(key, at, Math.min(at + BLOCK_BYTES, bytes)));
    await writer.finish();
    return true;
  } catch (error) {
    await writer.abort();
    if (error instanceof BrandReportsError && error.code === 'object_missing') return false;
    throw error;
  }
}

/** Replaces documents of an earlier try by conditional writes, because the bucket refuses all others. @returns how many differed */
async function copyDocuments(from: ObjectStore, to: ObjectStore, keys: readonly string[]): Promise<number> {
  let written = 0;
  await forEachConcurrent(keys, CONCURRENCY, async (key) => {
    const body = (await from.get(key))?.body;
    if (!body) return;
    written += 1;
    if ((await to.put(key, body, { ifAbsent: true })) !== 'conflict') return;
    const found = await to.get(key);
    if (found && Buffer.compare(found.body, body) === 0) {
      written -= 1;
      return;
    }
    // Another process may have finished the copy, and runs may have begun to write to it.
    const { format } = parseFormat((await to.get(paths.FORMAT_KEY))?.body);
    if (!found || format !== undefined || (await to.put(key, body, { ifMatch: found.etag })) === 'conflict')
      throw writtenByOthers(to, key);
  });
  return written;
}

function writtenByOthers({ url }: ObjectStore, key: string): BrandReportsError {
  const message = `Another program has written ${url}/${key} during the copy. Stop it, then run the copy again.`;
  return new BrandReportsError('conflict', 'copy_written', message);
}
