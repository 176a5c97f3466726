import type { Clock, ReportService } from '../ports.ts';

/** The clocks of a run: the machine's and the service's, whose difference the service's responses show. */
export interface RunClock extends Clock {
  /** By which days are planned and closed. */
  now: () => Date;
  /** The earlier of both, in milliseconds: ages are judged by it, because a clock ahead must not make what is young look old. */
  earlierMs: () => number;
  /** The later of both: what was written after it was written by a clock that was ahead. */
  laterMs: () => number;
}

/**
 * I2: `now` plans and closes days by the earlier of both clocks, so that neither closes a day that is not over. A time
 * that replaces it (`--now`) can lie in the past only, and replaces it for nothing else.
 */
export function runClock(clock: Clock, service: Pick<ReportService, 'clockSkewMs'>): RunClock {
  const earlierMs = () => clock.wallMs() + Math.min(0, service.clockSkewMs);
  const laterMs = () => clock.wallMs() + Math.max(0, service.clockSkewMs);
  const latestMs = clock.fixedNow?.getTime() ?? Number.POSITIVE_INFINITY;
  return { ...clock, earlierMs, laterMs, now: () => new Date(Math.min(latestMs, earlierMs())) };
}
