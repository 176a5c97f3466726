/**
 * A run claims its share of a brand's rate. It joins the brand's budget before its first request and renews its entry
 * while it sends requests. When it has sent none for a while, or has ended, it leaves. documents/rate-budget.ts has the
 * rules and their reasons. If the store fails, the run goes on for now: the share stays valid for a while, and every
 * renewal is another attempt.
 */
import { BrandReportsError, asBrandReportsError, rethrowBugs } from '../errors.ts';
import type { BrandLog } from '../log-events.ts';
import type { Clock, RateSource, RunRegistry } from '../ports.ts';
import type { CasDocument } from '../lake/documents/cas-document.ts';
import {
  FORGET_AFTER_MS,
  IDLE_AFTER_MS,
  RENEW_EVERY_MS,
  type RateBudget,
  type Renewal,
  type Sightings,
  VALID_MS,
  withSightings,
  fairRate,
  silentRuns,
  withRenewal,
  withoutRun,
} from '../lake/documents/rate-budget.ts';

export interface RateShare extends RateSource {
  /** Leaves the budget to the other runs. Never fails. */
  leave(): Promise<void>;
}

interface RateShareOptions {
  document: CasDocument<RateBudget>;
  runId: string;
  /** The brand's rate in requests per second. If another run has a smaller limit, the smaller one counts for both. */
  limit: number;
  /** The most that this run may use of the limit. */
  wants: number;
  clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'every'>;
  runs: Pick<RunRegistry, 'isDead'>;
  log: BrandLog;
}

interface Instant {
  monotonicMs: number;
  wallMs: number;
}

export function createRateShare(options: RateShareOptions): RateShare {
  const { document, runId, limit, wants, clock, runs, log } = options;
  let granted = 0;
  let renewed: Instant | undefined;
  let sightings: Sightings = new Map();
  let renewals = 0;
  let usedAtMs = 0;
  let mayBeListed = false;
  let stopRenewing: (() => void) | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let failingSinceMs: number | undefined;

  const now = (): Instant => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const inUse = () => (renewed && elapsedMs(renewed, now()) < VALID_MS ? granted : 0);

  /** Runs actions one after the other, so that no renewal overtakes another renewal or the leave. */
  function inTurn(act: () => Promise<void>): Promise<void> {
    const done = turn.then(act);
    turn = done.catch(() => undefined);
    return done;
  }

  async function renew(): Promise<void> {
    const began = now();
    const seen = await document.refresh();
    sightings = withSightings(sightings, seen, clock.monotonicMs());
    const ended = await endedRuns(seen);
    const renewal = (current: RateBudget): Renewal => ({
      runId,
      limit,
      wants,
      renewals,
      inUse: inUse(),
      gone: new Set([...ended, ...silentRuns(sightings, current, began.monotonicMs)]),
    });
    // Before the write: after it, another run may take the rest.
    granted = Math.min(granted, fairRate(seen, renewal(seen)));
    renewals += 1;
    mayBeListed = true;
    const mayWait = renewed !== undefined && elapsedMs(renewed, began) < RENEW_EVERY_MS / 2;
    const written = await document.update((current) => {
      const next = withRenewal(current, renewal(current));
      const isSame = next.runs[runId]?.rate === current.runs[runId]?.rate;
      return mayWait && isSame ? current : next;
    });
    failingSinceMs = undefined;
    sightings = withSightings(sightings, written, clock.monotonicMs());
    if (written.runs[runId]?.renewals !== renewals) return;
    const before = granted;
    granted = written.runs[runId].rate;
    renewed = began;
    const sharedBy = Object.keys(written.runs).length;
    if (granted !== before && sharedBy > 1)
      log({ event: 'rate_shared', requestsPerSecond: granted, runs: sharedBy });
  }

  /** The runs that have ended, as far as the lake can detect it. */
  async function endedRuns(seen: RateBudget): Promise<string[]> {
    const others = Object.keys(seen.runs).filter((run) => run !== runId);
    const areDead = await Promise.all(others.map((run) => runs.isDead(run)));
    return others.filter((_run, index) => areDead[index]);
  }

  /** Remembers a failure and logs it once for each outage. @returns whether a later attempt may succeed in time */
  function mayPass(thrown: unknown): boolean {
    const { kind, message } = asBrandReportsError(thrown);
    if (failingSinceMs === undefined) log({ event: 'rate_budget_not_updated', message });
    failingSinceMs ??= clock.monotonicMs();
    return kind === 'transient' && clock.monotonicMs() - failingSinceMs < FORGET_AFTER_MS;
  }

  async function leave(): Promise<void> {
    stopRenewing?.();
    stopRenewing = undefined;
    await inTurn(async () => {
      if (!mayBeListed) return;
      granted = 0;
      await document.update((current) => withoutRun(current, runId));
      mayBeListed = false;
    }).catch(mayPass);
  }

  function tick(): void {
    const isIdle = clock.monotonicMs() - usedAtMs >= IDLE_AFTER_MS;
    void (isIdle ? leave() : inTurn(renew).catch(mayPass));
  }

  return {
    get requestsPerSecond() {
      return inUse();
    },
    async claim() {
      usedAtMs = clock.monotonicMs();
      stopRenewing ??= clock.every(RENEW_EVERY_MS, tick);
      if (inUse() > 0) return;
      await inTurn(renew).catch((thrown: unknown) => {
        if (mayPass(thrown)) return;
        // It concerns no day: days that wait for a request are left to the next run.
        const cause = rethrowBugs(thrown);
        const message = `no request may be sent, because this run's part of the brand's rate is unknown: ${cause.message}`;
        throw new BrandReportsError(cause.kind, 'rate_unavailable', message, { cause });
      });
    },
    leave,
  };
}

/** By the clock that has gone further: while a machine sleeps, its monotonic clock may stand still. */
function elapsedMs(since: Instant, until: Instant): number {
  return Math.max(until.monotonicMs - since.monotonicMs, until.wallMs - since.wallMs);
}
