/**
 * Opens a lake in memory or in a folder whose objects have ages in simulated time, because the vacuum deletes by age.
 */
import { openLake } from '../../shared/adapters/open-lake.ts';
import type { Lake, ObjectStore, ObjectWriter } from '../../shared/ports.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

/** A lake in memory takes half the time and, like S3, cannot detect dead runs. */
export type LakeKind = 'memory' | 'folder';

export interface SimulatedLake extends Required<Omit<Lake, 'iceberg'>> {
  close(): Promise<void>;
}

export async function openSimulatedLake(kind: LakeKind, nowMs: () => number): Promise<SimulatedLake> {
  const now = () => new Date(nowMs());
  if (kind === 'memory')
    return {
      store: memoryStore({ now }),
      catalog: memoryCatalog(),
      runs: { register: async () => async () => {}, isDead: async () => false },
      close: async () => {},
    };
  const folder = await temporaryFolder();
  const { store: disk, catalog = memoryCatalog(), runs } = await openLake(folder.path);
  const writtenAt = new Map<string, Date>();
  const unfinished = new Set<ObjectWriter>();
  const store: ObjectStore = {
    ...disk,
    async put(key, body, precondition) {
      const outcome = await disk.put(key, body, precondition);
      if (outcome !== 'conflict') writtenAt.set(key, now());
      return outcome;
    },
    create(key) {
      const writer = disk.create(key);
      unfinished.add(writer);
      return {
        ...writer,
        async finish() {
          await writer.finish();
          unfinished.delete(writer);
          writtenAt.set(key, now());
        },
      };
    },
    async *list(prefix) {
      for await (const object of disk.list(prefix))
        yield { ...object, modifiedAt: writtenAt.get(object.key) ?? object.modifiedAt };
    },
  };
  const close = async () => {
    for (const writer of unfinished) await writer.abort();
    await folder.remove();
  };
  return { store, catalog, runs, close };
}
