import { dayOf, endOfDay, monthOf } from '../days.ts';
import { BrandReportsError } from '../errors.ts';
import type { CasDocument } from '../lake/documents/cas-document.ts';
import { type Claim, type DayEntry, type Committed, claimDay } from '../lake/documents/ledger.ts';
import { type Progress, type Slice, emptySlice, assertLeaseHeld } from '../lake/documents/progress.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import type { RunContext } from './context.ts';

const LEASE_MS = 60_000;

/** A day that this run reads now. */
export interface Attempt {
  day: string;
  id: string;
  progress: CasDocument<Progress>;
  /** Whether pages staged by an earlier run are gone on with. */
  resumed: boolean;
  restarts: number;
}

/**
 * Claims a day in the ledger and takes over its lease; `undefined` where another run holds it. Afterwards the
 * progress's last slice is the one to read, or is done and waits to be published.
 */
export async function claim(run: RunContext, day: string): Promise<Attempt | undefined> {
  const ledger = run.ledger(monthOf(day));
  const entry = (await ledger.cached()).days[day] ?? {};
  const before = entry.claim;
  if (before && (await isLeaseLive(run, day, before))) return undefined;

  const attempt = before?.attempt ?? openDayAttempt(run, day, entry)?.attempt ?? run.newId();
  const restarts = before?.restarts ?? 0;
  const next: Claim = { attempt, runId: run.runId, at: new Date(run.clock.wallMs()).toISOString(), restarts };
  try {
    await ledger.update((current) => claimDay(current, day, before, next));
  } catch (error) {
    if (error instanceof BrandReportsError && error.kind === 'conflict') return undefined;
    throw error;
  }

  const progress = run.progress(day, attempt);
  const source = await upstreamSnapshot(run, day);
  const known = await progress.refresh();
  const since = entry.committed?.attempt === attempt ? Date.parse(entry.committed.readTo) : undefined;
  const resumed = before !== undefined && canResume(run, day, known, since, source);
  await progress.update((current) => ({
    ...withRenewedLease(current, run),
    queryFingerprint: run.policy.queryFingerprint,
    slices: resumed ? current.slices : withNewSlice(run, day, current, since, source),
  }));
  return { day, id: attempt, progress, resumed: resumed && known.slices.at(-1)?.done === false, restarts };
}

/** Takes the lease's next minute. */
export function withRenewedLease(progress: Progress, { runId, clock }: RunContext): Progress {
  return { ...progress, lease: { runId, renewedAt: new Date(clock.wallMs()).toISOString() } };
}

/** Drops what the last slice has staged and begins it anew, once more counted in the claim. */
export async function restartAttempt(run: RunContext, reading: Attempt): Promise<Attempt> {
  const { day, id, restarts } = reading;
  const mine = { attempt: id, runId: run.runId };
  const ledger = run.ledger(monthOf(day));
  const at = new Date(run.clock.wallMs()).toISOString();
  const next = await ledger.update((current) => {
    const expected = current.days[day]?.claim;
    if (expected?.runId !== mine.runId || expected.attempt !== mine.attempt) return current;
    return claimDay(current, day, expected, { ...mine, at, restarts: restarts + 1 });
  });
  const published = next.days[day]?.committed;
  const since = published?.attempt === id ? Date.parse(published.readTo) : undefined;
  const source = await upstreamSnapshot(run, day);
  await reading.progress.update((current) => ({
    ...withRenewedLease(assertLeaseHeld(current, run.runId), run),
    slices: withNewSlice(run, day, current, since, source),
  }));
  return { ...reading, resumed: false, restarts: restarts + 1 };
}

async function isLeaseLive(run: RunContext, day: string, claim: Claim): Promise<boolean> {
  if (!run.leases || claim.runId === null || claim.runId === run.runId) return false;
  const progress = await run.progress(day, claim.attempt).refresh();
  const renewals = [
    claim.at,
    progress.lease?.runId === claim.runId ? progress.lease.renewedAt : claim.at,
  ].map(Date.parse);
  // A renewal in the future is one by a clock that was ahead: it binds nobody either.
  if (Math.abs(run.clock.wallMs() - Math.max(...renewals)) >= LEASE_MS) return false;
  return !(await run.lake.runs.isDead(claim.runId));
}

/** The published reading of the open day that further slices are added to. */
function openDayAttempt(run: RunContext, day: string, entry: DayEntry): Committed | undefined {
  const { committed } = entry;
  const open = dayOf(run.clock.now().getTime(), run.policy.timeZone) === day;
  const same = committed?.state === 'open' && committed.queryFingerprint === run.policy.queryFingerprint;
  return open && same && run.report.openDay === 'slices' ? committed : undefined;
}

/** Whether the last slice, staged in part or whole, is still what would be read now. */
function canResume(
  run: RunContext,
  day: string,
  progress: Progress,
  since: number | undefined,
  source: Slice['upstream'],
): boolean {
  const slice = progress.slices.at(-1);
  if (!slice || progress.queryFingerprint !== run.policy.queryFingerprint) return false;
  // A run that dies between claim and slice leaves the one last that is published already.
  if (slice.done && since !== undefined && slice.toMs <= since) return false;
  const nowMs = run.clock.now().getTime();
  const startedMs = Date.parse(slice.startedAt);
  const endMs = endOfDay(day, run.policy.timeZone);
  const resumeMs = run.brandSettings.resumeWithinHours * 3_600_000;
  if (nowMs - startedMs > resumeMs || startedMs > nowMs) return false;
  if (slice.upstream?.snapshot !== source?.snapshot || slice.upstream?.closed !== source?.closed)
    return false;
  return nowMs < endMs || (slice.whole && startedMs >= endMs && progress.slices.length === 1);
}

function withNewSlice(
  run: RunContext,
  day: string,
  progress: Progress,
  since: number | undefined,
  source: Slice['upstream'],
): Slice[] {
  const known =
    progress.queryFingerprint === run.policy.queryFingerprint
      ? progress.slices.filter(({ done }) => done)
      : [];
  const now = run.clock.now();
  const window = windowToRead(run.brandSettings, day, now.getTime(), known.length > 0 ? since : undefined);
  const asks = dayQueries(run.report, run.brandSettings, run.settings, day, window);
  const next = emptySlice(
    { ...window, startedAt: now.toISOString(), ...(source && { upstream: source }) },
    asks,
  );
  return window.whole && !source ? [next] : [...(source?.closed ? [] : known), next];
}

async function upstreamSnapshot(run: RunContext, day: string): Promise<Slice['upstream']> {
  const published = (await run.upstream?.ledger(monthOf(day)).cached())?.days[day]?.committed;
  if (!published) return undefined;
  const { snapshot, digest, bytes, state } = published;
  return { snapshot, digest, bytes, closed: state === 'closed' };
}
