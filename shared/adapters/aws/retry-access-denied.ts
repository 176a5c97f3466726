import { BrandReportsError } from '../../errors.ts';
import type { Clock } from '../../ports.ts';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 5_000;

/** Tries again for a minute what AWS refuses: the policies of a role that is new take a while to hold everywhere. */
export async function retryWhileAccessDenied<T>(
  clock: Pick<Clock, 'wallMs' | 'sleep'>,
  work: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.wallMs() + PATIENCE_MS;
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!isAccessDenied(thrown) || clock.wallMs() >= untilMs) throw thrown;
    }
    await clock.sleep(PAUSE_MS);
  }
}

export function isAccessDenied(thrown: unknown): boolean {
  return thrown instanceof BrandReportsError && thrown.code === 'aws_refused';
}
