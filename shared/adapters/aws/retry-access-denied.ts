import { MINUTE_MS } from '../../days.ts';
import { BrandReportsError } from '../../errors.ts';
import type { Clock } from '../../ports.ts';

const ACCESS_DENIED_RETRY = { pauseMs: 5_000, timeoutMs: MINUTE_MS };

/**
 * Retries work for a minute while AWS denies access: the policies of a new role need some time to take effect.
 * @throws the last error of `work`
 */
export async function retryWhileAccessDenied<T>(
  clock: Pick<Clock, 'wallMs' | 'sleep'>,
  work: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.wallMs() + ACCESS_DENIED_RETRY.timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (!isAccessDenied(thrown) || clock.wallMs() >= untilMs) throw thrown;
    }
    await clock.sleep(ACCESS_DENIED_RETRY.pauseMs);
  }
}

/** Whether AWS refused the request: no permission, or credentials, region or bucket are wrong. */
export function isAccessDenied(thrown: unknown): boolean {
  return thrown instanceof BrandReportsError && thrown.code === 'aws_refused';
}
