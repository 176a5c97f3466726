/**
 * The state document of a brand, `ledger/<brand>/state.json`, contains a state for each of its reports: what runs leave to
 * later runs and the watcher. All reports of a run share its reads and writes.
 * It has when a day of each month is next due: without this, every run would read the ledgers of all months since the
 * start date, only to find that no day is due.
 * The entries of months are hints that can be rebuilt from the ledgers. A run removes the due time of a month before it
 * claims a day in it, and records a due time only after its work. If it dies in between, the next run reads the month. One
 * run of a brand works at a time (`run/lease.ts`). A run that has lost the lease may record an old due time; the next run
 * that examines all months, once a day, corrects it.
 */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod/mini';
import { HOUR_MS } from '../base/days.ts';
import { ERROR_KINDS } from '../base/errors.ts';
import { STATUSES } from '../base/outcome.ts';
import { type CasDocument, documentParser, storedCount, storedTime, storedObject } from './cas-document.ts';
import { NO_CLOCKS, isAhead, isWithin } from './stored-time.ts';

const month = storedObject(() => ({
  /** When a day of the month is next due (ISO 8601); `null` if all its days are settled. */
  nextDue: z.nullable(storedTime),
  /**
   * `now` of the run that computed `nextDue`; ignored by runs with an earlier `now` (`--now`). Missing while a day of the
   * month may be due: it was due already, or a run is at work in the month.
   */
  asOf: z.optional(storedTime),
  /** Whether the month has a committed day, so that it has a ledger unless the ledger was lost. */
  hasDays: z.optional(z.literal(true)),
}));

/** How the last run of due days ended. Runs of a range do not change it: they would hide a schedule that stopped. */
const lastRun = storedObject(() => ({
  at: storedTime,
  /** When the first of the consecutive runs with this result ended. */
  since: storedTime,
  completeAt: z.optional(storedTime),
  status: z.enum(STATUSES),
  kind: z.optional(z.enum(ERROR_KINDS)),
  code: z.optional(z.string()),
  message: z.optional(z.string()),
  /** How many days failed; 0 if the run failed before it read a day. */
  failedDays: storedCount,
}));

const state = storedObject(() => ({
  /** Fingerprint of the policy from which the due times follow. */
  policy: z.string(),
  months: z.record(z.string(), month),
  /** Of runs with little time: ranges under `from..to`, and days that the policy makes due under `due`. */
  continuations: z.record(
    z.string(),
    storedObject(() => ({ id: z.string(), since: storedTime })),
  ),
  /** Until the service has returned a record, empty responses prove nothing, so the days are unverified. */
  hasReturnedRecords: z.boolean(),
  /** The setting `endDate` for which a probe found that the service agrees. */
  probedEndDate: z.optional(z.string()),
  /** `PagingHabits`, as readings have shown since `since`, with settings of this fingerprint. */
  paging: z.optional(
    storedObject(() => ({
      settings: z.string(),
      since: storedTime,
      longest: storedCount,
      followed: z.optional(storedCount),
    })),
  ),
  vacuumedAt: z.optional(storedTime),
  /** Hash of the brand's settings in the lake from which the views were made. */
  viewsOf: z.optional(z.string()),
  /** When a run last examined all months, whatever their hints were. */
  examinedAt: z.optional(storedTime),
  lastRun: z.optional(lastRun),
}));

const brandState = storedObject(() => ({
  /** By the name of the report. */
  reports: z.record(z.string(), state),
  recentWrites: z.array(z.string()),
}));

export type ReportState = z.infer<typeof state>;
export type BrandState = z.infer<typeof brandState>;

export const NO_STATE: ReportState = { policy: '', months: {}, continuations: {}, hasReturnedRecords: false };

export const parseBrandState = documentParser(brandState, { reports: {}, recentWrites: [] });

/** Leaves out a last run that is later than the clocks: it would hide for weeks that no other run has ended since. */
export function stateOfReport({ reports }: BrandState, report: string, clocks = NO_CLOCKS): ReportState {
  const { lastRun, ...others } = reports[report] ?? NO_STATE;
  return { ...others, ...(lastRun && !isAhead(lastRun.at, clocks) && { lastRun }) };
}

export type ReportStateDocument = ReturnType<typeof reportStateIn>;

/** The part of the document with the state of one report. Changes of several reports at once are one write. */
export function reportStateIn(document: CasDocument<BrandState>, report: string) {
  const stateIn = ({ reports }: BrandState) => reports[report] ?? NO_STATE;
  const changed = (change: (state: ReportState) => ReportState) => (brand: BrandState) => {
    const before = stateIn(brand);
    const after = change(before);
    return after === before ? brand : { ...brand, reports: { ...brand.reports, [report]: after } };
  };
  return {
    cached: async () => stateIn(await document.cached()),
    update: async (change: (state: ReportState) => ReportState) =>
      stateIn(await document.update(changed(change))),
    updateLater: (change: (state: ReportState) => ReportState) => document.updateLater(changed(change)),
  };
}

/** The state without the due times of months whose ledgers are about to change: the next run reads them. */
export function withoutHints(state: ReportState, changed: readonly string[]): ReportState {
  if (!changed.some((month) => state.months[month]?.asOf)) return state;
  // `hasDays` stays: it shows readers that a ledger was lost.
  const months = Object.entries(state.months).map(([month, { asOf, ...known }]) => [
    month,
    { ...known, ...(asOf !== undefined && !changed.includes(month) && { asOf }) },
  ]);
  return { ...state, months: Object.fromEntries(months) };
}

export type LastRun = z.infer<typeof lastRun>;

/** How often an idle run updates `lastRun`: less often than it runs, because each update is a write. */
export const LAST_RUN_RENEWED_MS = 3 * HOUR_MS;

export function withLastRun(state: ReportState, ended: Omit<LastRun, 'since' | 'completeAt'>): ReportState {
  const { lastRun: before } = state;
  const isAlike = before?.status === ended.status && before.kind === ended.kind;
  const completeAt = ended.status === 'complete' ? ended.at : before?.completeAt;
  const since = isAlike ? before.since : ended.at;
  return { ...state, lastRun: { ...ended, since, ...(completeAt !== undefined && { completeAt }) } };
}

/** Whether this run alone is no reason to write the state: it is complete, as was the last run not long ago. */
export function isLastRunFresh({ lastRun }: ReportState, ended: Omit<LastRun, 'since'>): boolean {
  if (lastRun?.status !== 'complete' || ended.status !== 'complete') return false;
  return isWithin(LAST_RUN_RENEWED_MS, lastRun.at, Date.parse(ended.at));
}

export type KnownMonth = ReportState['months'][string];

export function mayBeDue(state: ReportState, policy: string, month: string, nowMs: number): boolean {
  const known = state.months[month];
  if (!known?.asOf || state.policy !== policy || Date.parse(known.asOf) > nowMs) return true;
  return known.nextDue !== null && Date.parse(known.nextDue) <= nowMs;
}

/** The months that have committed days by the report state, so that they have a ledger unless it was lost. */
export function monthsWithDays({ months }: ReportState): string[] {
  return Object.entries(months).flatMap(([month, { hasDays }]) => (hasDays ? [month] : []));
}

export interface ExaminedMonth extends Pick<KnownMonth, 'hasDays'> {
  dueMs: number | null;
}

export function recordMonths(
  state: ReportState,
  examined: ReadonlyMap<string, ExaminedMonth>,
  policy: string,
  nowMs: number,
): ReportState {
  const months = state.policy === policy ? { ...state.months } : {};
  for (const [month, { dueMs, ...known }] of examined) {
    const asOf = dueMs === null || dueMs > nowMs ? { asOf: new Date(nowMs).toISOString() } : {};
    const nextDue = dueMs === null ? null : new Date(dueMs).toISOString();
    months[month] = { nextDue, ...asOf, ...known };
  }
  const same = state.policy === policy && isDeepStrictEqual(months, state.months);
  return same ? state : { ...state, policy, months };
}
