import { dayOf, endOfDay, monthOf } from '../days.ts';
import { BrandReportsError } from '../errors.ts';
import type { Document } from '../lake/documents/cas-document.ts';
import { type Claim, type DayEntry, type Published, claimDay } from '../lake/documents/ledger.ts';
import { type Progress, type Slice, emptySlice, held } from '../lake/documents/progress.ts';
import { asksFor, windowOf } from '../planning/day-queries.ts';
import type { ReportRun } from './context.ts';

const LEASE_MS = 60_000;

/** A day that this run reads now. */
export interface Reading {
  day: string;
  attempt: string;
  progress: Document<Progress>;
  /** Whether pages staged by an earlier run are gone on with. */
  resumed: boolean;
  restarts: number;
}

/**
 * Claims a day in the ledger and takes over its lease; `undefined` where another run holds it. Afterwards the
 * progress's last slice is the one to read, or is done and waits to be published.
 */
export async function claim(run: ReportRun, day: string): Promise<Reading | undefined> {
  const ledger = run.ledger(monthOf(day));
  const entry = (await ledger.known()).days[day] ?? {};
  const before = entry.claim;
  if (before && (await isHeld(run, day, before))) return undefined;

  const attempt = before?.attempt ?? goesOn(run, day, entry)?.attempt ?? run.newId();
  const restarts = before?.restarts ?? 0;
  const next: Claim = { attempt, run: run.run, at: new Date(run.clock.wallMs()).toISOString(), restarts };
  try {
    await ledger.update((current) => claimDay(current, day, before, next));
  } catch (error) {
    if (error instanceof BrandReportsError && error.kind === 'conflict') return undefined;
    throw error;
  }

  const progress = run.progress(day, attempt);
  const source = await sourceOf(run, day);
  const known = await progress.fresh();
  const since = entry.published?.attempt === attempt ? Date.parse(entry.published.readTo) : undefined;
  const resumed = before !== undefined && canGoOn(run, day, known, since, source);
  await progress.update((current) => ({
    ...renewed(current, run),
    asked: run.policy.asked,
    slices: resumed ? current.slices : withNewSlice(run, day, current, since, source),
  }));
  return { day, attempt, progress, resumed: resumed && known.slices.at(-1)?.done === false, restarts };
}

/** Takes the lease's next minute. */
export function renewed(progress: Progress, { run, clock }: ReportRun): Progress {
  return { ...progress, run, renewedAt: new Date(clock.wallMs()).toISOString() };
}

/** Drops what the last slice has staged and begins it anew, once more counted in the claim. */
export async function restart(run: ReportRun, reading: Reading): Promise<Reading> {
  const { day, attempt, restarts } = reading;
  const mine = { attempt, run: run.run };
  const ledger = run.ledger(monthOf(day));
  const at = new Date(run.clock.wallMs()).toISOString();
  const next = await ledger.update((current) => {
    const expected = current.days[day]?.claim;
    if (expected?.run !== mine.run || expected.attempt !== mine.attempt) return current;
    return claimDay(current, day, expected, { ...mine, at, restarts: restarts + 1 });
  });
  const published = next.days[day]?.published;
  const since = published?.attempt === attempt ? Date.parse(published.readTo) : undefined;
  const source = await sourceOf(run, day);
  await reading.progress.update((current) => ({
    ...renewed(held(current, run.run), run),
    slices: withNewSlice(run, day, current, since, source),
  }));
  return { ...reading, resumed: false, restarts: restarts + 1 };
}

async function isHeld(run: ReportRun, day: string, claim: Claim): Promise<boolean> {
  if (!run.leases || claim.run === null || claim.run === run.run) return false;
  const progress = await run.progress(day, claim.attempt).fresh();
  const renewals = [claim.at, progress.run === claim.run ? progress.renewedAt : claim.at].map(Date.parse);
  // A renewal in the future is one by a clock that was ahead: it binds nobody either.
  if (Math.abs(run.clock.wallMs() - Math.max(...renewals)) >= LEASE_MS) return false;
  return !(await run.lake.runs.isGone(claim.run));
}

/** The published reading of the open day that further slices are added to. */
function goesOn(run: ReportRun, day: string, entry: DayEntry): Published | undefined {
  const { published } = entry;
  const open = dayOf(run.clock.now().getTime(), run.policy.timeZone) === day;
  const same = published?.state === 'open' && published.asked === run.policy.asked;
  return open && same && run.report.openDay === 'slices' ? published : undefined;
}

/** Whether the last slice, staged in part or whole, is still what would be read now. */
function canGoOn(
  run: ReportRun,
  day: string,
  progress: Progress,
  since: number | undefined,
  source: Slice['source'],
): boolean {
  const slice = progress.slices.at(-1);
  if (!slice || progress.asked !== run.policy.asked) return false;
  // A run that dies between claim and slice leaves the one last that is published already.
  if (slice.done && since !== undefined && slice.toMs <= since) return false;
  const nowMs = run.clock.now().getTime();
  const startedMs = Date.parse(slice.startedAt);
  const endMs = endOfDay(day, run.policy.timeZone);
  const resumeMs = run.brandSettings.resumeWithinHours * 3_600_000;
  if (nowMs - startedMs > resumeMs || startedMs > nowMs) return false;
  if (slice.source?.snapshot !== source?.snapshot || slice.source?.closed !== source?.closed) return false;
  return nowMs < endMs || (slice.whole && startedMs >= endMs && progress.slices.length === 1);
}

function withNewSlice(
  run: ReportRun,
  day: string,
  progress: Progress,
  since: number | undefined,
  source: Slice['source'],
): Slice[] {
  const known = progress.asked === run.policy.asked ? progress.slices.filter(({ done }) => done) : [];
  const now = run.clock.now();
  const window = windowOf(run.brandSettings, day, now.getTime(), known.length > 0 ? since : undefined);
  const asks = asksFor(run.report, run.brandSettings, run.settings, day, window);
  const next = emptySlice({ ...window, startedAt: now.toISOString(), ...(source && { source }) }, asks);
  return window.whole && !source ? [next] : [...(source?.closed ? [] : known), next];
}

async function sourceOf(run: ReportRun, day: string): Promise<Slice['source']> {
  const published = (await run.parent?.ledger(monthOf(day)).known())?.days[day]?.published;
  if (!published) return undefined;
  const { snapshot, digest, bytes, state } = published;
  return { snapshot, digest, bytes, closed: state === 'closed' };
}
