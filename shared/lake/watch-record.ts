/**
 * The watch record, `status/watch.json`, contains what the watcher has seen and reported. Without it, every watcher
 * run would report every problem again, and could not report that a problem is solved. `watcher/news.ts` changes it.
 */
import * as z from 'zod/mini';
import { settingsNameSchema } from './brand-settings.ts';
import { documentParser, storedObject, storedTime } from './cas-document.ts';

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
  /** By the id of a problem, or of what may become a problem: when a watcher run first saw it. */
  seen: z.record(z.string(), storedTime),
  /** By id: problems with an event. Each stays until its end has an event too and, if a message listed it, a message. */
  open: z.record(
    z.string(),
    storedObject(() => ({
      opened: detail,
      /** When a watcher run first no longer saw it; missing while it lasts. */
      goneAt: z.optional(storedTime),
      /** Of a finding: from when on its end is not reported. */
      until: z.optional(storedTime),
      isTold: z.optional(z.boolean()),
      isSolved: z.optional(z.boolean()),
    })),
  ),
  /** The last run with news: others wait for an hour. If `isTold` is false, it may have died before the message. */
  telling: z.optional(storedObject(() => ({ by: z.string(), at: storedTime, isTold: z.boolean() }))),
  /** Of the last event. */
  sequence: z.number(),
  pending: z.array(storedObject(() => ({ type: z.enum(['Problem Opened', 'Problem Solved']), detail }))),
  recentWrites: z.array(z.string()),
}));

export type WatchRecord = z.infer<typeof record>;

export const parseWatchRecord = documentParser(record, {
  seen: {},
  open: {},
  sequence: 0,
  pending: [],
  recentWrites: [],
});
