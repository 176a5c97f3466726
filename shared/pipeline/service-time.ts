import type { Clock, ReportService } from '../ports.ts';

/** The clock of a run. `now` judges what is due, open or closed. */
export interface ServiceTime extends Clock {
  /** The service's time in milliseconds: the machine's, corrected by the clock skew. Nothing replaces it. */
  serviceMs: () => number;
}

/**
 * I2: time as the service has it. A machine whose clock is ahead would close a day that is not over, and one whose clock is
 * behind would read yesterday as the open day. A time that replaces it can lie in the past only: nothing can be known
 * of days that have not been.
 */
export function serviceTime(clock: Clock, service: Pick<ReportService, 'clockSkewMs'>): ServiceTime {
  const serviceMs = () => clock.wallMs() + service.clockSkewMs;
  const latestMs = clock.fixedNow?.getTime() ?? Number.POSITIVE_INFINITY;
  return { ...clock, serviceMs, now: () => new Date(Math.min(latestMs, serviceMs())) };
}
