import * as z from 'zod/mini';
import { documentParser, storedId, storedObject, storedTime } from './cas-document.ts';

const holder = storedObject(() => ({
  /** Missing: the run is unknown. */
  run: z.optional(storedId),
  /** For people: host and process, or the request of a function. */
  name: z.string().check(z.regex(/^[\w.:/@ -]{1,200}$/)),
  /** For people, by the clock of the holder. */
  since: z.optional(storedTime),
}));

const lease = storedObject(() => ({
  /** The run that may send requests to the service of the brand; missing: no run. */
  holder: z.optional(holder),
  recentWrites: z.array(z.string()),
}));

export type BrandLease = z.infer<typeof lease>;

/** A damaged document counts as a holder that may still send requests. */
export const UNKNOWN_HOLDER: BrandLease = {
  holder: { name: 'an unknown run' },
  recentWrites: [],
};

export const parseBrandLease = documentParser(lease, { recentWrites: [] });

/** @returns a new object, so that the document is written even if the holder is the same */
export function heldBy({ recentWrites }: BrandLease, run: string, name: string, sinceMs: number): BrandLease {
  const shown = name.replaceAll(/[^\w.:/@ -]/g, '_').slice(0, 200) || run;
  return { recentWrites, holder: { run, name: shown, since: new Date(sinceMs).toISOString() } };
}

export function holderText({ holder }: BrandLease): string {
  if (!holder) return 'it has ended by now';
  return holder.since === undefined ? holder.name : `${holder.name}, since ${holder.since}`;
}

export function released({ recentWrites }: BrandLease): BrandLease {
  return { recentWrites };
}
