import { DAY_MS, MINUTE_MS } from '../days.ts';
import type { HttpHeaders } from '../ports.ts';

const TOLERANCE_MS = 2_000;
const AGREEMENT_MS = 15_000;
/**
 * A larger difference needs two responses that agree: one wrong `Date`, e.g. of a proxy, must not move a run's time.
 */
export const LARGE_SKEW_MS = 10 * MINUTE_MS;

/** A machine with a larger error could not use TLS: the date is wrong, not the machine. */
const MAX_SKEW_MS = 366 * DAY_MS;

/** Whether two clock skews (ms) lead to the same plan of days: two machines of a service differ by seconds. */
export function clocksAgree(skewMs: number, otherSkewMs: number): boolean {
  return Math.abs(skewMs - otherSkewMs) <= AGREEMENT_MS;
}

/** The service's clock, as far as the `Date` headers of its responses show it. */
export type ServiceClock = ReturnType<typeof createServiceClock>;

/**
 * I10: derives the service's clock from its responses. A date has whole seconds and is written between sending and
 * receiving. So the clock is corrected only if the date is outside that span by more than 2 s: a slow response is not
 * skew. A difference above ten minutes is believed after two responses agree. Before that, only a refused request is
 * signed with it.
 */
export function createServiceClock(wallMs: () => number) {
  let skewMs = 0;
  let signingSkewMs = 0;
  let doubtedMs: number | undefined;
  return {
    nowMs: () => wallMs() + skewMs,
    /** Clock skew: service time minus local time, ms; 0 until responses show a difference. */
    get skewMs(): number {
      return skewMs;
    },
    /** The skew that requests are signed with. */
    get signingSkewMs(): number {
      return signingSkewMs;
    },
    /** Whether the last response showed a large difference that no other response has shown yet. */
    get isInDoubt(): boolean {
      return doubtedMs !== undefined;
    },
    /** Signs with the difference in doubt, because the service has refused the other time. */
    signAsDoubted(): void {
      signingSkewMs = doubtedMs ?? signingSkewMs;
    },
    /** Learns from the headers of any response, even of an error. The times are local ones. */
    learn(headers: HttpHeaders, sentMs: number, receivedMs: number): void {
      const dateMs = parseHttpDate(headers.date);
      // A response with an age comes from a cache, and so does its date.
      if (dateMs === undefined || headers.age !== undefined) return;
      const explains = (skew: number) =>
        dateMs >= sentMs + skew - TOLERANCE_MS && dateMs <= receivedMs + skew + TOLERANCE_MS;
      if (Math.abs(dateMs - receivedMs) > MAX_SKEW_MS) return;
      // The service writes the date with the headers, just before they arrive, and cuts it to the second.
      const other = explains(0) ? 0 : dateMs + 500 - receivedMs;
      const seenMs = explains(skewMs) ? skewMs : other;
      const isConfirmed = doubtedMs !== undefined && clocksAgree(doubtedMs, seenMs);
      const isBelieved = seenMs === skewMs || isConfirmed || Math.abs(seenMs) <= LARGE_SKEW_MS;
      doubtedMs = isBelieved ? undefined : seenMs;
      if (isBelieved) skewMs = signingSkewMs = seenMs;
    },
  };
}

/** e.g. `Fri, 07 Jan 2022 07:21:16 GMT` */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}

/** Milliseconds of an HTTP-date; `undefined` for every other text. */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isFinite(ms) && httpDate(ms) === text ? ms : undefined;
}
