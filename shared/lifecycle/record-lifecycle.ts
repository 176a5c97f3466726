/*
 * Writes the lifecycle rows of a day when its version is replaced, from the rows before and from the version itself. The
 * object is written before the commit, which names it in the ledger: it exists exactly if the version exists (I4).
 */
import { addDays, endOfDay } from '../days.ts';
import type { Committed, Lifecycle, VersionContent } from '../lake/documents/ledger.ts';
import { versionKey } from '../lake/paths.ts';
import { Digest } from '../lake/table/digest.ts';
import { loadCodedFile, loadParquet } from '../lake/table/load-parquet.ts';
import type { ParquetFile } from '../lake/table/parquet.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import { type LifecycleContext, type Rules, partsOf, recordsOf, rulesOf } from './records.ts';
import type { Moment } from './rows.ts';
import { KEPT_AGES, lifecycleShape } from './shape.ts';

export interface Replaced {
  before: Committed | undefined;
  after: Committed;
  cause: 'reading' | 'rollback' | 'rebuild';
  /** When the reading ended, by the service's time; missing: now. */
  endedMs?: number | undefined;
}

/**
 * Writes the lifecycle rows of a day up to a version. If there are no usable rows before, they begin with the version
 * before: an older program wrote that version, the object is lost, or the day has another key.
 * @param most how many records are in memory
 * @returns the new `committed.lifecycle` of the ledger. It is the same as before if neither the version nor the meaning of
 * its columns has changed, or if a version cannot be read
 * @throws BrandReportsError if the store cannot be read or written now
 */
export async function recordLifecycle(
  ctx: LifecycleContext,
  day: string,
  { before, after, cause, endedMs }: Replaced,
  most?: number,
): Promise<Lifecycle | undefined> {
  const known = before?.lifecycle;
  const rules = await rulesOf(ctx, { ...after, lifecycle: known });
  const isSameVersion = before?.snapshot === after.snapshot;
  if (!rules || (isSameVersion && known?.basis === rules.basis)) return known;
  const [key, states] = partsOf(known);
  const [ownKey, ownStates] = partsOf(rules);
  const byMs = Math.max(endedMs ?? ctx.clock.now().getTime(), Date.parse(after.readFrom));
  const moment: Moment = {
    by: new Date(byMs),
    isReading: cause === 'reading' && !isSameVersion,
    hasOtherStates: known !== undefined && states !== ownStates,
    ages: before && !isSameVersion ? agesAt(day, before, after, byMs) : [],
    ...(before && { after: new Date(before.readFrom) }),
  };
  const firstBy = new Date(before?.committedAt ?? byMs);
  const first: Moment = { by: firstBy, isReading: true, hasOtherStates: false, ages: [] };
  const write = (version: Committed, at: Moment, from?: Lifecycle) =>
    writeRows(ctx, day, version, { rules, moment: at, earlier: from, most });
  let lost: string | undefined;
  try {
    if (!before) return await write(after, moment);
    if (known && key === ownKey)
      try {
        return await write(after, moment, known);
      } catch (thrown) {
        lost = damageOf(thrown);
      }
    const begun = await write(before, first);
    const made = isSameVersion ? begun : await write(after, moment, begun);
    if (known && lost !== undefined) {
      const message = `${keyOf(ctx, day, known.snapshot)} cannot be read (${lost}): the lifecycle rows begin anew`;
      ctx.log({ event: 'lifecycle_lost', day, message });
    }
    return made;
  } catch (thrown) {
    const message = damageOf(thrown);
    ctx.log({ event: 'lifecycle_not_made', day, message });
    // These rows belong to an earlier version; this basis makes the next reading write them anew.
    return known && { ...known, basis: `${key}--` };
  }
}

export async function isLifecycleCurrent(ctx: LifecycleContext, committed: Committed): Promise<boolean> {
  return (await rulesOf(ctx, committed))?.basis === committed.lifecycle?.basis;
}

/** The lifecycle entry of a restored ledger for rows that were found. The next reading writes them anew, with their history. */
export async function lifecycleOfFound(
  ctx: LifecycleContext,
  version: Committed,
  { snapshot, rows, bytes, digest }: VersionContent,
): Promise<Lifecycle | undefined> {
  const rules = await rulesOf(ctx, version);
  return rules && { snapshot, rows, bytes, digest, basis: `${partsOf(rules)[0]}--` };
}

/** Whether the object can be read, and contains the rows that the ledger states. @throws if the store fails */
export async function isLifecycleIntact(
  ctx: LifecycleContext,
  day: string,
  { lifecycle }: Committed,
): Promise<boolean> {
  if (!lifecycle) return true;
  const { digestOf, openCodedFile } = await loadCodedFile();
  try {
    return (await digestOf(await openCodedFile(fileOf(ctx, day, lifecycle)))) === lifecycle.digest;
  } catch (thrown) {
    damageOf(thrown);
    return false;
  }
}

/** The ages that the day reached while the version before was current; age 0 counts only if that version was read after the day's end. */
function agesAt(day: string, before: Committed, { timeZone }: Committed, byMs: number): string[] {
  if (timeZone === undefined) return [];
  const isReached = (age: number) =>
    endOfDay(addDays(day, age), timeZone) <= (age === 0 ? Date.parse(before.readFrom) : byMs);
  return KEPT_AGES.filter(isReached).map((age) => `commission_${age}`);
}

function keyOf({ report, brand }: LifecycleContext, day: string, snapshot: string): string {
  return versionKey(report.lifecycle?.table ?? '', brand, day, snapshot);
}

function fileOf(ctx: LifecycleContext, day: string, { snapshot, bytes }: Lifecycle) {
  return fileIn(ctx.lake.store, { key: keyOf(ctx, day, snapshot), bytes });
}

async function writeRows(
  ctx: LifecycleContext,
  day: string,
  { snapshot, bytes, rows }: Committed,
  how: { rules: Rules; moment: Moment; earlier?: Lifecycle | undefined; most?: number | undefined },
): Promise<Lifecycle | undefined> {
  const { rules, moment, earlier, most } = how;
  const [{ writeParquet }, { openCodedFile }, { replay, writeNewRows }] = await Promise.all([
    ...([loadParquet(), loadCodedFile(), import('./replay.ts')] as const),
  ]);
  const { report, brand, lake } = ctx;
  const { lifecycle } = report;
  if (!lifecycle) throw new Error(`${report.name} has no states`);
  const columns = lifecycleShape(report)?.columns ?? [];
  const key = versionKey(report.table, brand, day, snapshot);
  const version = await openCodedFile(fileIn(lake.store, { key, bytes }));
  const from = earlier && { file: await openCodedFile(fileOf(ctx, day, earlier)), digest: earlier.digest };
  const records = () => recordsOf(version, rules, lifecycle.states);
  const written = async (write: (file: ParquetFile) => Promise<boolean>): Promise<Lifecycle | undefined> => {
    const id = ctx.newId();
    const digest = new Digest();
    const file = writeParquet(lake.store.create(keyOf(ctx, day, id)), columns, digest);
    try {
      if (!(await write(file))) {
        await file.abort();
        return undefined;
      }
      const { rows: count, bytes: size } = await file.finish();
      return { snapshot: id, rows: count, bytes: size, digest: digest.value(), basis: rules.basis };
    } catch (thrown) {
      await file.abort();
      throw thrown;
    }
  };
  const input = { rows, records, moment, earlier: from };
  const first = from ? undefined : await written((file) => writeNewRows(file, columns, input));
  return first ?? (await written((file) => replay(file, columns, input, most)));
}
