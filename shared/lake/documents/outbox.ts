/*
 * The outbox of a day: its events that nobody is known to have received. The commit of a version adds its event in the same
 * write, so that no crash comes between the two; `run/send-events.ts` removes what was received with a later write.
 */
import * as z from 'zod/mini';
import { storedCount, storedId, storedObject, storedTime } from './cas-document.ts';

const dayEvent = storedObject(() => ({
  /** Orders the events of a day: one more than that of the event before. */
  sequence: storedCount,
  type: z.enum(['Day Published', 'Day Changed']),
  /** When the version was committed, by the machine's clock. */
  at: storedTime,
  state: z.enum(['open', 'complete', 'settled', 'unverified']),
  version: storedId,
  /** The version of the event before; `null` for none. */
  previousVersion: z.nullable(storedId),
  rows: storedCount,
  /** By currency, by role: the sum, as text. */
  sums: z.record(z.string(), z.record(z.string(), z.string())),
  /** The names of the findings; missing until a run is about to send the event, which repeats what was sent. */
  findings: z.optional(z.array(z.string())),
}));

/** The events of a day. */
export const outbox = storedObject(() => ({
  /** Of the day's last event. It stays when all are received, so that no later event has it too. */
  sequence: storedCount,
  /** Of that event. */
  version: storedId,
  /** Not known to be received, the oldest first. */
  pending: z.array(dayEvent),
}));

/** An event of a day that waits to be received. */
export type DayEvent = z.infer<typeof dayEvent>;
/** The events of a day. */
export type Outbox = z.infer<typeof outbox>;

/** What an event needs of a version: `Committed` of the ledger. */
interface Version {
  snapshot: string;
  rows: number;
  digest: string;
  state: 'open' | 'unconfirmed' | 'closed' | 'settled';
  timeZone?: string | undefined;
  values?: { totals?: { byCurrency: DayEvent['sums'] } | undefined } | undefined;
}

/** A day to which nobody listens must not grow: so many events are kept, the newest. */
const MAX_PENDING = 20;

/**
 * The outbox after a commit.
 * @param sendsOpenDay whether versions of a day that is not over have events
 * @returns the same outbox if the commit has no event
 */
export function outboxAfter(
  events: Outbox | undefined,
  commit: { before: Version | undefined; after: Version; at: string; sendsOpenDay: boolean },
): Outbox | undefined {
  const { before, after, at } = commit;
  const type = typeOf(commit);
  if (!type) return events;
  const event: DayEvent = {
    // Without a counter (a new day, or a repair that has lost it) the time in seconds: it is greater than any number before.
    sequence: events ? events.sequence + 1 : Math.floor(Date.parse(at) / 1000),
    ...{ type, at, version: after.snapshot },
    state: after.state === 'open' || after.state === 'settled' ? after.state : 'complete',
    previousVersion: events?.version ?? (before && isClosed(before) ? before.snapshot : null),
    rows: after.rows,
    sums: after.values?.totals?.byCurrency ?? {},
  };
  const pending = [...(events?.pending ?? []), event].slice(-MAX_PENDING);
  return { ...events, sequence: event.sequence, version: event.version, pending };
}

/** A reading that finds the same content has no event, unless it closes the day. */
function typeOf({
  before,
  after,
  sendsOpenDay,
}: Parameters<typeof outboxAfter>[1]): DayEvent['type'] | undefined {
  const isOther = before?.digest !== after.digest;
  if (!isClosed(after)) return sendsOpenDay && isOther ? 'Day Changed' : undefined;
  if (!before || !isClosed(before)) return 'Day Published';
  return isOther ? 'Day Changed' : undefined;
}

/** Of a repaired day nobody knows whether it was closed, or which events were received: it is published again. */
function isClosed({ state, timeZone }: Version): boolean {
  return state !== 'open' && (state !== 'unconfirmed' || timeZone !== undefined);
}
