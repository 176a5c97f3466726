const toleranceMs = 2_000;

/** The service's clock, as far as its answers have told. */
export interface ServiceClock {
  nowMs(): number;
  /** What the machine's clock lacks; 0 until an answer shows otherwise. */
  readonly skewMs: number;
  /** Takes what the headers of an answer tell, be it a success or an error. */
  learn(headers: Headers, sentMs: number, receivedMs: number): void;
}

/**
 * A date bears whole seconds and is written somewhere between sending and receiving, so the clock is only
 * corrected where the date lies outside that span by more than 2 s: a slow answer is no skew.
 */
export function createServiceClock(wallMs: () => number): ServiceClock {
  let skewMs = 0;
  return {
    nowMs: () => wallMs() + skewMs,
    get skewMs() {
      return skewMs;
    },
    learn(headers, sentMs, receivedMs) {
      const dateMs = parseHttpDate(headers.get('date'));
      // With an age the answer was stored on its way, and its date with it.
      if (dateMs === undefined || headers.has('age')) return;
      const explains = (skew: number) =>
        dateMs >= sentMs + skew - toleranceMs && dateMs <= receivedMs + skew + toleranceMs;
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
export function parseHttpDate(text: string | null): number | undefined {
  if (text === null) return undefined;
  const ms = Date.parse(text);
  return Number.isFinite(ms) && httpDate(ms) === text ? ms : undefined;
}
