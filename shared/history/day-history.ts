/*
 * What is known of a day since it was first closed, after its version is replaced. A change is written before the commit, and
 * the commit itself names it in the ledger: a change exists exactly if the version that it led to exists (I4).
 */
import type { BrandReport } from '../context/context.ts';
import { addDays, endOfDay } from '../base/days.ts';
import { rolesOf } from '../lake/brand-settings.ts';
import { type Committed, type DayEntry, type DayHistory, isWhole } from '../lake/ledger.ts';
import { beforeTable, versionKey } from '../lake/paths.ts';
import type { CodedFile } from '../table/coded-columns.ts';
import { RowHashes } from '../table/digest.ts';
import { loadCodedFile } from '../table/load-parquet.ts';
import { type ReadableFile, damageOf, fileIn } from '../table/readable-file.ts';
import type { ReportSettings } from '../settings/settings.ts';
import { beforeShape } from './before-table.ts';
import { type ChangedRecords, type ComparedVersion, changedRecords } from './changed-records.ts';
import { NO_KEY, chosenKey, keyOfName } from './record-key.ts';
import { type ChangeCause, writeChange } from './write-change.ts';

export type HistoryContext = Pick<
  BrandReport,
  'brand' | 'report' | 'lake' | 'schema' | 'stored' | 'clock' | 'newId' | 'log'
> & { settings?: Pick<ReportSettings, 'key' | 'fields'> };

export interface Replaced {
  before: Committed | undefined;
  after: Omit<Committed, 'history'>;
  cause: ChangeCause;
  endedMs?: number | undefined;
}

/** The changes of a day may have this many times the bytes of its version. */
const MOST_TIMES = 8;
const LEAST_BOUND_BYTES = 2 ** 20;

/**
 * @param entry what was known of the day
 * @returns `undefined` as long as the day has not been closed
 * @throws BrandReportsError if the store cannot be read or written now
 */
export async function historyAfter(
  ctx: HistoryContext,
  day: string,
  entry: Pick<DayEntry, 'lastPlace' | 'lastBy'>,
  replaced: Replaced,
): Promise<DayHistory | undefined> {
  const { before, after } = replaced;
  const known = before?.history;
  // If a day whose ledger was made from snapshots is not over, its new version shows only that the day has grown.
  const isNew = !known || (known.place === 0 && !isWhole(before));
  if (isNew && after.state === 'open') return undefined;
  const byMs = timeOf(ctx, replaced, known?.lastBy ?? known?.by ?? entry.lastBy);
  if (!known) return begun(ctx, day, entry, replaced, new Date(byMs).toISOString());
  if (!before || before.snapshot === after.snapshot) return known;
  const by = new Date(byMs);
  if (before.digest !== after.digest) return changed(ctx, day, { ...replaced, before, known, by });
  if (await areChangesIntact(ctx, day, before)) return known;
  const next = { ...known, place: known.place + 1, lastBy: by.toISOString() };
  return anew(ctx, day, next, 'the object of its changes is lost');
}

/** It grows along the chain, even if a clock is behind. */
function timeOf({ clock }: HistoryContext, { after, endedMs }: Replaced, last: string | undefined): number {
  const lastMs = last === undefined ? Number.NEGATIVE_INFINITY : Date.parse(last) + 1;
  return Math.max(endedMs ?? clock.now().getTime(), Date.parse(after.readFrom), lastMs);
}

async function begun(
  ctx: HistoryContext,
  day: string,
  { lastPlace }: Pick<DayEntry, 'lastPlace'>,
  { after }: Replaced,
  by: string,
): Promise<DayHistory> {
  const { readFrom, timeZone, rows } = after;
  const key = rows === 0 ? undefined : await keyOrDamage(ctx, day, after);
  // After an erasure, places go on counting: a close may name an earlier place of the day.
  const place = lastPlace === undefined ? 0 : lastPlace + 1;
  return {
    ...{ after: readFrom, by, place },
    ...(timeZone !== undefined && { timeZone }),
    ...(key !== undefined && { key }),
    ...(lastPlace !== undefined && { lastBy: by, anewPlace: place, anewBy: by }),
  };
}

async function keyOrDamage(ctx: HistoryContext, day: string, version: Version): Promise<string | undefined> {
  const { openCodedFile } = await loadCodedFile();
  try {
    return await keyOf(ctx, await openCodedFile(fileOf(ctx, day, version)), version);
  } catch (thrown) {
    damageOf(thrown);
    return undefined;
  }
}

type Version = Pick<Committed, 'snapshot' | 'bytes' | 'values'>;

async function keyOf(ctx: HistoryContext, file: CodedFile, { values }: Version): Promise<string> {
  const { report, settings, stored, brand, schema } = ctx;
  const { columns } = await schema.cached();
  const fields = settings?.fields ?? rolesOf(await stored.of(brand), report).fields;
  const key = await chosenKey(file, {
    report,
    settings,
    columns,
    fields,
    keyIsNone: values?.keyIsNone ?? false,
  });
  // The table's schema has the name first by which the chain of a day is compared from now on.
  if (key !== NO_KEY && !(await schema.cached()).keys?.includes(key))
    await schema.update((current) =>
      current.keys?.includes(key) ? current : { ...current, keys: [...(current.keys ?? []), key] },
    );
  return key;
}

interface Change extends Replaced {
  before: Committed;
  known: DayHistory;
  by: Date;
}

async function changed(ctx: HistoryContext, day: string, change: Change): Promise<DayHistory> {
  const { known, before, by } = change;
  const last = { at: by.toISOString(), rowsBefore: before.rows };
  const next = { ...known, place: known.place + 1, lastBy: last.at };
  // Memory may be short for a moment, and history that was begun anew does not come back.
  for (let tries = 1; ; tries += 1)
    try {
      const compared = await comparedVersions(ctx, day, change);
      const { key, records } = compared;
      const { added, removed, altered } = records;
      const counted = { ...next, key, last: { ...last, added, removed, altered } };
      const object = await writtenChanges(ctx, day, change, compared);
      if (object) return { ...counted, object };
      return anew(ctx, day, counted, 'its changes take more than eight times the bytes of the day');
    } catch (thrown) {
      const damage = damageOf(thrown);
      if (tries > 1) return anew(ctx, day, { ...next, last }, damage);
    }
}

function anew(
  { log }: HistoryContext,
  day: string,
  { object: _object, ...history }: DayHistory,
  why: string,
): DayHistory {
  const message = `what ${day} was before ${history.lastBy} is no longer known: ${why}`;
  log({ event: 'history_anew', day, message });
  return {
    ...history,
    ...{ anewPlace: history.place, anewWhy: why },
    ...(history.lastBy !== undefined && { anewBy: history.lastBy }),
  };
}

interface Compared {
  before: ComparedVersion;
  after: ComparedVersion;
  key: string;
  records: ChangedRecords;
}

/** @throws if a version is missing or damaged */
async function comparedVersions(
  ctx: HistoryContext,
  day: string,
  { before, after, known }: Change,
): Promise<Compared> {
  const { digestOf, openCodedFile } = await loadCodedFile();
  const oldFile = await openCodedFile(fileOf(ctx, day, before));
  const newFile = await openCodedFile(fileOf(ctx, day, after));
  const oldHashes = new RowHashes();
  if ((await digestOf(oldFile, oldHashes)) !== before.digest)
    throw new Error(`the digest of version ${before.snapshot} differs from the committed digest`);
  const newHashes = new RowHashes();
  await digestOf(newFile, newHashes);
  const name =
    known.key ?? (await keyOf(ctx, before.rows > 0 ? oldFile : newFile, before.rows > 0 ? before : after));
  const { columns } = await ctx.schema.cached();
  const key = keyOfName(columns, name);
  const versions = {
    before: { file: oldFile, hashes: oldHashes.all() },
    after: { file: newFile, hashes: newHashes.all() },
  };
  const records = await changedRecords(versions.before, versions.after, key);
  return { ...versions, records, key: name };
}

async function writtenChanges(
  ctx: HistoryContext,
  day: string,
  { before, after, known, cause, by }: Change,
  compared: Compared,
): Promise<DayHistory['object']> {
  const { brand, report, lake, newId } = ctx;
  const bound = Math.max(LEAST_BOUND_BYTES, MOST_TIMES * Math.max(before.bytes, after.bytes));
  const { object } = known;
  if (object && object.bytes > bound) return undefined;
  const { columns } = await ctx.schema.cached();
  const id = newId();
  const table = beforeTable(report.table);
  const earlier = object && (await earlierChanges(ctx, day, object));
  const output = lake.store.create(versionKey(table, brand, day, id));
  const written = await writeChange(output, beforeShape(report, columns).columns, {
    earlier,
    ...{ before: compared.before.file, after: compared.after.file, changed: compared.records },
    key: keyOfName(columns, compared.key),
    facts: {
      ...{ _place: BigInt(known.place + 1), _cause: cause, _by: by, _after: new Date(before.readFrom) },
      ...{ _version: after.snapshot, _previous: before.snapshot },
    },
  });
  return written.bytes > bound ? undefined : { snapshot: id, ...written };
}

async function earlierChanges(
  ctx: HistoryContext,
  day: string,
  { snapshot, bytes, rows }: NonNullable<DayHistory['object']>,
): Promise<CodedFile> {
  const key = versionKey(beforeTable(ctx.report.table), ctx.brand, day, snapshot);
  const { openCodedFile } = await loadCodedFile();
  const file = await openCodedFile(fileIn(ctx.lake.store, { key, bytes }));
  if (file.rows !== rows) throw new Error(`${key} has ${file.rows} rows, but the ledger has ${rows}`);
  return file;
}

function fileOf(
  { lake, report, brand }: HistoryContext,
  day: string,
  { snapshot, bytes }: Version,
): ReadableFile {
  return fileIn(lake.store, { key: versionKey(report.table, brand, day, snapshot), bytes });
}

/** Whether the object of a day's changes can be read, and has the rows of the ledger. @throws if the store fails */
export async function areChangesIntact(
  ctx: HistoryContext,
  day: string,
  { history }: Pick<Committed, 'history'>,
): Promise<boolean> {
  if (!history?.object) return true;
  const { digestOf } = await loadCodedFile();
  try {
    await digestOf(await earlierChanges(ctx, day, history.object));
    return true;
  } catch (thrown) {
    damageOf(thrown);
    return false;
  }
}

/** The ends of these ages of a day, in days after its end, in the zone of its first close; `null` without a zone. */
export function endOfAge(day: string, { timeZone }: DayHistory, age: number): Date | null {
  return timeZone === undefined ? null : new Date(endOfDay(addDays(day, age), timeZone));
}
