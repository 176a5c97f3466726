/*
 * Makes a day again from the raw records of the reading that is committed, without one call to the service: the same
 * builder as a reading's, fed from chunks; then a commit of its own that keeps how the day was read, then its publication.
 * What the settings lead to now is honoured as far as the records tell; otherwise the day stays as it is, and the outcome
 * says why.
 *
 * The claim keeps the new version from the vacuum, and a run that takes it over wins (I5). A process that dies before the
 * commit leaves a version that nothing names, and one that dies after it a publication that the next run repeats (I4).
 */
import { monthOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { refreshUndamaged } from '../lake/documents/cas-document.ts';
import { type Committed, isRolledBack, releaseDay } from '../lake/documents/ledger.ts';
import type { Slice } from '../lake/documents/progress.ts';
import { keyText, primaryKeyField } from '../planning/primary-key.ts';
import { type Replay, type ReplayObstacle, decideReplay } from '../planning/replay.ts';
import { countWithoutKey } from '../records/record-list.ts';
import { build } from './build.ts';
import type { BuiltSnapshot } from './builder.ts';
import { claimForVersion } from '../attempt/claim.ts';
import type { BuildContext, RunContext } from '../context/context.ts';
import { type OpenDay, openDay, openDayAnew } from '../context/open-day.ts';
import { afterCommand } from '../planning/transitions.ts';
import { isLifecycleCurrent } from '../lifecycle/index.ts';
import { publishDay } from './publish.ts';
import { replaceVersion } from './replace-version.ts';
import { type StagedDay, pagesOf } from '../attempt/staged-records.ts';

/** One report of one brand in one rebuild. */
export interface RebuildContext extends BuildContext, Pick<RunContext, 'runId' | 'leases' | 'progress'> {}

/** Why a day stays as it is. */
export type RebuildObstacle =
  | ReplayObstacle
  /** Its raw records, or what names them, cannot be read. */
  | 'raw_damaged'
  /** Records with one key differ, and only a second pass can tell why. */
  | 'key_unclear'
  /** An older version was published by hand: the raw records are those of a later one. */
  | 'rolled_back';

/** What a rebuild did with a day. */
export interface RebuiltDay {
  dt: string;
  /**
   * `kept`: it stays as it is, for the reason given. `busy`: a run reads it. `pending`: time was up before it. `failed`:
   * see `reason` and `message`.
   */
  outcome: 'published' | 'unchanged' | 'kept' | 'busy' | 'pending' | 'failed';
  rows: number;
  /** A `RebuildObstacle`, or the code of an error. */
  reason?: string;
  message?: string;
}

/** Makes a day again of which something is committed. Failures are returned; bugs are thrown. */
export async function rebuildDay(ctx: RebuildContext, day: string): Promise<RebuiltDay> {
  try {
    const open = await openDayAnew(ctx, day);
    if (!open.committed) throw new Error(`${day} has never been committed`);
    const rebuilt = await rebuildCommitted(ctx, open, open.committed);
    if (typeof rebuilt === 'string') return kept(ctx, day, open.committed, rebuilt);
    const { committed } = await openDay(ctx, day);
    if (committed && !committed.published) await publishDay(ctx, day);
    return { dt: day, ...rebuilt };
  } catch (thrown) {
    const { kind, code, message, context } = rethrowBugs(thrown);
    if (kind === 'conflict') return { dt: day, outcome: 'busy', rows: 0 };
    if (code !== 'damaged_chunk') return { dt: day, outcome: 'failed', rows: 0, reason: code, message };
    const reason = context.isMissing ? 'raw_expired' : 'raw_damaged';
    return {
      dt: day,
      outcome: 'kept',
      rows: 0,
      reason,
      message: `${day}: ${context.problem}; the day stays as it is`,
    };
  }
}

async function rebuildCommitted(
  ctx: RebuildContext,
  open: OpenDay,
  committed: Committed,
): Promise<Pick<RebuiltDay, 'outcome' | 'rows'> | RebuildObstacle> {
  const { day } = open;
  if (isRolledBack(committed)) return 'rolled_back';
  const replay = await replayOf(ctx, day, committed);
  if (typeof replay === 'string') return replay;
  const claimed = await claimForVersion(ctx, open, (attempt) => ctx.progress(day, attempt));
  if (!claimed) return { outcome: 'busy', rows: 0 };
  try {
    const staged = await stagedOf(ctx, claimed, committed, replay);
    const built = await build(ctx, staged, { readBack: true, isKeyNew: replay.isKeyNew });
    if ('conflict' in built) return 'key_unclear';
    const isNew = ctx.policy.queryFingerprint !== committed.queryFingerprint;
    const isCurrent = await isLifecycleCurrent(ctx, { ...committed, ...built });
    if (!built.unchanged || isNew || !isCurrent) await commit(ctx, claimed, committed, built);
    return { outcome: built.unchanged ? 'unchanged' : 'published', rows: built.rows };
  } finally {
    // With the next write: most rebuilt days are unchanged.
    ctx.ledger(monthOf(day)).updateLater((ledger) => releaseDay(ledger, day, ctx.runId));
  }
}

/** `raw_damaged` where what names the raw records is damaged. */
async function replayOf(
  ctx: RebuildContext,
  day: string,
  committed: Committed,
): Promise<Replay | RebuildObstacle> {
  const progress = await refreshUndamaged(ctx.progress(day, committed.attempt));
  return progress ? decideReplay({ day, committed, slices: progress.slices }, ctx) : 'raw_damaged';
}

async function stagedOf(
  ctx: RebuildContext,
  open: OpenDay,
  { attempt }: Committed,
  { slices, isKeyNew }: Replay,
): Promise<StagedDay> {
  const prefix = open.keys.attempt(attempt);
  const staged: Slice[] = [];
  for (const slice of slices) staged.push(isKeyNew ? await underNewKey(ctx, prefix, slice) : slice);
  return { ...open, prefix, slices: staged };
}

/** What was noted of the key while the records were staged holds of the key of then. */
async function underNewKey(ctx: RebuildContext, prefix: string, ofThen: Slice): Promise<Slice> {
  const { repeatsConflict: _conflict, ...slice } = ofThen;
  const field = primaryKeyField(ctx);
  let withoutKey = 0;
  for (const role of ['include', 'exclude', 'restore'] as const)
    for await (const list of pagesOf(ctx, prefix, slice, role)) withoutKey += countWithoutKey(list, field);
  return { ...slice, withoutKey };
}

async function commit(
  ctx: RebuildContext,
  open: OpenDay,
  committed: Committed,
  { unchanged: _unchanged, hashes, ...content }: BuiltSnapshot,
): Promise<void> {
  await replaceVersion(ctx, open, {
    runId: ctx.runId,
    hashes,
    cause: 'rebuild',
    next: (before = committed) => ({
      ...withoutContent(before),
      ...content,
      ...afterCommand(before, 'rebuilt')?.said,
      queryFingerprint: ctx.policy.queryFingerprint,
      published: before.snapshot === content.snapshot ? before.published : ctx.lake.catalog === undefined,
    }),
  });
}

/** What the content says anew, also where it says nothing of it. */
function withoutContent(committed: Committed): Committed {
  const { values: _values, unsettled: _unsettled, ...others } = committed;
  return others;
}

function kept(ctx: RebuildContext, day: string, committed: Committed, reason: RebuildObstacle): RebuiltDay {
  const { brand, report, policy } = ctx;
  const reread = `to read it again: brand-reports sync ${report.name} --brand ${brand} --from ${day} --to ${day}`;
  const why: Record<RebuildObstacle, string> = {
    raw_expired: `its raw records are not kept any longer; ${reread}`,
    raw_damaged: `the progress document of its attempt ${committed.attempt} is damaged, so that its raw records are not known; ${reread}`,
    reread:
      'a run has begun to read it again, and the raw records before are gone; rebuild it when it is complete',
    read_by_other_queries: `the settings (filters, units, meanings of dates) ask for other records now than were asked for when it was read; ${reread}`,
    other_time_zone: `it was read in the time zone ${committed.timeZone}, and in ${policy.timeZone} it begins and ends at other times; ${reread}`,
    key_unclear: `records with one ${keyText(primaryKeyField(ctx) ?? '')} differ, and only a second pass can tell whether it is a key; ${reread}`,
    rolled_back: `an older version of it was published by a rollback, and the raw records are those of a later one; ${reread}`,
  };
  return {
    dt: day,
    outcome: 'kept',
    rows: committed.rows,
    reason,
    message: `${day} stays as it is: ${why[reason]}`,
  };
}
