import type { Deadline } from '../shared/context/time-budget.ts';
import { EXIT_INTERRUPTED } from './exit-codes.ts';
import { note } from './output.ts';

/** The terminal and a wrapper such as npx may each deliver the same Ctrl-C: signals within this time count as one. */
const DUPLICATE_SIGNAL_MS = 500;
/** How long requests in flight may still take after a signal before they are aborted. */
const REQUEST_GRACE_MS = 5_000;

/** After `maxSeconds`, or the first SIGINT or SIGTERM, the run starts no further work. A second signal ends the process. */
export async function untilStopped<Outcome>(
  maxSeconds: number | undefined,
  run: (limits: { deadline: Deadline; signal: AbortSignal }) => Promise<Outcome>,
): Promise<Outcome> {
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
  try {
    return await run({ deadline, signal: controller.signal });
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
