import type { Lake } from '../../shared/ports.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

export type SimulatedLake = Required<Omit<Lake, 'iceberg'>>;

/** A lake in memory whose objects have ages in simulated time, because the vacuum deletes by age. Like S3, it cannot detect dead runs. */
export function openSimulatedLake(nowMs: () => number): SimulatedLake {
  const store = memoryStore({ now: () => new Date(nowMs()) });
  return { store, catalog: memoryCatalog(), runs: blindRegistry };
}
