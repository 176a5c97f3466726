import { setTimeout } from 'node:timers/promises';

/** Waits a random time that at most doubles with every try (from 0) up to `capMs`. */
export async function sleepWithJitter(tried: number, baseMs: number, capMs: number): Promise<void> {
  await setTimeout(Math.random() * Math.min(capMs, baseMs * 2 ** tried));
}
