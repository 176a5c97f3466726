/**
 * A rate budget, `rates/<brand>.json`, records which runs send requests to a brand's service and how much of its rate each
 * run has. Without it, independent runs would either exceed the rate together or leave most of it unused.
 * The runs share the smallest of their limits. Otherwise a run that began before the setting was lowered would leave
 * nothing to later runs. At no instant do the rates in use together exceed the limit of any run that sends requests,
 * however clocks run and whichever write is lost:
 * - A run takes only rate that the document gives to no other run, and uses it only once its write is confirmed.
 * - A run that gives up rate slows down before it writes so, because another run may take the rate at once.
 * - A run stops `VALID_MS` after its last renewal began. Others take its rate only after they have seen its counter
 *   unchanged for `FORGET_AFTER_MS`. Each run measures with its own clock; clocks are never compared.
 * An object that cannot be parsed counts as deleted. Each run joins again with its next renewal, and until then the rates
 * in use may exceed a limit for `RENEW_EVERY_MS`.
 */
import * as z from 'zod/mini';
import type { Json } from '../../json.ts';
import { parseDocument, storedCount, storedObject } from './cas-document.ts';

export const RENEW_EVERY_MS = 3_000;
/** A run that has sent no request for this long leaves its rate to the others. */
export const IDLE_AFTER_MS = 10_000;
/** How long a run uses its rate after a renewal. */
export const VALID_MS = 10_000;
/** Longer than `VALID_MS`: a clock may run at half speed. After a run dies, the next run waits this long for its rate. */
export const FORGET_AFTER_MS = 25_000;

const requestsPerSecond = z.number().check(z.nonnegative());

const share = storedObject(() => ({
  /** Requests per second that the run may send. */
  rate: requestsPerSecond,
  /** The highest rate that it could use. */
  wants: requestsPerSecond,
  /** The rate of the brand in the settings of the run. */
  limit: z.number().check(z.positive()),
  renewals: storedCount,
}));

const budget = storedObject(() => ({
  version: z.literal(1),
  runs: z.record(z.string().check(z.regex(/^[\w-]+$/)), share),
  recentWrites: z.array(z.string()),
}));

export type RateBudget = z.infer<typeof budget>;

export function parseRateBudget(key: string) {
  return (stored: Json | undefined): RateBudget =>
    stored === undefined ? { version: 1, runs: {}, recentWrites: [] } : parseDocument(budget, key, stored);
}

/** What a run writes about itself. Rates are in requests per second. */
export interface Renewal {
  runId: string;
  limit: number;
  wants: number;
  /** The rate that it uses now; the document gives it no less. */
  inUse: number;
  renewals: number;
  gone: ReadonlySet<string>;
}

export function withRenewal(budget: RateBudget, renewal: Renewal): RateBudget {
  const { runId, limit, wants, renewals } = renewal;
  const others = othersOf(budget, renewal);
  const free = others.reduce((left, [, { rate }]) => left - rate, sharedLimit(budget, renewal));
  const inUse = Math.min(renewal.inUse, budget.runs[runId]?.rate ?? 0);
  const rate = Math.max(inUse, Math.min(fairRate(budget, renewal), free));
  return { ...budget, runs: { ...Object.fromEntries(others), [runId]: { rate, wants, limit, renewals } } };
}

export function withoutRun(budget: RateBudget, runId: string): RateBudget {
  if (!Object.hasOwn(budget.runs, runId)) return budget;
  const { [runId]: _ended, ...runs } = budget.runs;
  return { ...budget, runs };
}

/** The run's fair part of the shared limit: equal parts, and what a run cannot use goes to the others. */
export function fairRate(
  budget: RateBudget,
  renewal: Pick<Renewal, 'runId' | 'limit' | 'wants' | 'gone'>,
): number {
  const { wants } = renewal;
  const all = [wants, ...othersOf(budget, renewal).map(([, other]) => other.wants)].sort((a, b) => a - b);
  let left = sharedLimit(budget, renewal);
  for (const [index, want] of all.entries()) {
    const equalPart = left / (all.length - index);
    if (want >= equalPart) return Math.min(wants, equalPart);
    left -= want;
  }
  return wants;
}

function sharedLimit(budget: RateBudget, renewal: Pick<Renewal, 'runId' | 'limit' | 'gone'>): number {
  return Math.min(renewal.limit, ...othersOf(budget, renewal).map(([, { limit }]) => limit));
}

function othersOf({ runs }: RateBudget, { runId, gone }: Pick<Renewal, 'runId' | 'gone'>) {
  return Object.entries(runs).filter(([run]) => run !== runId && !gone.has(run));
}

/** By run: its counter, and since when the observer has seen this value, by the observer's monotonic clock. */
export type Sightings = ReadonlyMap<string, { renewals: number; sinceMs: number }>;

export function withSightings(before: Sightings, { runs }: RateBudget, atMs: number): Sightings {
  return new Map(
    Object.entries(runs).map(([run, { renewals }]) => {
      const known = before.get(run);
      return [run, known?.renewals === renewals ? known : { renewals, sinceMs: atMs }];
    }),
  );
}

/** The runs whose counter has not changed for `FORGET_AFTER_MS`, so that they have certainly stopped. */
export function silentRuns(sightings: Sightings, { runs }: RateBudget, nowMs: number): string[] {
  return Object.entries(runs).flatMap(([run, { renewals }]) => {
    const known = sightings.get(run);
    const isSilent = known?.renewals === renewals && nowMs - known.sinceMs >= FORGET_AFTER_MS;
    return isSilent ? [run] : [];
  });
}
