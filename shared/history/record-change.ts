/*
 * Records what the replacement of a version changed, once the day was closed. The change is written before the commit, and
 * the commit itself names it in the ledger: a change exists exactly if the version that it led to exists (I4).
 */
import type { Committed, DayChanges } from '../lake/documents/ledger.ts';
import { versionKey } from '../lake/paths.ts';
import type { TableDiff } from '../lake/table/diff.ts';
import type { RowHashes } from '../lake/table/digest.ts';
import { loadDiff, loadRetyped } from '../lake/table/load-parquet.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import { keyColumns } from '../planning/primary-key.ts';
import type { ReportSettings } from '../settings/settings.ts';
import { type Change, type Version, changeRows } from './change-rows.ts';
import { addChange } from './day-changes.ts';
import type { BrandReport } from '../context/context.ts';

/** Each change rewrites all earlier changes of the day, and `verify` reads them, so later changes of the day are only counted. */
const MAX_LISTED_DAY_ROWS = 50_000;

export type ChangesContext = Pick<
  BrandReport,
  'brand' | 'report' | 'lake' | 'schema' | 'clock' | 'newId' | 'log'
> & {
  settings?: Pick<ReportSettings, 'key'>;
};

export interface Replacement extends Change {
  before: Committed;
  /** The hashes of the new version's rows, if they are known; otherwise its snapshot is read. */
  afterHashes?: RowHashes;
}

/**
 * Writes what replacing the committed version of a day changes, even if the content is equal: then nothing was added,
 * removed or altered. Growth of an open day is not a change.
 * @returns the new `committed.changes` of the ledger, to be committed together with the new version
 * @throws BrandReportsError if the store cannot be read or written now
 */
export async function recordChange(
  ctx: ChangesContext,
  day: string,
  replacement: Replacement,
): Promise<DayChanges | undefined> {
  const { before, after } = replacement;
  const wasClosed = before.state !== 'open' || before.changes !== undefined;
  if (!wasClosed || before.snapshot === after.snapshot) return before.changes;
  const at = timeOfChange(ctx, before.changes);
  const diff = before.digest === after.digest ? NOTHING_CHANGED : await diffOrLog(ctx, day, replacement);
  const room = MAX_LISTED_DAY_ROWS - (before.changes?.rows ?? 0);
  const listed = [...changeRows(day, at, replacement, diff)];
  const rows = listed.length <= room ? listed : [...changeRows(day, at, replacement, diff && countsOf(diff))];
  return addChange(ctx, day, before.changes, rows);
}

function countsOf({ added, removed, altered }: TableDiff): TableDiff {
  return { added, removed, altered };
}

const NOTHING_CHANGED: TableDiff = { added: 0, removed: 0, altered: 0, records: [] };

/**
 * The time of a change is the time of its publication: the rows that queries found at an instant, plus the changes since
 * then, give the rows that they find now. The times of a day's changes grow even if a clock is behind.
 */
function timeOfChange(ctx: ChangesContext, earlier: DayChanges | undefined): Date {
  const lastMs = earlier ? Date.parse(earlier.at) : Number.NEGATIVE_INFINITY;
  return new Date(Math.max(ctx.clock.wallMs(), lastMs + 1));
}

/** Call it after the change is committed. A change to equal content is not logged. @param rows of the new version */
export function logChange(
  { log }: ChangesContext,
  day: string,
  rows: number,
  { at, last }: DayChanges,
): void {
  if (last?.at !== at) return;
  const { rowsBefore, added, removed, altered } = last;
  log({ event: 'day_changed', day, rowsBefore, rows, added, removed, altered });
}

/** @returns `undefined` if a version is missing or damaged; the replacement itself is still recorded */
async function diffOrLog(
  ctx: ChangesContext,
  day: string,
  { before, after, afterHashes }: Replacement,
): Promise<TableDiff | undefined> {
  const snapshot = (version: Version) =>
    fileIn(ctx.lake.store, {
      key: versionKey(ctx.report.table, ctx.brand, day, version.snapshot),
      bytes: version.bytes,
    });
  const room = MAX_LISTED_DAY_ROWS - (before.changes?.rows ?? 0);
  try {
    const { diffTables, openVersion } = await loadDiff();
    const old = await openVersion(snapshot(before));
    if (old.digest !== before.digest) throw new Error('its digest differs from the committed digest');
    const replacing = await openVersion(snapshot(after), afterHashes);
    const isNone = [before, after].some(({ values }) => values?.keyIsNone);
    const limits = room > 0 ? undefined : { records: 0, bytes: 0 };
    const { retypedFields, recordHashes } = await loadRetyped();
    const { columns } = await ctx.schema.cached();
    const keys = keyColumns(ctx, columns, isNone).map((key) => key.map(({ name }) => name));
    const retyped = retypedFields(columns, before.values?.filled, after.values?.filled);
    if (retyped.size === 0) return await diffTables(old, replacing, keys, limits);
    const byRecord = async (version: Version) => recordHashes(snapshot(version), columns, retyped);
    return await diffTables(
      { ...old, hashes: await byRecord(before) },
      { ...replacing, hashes: await byRecord(after) },
      keys,
      limits,
    );
  } catch (thrown) {
    const message = `version ${before.snapshot} cannot be compared: ${damageOf(thrown)}`;
    ctx.log({ event: 'change_not_compared', day, message });
    return undefined;
  }
}
