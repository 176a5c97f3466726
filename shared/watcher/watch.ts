/*
 * Performs one watcher run. Without it, somebody would have to check whether everything is in. It judges every day of every
 * report that the settings enable, publishes the number of problems, sends people the news, and draws the calendar. The
 * number comes first: if it is not published, an alarm is raised, so a run that dies later is noticed as well.
 */
import type { LakeAccess } from '../context/context.ts';
import { lastMonths, isInSpan, monthOf } from '../days.ts';
import { settingsInUse, settingsName, usedSettings } from '../lake/documents/brand-settings.ts';
import { type Close, readCloses } from '../lake/documents/close.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import { mayBeDue } from '../lake/documents/report-state.ts';
import {
  type ReportStates,
  type ReportLedgers,
  type NeedsMonth,
  readWantedLedgers,
} from '../lake/documents/read.ts';
import type { WatchRecord } from '../lake/documents/watch-record.ts';
import { COVERAGE_PAGE_KEY } from '../lake/paths.ts';
import { enabledPolicy, policyFingerprint } from '../planning/policy.ts';
import type { Clock, EventSink, Notifier, ObjectStore } from '../ports.ts';
import type { ReportRegistry } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';
import { calendarPage } from '../status/calendar.ts';
import type { CalendarOptions } from '../status/page-brand.ts';
import { type MessageOptions, changeMessage } from './message.ts';
import { afterMessage, afterWatch, changeFrom, withEvents, withoutEvents } from './news.ts';
import {
  type Candidate,
  candidatesOf,
  closedMonthCandidates,
  findingCandidates,
  firstComparedMonth,
  openProblems,
} from './open-problems.ts';
import type { Controls } from '../status/remedies.ts';
import { type TableStatus, tableStatuses } from '../status/table-statuses.ts';

export interface WatchOptions extends Pick<LakeAccess, 'random' | 'newId' | 'log'> {
  settings: Settings;
  reports: ReportRegistry;
  store: ObjectStore;
  clock: Pick<Clock, 'wallMs' | 'sleep'>;
  notifier: Notifier;
  events: EventSink;
  /** Publishes the number of problems, zero included. */
  countProblems: (count: number) => void;
  message: Omit<MessageOptions, 'nowMs'>;
  controls: Controls;
}

export interface WatchOutcome {
  problems: { brand: string; report: string; since: string; what: string; why: string }[];
  /** The subject of the message that it sent; `null` if there was no news, or another run sent it. */
  message: string | null;
}

/** The page shows so many months, as far back as default settings re-read days; older days are still judged. */
const PAGE_MONTHS = 5;

/** @throws BrandReportsError if the lake cannot be read or written, or the message or an event cannot be sent */
export async function watch(options: WatchOptions): Promise<WatchOutcome> {
  const { settings, reports, store } = options;
  const nowMs = options.clock.wallMs();
  const span = lastMonths(PAGE_MONTHS, nowMs);
  const record = createLakeDocuments(options).watchRecord();
  const monthsReported = monthsOfFindings(await record.cached());
  const isJudged: NeedsMonth = (month, of) =>
    isInSpan(month, span) || monthsReported.has(month) || mayHoldProblems(month, of, settings, nowMs);
  const firstMonth = firstComparedMonth(nowMs);
  const isRead: NeedsMonth = (month, of) => month >= firstMonth || isJudged(month, of);
  const lake = await readWantedLedgers(store, reports, isRead, nowMs);
  // Damaged closes are ignored here: the vacuum and `close` without a month report them.
  const closes = await readCloses(store, undefined, () => {}, span);
  const candidates = candidatesIn(options, lake, closes, isJudged, nowMs);
  const run = { id: options.newId(), nowMs };
  const tableOf = (report: string) => reports[report]?.table ?? report;
  const { seen, told, telling, events } = await record.update((current) => {
    const after = afterWatch(current, candidates, run);
    return withEvents(after, openProblems(candidates, after.seen, nowMs), tableOf, nowMs);
  });
  const open = openProblems(candidates, seen, nowMs);
  const problems = open.filter(({ finding }) => !finding);
  options.countProblems(problems.length);
  const isNews = telling?.by === run.id;
  const message = isNews && changeMessage(changeFrom(told, open, nowMs), { ...options.message, nowMs });
  const notifyPeople = async () => {
    if (!message) return;
    await options.notifier.tell(message);
    await record.update((current) => afterMessage(current, open, run));
  };
  const sendEvents = async () => {
    const { pending = [] } = events ?? {};
    if (pending.length === 0) return;
    await options.events.send(pending);
    await record.update((current) => withoutEvents(current, pending));
  };
  try {
    const both = await Promise.allSettled([notifyPeople(), sendEvents()]);
    for (const one of both) if (one.status === 'rejected') throw one.reason;
  } finally {
    // If no message can be sent, the page is the only source, so it has to be current.
    const { notes } = settingsInUse(lake, settings, 'the deployment');
    await writePage(options, tableStatuses(settings, reports, lake, nowMs, span), { nowMs, closes, notes });
  }
  options.log({
    event: 'watch_ended',
    problems: problems.length,
    ...(message && { message: message.subject }),
  });
  return {
    problems: problems.map(({ brand, report, sinceMs, what, why }) => ({
      ...{ brand, report, since: new Date(sinceMs).toISOString(), what, why },
    })),
    message: message ? message.subject : null,
  };
}

/** The months of reported findings: if they were no longer judged, their findings would be reported as solved. */
function monthsOfFindings({ told, events }: WatchRecord): Set<string> {
  const all = [...Object.values(told), ...Object.values(events?.open ?? {})];
  return new Set(all.flatMap(({ finding }) => (finding ? [monthOf(finding.day)] : [])));
}

/** If the report state shows that nothing in a month is due, every day of it is complete, and its ledger need not be read. */
function mayHoldProblems(
  month: string,
  { brand, report, state, upstream }: ReportStates,
  settings: Settings,
  nowMs: number,
): boolean {
  const policy = enabledPolicy(settings, brand, report);
  return policy !== undefined && mayBeDue(state, policyFingerprint(policy), month, nowMs, upstream);
}

function candidatesIn(
  { settings, reports }: WatchOptions,
  lake: readonly ReportLedgers[],
  closes: readonly Close[],
  isJudged: NeedsMonth,
  nowMs: number,
): Candidate[] {
  const used = usedSettings(lake, settings);
  return tableStatuses(settings, reports, lake, nowMs).flatMap((table) => {
    const { [table.report]: report } = reports;
    const policy = report && enabledPolicy(settings, table.brand, report);
    if (!policy) return [];
    const stored = lake.find((each) => each.brand === table.brand && each.report.name === report.name);
    const isJudgedHere = (month: string) => !stored || isJudged(month, stored);
    const watched = { table, policy, isJudged: isJudgedHere };
    const own = [...candidatesOf(watched, nowMs), ...findingCandidates(watched, nowMs)];
    return [...own, ...closedMonthCandidates(watched, closes, nowMs)].map((candidate) => ({
      ...candidate,
      settings: settingsName(used, table.brand),
    }));
  });
}

async function writePage(
  { settings, store, controls }: WatchOptions,
  tables: readonly TableStatus[],
  shown: Pick<CalendarOptions, 'nowMs' | 'closes' | 'notes'>,
): Promise<void> {
  const { markup } = calendarPage(tables, store.url, { ...shown, settings, controls });
  const page = store.create(COVERAGE_PAGE_KEY);
  await page.write(Buffer.from(markup));
  await page.finish();
}
