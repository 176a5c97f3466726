/**
 * `ledger/<report>/<brand>/index.json`: which months a run has to look at. Without it every run would read the ledgers of
 * all months since the start date to find that nothing in them is due.
 * The index is a hint and can be rebuilt from the ledgers, so it may err only in one direction: `mayBeDue` is true
 * whenever the index does not know. That is why a run marks a month dirty before it claims a day in it and records what
 * it knows only after its work: if it dies in between, the month stays dirty and the next run looks. Where another run
 * has been at work in the month since this one read its ledger, neither knows what the other did, and the next run looks.
 * A report that looks up another one is due when that one changes: its index says which content of the other report's
 * month it has examined, and the other report's index says which content that month has.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { HOUR_MS } from '../../days.ts';
import { ERROR_KINDS } from '../../errors.ts';
import type { Json } from '../../json.ts';
import { STATUSES } from '../../outcome.ts';
import { parseDocument, storedCount, storedTime, storedObject } from './cas-document.ts';
import type { Ledger } from './ledger.ts';

const month = storedObject(() => ({
  /** When a day of the month is next due (ISO 8601); `null` where all its days are settled. */
  nextDue: z.nullable(storedTime),
  /** `now` of the run that computed `nextDue`; ignored by runs with an earlier `now` (`--now`). */
  asOf: z.optional(storedTime),
  /** Fingerprint of what is committed in the month (`monthContent`), for reports that look this one up. */
  content: z.optional(z.string()),
  /** Of a report with an upstream: the content of the upstream month that `nextDue` follows from. */
  upstream: z.optional(z.string()),
  /** The newest complete day of the month; `null` where it has none. */
  newestComplete: z.optional(z.nullable(z.string())),
  /**
   * The runs at work in the month, and since when (wall clock). While there is one, any day there may be due. `shared`:
   * another run was at work there too when this one began, or had been since this one read the index.
   */
  dirty: z.optional(
    z.array(storedObject(() => ({ by: z.string(), at: storedTime, shared: z.optional(z.literal(true)) }))),
  ),
}));

/** How the last run that read what was due ended, for the watcher. Runs of a range leave it: they would hide a schedule that stopped. */
const lastRun = storedObject(() => ({
  /** When it ended (wall clock). */
  at: storedTime,
  /** When the first of the runs in a row that ended like this did. */
  since: storedTime,
  status: z.enum(STATUSES),
  /** The error of a run that failed. */
  kind: z.optional(z.enum(ERROR_KINDS)),
  code: z.optional(z.string()),
  message: z.optional(z.string()),
  /** None: a run that failed did so before it read a day. */
  failedDays: storedCount,
  requests: storedCount,
  throttles: storedCount,
}));

const index = storedObject(() => ({
  version: z.literal(1),
  /** Fingerprint of the policy that the due times follow from. */
  policy: z.string(),
  months: z.record(z.string(), month),
  /** The continuations of runs with little time: ranges by `from..to`, and `due` for what the policy makes due. */
  continuations: z.record(
    z.string(),
    storedObject(() => ({ id: z.string(), since: storedTime })),
  ),
  /** Whether the service ever returned a record. Until then empty responses prove nothing: the days are unverified. */
  hasReturnedRecords: z.boolean(),
  /** The setting `endDate` that a probe found to agree with the service. */
  endDate: z.optional(z.string()),
  /** When the service last asked for a pause instead of answering the probe. */
  probePausedAt: z.optional(storedTime),
  vacuumedAt: z.optional(storedTime),
  /** When a run last examined all months, whatever the index said of them. */
  examinedAt: z.optional(storedTime),
  lastRun: z.optional(lastRun),
  recentWrites: z.array(z.string()),
}));

/** A hint, rebuildable from the ledgers: which months a run has to look at. One per report and brand. */
export type MonthIndex = z.infer<typeof index>;

/** Reads a stored index; `undefined` is an index without hints. */
export function parseMonthIndex(key: string) {
  return (stored: Json | undefined): MonthIndex => {
    if (stored === undefined)
      return {
        version: 1,
        policy: '',
        months: {},
        continuations: {},
        hasReturnedRecords: false,
        recentWrites: [],
      };
    return parseDocument(index, key, stored);
  };
}

/** How a run ended, as its report's index keeps it. */
export type LastRun = z.infer<typeof lastRun>;

/** So often runs with nothing to do show that they live: rarer than they run, because each time is a write. */
export const LAST_RUN_RENEWED_MS = 3 * HOUR_MS;

/** The index with how a run ended. */
export function withLastRun(index: MonthIndex, ended: Omit<LastRun, 'since'>): MonthIndex {
  const { lastRun: before } = index;
  const isAlike = before?.status === ended.status && before.kind === ended.kind;
  return { ...index, lastRun: { ...ended, since: isAlike ? before.since : ended.at } };
}

/** Whether the index need not be written for this run alone: it is complete, as the last one was not long ago. */
export function isLastRunFresh({ lastRun }: MonthIndex, ended: Omit<LastRun, 'since'>): boolean {
  if (lastRun?.status !== 'complete' || ended.status !== 'complete') return false;
  const ageMs = Date.parse(ended.at) - Date.parse(lastRun.at);
  return ageMs >= 0 && ageMs < LAST_RUN_RENEWED_MS;
}

const DIRTY_MS = HOUR_MS;

/** What the index says of a month. */
export type KnownMonth = MonthIndex['months'][string];

/**
 * True where a day of the month may be due, as far as the index knows.
 * @param upstream of a report with an upstream: that report's index
 */
export function mayBeDue(
  index: MonthIndex,
  policy: string,
  month: string,
  nowMs: number,
  upstream?: MonthIndex,
): boolean {
  const known = index.months[month];
  if (!known || known.dirty || index.policy !== policy) return true;
  if (known.asOf === undefined || Date.parse(known.asOf) > nowMs) return true;
  if (upstream && !isExamined(known, upstream.months[month])) return true;
  return known.nextDue !== null && Date.parse(known.nextDue) <= nowMs;
}

/** Whether the upstream month has the content that was examined. */
function isExamined({ upstream: examined }: KnownMonth, upstream: KnownMonth | undefined): boolean {
  return examined !== undefined && !upstream?.dirty && upstream?.content === examined;
}

/** Fingerprint of what a lookup needs to know of the committed days of a month. */
export function monthContent({ days }: Pick<Ledger, 'days'>): string {
  const committed = Object.entries(days).flatMap(([day, entry]) =>
    entry.committed ? [[day, entry.committed.digest, entry.committed.state]] : [],
  );
  const sorted = committed.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted), 'hex').slice(0, 16);
}

/** The latest time that a run has recorded as its present, in milliseconds; 0 where none has. */
export function latestRecordedMs({ months, vacuumedAt, examinedAt }: MonthIndex): number {
  const times = [vacuumedAt, examinedAt, ...Object.values(months).map(({ asOf }) => asOf)];
  return Math.max(0, ...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
}

/** What the index said of months before their ledgers were read. */
export type SeenMonths = ReadonlyMap<string, KnownMonth | undefined>;

/** Marks months as being worked in, before anything in them is claimed. */
export function markMonthsDirty(
  index: MonthIndex,
  months: readonly string[],
  { by, at }: { by: string; at: string },
  seen: SeenMonths,
): MonthIndex {
  const unmarked = months.filter((month) => !index.months[month]?.dirty?.some((mark) => mark.by === by));
  if (unmarked.length === 0) return index;
  const marked = unmarked.map((month): [string, KnownMonth] => {
    const isShared = !isUntouched(index, month, by, seen);
    const others = index.months[month]?.dirty ?? [];
    return [month, { nextDue: null, dirty: [...others, { by, at, ...(isShared && { shared: true }) }] }];
  });
  return { ...index, months: { ...index.months, ...Object.fromEntries(marked) } };
}

/** Whether no other run is at work in the month, or has been since the index was seen: one that ends leaves a due time. */
function isUntouched(index: MonthIndex, month: string, run: string, seen: SeenMonths): boolean {
  const known = index.months[month];
  if (!known?.dirty) return isDeepStrictEqual(known, seen.get(month));
  const [mark, ...others] = known.dirty;
  return mark?.by === run && !mark.shared && others.length === 0 && known.nextDue === null;
}

/** What a run knows of a month that it has examined. */
export interface ExaminedMonth extends Pick<KnownMonth, 'content' | 'upstream' | 'newestComplete'> {
  /** When a day of it is next due, in milliseconds; `null` where all its days are settled. */
  dueMs: number | null;
}

/**
 * Records what a run knows of the months that it has examined. Where another run is at work in one, or has been, the
 * next run has to look; a mark that is an hour old is that of a run that has died.
 */
export function recordMonths(
  index: MonthIndex,
  examined: ReadonlyMap<string, ExaminedMonth>,
  policy: string,
  run: { id: string; wallMs: number; nowMs: number; seen: SeenMonths },
): MonthIndex {
  /** The marks of the other runs that may still be at work. */
  const othersIn = (known: KnownMonth | undefined) =>
    (known?.dirty ?? []).filter(
      ({ by, at }) => by !== run.id && Math.abs(run.wallMs - Date.parse(at)) < DIRTY_MS,
    );
  const kept = Object.entries(index.months).filter(
    ([, known]) => index.policy === policy || othersIn(known).length > 0,
  );
  const months = Object.fromEntries(kept);
  const now = new Date(run.nowMs).toISOString();
  for (const [month, { dueMs, ...known }] of examined) {
    const others = othersIn(months[month]);
    const asOf = dueMs === null || dueMs > run.nowMs ? { asOf: now } : {};
    if (isUntouched(index, month, run.id, run.seen))
      months[month] = { nextDue: dueMs === null ? null : new Date(dueMs).toISOString(), ...asOf, ...known };
    else months[month] = { nextDue: now, ...(others.length > 0 && { dirty: others }) };
  }
  const same = index.policy === policy && JSON.stringify(months) === JSON.stringify(index.months);
  return same ? index : { ...index, policy, months };
}
