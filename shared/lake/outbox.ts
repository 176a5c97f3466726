/*
 * The outbox of a day stores the events that may not have been received yet. The commit of a version adds its event in the
 * same write, so that no crash can separate them; `run/send-events.ts` sends the events and removes them.
 */
import * as z from 'zod/mini';
import { DAY_MS } from '../base/days.ts';
import { settingsNameSchema } from './brand-settings.ts';
import { storedCount, storedId, storedObject, storedTime } from './cas-document.ts';

const dayEvent = storedObject(() => ({
  type: z.enum(['Day Published', 'Day Changed']),
  state: z.enum(['complete', 'settled', 'unverified']),
  version: storedId,
  /** The version that receivers have known so far; `null` for a new day. */
  previousVersion: z.nullable(storedId),
  rows: storedCount,
  /** By currency, by role: the sum, as text. */
  sums: z.record(z.string(), z.record(z.string(), z.string())),
  /** The names of the findings; missing until a run is about to send the event. */
  findings: z.optional(z.array(z.string())),
  settings: z.optional(settingsNameSchema),
  /** One more than in the previous event of the day; it orders the events of a day. */
  sequence: storedCount,
  /** When the version was committed, by the machine's clock. */
  at: storedTime,
}));

/** Of the day's last event, even after it was received, so that no later event repeats its number. */
export const outbox = storedObject(() => ({
  sequence: storedCount,
  version: storedId,
  /** The oldest first. */
  pending: z.array(dayEvent),
}));

export type DayEvent = z.infer<typeof dayEvent>;
type Outbox = z.infer<typeof outbox>;

interface Version extends Pick<DayEvent, 'rows'> {
  snapshot: string;
  digest: string;
  state: 'open' | 'unconfirmed' | 'closed' | 'settled';
  timeZone?: string | undefined;
  values?: { totals?: { byCurrency: DayEvent['sums'] } | undefined } | undefined;
}

/** Without this limit, a day whose events nobody receives would grow. The newest events stay. */
const MAX_PENDING = 20;

/**
 * The outbox after a commit. A reading that finds the same content adds no event, unless it closes the day. A version of
 * the open day has no event: each run would send one, about a day that nobody can use yet.
 */
export function outboxAfter(
  { events, committed: before }: { events?: Outbox | undefined; committed?: Version | undefined },
  after: Version,
  at: string,
): Outbox | undefined {
  const { snapshot: version, rows, state } = after;
  const wasClosed = before !== undefined && isClosed(before);
  const isFirst = isClosed(after) && !wasClosed;
  const isChanged = before?.digest !== after.digest && isClosed(after);
  if (!isFirst && !isChanged) return events;
  // The first number of a day is the time in seconds. A ledger that is made from snapshots lacks the number, and the clock may have been a day
  // ahead before and may be behind now: two days more keep the order.
  const beginMs = Date.parse(at) + (before && before.timeZone === undefined ? 2 * DAY_MS : 0);
  const sequence = events ? events.sequence + 1 : Math.floor(beginMs / 1000);
  const event: DayEvent = {
    type: isFirst ? 'Day Published' : 'Day Changed',
    state: state === 'settled' ? state : 'complete',
    ...{ version, previousVersion: events?.version ?? (wasClosed ? before.snapshot : null), rows },
    ...{ sums: after.values?.totals?.byCurrency ?? {}, sequence, at },
  };
  return { ...events, sequence, version, pending: [...(events?.pending ?? []), event].slice(-MAX_PENDING) };
}

/** A day whose ledger was made from snapshots is published again, because nobody knows whether it was closed or which events were received. */
function isClosed({ state, timeZone }: Version): boolean {
  return state !== 'open' && (state !== 'unconfirmed' || timeZone !== undefined);
}
