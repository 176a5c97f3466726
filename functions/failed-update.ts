/*
 * Detects the rollback of an update. CloudFormation rolls an update back with the reverse update and does not mark it.
 * If a rollback fails, the stack cannot be deployed any more, so the function must recognise rollbacks and let them
 * succeed. But deploying an older version is a reverse update too, and its failure must show. So the lake records which
 * update has begun and not succeeded: only the reverse of that update is a rollback, and only once.
 */
import * as z from 'zod/mini';
import { parseJson } from '../shared/json.ts';
import { FAILED_UPDATE_KEY } from '../shared/lake/paths.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { NoncePair } from './rebuild-catalog-event.ts';

const stored = z.object({ from: z.string(), to: z.string() });

/** Records the update until `endUpdate`. @returns whether this update rolls back the recorded update */
export async function beginUpdate(store: ObjectStore, { from, to }: NoncePair): Promise<boolean> {
  const found = await store.get(FAILED_UPDATE_KEY);
  const failed = found && parsed(found.body);
  if (failed?.from === to && failed.to === from) return true;
  const body = Buffer.from(JSON.stringify({ from, to }));
  await store.put(FAILED_UPDATE_KEY, body, found ? { ifMatch: found.etag } : { ifAbsent: true });
  return false;
}

export async function endUpdate(store: ObjectStore): Promise<void> {
  await store.delete([FAILED_UPDATE_KEY]);
}

/** Anything but a pair is overwritten: it cannot prove that an update is a rollback. */
function parsed(body: Uint8Array): NoncePair | undefined {
  try {
    return z.safeParse(stored, parseJson(new TextDecoder().decode(body))).data;
  } catch {
    return undefined;
  }
}
