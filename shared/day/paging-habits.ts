/* A report's state keeps for a week how its service pages (`service/paging/habits.ts`); after that, it is proven again. */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { DAY_MS } from '../base/days.ts';
import type { RunContext } from '../context/context.ts';
import type { ReportState } from '../lake/report-state.ts';
import { isWithin } from '../lake/stored-time.ts';
import { type PagingHabits, joinedHabits } from '../service/paging/habits.ts';

const PROVEN_MS = 7 * DAY_MS;

function pagingSettings({ brandSettings, settings, policy }: RunContext): string {
  const parts = [brandSettings.baseUrl, settings.pageSize, policy.queryFingerprint];
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 16);
}

export async function knownHabits(ctx: RunContext): Promise<PagingHabits | undefined> {
  return habitsIn(ctx, await ctx.reportState.cached());
}

function habitsIn(ctx: RunContext, { paging }: ReportState): ReportState['paging'] {
  if (paging?.settings !== pagingSettings(ctx)) return undefined;
  return isWithin(PROVEN_MS, paging.since, ctx.clock.wallMs()) ? paging : undefined;
}

/** Records the paging habits with the run's next write: a run that dies before that write proves nothing. */
export function learnHabits(ctx: RunContext, shown: PagingHabits): void {
  const begun = { settings: pagingSettings(ctx), since: new Date(ctx.clock.wallMs()).toISOString() };
  ctx.reportState.updateLater((state) => {
    const known = habitsIn(ctx, state) ?? { ...begun, longest: 0 };
    const paging = { ...known, ...joinedHabits(known, shown) };
    return isDeepStrictEqual(paging, state.paging) ? state : { ...state, paging };
  });
}
