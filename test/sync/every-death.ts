import { hash } from 'node:crypto';
import { expect } from '@jest/globals';
import type { Lake } from '../../shared/ports.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { type SampleLake, blindRegistry } from './sample-lake.ts';

/** A process on a lake that dies as soon as its n-th operation has taken effect. @returns whether it had so many */
export async function dyingProcess(
  lake: SampleLake,
  n: number,
  process: (lake: SampleLake, dying: Lake) => Promise<unknown>,
): Promise<boolean> {
  const store = diesAtN(lake.store, n, { when: 'after' });
  const catalog = diesAtNCatalog(lake.catalog, store);
  try {
    await process(lake, { store, catalog, runs: blindRegistry });
  } catch (error) {
    // An operation may report the death as an error of its own.
    if (!store.life.dead && !(error instanceof ProcessDied)) throw error;
  }
  return store.operations >= n;
}

/** Two lakes with equal fingerprints behave the same from then on. */
function fingerprintOf({ store, catalog }: SampleLake): string {
  const objects = [...store.objects].map(([key, { body }]) => `${key} ${hash('md5', body)}`);
  const pointers = [...catalog.pointers].map((pointer) => pointer.join(' '));
  return hash('md5', [...objects, ...pointers].sort().join('\n'));
}

/**
 * For every n, lets a process die after its n-th operation, which equals a death before the next operation. If two
 * deaths leave the same lake, the second one is skipped.
 * @param begin makes the lake that the process finds
 * @param resume the runs after the death, which must repair the lake, and the checks of their result
 * @returns how many different lakes the deaths have left
 */
export async function everyDeath(
  begin: () => SampleLake,
  process: (lake: SampleLake, dying: Lake) => Promise<unknown>,
  resume: (lake: SampleLake, n: number) => Promise<unknown>,
): Promise<number> {
  const fingerprints = new Set<string>();
  for (let n = 1, isReached = true; isReached; n += 1) {
    expect(n).toBeLessThan(1000);
    const lake = begin();
    isReached = await dyingProcess(lake, n, process);
    const fingerprint = fingerprintOf(lake);
    if (fingerprints.has(fingerprint)) continue;
    fingerprints.add(fingerprint);
    await resume(lake, n);
  }
  return fingerprints.size;
}
