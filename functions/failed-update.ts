/*
 * CloudFormation rolls an update back by the reverse update, and says no more about it. A rollback that fails leaves a
 * stack that cannot be deployed, so the function has to know one; but an older version that is deployed again makes the
 * reverse update as well, and its failure must show. So the lake remembers which update has begun and not succeeded: only
 * the reverse of that one is a rollback, and only once.
 */
import * as z from 'zod/mini';
import { parseJson } from '../shared/json.ts';
import { FAILED_UPDATE_KEY } from '../shared/lake/paths.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { NoncePair } from './rebuild-catalog-event.ts';

const stored = z.object({ from: z.string(), to: z.string() });

/** Remembers the update until `endUpdate`. @returns whether it rolls back the one that was remembered */
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

/** What is no pair is overwritten: it can be no reason to take anything for a rollback. */
function parsed(body: Uint8Array): NoncePair | undefined {
  try {
    return z.safeParse(stored, parseJson(new TextDecoder().decode(body))).data;
  } catch {
    return undefined;
  }
}
