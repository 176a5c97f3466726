import { setTimeout } from 'node:timers/promises';
import { type Backoff, fullJitterMs } from '../backoff.ts';

/** @param retry 0 for the first retry */
export async function sleepWithJitter(retry: number, backoff: Backoff): Promise<void> {
  await setTimeout(fullJitterMs(retry, backoff, Math.random()));
}
