import { MINUTE_MS } from '../base/days.ts';
import type { HttpHeaders } from '../ports.ts';

const TOLERANCE_MS = 2_000;
/** The machines of a service, and a machine whose clock is corrected slowly, differ by less. */
export const LARGE_SKEW_MS = 10 * MINUTE_MS;

export type ServiceClock = ReturnType<typeof createServiceClock>;

/**
 * I10: derives the service's clock from its responses. A date has whole seconds and is written between sending and
 * receiving. So the clock is corrected only if the date is outside that span by more than 2 s: a slow response is not
 * skew. A jump of more than ten minutes counts only if the next response agrees: one wrong `Date`, e.g. of a proxy, must
 * not move a run's time. Before that, only a request that was refused is signed with it.
 */
export function createServiceClock(wallMs: () => number) {
  let skewMs: number | undefined;
  let doubtedMs: number | undefined;
  return {
    nowMs: () => wallMs() + (skewMs ?? 0),
    /** Clock skew: service time minus local time, ms; `undefined` until responses have shown it. */
    get skewMs(): number | undefined {
      return skewMs;
    },
    get lastSkewMs(): number {
      return doubtedMs ?? skewMs ?? 0;
    },
    /** Whether the only responses so far have shown a large skew on which no two of them agree. */
    get isUnsettled(): boolean {
      return skewMs === undefined && doubtedMs !== undefined;
    },
    /** Learns from the headers of any response, even of an error. The times are local ones. */
    learn(headers: HttpHeaders, sentMs: number, receivedMs: number): void {
      const dateMs = parseHttpDate(headers.date);
      // A response with an age comes from a cache, and so does its date.
      if (dateMs === undefined || headers.age !== undefined) return;
      const explains = (skew: number) =>
        dateMs >= sentMs + skew - TOLERANCE_MS && dateMs <= receivedMs + skew + TOLERANCE_MS;
      // The service writes the date with the headers, just before they arrive, and cuts it to the second.
      const seenMs = [skewMs ?? 0, 0].find(explains) ?? dateMs + 500 - receivedMs;
      const isNear = (otherMs: number | undefined) =>
        otherMs !== undefined && Math.abs(seenMs - otherMs) <= LARGE_SKEW_MS;
      const isBelieved = isNear(skewMs ?? 0) || isNear(doubtedMs);
      doubtedMs = isBelieved ? undefined : seenMs;
      if (isBelieved) skewMs = seenMs;
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
