/*
 * Makes what became of the records of a day when its version is replaced, from the rows before and the version itself. The
 * object is written before the commit, which names it in the ledger: it is there exactly if the version is (I4).
 */
import { addDays, endOfDay } from '../days.ts';
import type { Committed, Lifecycle } from '../lake/documents/ledger.ts';
import { versionKey } from '../lake/paths.ts';
import { loadCodedFile, loadParquet } from '../lake/table/load-parquet.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import { type LifecycleContext, type Rules, haveSame, outdated, rulesOf } from './rules.ts';
import { KEPT_AGES, lifecycleShape } from './shape.ts';
import type { Moment } from './transitions.ts';

/** A version that is to be committed, and the one before. */
export interface Replaced {
  before: Committed | undefined;
  after: Committed;
  cause: 'reading' | 'rollback' | 'rebuild' | 'erasure';
}

/**
 * Writes what became of the records of a day up to a version.
 * @returns what the ledger is to say in `committed.lifecycle`; what it says already where neither the version nor the
 * meaning of its columns has changed
 * @throws BrandReportsError where the store cannot be read or written now
 */
export async function recordLifecycle(
  ctx: LifecycleContext,
  day: string,
  replaced: Replaced,
): Promise<Lifecycle | undefined> {
  const { before, after, cause } = replaced;
  const rules = await rulesOf(ctx, day, after);
  const known = before?.lifecycle;
  const isSameVersion = before?.snapshot === after.snapshot;
  if (!rules || (isSameVersion && known?.basis === rules.basis && cause !== 'erasure')) return known;
  const byMs = Math.max(ctx.clock.now().getTime(), Date.parse(after.readFrom));
  const firstSeen = { by: new Date(before?.committedAt ?? byMs), isReading: true, ages: [] };
  const moment: Moment = {
    by: new Date(byMs),
    isReading: cause === 'reading' && !isSameVersion,
    hasOtherStates: known !== undefined && !haveSame('states', known, rules),
    ages: before && !isSameVersion ? agesAt(day, before, after, byMs) : [],
    ...(before && { after: new Date(before.readFrom) }),
    ...(cause === 'erasure' && { drops: 'all' }),
  };
  const replayed = (earlier?: Lifecycle) => write(ctx, day, after, rules, moment, earlier);
  let lost: string | undefined;
  try {
    if (!before) return await replayed();
    if (known)
      try {
        return await replayed(known);
      } catch (thrown) {
        lost = damageOf(thrown);
      }
    const begun = isSameVersion
      ? await write(ctx, day, after, rules, firstSeen)
      : await replayed(await write(ctx, day, before, rules, firstSeen));
    if (known && lost !== undefined) logLost(ctx, day, known, lost);
    return begun;
  } catch (thrown) {
    ctx.log({ event: 'lifecycle_not_made', day, message: damageOf(thrown) });
    return known && { ...known, basis: outdated(known) };
  }
}

/** Whether what became of the records was made by the rules that apply now. */
export async function isLifecycleCurrent(
  ctx: LifecycleContext,
  day: string,
  committed: Committed,
): Promise<boolean> {
  return (await rulesOf(ctx, day, committed))?.basis === committed.lifecycle?.basis;
}

function logLost(ctx: LifecycleContext, day: string, { snapshot }: Lifecycle, why: string): void {
  const message = `${keyOf(ctx, day, snapshot)} cannot be read (${why}); it begins anew with the version that was current`;
  ctx.log({ event: 'lifecycle_lost', day, message });
}

/** The ages that the day reached while the version before was current; 0 once that was read after the day's end. */
function agesAt(day: string, before: Committed, { timeZone }: Committed, byMs: number): string[] {
  if (timeZone === undefined) return [];
  const isReached = (age: number) =>
    endOfDay(addDays(day, age), timeZone) <= (age === 0 ? Date.parse(before.readFrom) : byMs);
  return KEPT_AGES.filter(isReached).map((age) => `commission_${age}`);
}

function keyOf({ report, brand }: LifecycleContext, day: string, snapshot: string): string {
  return versionKey(report.lifecycle?.table ?? '', brand, day, snapshot);
}

async function write(
  ctx: LifecycleContext,
  day: string,
  version: Committed,
  rules: Rules,
  moment: Moment,
  earlier?: Lifecycle,
): Promise<Lifecycle> {
  const [{ writeParquet }, { openCodedFile }, { replay }] = await Promise.all([
    loadParquet(),
    loadCodedFile(),
    import('./replay.ts'),
  ]);
  const { lake, report, brand, newId } = ctx;
  const { store } = lake;
  const columns = lifecycleShape(report)?.columns ?? [];
  const open = (key: string, { bytes }: { bytes: number }) => openCodedFile(fileIn(store, { key, bytes }));
  const snapshot = newId();
  const file = writeParquet(store.create(keyOf(ctx, day, snapshot)), columns);
  try {
    const hasOtherKey = earlier !== undefined && !haveSame('key', earlier, rules);
    const { digest, records } = await replay(file, columns, {
      version: await open(versionKey(report.table, brand, day, version.snapshot), version),
      earlier: earlier && {
        file: await open(keyOf(ctx, day, earlier.snapshot), earlier),
        ...{ digest: earlier.digest, hasOtherKey },
      },
      moment: hasOtherKey ? { drops: 'present', ...moment } : moment,
      rules,
    });
    if (records !== version.rows) throw new Error(`${records} rows are read instead of ${version.rows}`);
    const { rows, bytes } = await file.finish();
    return { ...{ snapshot, rows, bytes, digest }, basis: rules.basis };
  } catch (thrown) {
    await file.abort();
    throw thrown;
  }
}
