/**
 * `status/watch.json`: what the watcher has seen and told. Without it every look would tell of every problem again, and no
 * look could tell that one is solved. What changes it is in `watcher/news.ts`.
 */
import * as z from 'zod/mini';
import type { Json } from '../../json.ts';
import { parseDocument, storedObject, storedTime } from './cas-document.ts';

const lasting = () => ({
  /** When a watcher run first did not see it; missing while it lasts. */
  goneAt: z.optional(storedTime),
  /** Of a finding: its day, and from when on nobody is told that it is gone. */
  finding: z.optional(storedObject(() => ({ day: z.string(), until: storedTime }))),
});

/** What an event contains: docs/reference/events.md has the meaning of each field. */
const detail = storedObject(() => ({
  id: z.string(),
  kind: z.enum(['problem', 'finding']),
  ...{ brand: z.string(), report: z.string(), table: z.string() },
  days: z.array(z.string()),
  ...{ what: z.string(), why: z.string(), since: storedTime, at: storedTime },
  sequence: z.number(),
}));

const record = storedObject(() => ({
  version: z.literal(1),
  /** By the id of what is or may become a problem: when a look first saw it. */
  seen: z.record(z.string(), storedTime),
  /** By id: the problems that the last message left open, and how it put them. */
  told: z.record(
    z.string(),
    storedObject(() => ({ since: storedTime, what: z.string(), ...lasting() })),
  ),
  /** The last look that had something to tell, and when: others wait for an hour. Not told: it may have died before it. */
  telling: z.optional(storedObject(() => ({ by: z.string(), at: storedTime, isTold: z.boolean() }))),
  /** Missing as long as nobody receives events. */
  events: z.optional(
    storedObject(() => ({
      /** Of the newest event. */
      sequence: z.number(),
      /** By id: the problems whose opening is an event, and whose solution is not yet. */
      open: z.record(
        z.string(),
        storedObject(() => ({ opened: detail, ...lasting() })),
      ),
      /** Perhaps not received yet. */
      pending: z.array(storedObject(() => ({ type: z.enum(['Problem Opened', 'Problem Solved']), detail }))),
    })),
  ),
  recentWrites: z.array(z.string()),
}));

/** What the watcher has seen and told. */
export type WatchRecord = z.infer<typeof record>;

/** Reads a stored record; `undefined` is that of a watcher that has never looked. */
export function parseWatchRecord(key: string) {
  return (stored: Json | undefined): WatchRecord => {
    if (stored === undefined) return { version: 1, seen: {}, told: {}, recentWrites: [] };
    return parseDocument(record, key, stored);
  };
}
