import type { Deadline } from '../shared/pipeline/context.ts';
import { note } from './output.ts';

/** A terminal and the programs around this one may each pass on the same Ctrl-C. */
const SAME_SIGNAL_MS = 500;
/** Requests that are still waited for so long after a signal are given up. */
const PATIENCE_MS = 5_000;
const INTERRUPTED = 130;

export interface GracefulShutdown {
  deadline: Deadline;
  signal: AbortSignal;
  /** From then on signals do again what they always do. */
  release: () => void;
}

/**
 * Ends a run in good order: after `maxSeconds`, or at the first SIGINT or SIGTERM; what was staged by then is kept.
 * A second signal ends the process at once.
 */
export function gracefulShutdown(maxSeconds: number | undefined): GracefulShutdown {
  const deadline = {
    softMs: Date.now() + (maxSeconds ?? Number.POSITIVE_INFINITY) * 1000,
    hardMs: Number.POSITIVE_INFINITY,
  };
  const controller = new AbortController();
  let stoppedMs: number | undefined;
  const stop = () => {
    const nowMs = Date.now();
    if (stoppedMs !== undefined && nowMs - stoppedMs > SAME_SIGNAL_MS) process.exit(INTERRUPTED);
    if (stoppedMs !== undefined) return;
    stoppedMs = nowMs;
    deadline.softMs = nowMs;
    setTimeout(() => controller.abort(), PATIENCE_MS).unref();
    note('Stopping in good order; what was read is kept. Once more to leave at once.');
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return {
    deadline,
    signal: controller.signal,
    release: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}
