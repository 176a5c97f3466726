/*
 * Records what replacing a version of a closed day changed. The table `changes` has one partition a day, whose snapshot
 * has all changes of the day so far. It is written before the commit and named in the ledger by the commit itself: a
 * change is there exactly if the version is that it led to (I4).
 */
import { asBrandReportsError } from '../errors.ts';
import type { Committed, DayChanges } from '../lake/documents/ledger.ts';
import { changesPartition, dayPartition, snapshotKey } from '../lake/paths.ts';
import type { TableDiff } from '../lake/table/diff.ts';
import type { RowHashes } from '../lake/table/digest.ts';
import { loadDiff, loadParquet } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import type { ReportSettings } from '../settings/settings.ts';
import { type Change, type ChangeCause, changeRows, changesTable, summaryOf } from './change-rows.ts';
import type { BrandReport } from '../context/context.ts';

/** Each change writes all those before it again: of a day that has so much, later changes are only counted. */
const MAX_LISTED_DAY_BYTES = 64 * 2 ** 20;

/** What a change is recorded with: a report of a brand, with its settings where it has any. */
export type ChangesContext = Pick<
  BrandReport,
  'brand' | 'report' | 'lake' | 'schema' | 'clock' | 'newId' | 'log'
> & {
  settings?: Pick<ReportSettings, 'key'>;
};

/** The content of a version. */
export type Version = Pick<Committed, 'snapshot' | 'rows' | 'bytes' | 'digest' | 'keyIsNone' | 'sums'>;

/** A version that is to replace the committed one. */
export interface Replacement {
  before: Committed;
  after: Version;
  /** The hashes of its rows, where they are known: otherwise its snapshot is read. */
  afterHashes?: RowHashes;
  cause: ChangeCause;
}

/**
 * Writes what replacing the committed version of a day changes. An open day that grows is no change, nor is a version of
 * equal content.
 * @returns what the ledger is to say in `committed.changes`, to be committed together with the new version
 * @throws BrandReportsError where the store cannot be read or written now
 */
export async function recordChange(
  ctx: ChangesContext,
  day: string,
  replacement: Replacement,
): Promise<DayChanges | undefined> {
  const { before, after, cause } = replacement;
  if (before.state === 'open' || before.digest === after.digest) return before.changes;
  const diff = await diffOrLog(ctx, day, replacement);
  const change: Change = {
    id: after.snapshot,
    previousId: before.snapshot,
    at: timeOfChange(ctx, before.changes),
    cause,
    rowsBefore: before.rows,
    rowsAfter: after.rows,
    sumsBefore: before.sums ?? {},
    sumsAfter: after.sums ?? {},
    diff,
  };
  const written = await writeChanges(ctx, day, before.changes, change);
  return { ...written, last: summaryOf(change) };
}

/**
 * The machine's time, as of publications: what queries found at an instant and the changes since then make what they find
 * now. The times of a day's changes grow, even if a clock is behind.
 */
function timeOfChange({ clock }: ChangesContext, earlier: DayChanges | undefined): Date {
  const lastMs = earlier ? Date.parse(earlier.last.at) : Number.NEGATIVE_INFINITY;
  return new Date(Math.max(clock.wallMs(), lastMs + 1));
}

/** To be called when the change is committed. @param rows of the new version */
export function logChange({ log }: ChangesContext, day: string, rows: number, { last }: DayChanges): void {
  const { rowsBefore, added, removed, altered } = last;
  log({ event: 'day_changed', day, rowsBefore, rows, added, removed, altered });
}

/** @returns `undefined` where a version is missing or damaged: that it was replaced is recorded all the same */
async function diffOrLog(
  ctx: ChangesContext,
  day: string,
  { before, after, afterHashes }: Replacement,
): Promise<TableDiff | undefined> {
  const snapshot = (version: Version) =>
    fileIn(ctx.lake.store, {
      key: snapshotKey(ctx.report.table, dayPartition(ctx.brand, day), version.snapshot),
      bytes: version.bytes,
    });
  const isLong = (before.changes?.bytes ?? 0) > MAX_LISTED_DAY_BYTES;
  try {
    const { diffTables, openVersion } = await loadDiff();
    const old = await openVersion(snapshot(before));
    if (old.digest !== before.digest) throw new Error('its digest is not the one that was committed');
    const replacing = await openVersion(snapshot(after), afterHashes);
    const key = before.keyIsNone || after.keyIsNone ? undefined : await keyColumn(ctx);
    return await diffTables(old, replacing, key, isLong ? { records: 0, bytes: 0 } : undefined);
  } catch (thrown) {
    const message = `version ${before.snapshot} cannot be compared: ${damageOf(thrown)}`;
    ctx.log({ event: 'change_not_compared', day, message });
    return undefined;
  }
}

/** What is wrong with an object that can be read but is not what was written. @throws where the store fails */
function damageOf(thrown: unknown): string {
  const { kind, code, message } = asBrandReportsError(thrown);
  // What cannot be parsed as Parquet is no bug here: the file is not the one that was written.
  if (kind !== 'bug' && code !== 'object_missing') throw thrown;
  return message;
}

async function keyColumn({ report, settings, schema }: ChangesContext): Promise<string | undefined> {
  const field = primaryKeyField({ report, settings });
  const { columns } = await schema.cached();
  return field === undefined ? undefined : columns.find((column) => column.field === field)?.name;
}

/** The changes before, and then this one. */
async function writeChanges(
  ctx: ChangesContext,
  day: string,
  earlier: DayChanges | undefined,
  change: Change,
): Promise<Pick<DayChanges, 'snapshot' | 'bytes' | 'times'>> {
  const { readParquetRows, writeParquet } = await loadParquet();
  const partition = changesPartition(ctx.brand, ctx.report.name, day);
  const keyOf = (snapshot: string) => snapshotKey(changesTable.name, partition, snapshot);
  const snapshot = ctx.newId();
  const file = writeParquet(ctx.lake.store.create(keyOf(snapshot)), changesTable.columns);
  try {
    if (earlier)
      for await (const row of readParquetRows(
        fileIn(ctx.lake.store, { key: keyOf(earlier.snapshot), bytes: earlier.bytes }),
      ))
        await file.append(row);
    for (const row of changeRows(change)) await file.append(row);
    const { bytes } = await file.finish();
    return { snapshot, bytes, times: (earlier?.times ?? 0) + 1 };
  } catch (thrown) {
    await file.abort();
    if (!earlier) throw thrown;
    // What is lost cannot be written again, and must not keep the day from being read.
    ctx.log({
      event: 'changes_lost',
      day,
      message: `the ${earlier.times} changes before are lost: ${damageOf(thrown)}`,
    });
    return writeChanges(ctx, day, undefined, change);
  }
}
