import type { Deadline } from '../shared/context/time-budget.ts';
import { note } from './output.ts';

/** The terminal and a wrapper such as npx may each deliver the same Ctrl-C: within this time it is one signal. */
const DUPLICATE_SIGNAL_MS = 500;
/** How long requests in flight may still take after a signal before they are aborted. */
const REQUEST_GRACE_MS = 5_000;
const EXIT_INTERRUPTED = 130;

export interface GracefulShutdown {
  deadline: Deadline;
  signal: AbortSignal;
  /** Removes the handlers: from then on a signal ends the process as usual. */
  release: () => void;
}

/**
 * Lets a run end gracefully after `maxSeconds`, or at the first SIGINT or SIGTERM: it starts nothing new and keeps what
 * it has staged. A second signal ends the process immediately.
 */
export function gracefulShutdown(maxSeconds: number | undefined): GracefulShutdown {
  const deadline = {
    softMs: performance.now() + (maxSeconds ?? Number.POSITIVE_INFINITY) * 1000,
    hardMs: Number.POSITIVE_INFINITY,
  };
  const controller = new AbortController();
  let stoppedMs: number | undefined;
  const stop = () => {
    const nowMs = performance.now();
    if (stoppedMs !== undefined && nowMs - stoppedMs > DUPLICATE_SIGNAL_MS) process.exit(EXIT_INTERRUPTED);
    if (stoppedMs !== undefined) return;
    stoppedMs = nowMs;
    deadline.softMs = nowMs;
    setTimeout(() => controller.abort(), REQUEST_GRACE_MS).unref();
    note('Stopping; what was fetched so far is kept. Press Ctrl-C again to exit immediately.');
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return {
    deadline,
    signal: controller.signal,
    release: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}
