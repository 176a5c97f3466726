/**
 * A run takes the lease of a brand, `leases/<brand>.json`, before its first request and holds it until it ends, so that one
 * run of the brand sends requests at a time. Without the lease, two runs would exceed `requestsPerSecond` together and read
 * the same days twice. At no instant do two runs send requests, however clocks run and whichever write is lost:
 * - A holder writes the lease every `RENEW_EVERY_MS`. It sends no request `VALID_MS` after its last renewal began, and
 *   renews before its next request.
 * - A waiting run takes the lease after it has seen the same document for `TAKE_AFTER_MS`. If the lake shows that the
 *   process of the holder has ended, it takes the lease at once.
 * - Each run measures with its own clock. Clocks are never compared.
 * A lease that cannot be parsed counts as held by an unknown run. If it is deleted while a run holds it, two runs may send
 * requests until the holder's next renewal. The lease protects no data: compare-and-swap alone makes overlapping runs
 * safe (I5).
 */
import { MINUTE_MS } from '../base/days.ts';
import { BrandReportsError, rethrowBugs } from '../base/errors.ts';
import { type BrandLease, heldBy, holderText, released } from '../lake/brand-lease.ts';
import type { CasDocument } from '../lake/cas-document.ts';
import type { BrandLog } from '../base/log-events.ts';
import type { Clock, RunRegistry } from '../ports.ts';
import { type TimeLeft, sleepUnlessAborted, stopped } from '../service/retry.ts';

/** A run that is shorter writes the lease twice: when it takes the lease and when it releases it. */
export const RENEW_EVERY_MS = 10_000;
export const VALID_MS = 20_000;
/** Much longer than `VALID_MS`: a clock may run at half speed. */
export const TAKE_AFTER_MS = 60_000;
/** A waiting function is paid for. Twice `TAKE_AFTER_MS` is enough to take over from a run that died, or after a short run. */
export const MAX_WAIT_MS = 2 * MINUTE_MS;
const POLL_MS = 2_000;

export type Lease = ReturnType<typeof createLease>;

export interface LeaseOptions {
  brand: string;
  document: CasDocument<BrandLease>;
  runId: string;
  name: string;
  time: TimeLeft;
  clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'every' | 'sleep'>;
  runs: Pick<RunRegistry, 'isDead'>;
  log: BrandLog;
}

interface Instant {
  monotonicMs: number;
  wallMs: number;
}

export function createLease({ brand, document, runId, name, time, clock, runs, log }: LeaseOptions) {
  let held: { since: Instant; renewed: Instant } | undefined;
  let mayBeHeld = false;
  let stopRenewing: (() => void) | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const ended = new AbortController();

  const now = (): Instant => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const validSince = () =>
    held && elapsedMs(held.renewed, now()) < VALID_MS ? held.since.monotonicMs : undefined;

  /** Runs actions one after the other, so that no renewal overtakes the release. */
  function inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const done = turn.then(act);
    turn = done.catch(() => undefined);
    return done;
  }

  async function renew(): Promise<void> {
    const began = now();
    if (!held || elapsedMs(held.renewed, began) < RENEW_EVERY_MS / 2) return;
    const { since } = held;
    let isMine = false;
    await document.update((current) => {
      // Nobody may take a damaged lease while this one is valid.
      isMine = current.holder?.run === runId || (!current.holder?.run && validSince() !== undefined);
      return isMine ? heldBy(current, runId, name, since.wallMs) : current;
    });
    held = isMine ? { ...held, renewed: began } : undefined;
  }

  async function take(): Promise<number> {
    const startMs = clock.monotonicMs();
    // A run without time does one unit of work, so it waits as long as its process exists.
    const waitMs = Math.min(MAX_WAIT_MS, time.leftMs() || time.untilOverMs());
    let sight: { seen: BrandLease; sinceMs: number } | undefined;
    let isLogged = false;
    for (;;) {
      const began = now();
      // The document is the same object until its stored version changes.
      const seen = await document.refresh();
      if (sight?.seen !== seen) sight = { seen, sinceMs: clock.monotonicMs() };
      const { holder } = seen;
      const unchangedMs = began.monotonicMs - sight.sinceMs;
      if (!ended.signal.aborted && (await isFree(holder, unchangedMs))) {
        mayBeHeld = true;
        if (!(await replace(seen, heldBy(seen, runId, name, began.wallMs)))) continue;
        held = { since: now(), renewed: began };
        stopRenewing ??= clock.every(RENEW_EVERY_MS, () => void inTurn(renew).catch(() => undefined));
        return held.since.monotonicMs;
      }
      const waitedMs = clock.monotonicMs() - startMs;
      if (ended.signal.aborted) throw stopped();
      if (waitedMs >= waitMs) throw busy(holderText(seen), waitedMs);
      if (!isLogged) log({ event: 'brand_awaited', holder: holder?.name ?? '' });
      isLogged = true;
      await sleepUnlessAborted(Math.min(POLL_MS, waitMs - waitedMs), clock.sleep, ended.signal);
    }
  }

  async function isFree(holder: BrandLease['holder'], unchangedMs: number): Promise<boolean> {
    if (!holder || holder.run === runId || unchangedMs >= TAKE_AFTER_MS) return true;
    return holder.run !== undefined && (await runs.isDead(holder.run));
  }

  async function replace(seen: BrandLease, next: BrandLease): Promise<boolean> {
    let isReplaced = false;
    await document.update((current) => {
      isReplaced = current === seen;
      return isReplaced ? next : current;
    });
    return isReplaced;
  }

  function busy(holder: string, waitedMs: number): BrandReportsError {
    const message = `${brand}: another run (${holder}) holds the lease of the brand, and one run of a brand may send requests at a time. This run waited ${Math.round(waitedMs / 1000)} s and sent no request. Run again after that run has ended; a scheduled run continues by itself`;
    return new BrandReportsError('conflict', 'brand_busy', message);
  }

  return {
    /**
     * Waits until this run may send a request.
     * @returns since when it holds the lease, by the monotonic clock: another run may have sent requests until then
     * @throws BrandReportsError `conflict` `brand_busy`; `lease_unavailable` if the document cannot be read or written
     */
    claim: async (): Promise<number> =>
      validSince() ?? inTurn(async () => validSince() ?? (await take().catch(unavailable))),
    /** Lets other runs take the lease. Never fails: they would wait a minute longer. */
    release: async (): Promise<void> => {
      ended.abort();
      stopRenewing?.();
      await inTurn(async () => {
        held = undefined;
        if (!mayBeHeld) return;
        await document.update((current) => (current.holder?.run === runId ? released(current) : current));
        mayBeHeld = false;
      }).catch(() => undefined);
    },
  };

  /** Failures of the store concern no day: days that wait for a request are left to the next run. */
  function unavailable(thrown: unknown): never {
    const cause = rethrowBugs(thrown);
    if (cause.code === 'brand_busy' || cause.code === 'stopped') throw cause;
    const message = `no request may be sent, because the lease of the brand could not be taken: ${cause.message}`;
    throw new BrandReportsError(cause.kind, 'lease_unavailable', message, { cause });
  }
}

/** By the clock that has gone further: while a machine sleeps, its monotonic clock may stand still. */
function elapsedMs(since: Instant, until: Instant): number {
  return Math.max(until.monotonicMs - since.monotonicMs, until.wallMs - since.wallMs);
}
