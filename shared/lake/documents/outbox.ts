/*
 * The outbox of a day has its events that nobody is known to have received. The commit of a version adds its event in the
 * same write, so that no crash comes between the two; `run/send-events.ts` sends the events and removes them.
 */
import * as z from 'zod/mini';
import { DAY_MS } from '../../days.ts';
import { storedCount, storedId, storedObject, storedTime } from './cas-document.ts';

const dayEvent = storedObject(() => ({
  type: z.enum(['Day Published', 'Day Changed']),
  state: z.enum(['open', 'complete', 'settled', 'unverified']),
  version: storedId,
  /** The version of the event before; `null` for none. */
  previousVersion: z.nullable(storedId),
  rows: storedCount,
  /** By currency, by role: the sum, as text. */
  sums: z.record(z.string(), z.record(z.string(), z.string())),
  /** Their names; missing until a run is about to send the event. */
  findings: z.optional(z.array(z.string())),
  /** One more than that of the event before: it orders the events of a day. */
  sequence: storedCount,
  /** When the version was committed, by the machine's clock. */
  at: storedTime,
}));

/** `sequence` and `version` are those of the day's last event, also after it was received: no later event has its number. */
export const outbox = storedObject(() => ({
  sequence: storedCount,
  version: storedId,
  /** The oldest first. */
  pending: z.array(dayEvent),
}));

/** An event of a day that waits to be received. */
export type DayEvent = z.infer<typeof dayEvent>;
type Outbox = z.infer<typeof outbox>;

/** What an event needs of a version: `Committed` of the ledger. */
interface Version extends Pick<DayEvent, 'rows'> {
  snapshot: string;
  digest: string;
  state: 'open' | 'unconfirmed' | 'closed' | 'settled';
  timeZone?: string | undefined;
  values?: { totals?: { byCurrency: DayEvent['sums'] } | undefined } | undefined;
}

/** A day to which nobody listens must not grow: the newest events stay. */
const MAX_PENDING = 20;

/**
 * The outbox after a commit. A reading that finds the same content has no event, unless it closes the day.
 * @param sendsOpenDay whether versions of a day that is not over have events
 */
export function outboxAfter(
  { events, committed: before }: { events?: Outbox | undefined; committed?: Version | undefined },
  after: Version,
  at: string,
  sendsOpenDay: boolean,
): Outbox | undefined {
  const { snapshot: version, rows, state } = after;
  const wasClosed = before !== undefined && isClosed(before);
  const isFirst = isClosed(after) && !wasClosed;
  const isChanged = before?.digest !== after.digest && (isClosed(after) || sendsOpenDay);
  if (!isFirst && !isChanged) return events;
  // A day begins with the time in seconds. A repair loses its number: a clock may have been a day ahead then, and behind now.
  const beginMs = Date.parse(at) + (before && before.timeZone === undefined ? 2 * DAY_MS : 0);
  const sequence = events ? events.sequence + 1 : Math.floor(beginMs / 1000);
  const event: DayEvent = {
    type: isFirst ? 'Day Published' : 'Day Changed',
    state: state === 'open' || state === 'settled' ? state : 'complete',
    ...{ version, previousVersion: events?.version ?? (wasClosed ? before.snapshot : null), rows },
    ...{ sums: after.values?.totals?.byCurrency ?? {}, sequence, at },
  };
  return { ...events, sequence, version, pending: [...(events?.pending ?? []), event].slice(-MAX_PENDING) };
}

/** Of a repaired day nobody knows whether it was closed, or which events were received: it is published again. */
function isClosed({ state, timeZone }: Version): boolean {
  return state !== 'open' && (state !== 'unconfirmed' || timeZone !== undefined);
}
