/*
 * Rebuilds a day from the raw records of its committed reading, without any request to the service. The facts of the
 * reading stay unchanged. If the raw records do not allow the current settings, the day stays as it is, and the outcome
 * contains the reason.
 *
 * The claim protects the new version from the vacuum; if a run takes the claim over, that run wins (I5). If the process
 * dies before the commit, it leaves a version that nothing references. If it dies after the commit, the next run
 * repeats the publication (I4).
 */
import { monthOf } from '../base/days.ts';
import { rethrowBugs } from '../base/errors.ts';
import { undamaged } from '../lake/cas-document.ts';
import { type Committed, isRolledBack, releaseDay } from '../lake/ledger.ts';
import type { Slice } from '../lake/progress.ts';
import { keyText, primaryKeyField } from '../planning/primary-key.ts';
import { type Replay, type ReplayObstacle, decideReplay } from '../planning/replay.ts';
import { countWithoutKey } from '../records/record-list.ts';
import { type BuiltSnapshot, build } from './build.ts';
import { claimForVersion } from './claim.ts';
import type { BuildContext, RunContext } from '../context/context.ts';
import { type OpenDay, openDay, openDayAnew } from '../context/open-day.ts';
import { afterCommand } from '../planning/transitions.ts';
import { publishDay } from './publish.ts';
import { replaceVersion } from './commit.ts';
import { type StagedDay, pagesOf } from './staged-records.ts';

export interface RebuildContext extends BuildContext, Pick<RunContext, 'runId' | 'progress'> {}

export type RebuildObstacle = ReplayObstacle | 'raw_damaged' | 'key_unclear' | 'rolled_back';

export interface RebuiltDay {
  dt: string;
  /**
   * `kept`: the day stays as it is, for the reason given. `busy`: a run reads the day. `pending`: the time was up
   * before the day. `failed`: see `reason` and `message`.
   */
  outcome: 'published' | 'unchanged' | 'kept' | 'busy' | 'pending' | 'failed';
  rows: number;
  reason?: string;
  message?: string;
}

/** Failures are returned; bugs are thrown. */
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
    const why = `${day}: ${context.problem}; the day stays as it is`;
    return { dt: day, outcome: 'kept', rows: 0, reason, message: why };
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
  const claimed = await claimForVersion(ctx, open);
  if (!claimed) return { outcome: 'busy', rows: 0 };
  try {
    const staged = await stagedOf(ctx, claimed, committed, replay);
    const built = await build(ctx, staged, { readBack: true, isKeyNew: replay.isKeyNew });
    if ('conflict' in built) return 'key_unclear';
    const isNew = ctx.policy.queryFingerprint !== committed.queryFingerprint;
    if (!built.unchanged || isNew) await commit(ctx, claimed, committed, built);
    return { outcome: built.unchanged ? 'unchanged' : 'published', rows: built.rows };
  } finally {
    // The claim is released with the next write of the ledger, because most rebuilt days are unchanged.
    ctx.ledger(monthOf(day)).updateLater((ledger) => releaseDay(ledger, day, ctx.runId));
  }
}

async function replayOf(
  ctx: RebuildContext,
  day: string,
  committed: Committed,
): Promise<Replay | RebuildObstacle> {
  const progress = await undamaged(ctx.progress(day, committed.attempt).refresh());
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

/** Counts the records without the new key: the counts that were staged with the records hold for the old key. */
async function underNewKey(ctx: RebuildContext, prefix: string, staged: Slice): Promise<Slice> {
  const { repeatsConflict: _conflict, ...slice } = staged;
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
  { unchanged: _unchanged, ...content }: BuiltSnapshot,
): Promise<void> {
  await replaceVersion(ctx, open, {
    runId: ctx.runId,
    cause: 'rebuild',
    next: (before = committed) => {
      // They must not stay if the new content has no values.
      const { values: _values, ...others } = before;
      return {
        ...{ ...others, ...content, ...afterCommand(before, 'rebuilt')?.recorded },
        queryFingerprint: ctx.policy.queryFingerprint,
        published: before.snapshot === content.snapshot ? before.published : ctx.lake.catalog === undefined,
      };
    },
  });
}

function kept(ctx: RebuildContext, day: string, committed: Committed, reason: RebuildObstacle): RebuiltDay {
  const { brand, report, policy } = ctx;
  const reread = `to read it again: brand-reports sync ${report.name} --brand ${brand} --from ${day} --to ${day}`;
  const why: Record<RebuildObstacle, string> = {
    raw_expired: `its raw records have been deleted; ${reread}`,
    raw_damaged: `the progress document of its attempt ${committed.attempt} is damaged, so its raw records cannot be found; ${reread}`,
    read_by_other_queries: `the settings (filters, units, meanings of dates) now request other records than when it was read; ${reread}`,
    other_time_zone: `it was read in the time zone ${committed.timeZone}, and in ${policy.timeZone} it begins and ends at other times; ${reread}`,
    key_unclear: `records with the same ${keyText(primaryKeyField(ctx) ?? '')} differ, and only a second reading can show whether it is a key; ${reread}`,
    rolled_back: `a rollback published an older version of it, and the raw records belong to a later version; ${reread}`,
  };
  const message = `${day} stays as it is: ${why[reason]}`;
  return { dt: day, outcome: 'kept', rows: committed.rows, reason, message };
}
