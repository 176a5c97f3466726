/*
 * `close` closes a month of a brand. It writes one document: the place of each day up to the end of the month in the day's
 * chain of changes, and the totals as they are shown now. No version is kept: what a day was at a place follows from
 * its changes. So a day that changes between the draft and the write needs no second look.
 * I5: the document is written by compare-and-swap, and closes follow one another. After the write, a close that finds
 * another close than its draft did gives way.
 * If a close dies, its month is either closed or not. Running the same command again writes the table `closes`.
 */
import { writeCloses } from '../catalog/closes-table.ts';
import { type BrandReport, type LakeAccess, createBrandReport, runClock } from '../context/context.ts';
import { addMonths, daysOfMonth, endOfDay, monthOf, monthsFrom } from '../base/days.ts';
import { configError } from '../base/errors.ts';
import { counted } from '../base/exact-number.ts';
import { type BrandRoles, StoredSettings, rolesOf } from '../lake/brand-settings.ts';
import {
  type Close,
  type ClosedDay,
  type ErasedTotals,
  type MoneyTable,
  closedDays,
  dayId,
  readCloses,
} from '../lake/close.ts';
import { createLakeDocuments } from '../lake/lake-documents.ts';
import { type DayEntry, type Ledger, fewerRead } from '../lake/ledger.ts';
import { listLedgers } from '../lake/read.ts';
import { unreadableAmounts } from '../lake/totals.ts';
import { closeKey } from '../lake/paths.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { settledBy } from '../planning/transitions.ts';
import type { ReportRegistry } from '../reports/definition.ts';
import { orders } from '../reports/orders.ts';
import { transactions } from '../reports/transactions.ts';
import { type Role, fieldsIn, placesOfRole } from '../reports/roles.ts';
import type { LakeBrandSettings, LakeSettings } from '../settings/settings.ts';
import { rangesText } from '../watch/problems.ts';

export interface DraftOptions extends LakeAccess {
  reports: ReportRegistry;
  /** Decides which reports count, from which day on, and the time zone; missing: all reports that have ledgers count. */
  settings: LakeSettings | undefined;
  month: string;
  brand?: string | undefined;
  sums: Pick<CloseSums, 'sourcesOf'>;
}

export interface CloseOptions extends DraftOptions {
  /** Closes the month although days, roles or amounts are missing, and records them. */
  anyway?: boolean;
  by: string;
  sums: CloseSums;
}

export interface SourceDay {
  table: string;
  day: string;
  isPresent: boolean;
  isErased: boolean;
  rows: number;
}

/** Computes in SQL what closes have. Command lines alone have an engine for it. */
export interface CloseSums {
  /** By month with a version, the report whose commission counts. */
  sourcesOf(days: readonly SourceDay[]): Promise<ReadonlyMap<string, MoneyTable>>;
  totalsOf(draft: MonthDraft): Promise<Close['totals']>;
}

/** Adds up what days add to `counted` of the latest of these closes, by `dayId`. */
export type ErasedSums = (
  closes: readonly Close[],
  days: readonly Required<ClosedDay>[],
) => Promise<ReadonlyMap<string, ErasedTotals>>;

export interface MonthDraft {
  close: Close;
  closes: readonly Close[];
  settings: LakeBrandSettings | undefined;
  /** The brand's time zone; if it is not known, the zone in which a day ends last. */
  timeZone: string;
  /** Days of its source that were read while they were open: they have no place yet, so no close has their records. */
  openDays: readonly string[];
  /** Days whose earlier records are not known, by the first place after that. */
  anew: ReadonlyMap<string, number>;
}

interface BrandReports {
  brand: string;
  reports: { ctx: BrandReport; months: readonly string[] }[];
}

/** What a sum of money needs; for transactions, the state of the line or of its order. */
const MONEY_ROLES: readonly Role[] = ['amount', 'commission', 'currency', 'state', 'publisher_id'];
export const MONEY_REPORTS = [orders, transactions];

/**
 * @returns the closes that it has made
 * @throws BrandReportsError `config` if a month is not over, is not whole, or is closed already
 */
export async function closeMonth(options: CloseOptions): Promise<Close[]> {
  const { month, lake, anyway } = options;
  const before: Close[] = [];
  const drafts: { of: BrandReports; draft: MonthDraft }[] = [];
  for (const of of await brandReports(options)) {
    const closes = await readCloses(lake.store, of.brand);
    const found = closes.find((close) => close.month === month);
    // An earlier close may have died before it wrote the table.
    if (found) await publish(of, closes);
    if (found) before.push(found);
    const draft = found ? undefined : await draftOf(options, of, closes);
    if (!draft) continue;
    refuseUntimely(options, draft);
    drafts.push({ of, draft });
  }
  const partial = anyway ? [] : drafts.flatMap(({ draft }) => faultsOf(draft.close));
  const [first] = partial;
  if (first) throw configError(first.code, partial.map(({ text }) => text).join('\n'));
  const closed: Close[] = [];
  for (const { of, draft } of drafts) closed.push(await commitClose(options, of, draft));
  if (closed.length > 0) return closed;
  throw before.length > 0
    ? configError('already_closed', before.map(alreadyClosed).join('\n'))
    : configError(
        'nothing_to_close',
        `${lake.store.url} has no day of ${month}. "brand-reports status" shows its days.`,
      );
}

/** @throws BrandReportsError `config` if the lake has nothing of the brand, or a document is damaged */
export async function draftCloses(options: DraftOptions): Promise<MonthDraft[]> {
  const found: MonthDraft[] = [];
  for (const of of await brandReports(options)) {
    const draft = await draftOf(options, of, await readCloses(options.lake.store, of.brand));
    if (draft) found.push(draft);
  }
  return found;
}

/**
 * Removes the closes of a month.
 * @returns the brands whose month was closed
 * @throws BrandReportsError `config` if the month was closed for no brand, or another close follows: its places and its
 * statement begin at this close
 */
export async function removeCloses(options: Omit<DraftOptions, 'sums'>): Promise<string[]> {
  const { month, lake, brand: only } = options;
  const removed: string[] = [];
  const laterOf = async (brand: string) => (await readCloses(lake.store, brand)).at(-1)?.month ?? month;
  const all = await brandReports(options);
  const closed = (
    await Array.fromAsync(all, async (of) => ({ of, found: await lake.store.get(closeKey(of.brand, month)) }))
  ).filter(({ found }) => found !== undefined);
  for (const { of } of closed) refuseFollowed(of.brand, month, await laterOf(of.brand));
  for (const { of, found } of closed) {
    const key = closeKey(of.brand, month);
    await lake.store.delete([key]);
    const later = await laterOf(of.brand);
    // Another process has closed a later month in the meantime.
    if (later > month && found) await lake.store.put(key, found.body, { ifAbsent: true });
    refuseFollowed(of.brand, month, later);
    await publish(of, await readCloses(lake.store, of.brand));
    removed.push(of.brand);
  }
  if (removed.length > 0) return removed;
  const closes = await readCloses(lake.store, only, () => {});
  const known = [...new Set(closes.map((close) => close.month))].join(', ') || 'none';
  throw configError('not_closed', `${month} is not closed. Closed months: ${known}.`);
}

function refuseFollowed(brand: string, month: string, later: string): void {
  if (later <= month) return;
  throw configError(
    'close_follows',
    `The close ${later} of ${brand} follows ${month}, and its statement begins where ${month} ends. Remove the later close first: "brand-reports close ${later} --brand ${brand} --remove"`,
  );
}

async function publish({ reports }: BrandReports, closes: readonly Close[]): Promise<void> {
  for (const { ctx } of reports) await writeCloses(ctx, closes);
}

async function brandReports(options: Omit<DraftOptions, 'sums'>): Promise<BrandReports[]> {
  const { lake, reports, settings } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const listed = (await listLedgers(lake.store, reports)).filter(({ months }) => months.length > 0);
  const brands = [...Map.groupBy(listed, ({ brand }) => brand)].map(([brand, own]) => ({
    brand,
    reports: own.map(({ report, months }) => {
      const policy = enabledPolicy(settings, brand, report);
      const ctx = createBrandReport(options, documents, { brand, report, policy });
      return { ctx, months: months.toSorted() };
    }),
  }));
  const wanted = brands.filter(({ brand }) => brand === (options.brand ?? brand));
  if (wanted.length > 0) return wanted;
  const allowed = brands.map(({ brand }) => brand).join(', ') || 'none';
  throw configError(
    'unknown_brand',
    options.brand === undefined
      ? `${lake.store.url} has no day yet. To read days: "brand-reports sync"`
      : `${lake.store.url} has no day of the brand "${options.brand}". Allowed: ${allowed}.`,
  );
}

/** The month by the current ledgers, whether or not it is over; `undefined`: the brand has no day of it. */
async function draftOf(
  options: DraftOptions,
  { brand, reports }: BrandReports,
  closes: readonly Close[],
): Promise<MonthDraft | undefined> {
  const { month, clock, newId } = options;
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  // The only ledger of a report may have been lost: then reading it fails.
  for (const report of Object.values(options.reports)) await documents.ledger(report, brand, month).cached();
  const settings = options.settings?.brands[brand] ?? (await reports[0]?.ctx.stored.of(brand));
  const close: Close = {
    ...{ brand, month, closedAt: new Date(clock.wallMs()).toISOString(), by: 'unknown' },
    ...{ sources: {}, totals: [], days: [], exceptions: [], faults: [], erased: [] },
    recentWrites: [newId()],
  };
  const before = closes.filter((each) => each.month < month);
  const known = closedDays(before);
  // Months that no close of their own has are part of the next close.
  const since = before.at(-1)?.month;
  const own = since === undefined ? [month] : monthsFrom(addMonths(since, 1), month);
  const entries = new Map<string, ReadonlyMap<string, DayEntry>>();
  const anew = new Map<string, number>();
  let { timeZone } = settings ?? { timeZone: undefined };
  for (const { ctx, months } of reports) {
    const { report, policy, ledger } = ctx;
    const ledgers: Ledger[] = [];
    for (const each of months) if (each <= month) ledgers.push(await ledger(each).refresh());
    const days = new Map(
      ledgers.flatMap((each) => Object.entries(each.days)).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    entries.set(report.table, days);
    const first = policy?.startDate ?? [...days.keys()][0] ?? '';
    // What a disabled report has counts as in the views, but none of its days is awaited.
    const isDisabled = options.settings?.brands[brand] !== undefined && !policy;
    for (const day of isDisabled ? [] : own.flatMap(daysOfMonth)) {
      const why = day < first ? undefined : whyNotWhole(days.get(day));
      if (why) close.exceptions.push({ report: report.name, day, why });
    }
    for (const [day, { committed }] of days) {
      timeZone ??= committed?.timeZone;
      const id = dayId({ report: report.name, day });
      const { place, anewPlace } = committed?.history ?? {};
      if (committed === undefined || place === undefined) continue;
      const named = known.days.get(id);
      if (anewPlace !== undefined) anew.set(id, anewPlace);
      const isErased = named !== undefined && named.place === undefined;
      if (!isErased && named?.place !== place)
        close.days.push({ report: report.name, day, place, snapshot: committed.snapshot });
    }
  }
  const sources = await options.sums.sourcesOf(sourceDays(entries, known.days));
  close.sources = Object.fromEntries([...sources].filter(([of, source]) => known.sources[of] !== source));
  const source = MONEY_REPORTS.find(({ table }) => table === sources.get(month));
  const ofSource = (source && entries.get(source.table)) ?? new Map<string, DayEntry>();
  const isEmpty = ![...entries.values()].some((days) =>
    [...days.keys()].some((day) => monthOf(day) === month),
  );
  if (isEmpty && close.exceptions.length === 0) return undefined;
  for (const { ctx } of reports) {
    // Months without a close of their own are part of this one.
    const counts = (day: string) =>
      own.includes(monthOf(day)) && sources.get(monthOf(day)) === ctx.report.table;
    const days = [...(entries.get(ctx.report.table) ?? [])].filter(([day]) => counts(day));
    await addFaults(close, ctx, days, rolesOf(settings, ctx.report));
  }
  timeZone ??= 'Etc/GMT+12';
  const readings = daysOfMonth(month).flatMap((day) => ofSource.get(day)?.committed?.readFrom ?? []);
  close.completeAsOf = readings.sort()[0];
  const isOpen = ({ committed }: DayEntry) => committed !== undefined && committed.history === undefined;
  const openDays = [...ofSource].flatMap(([day, entry]) =>
    isOpen(entry) && own.includes(monthOf(day)) ? [day] : [],
  );
  return { close, closes, settings, timeZone, openDays, anew };
}

function sourceDays(
  entries: ReadonlyMap<string, ReadonlyMap<string, DayEntry>>,
  known: ReturnType<typeof closedDays>['days'],
): SourceDay[] {
  return MONEY_REPORTS.flatMap(({ name, table }) =>
    [...(entries.get(table) ?? [])].map(([day, { committed, erasedAt }]) => {
      const named = known.get(dayId({ report: name, day }));
      const isErased = erasedAt !== undefined || (named !== undefined && named.place === undefined);
      return { table, day, isPresent: committed !== undefined, isErased, rows: committed?.rows ?? 0 };
    }),
  );
}

/** Adds what a sum of the days would lack: roles of money without a field, and amounts that cannot be read. */
async function addFaults(
  close: Close,
  { report, policy, schema }: BrandReport,
  days: readonly (readonly [day: string, entry: DayEntry])[],
  { fields: stored }: BrandRoles,
): Promise<void> {
  const own = days.flatMap(([dt, { committed }]) => (committed ? [{ dt, committed }] : []));
  if (!own.some(({ committed }) => committed.rows > 0)) return;
  const { columns } = await schema.refresh();
  const fields = policy?.fields ?? stored;
  const has = (role: Role) => placesOfRole(role, columns, fields).length > 0;
  for (const role of MONEY_ROLES)
    if (!has(role) && !(role === 'state' && report.name === transactions.name && has('line_state')))
      close.faults.push(`${report.name} has no field for ${role}`);
  const table = { columns, roles: fieldsIn(columns, fields) };
  const unreadable = own.flatMap(({ committed }) => unreadableAmounts(committed, table));
  for (const [column, each] of Map.groupBy(unreadable, ({ column: name }) => name)) {
    const rows = each.reduce((sum, one) => sum + one.rows, 0);
    close.faults.push(`${report.name} has amounts that cannot be read: ${column}: ${counted(rows, 'value')}`);
  }
}

export function endOfMonth(month: string, timeZone: string): number {
  return endOfDay(daysOfMonth(month).at(-1) ?? '', timeZone);
}

function refuseUntimely({ clock }: DraftOptions, { close, closes, timeZone }: MonthDraft): void {
  const { brand, month } = close;
  const latest = closes.at(-1)?.month ?? '';
  // Its orders are in the statement of the later close, and would be in two.
  if (latest > month)
    throw configError(
      'before_latest_close',
      `${month} of ${brand} is before its latest closed month, ${latest}, whose statement has the days of ${month} too. Close a later month, or remove the later closes first: "brand-reports close ${latest} --brand ${brand} --remove"`,
    );
  const endMs = endOfMonth(month, timeZone);
  if (endMs > runClock(clock).now().getTime())
    throw configError(
      'month_not_over',
      `${month} of ${brand} is not over: it ends at ${new Date(endMs).toISOString()}. Close it then, or close an earlier month.`,
    );
}

function faultsOf({ brand, month, exceptions, faults }: Close) {
  const anyway = `"brand-reports close ${month} --brand ${brand} --anyway"`;
  const found = [
    {
      code: 'not_whole' as const,
      is: exceptions.length > 0,
      text: `is not whole: ${exceptionsText(exceptions)}.${readingOf(brand, exceptions)} To close it as it is, with these days recorded in the close`,
    },
    {
      code: 'amounts_unknown' as const,
      is: faults.length > 0,
      text: `cannot be added up: ${faults.join('; ')}. Name other fields in "fields" of the report; "brand-reports check" proposes them. Or ask the operator of the service for plain numbers and read the days again. To close the month without these values, with them recorded in the close`,
    },
  ];
  return found
    .filter(({ is }) => is)
    .map(({ code, text }) => ({ code, text: `${month} of ${brand} ${text}: ${anyway}` }));
}

function whyNotWhole(entry: DayEntry = {}): Close['exceptions'][number]['why'] | undefined {
  const { committed, failure, erasedAt } = entry;
  if (erasedAt !== undefined) return 'erased';
  if (failure) return 'failed';
  if (!committed) return 'missing';
  const fewer = fewerRead(entry);
  if (fewer) return fewer.rows === 0 ? 'came_back_empty' : 'kept';
  if (committed.state === 'open' || committed.state === 'unconfirmed') return committed.state;
  const isGivenUp =
    committed.state === 'settled' &&
    settledBy({ contradictions: committed.contradictions ?? 0 }) === 'given_up';
  return isGivenUp ? 'given_up' : undefined;
}

/** @throws BrandReportsError `config` if another process has closed this or another month in the meantime */
async function commitClose(options: CloseOptions, of: BrandReports, draft: MonthDraft): Promise<Close> {
  const { store } = options.lake;
  const { brand, month, recentWrites } = draft.close;
  const settings = draft.settings && (await new StoredSettings(options).keep(brand, draft.settings));
  const close: Close = {
    ...draft.close,
    ...{ by: options.by, totals: await options.sums.totalsOf(draft) },
    ...(settings !== undefined && { settings }),
  };
  const document = createLakeDocuments({ store, ...options }).close(close);
  const written = await document.update((current) => (current === close ? { ...close } : current));
  if (!written.recentWrites.some((id) => recentWrites.includes(id)))
    throw configError('already_closed', alreadyClosed(written));
  const closes = await readCloses(store, brand);
  const idOf = ({ month: other, closedAt }: Close) => `${other} ${closedAt}`;
  const others = closes.filter((each) => each.month !== month).map(idOf);
  const expected = draft.closes.map(idOf);
  if (others.join() !== expected.join()) {
    await store.delete([closeKey(brand, month)]);
    throw configError(
      'already_closed',
      `Another process has closed or removed a month of ${brand} in the meantime, so ${month} is not closed. Closed months: ${others.join(', ') || 'none'}. Run the command again.`,
    );
  }
  await publish(of, closes);
  return close;
}

function readingOf(brand: string, exceptions: Close['exceptions']): string {
  const readable = exceptions.filter(({ why }) => why !== 'erased');
  const sorted = readable.map(({ day }) => day).sort();
  const reports = [...new Set(readable.map(({ report }) => report))].join(' ');
  const range = `--from ${sorted[0]} --to ${sorted.at(-1)}`;
  if (sorted.length === 0) return '';
  return ` To read them: "brand-reports sync ${reports} --brand ${brand} ${range}".`;
}

/** `order_list missing 2026-10-01 to 2026-10-03, 2026-10-05; order_list failed 2026-10-09` */
export function exceptionsText(exceptions: Close['exceptions']): string {
  const groups = [...Map.groupBy(exceptions, ({ report, why }) => `${report} ${why}`)];
  const daysOf = (own: Close['exceptions']) => own.map(({ day }) => ({ dt: day }));
  return groups
    .map(([what, own]) => `${what} ${rangesText(daysOf(own), Number.POSITIVE_INFINITY)}`)
    .join('; ');
}

function alreadyClosed({ brand, month, closedAt, by }: Close): string {
  return `${month} of ${brand} was closed at ${closedAt} by ${by}. To close it again, remove that close first: "brand-reports close ${month} --brand ${brand} --remove"`;
}
