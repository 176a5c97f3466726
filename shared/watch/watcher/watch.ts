/*
 * Performs one watcher run. Without it, somebody would have to check whether everything is in. It judges every day of every
 * report that the settings enable, and draws a page of each brand, one brand after the other, so that memory does not grow
 * with brands. Then it sends people the news, and draws the index of the pages. Runs that fail raise an alarm of Lambda's
 * own metric.
 */
import type { LakeAccess } from '../../context/context.ts';
import { mapConcurrent } from '../../base/concurrency.ts';
import { lastMonths, isInSpan, monthOf } from '../../base/days.ts';
import { type BrandReportsError, rethrowBugs } from '../../base/errors.ts';
import { settingsInUse, settingsName, usedSettings } from '../../lake/brand-settings.ts';
import { type Close, readCloses } from '../../lake/close.ts';
import { createLakeDocuments } from '../../lake/lake-documents.ts';
import { mayBeDue } from '../../lake/report-state.ts';
import {
  type ReportLedgers,
  type NeedsMonth,
  type LedgerMonths,
  listLedgers,
  readWantedLedgers,
} from '../../lake/read.ts';
import type { WatchRecord } from '../../lake/watch-record.ts';
import { CLOSES_PREFIX, COVERAGE_PAGE_KEY, brandPageKey, parseCloseKey } from '../../lake/paths.ts';
import { enabledPolicy, policyFingerprint } from '../../planning/policy.ts';
import type { Clock, EventSink, Notifier, ObjectStore } from '../../ports.ts';
import type { ReportRegistry } from '../../reports/definition.ts';
import type { Settings } from '../../settings/settings.ts';
import { type IndexRow, calendarPage, indexPage, indexRow } from '../calendar.ts';
import type { Html } from '../html.ts';
import { type CalendarOptions, pageBrands } from '../page-brand.ts';
import { changeMessage } from './message.ts';
import { afterMessage, afterWatch, changeFrom, openProblems, withoutEvents } from './news.ts';
import { type Problem, findingsIn, findingsSinceClose, problemText, silence } from '../problems.ts';
import type { Controls } from '../remedies.ts';
import { type TableStatus, tableStatuses } from '../table-statuses.ts';

export interface WatchOptions extends Pick<LakeAccess, 'random' | 'newId' | 'log'> {
  settings: Settings;
  reports: ReportRegistry;
  store: ObjectStore;
  clock: Pick<Clock, 'wallMs' | 'sleep'>;
  notifier: Notifier;
  events: EventSink;
  /** The name of the pipeline, e.g. the name of the stack. */
  pipeline: string;
  /** The address of a page in the lake. */
  pageAt: (key: string) => string;
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
  const { settings, reports, store, pageAt } = options;
  const nowMs = options.clock.wallMs();
  const span = lastMonths(PAGE_MONTHS, nowMs);
  const record = createLakeDocuments(options).watchRecord();
  const monthsReported = monthsOfFindings(await record.cached());
  const brands = await brandsOf(options);
  const seenOf = await mapConcurrent([...brands], BRANDS_AT_ONCE, async ([brand, { ledgers, closeKeys }]) => {
    const policies = new Map(
      Object.values(reports).map((report) => {
        const policy = enabledPolicy(settings, brand, report);
        return [report, policy && policyFingerprint(policy)] as const;
      }),
    );
    // If the report state shows that nothing in a month is due, every day of it is complete, and its ledger is not read.
    const isJudged: NeedsMonth = (month, { report, state }) => {
      if (isInSpan(month, span) || monthsReported.has(month)) return true;
      const policy = policies.get(report);
      return policy !== undefined && mayBeDue(state, policy, month, nowMs);
    };
    const lake = await readWantedLedgers(store, reports, isJudged, nowMs, {
      ledgers,
      brandsWithState: [brand],
    });
    // Damaged closes are ignored here: the vacuum and `close` without a month report them.
    const closes = await readCloses(store, closeKeys, () => {}, span);
    const own = { ...options, settings: settingsOfBrand(settings, brand) };
    const tables = tableStatuses(own.settings, reports, lake, nowMs, isJudged);
    const { rows, failure } = await writeBrandPage(own, lake, tables, { nowMs, closes, span });
    return { candidates: candidatesIn(own, lake, tables, closes, nowMs), rows, failure };
  });
  const candidates = seenOf.flatMap((brand) => brand.candidates);
  const run = { id: options.newId(), nowMs };
  const after = await record.update((current) => afterWatch(current, candidates, run));
  const { telling, pending } = after;
  const open = openProblems(candidates, after.seen, nowMs);
  const problems = open.filter(({ finding }) => !finding);
  const isNews = telling?.by === run.id;
  const message =
    isNews &&
    changeMessage(changeFrom(after, open, nowMs), {
      ...{ ...options, page: pageAt(COVERAGE_PAGE_KEY), nowMs },
    });
  const notifyPeople = async () => {
    if (!message) return;
    await options.notifier.tell(message);
    await record.update((current) => afterMessage(current, open, run));
  };
  const sendEvents = async () => {
    if (pending.length === 0) return;
    await options.events.send(pending);
    await record.update((current) => withoutEvents(current, pending));
  };
  try {
    const both = await Promise.allSettled([notifyPeople(), sendEvents()]);
    for (const one of both) if (one.status === 'rejected') throw one.reason;
  } finally {
    // If no message can be sent, the pages are the only source, so they have to be current.
    const rows = seenOf.flatMap((brand) => brand.rows);
    await writePage(
      store,
      COVERAGE_PAGE_KEY,
      indexPage(rows, store.url, nowMs, (brand) => pageAt(brandPageKey(brand))),
    );
  }
  for (const { failure } of seenOf) if (failure) throw failure;
  options.log({
    event: 'watch_ended',
    problems: problems.length,
    ...(message && { message: message.subject }),
  });
  return {
    problems: problems.map(({ brand, report, since, why, ...problem }) => ({
      ...{ brand, report, since, what: problemText(problem), why },
    })),
    message: message ? message.subject : null,
  };
}

/** The months of reported findings: if they were no longer judged, their findings would be reported as solved. */
function monthsOfFindings({ open }: WatchRecord): Set<string> {
  const all = Object.values(open).filter(({ until }) => until !== undefined);
  return new Set(all.flatMap(({ opened }) => opened.days.map(monthOf)));
}

function candidatesIn(
  { settings, reports }: WatchOptions,
  lake: readonly ReportLedgers[],
  tables: readonly TableStatus[],
  closes: readonly Close[],
  nowMs: number,
): Problem[] {
  const used = usedSettings(lake, settings);
  return tables.flatMap((table) => {
    const { brand, report: name, problems } = table;
    const { [name]: report } = reports;
    const policy = report && enabledPolicy(settings, brand, report);
    if (!policy) return [];
    const own = closes.filter((close) => close.brand === brand);
    const findings = [...findingsIn(table), ...findingsSinceClose(table, own)].filter(
      ({ finding }) => finding?.isCertain && nowMs < finding.untilMs,
    );
    return [...problems, ...silence(table, policy), ...findings].map((problem) => ({
      ...problem,
      settings: settingsName(used, brand),
    }));
  });
}

/** The ledgers of one brand take up to 30 MB, if all its months are judged. */
const BRANDS_AT_ONCE = 3;

interface ListedBrand {
  ledgers: LedgerMonths[];
  closeKeys: string[];
}

/** The brands of the settings and of the lake, with the documents that the lake has of them. */
async function brandsOf({ settings, reports, store }: WatchOptions): Promise<Map<string, ListedBrand>> {
  const brands = new Map<string, ListedBrand>();
  const entryOf = (brand: string) => {
    const entry = brands.get(brand) ?? { ledgers: [], closeKeys: [] };
    brands.set(brand, entry);
    return entry;
  };
  for (const brand of Object.keys(settings.brands)) entryOf(brand);
  for (const of of await listLedgers(store, reports)) entryOf(of.brand).ledgers.push(of);
  for await (const { key } of store.list(CLOSES_PREFIX)) {
    const { brand } = parseCloseKey(key) ?? {};
    if (brand !== undefined) brands.get(brand)?.closeKeys.push(key);
  }
  return brands;
}

function settingsOfBrand(settings: Settings, brand: string): Settings {
  const { [brand]: own } = settings.brands;
  return { ...settings, brands: own ? { [brand]: own } : {} };
}

/** @returns also why the page could not be written: people are told about problems first */
async function writeBrandPage(
  { settings, store, controls, pageAt }: WatchOptions,
  lake: readonly ReportLedgers[],
  tables: readonly TableStatus[],
  shown: Pick<CalendarOptions, 'nowMs' | 'closes' | 'span'>,
): Promise<{ rows: IndexRow[]; failure?: BrandReportsError }> {
  const { notes } = settingsInUse(lake, settings, 'the deployment');
  const options = { ...shown, settings, controls, notes };
  const rows = pageBrands(tables, options).map(indexRow);
  try {
    const page = calendarPage(tables, store.url, options, pageAt(COVERAGE_PAGE_KEY));
    for (const { name } of rows) await writePage(store, brandPageKey(name), page);
    return { rows };
  } catch (thrown) {
    return { rows, failure: rethrowBugs(thrown) };
  }
}

async function writePage(store: ObjectStore, key: string, { markup }: Html): Promise<void> {
  const page = store.create(key);
  await page.write(Buffer.from(markup));
  await page.finish();
}
