import { DAY_MS } from '../days.ts';
import type { HttpHeaders } from '../ports.ts';

const TOLERANCE_MS = 2_000;
const AGREEMENT_MS = 15_000;

/** A machine whose clock is further off could not use TLS: the date is wrong, not the machine. */
const MAX_SKEW_MS = 366 * DAY_MS;

/** Whether days that were planned with the one clock skew (ms) are the same with the other: two machines of a service differ by seconds. */
export function clocksAgree(skewMs: number, otherSkewMs: number): boolean {
  return Math.abs(skewMs - otherSkewMs) <= AGREEMENT_MS;
}

/** The service's clock, as far as the `Date` headers of its responses show it. */
export interface ServiceClock {
  nowMs(): number;
  /** Clock skew: service time minus local time, ms; 0 until a response shows otherwise. */
  readonly skewMs: number;
  /** Whether a response has said the service's time. */
  readonly isKnown: boolean;
  /** Learns from the headers of a response, be it a success or an error. The times are local ones. */
  learn(headers: HttpHeaders, sentMs: number, receivedMs: number): void;
}

/**
 * I10: the service's clock rules. A date has whole seconds and is written somewhere between sending and receiving, so
 * the clock is corrected only where the date is outside that span by more than 2 s: a slow response is not skew.
 */
export function createServiceClock(wallMs: () => number): ServiceClock {
  let skewMs = 0;
  let isKnown = false;
  return {
    nowMs: () => wallMs() + skewMs,
    get skewMs() {
      return skewMs;
    },
    get isKnown() {
      return isKnown;
    },
    learn(headers, sentMs, receivedMs) {
      const dateMs = parseHttpDate(headers.date);
      // A response with an age comes from a cache, and so does its date.
      if (dateMs === undefined || headers.age !== undefined) return;
      const explains = (skew: number) =>
        dateMs >= sentMs + skew - TOLERANCE_MS && dateMs <= receivedMs + skew + TOLERANCE_MS;
      if (Math.abs(dateMs - receivedMs) > MAX_SKEW_MS) return;
      isKnown = true;
      if (explains(skewMs)) return;
      // The date is written with the headers, just before they arrive, and cut to the second.
      skewMs = explains(0) ? 0 : dateMs + 500 - receivedMs;
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
