/**
 * The watch record, `status/watch.json`, contains what the watcher has seen and reported. Without it, every watcher
 * run would report every problem again, and could not report that a problem is solved. `watcher/news.ts` changes it.
 */
import * as z from 'zod/mini';
import { settingsNameSchema } from './brand-settings.ts';
import { documentParser, storedObject, storedTime } from './cas-document.ts';

const lasting = () => ({
  /** When a watcher run first no longer saw it; missing while it lasts. */
  goneAt: z.optional(storedTime),
  /** Of a finding: its day, and the time from which on its end is not reported. */
  finding: z.optional(storedObject(() => ({ day: z.string(), until: storedTime }))),
});

/** What an event contains: docs/reference/events.md has the meaning of each field. */
const detail = storedObject(() => ({
  id: z.string(),
  kind: z.enum(['problem', 'finding']),
  ...{ brand: z.string(), report: z.string(), table: z.string() },
  days: z.array(z.string()),
  ...{ what: z.string(), why: z.string(), since: storedTime, at: storedTime },
  settings: z.optional(settingsNameSchema),
  sequence: z.number(),
}));

const record = storedObject(() => ({
  version: z.literal(1),
  /** By the id of a problem, or of what may become a problem: when a watcher run first saw it. */
  seen: z.record(z.string(), storedTime),
  /** By id: the problems that the last message left open, and its wording of each. */
  told: z.record(
    z.string(),
    storedObject(() => ({ since: storedTime, what: z.string(), ...lasting() })),
  ),
  /** The last run with news: others wait for an hour. If `isTold` is false, it may have died before the message. */
  telling: z.optional(storedObject(() => ({ by: z.string(), at: storedTime, isTold: z.boolean() }))),
  /** Missing as long as nobody receives events. */
  events: z.optional(
    storedObject(() => ({
      sequence: z.number(),
      /** By id: the problems whose opening is an event and whose solution is not yet an event. */
      open: z.record(
        z.string(),
        storedObject(() => ({ opened: detail, ...lasting() })),
      ),
      pending: z.array(storedObject(() => ({ type: z.enum(['Problem Opened', 'Problem Solved']), detail }))),
    })),
  ),
  recentWrites: z.array(z.string()),
}));

export type WatchRecord = z.infer<typeof record>;

export const parseWatchRecord = documentParser(record, { version: 1, seen: {}, told: {}, recentWrites: [] });
