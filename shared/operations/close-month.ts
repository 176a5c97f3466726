/*
 * `close` closes a month of a brand: it writes one document that names the current version of each of the month's days.
 * The vacuum keeps these versions, so queries of the closed month return the same rows as long as the close exists.
 * I5: the versions are chosen before the document is written, and a vacuum reads the closes after it has read the ledgers.
 * So after the write, each named version is looked up once more in the ledgers and in the lake. If it is there, no vacuum
 * that missed the document deletes it. Otherwise the document is removed, and the month is drafted again.
 * If a close dies, its month is either closed or not. Running the same command again adds missing partitions to the catalog.
 */
import { publishCloses } from '../catalog/closed-tables.ts';
import { type BrandReport, type LakeAccess, createBrandReport, runClock } from '../context/context.ts';
import { daysOfMonth, endOfDay, monthOf } from '../days.ts';
import { configError } from '../errors.ts';
import { type Close, type ClosedDay, namedDays, readCloses } from '../lake/documents/close.ts';
import { rolesOf } from '../lake/documents/brand-settings.ts';
import { createLakeDocuments } from '../lake/documents/lake-documents.ts';
import type { DayEntry } from '../lake/documents/ledger.ts';
import { unreadableAmounts, unreadableText } from '../lake/documents/totals.ts';
import { listLedgers, snapshotsByTable } from '../lake/documents/read.ts';
import { closeKey, dayPartition, partitionPrefix, versionKey } from '../lake/paths.ts';
import { lifecycleShape } from '../lifecycle/index.ts';
import { enabledPolicy } from '../planning/policy.ts';
import { fieldsIn } from '../roles/index.ts';
import { type ReportRegistry, dayTables } from '../reports/definition.ts';
import { rangesText } from '../status/problems.ts';
import type { LakeSettings } from '../settings/settings.ts';

export interface CloseOptions extends LakeAccess {
  reports: ReportRegistry;
  /** Decides which reports count, from which day on, and the time zone; missing: all reports that have ledgers count. */
  settings: LakeSettings | undefined;
  month: string;
  brand?: string;
  /** Closes the month although days are not whole, and records these days. */
  anyway?: boolean;
}

export interface CloseOutcome {
  status: 'complete';
  closed: Close[];
  /** The closes of brands whose month was already closed; they stay as they are. */
  before: Close[];
}

interface BrandReports {
  brand: string;
  reports: { ctx: BrandReport; months: readonly string[] }[];
}

const MAX_TRIES = 3;

/** @throws BrandReportsError `config` if a month is not over, has days that are not whole, or is closed already */
export async function closeMonth(options: CloseOptions): Promise<CloseOutcome> {
  const { month, lake, reports, anyway } = options;
  const before: Close[] = [];
  const drafts: { of: BrandReports; draft: Close }[] = [];
  for (const of of await brandReports(options)) {
    const closes = await readCloses(lake.store, of.brand);
    const found = closes.find((close) => close.month === month);
    // An earlier close may have died before it published its partitions.
    if (found) await publish(of, [found], month);
    if (found) before.push(found);
    const draft = found ? undefined : await draftOf(options, of, closes);
    if (!draft) continue;
    refuseBeforeEnd(options, draft);
    if (!anyway)
      refuseWithoutStates(
        draft.brand,
        draft.days.filter(({ report }) => reports[report]?.lifecycle),
      );
    if (!anyway) await refuseUnreadable(options, of);
    drafts.push({ of, draft });
  }
  const partial = anyway ? [] : drafts.filter(({ draft }) => draft.exceptions.length > 0);
  if (partial.length > 0)
    throw configError('not_whole', partial.map(({ draft }) => notWhole(draft)).join('\n'));
  const closed: Close[] = [];
  for (const { of, draft } of drafts) {
    const close = await commitClose(options, of, draft);
    await publish(of, [close], month);
    closed.push(close);
  }
  if (closed.length > 0) return { status: 'complete', closed, before };
  throw before.length > 0
    ? configError('already_closed', before.map(alreadyClosed).join('\n'))
    : configError(
        'nothing_to_close',
        `${lake.store.url} has no day of ${month}. "brand-reports status" shows its days.`,
      );
}

/**
 * For each brand that has days of the month: the close as it would be written now, and the closes of all its months, by
 * the time of closing.
 * @throws BrandReportsError `config` if the lake has nothing of the brand, or a document is damaged
 */
export async function draftCloses(options: CloseOptions): Promise<{ draft: Close; closes: Close[] }[]> {
  const found: { draft: Close; closes: Close[] }[] = [];
  for (const of of await brandReports(options)) {
    const closes = byTime(await readCloses(options.lake.store, of.brand));
    const draft = await draftOf(options, of, closes);
    if (draft) found.push({ draft, closes });
  }
  return found;
}

function byTime(closes: readonly Close[]): Close[] {
  return closes.toSorted((a, b) => (a.closedAt < b.closedAt ? -1 : 1));
}

/**
 * Removes the closes of a month. A later vacuum deletes the versions that nothing else keeps.
 * @returns the brands whose month was closed. @throws BrandReportsError `config` if the month was closed for no brand
 */
export async function removeCloses(options: CloseOptions): Promise<string[]> {
  const { month, lake, brand: only } = options;
  const removed: string[] = [];
  // A report that is disabled now may have been part of the close.
  for (const of of await brandReports({ ...options, settings: undefined })) {
    const key = closeKey(of.brand, month);
    if (!(await lake.store.get(key))) continue;
    // The catalog comes first: queries must not find what the vacuum may delete.
    await publish(of, [], month);
    await lake.store.delete([key]);
    removed.push(of.brand);
  }
  if (removed.length > 0) return removed;
  const closes = await readCloses(lake.store, only, () => {});
  const known = [...new Set(closes.map((close) => close.month))].join(', ') || 'none';
  throw configError('not_closed', `${month} is not closed. Closed months: ${known}.`);
}

async function publish({ reports }: BrandReports, closes: readonly Close[], month: string): Promise<void> {
  for (const { ctx } of reports) {
    await publishCloses(ctx, closes, month);
  }
}

/** @throws BrandReportsError `config` if the lake has nothing of the brand */
async function brandReports(options: CloseOptions): Promise<BrandReports[]> {
  const { lake, reports, settings } = options;
  const documents = createLakeDocuments({ store: lake.store, ...options });
  const listed = (await listLedgers(lake.store, reports)).filter(({ months }) => months.length > 0);
  const brands = [...Map.groupBy(listed, ({ brand }) => brand)].map(([brand, own]) => ({
    brand,
    reports: own.flatMap(({ report, months }) => {
      const policy = enabledPolicy(settings, brand, report);
      const isDisabled = settings?.brands[brand] !== undefined && !policy;
      const ctx = createBrandReport(options, documents, { brand, report, policy });
      return isDisabled ? [] : [{ ctx, months: months.toSorted() }];
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

/** The close of the month by the current ledgers, whether or not the month is over; `undefined`: the brand has no day of it. */
async function draftOf(
  options: CloseOptions,
  { brand, reports }: BrandReports,
  closes: readonly Close[],
): Promise<Close | undefined> {
  const { settings, month, clock, newId } = options;
  const documents = createLakeDocuments({ store: options.lake.store, ...options });
  // The only ledger of a report may have been lost: then reading it fails.
  for (const report of Object.values(options.reports)) await documents.ledger(report, brand, month).cached();
  const close: Close = {
    ...{ version: 1, brand, month, closedAt: new Date(clock.wallMs()).toISOString() },
    ...{ days: [], carried: [], exceptions: [], tables: {}, recentWrites: [newId()] },
  };
  for (const { ctx, months } of reports) {
    const { report, policy } = ctx;
    const { days } = await ctx.ledger(month).refresh();
    const first = policy?.startDate ?? (await firstDay(ctx, months));
    for (const day of daysOfMonth(month)) {
      const { [day]: entry = {} } = days;
      if (entry.committed) close.days.push(closedDay(report.name, day, entry.committed));
      const why = day < first ? undefined : whyNotWhole(entry);
      if (why) close.exceptions.push({ report: report.name, day, why });
    }
    close.carried.push(...(await carriedOf(ctx, closes)));
    const { columns } = await ctx.schema.refresh();
    const roles = rolesOf(settings?.brands[brand] ?? (await ctx.stored.of(brand)), report);
    close.tables[report.table] = { columns: columns.length, roles };
    const shape = lifecycleShape(report);
    if (shape) close.tables[shape.name] = { columns: shape.columns.length };
  }
  return close.days.length + close.exceptions.length === 0 ? undefined : close;
}

/** @throws BrandReportsError `config` if the month of the close is not over */
function refuseBeforeEnd({ settings, clock }: CloseOptions, { brand, month, days }: Close): void {
  const zone =
    settings?.brands[brand]?.timeZone ?? days.find(({ timeZone }) => timeZone !== undefined)?.timeZone;
  // If neither settings nor versions have a time zone of the brand, use the zone in which a day ends last.
  const endMs = endOfDay(daysOfMonth(month).at(-1) ?? '', zone ?? 'Etc/GMT+12');
  if (endMs <= runClock(clock).now().getTime()) return;
  throw configError(
    'month_not_over',
    `${month} of ${brand} is not over: it ends at ${new Date(endMs).toISOString()}. Close it then, or close an earlier month.`,
  );
}

/** Without the states at the time of closing, all records of such a day would later count as added since the close. */
export function refuseWithoutStates(brand: string, days: readonly ClosedDay[]): void {
  const without = days.filter(({ rows, lifecycle }) => rows > 0 && !lifecycle);
  const commands = [...Map.groupBy(without, ({ report }) => report)].map(
    ([report, own]) =>
      `"brand-reports rebuild ${report} --brand ${brand} --from ${own[0]?.day} --to ${own.at(-1)?.day}"`,
  );
  if (commands.length === 0) return;
  const message = `The lake lacks the states of the records of ${without.length} days of ${brand}. To add them: ${commands.join(', ')}`;
  throw configError('no_states', message);
}

/** Without an amount, a month would be paid too low, and nobody would notice later. */
async function refuseUnreadable({ month }: CloseOptions, { brand, reports }: BrandReports): Promise<void> {
  const found: string[] = [];
  for (const { ctx } of reports) {
    const { report, policy, ledger, schema, stored } = ctx;
    const { columns } = await schema.cached();
    const fields = policy?.fields ?? rolesOf(await stored.of(brand), report).fields;
    const table = { columns, roles: fieldsIn(columns, fields) };
    const days = Object.entries((await ledger(month).cached()).days)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([dt, { committed }]) =>
        committed ? unreadableAmounts(committed, table).map((each) => ({ ...each, dt })) : [],
      );
    for (const own of Map.groupBy(days, (each) => `${each.column} ${each.isRead}`).values()) {
      const [first] = own;
      if (!first) continue;
      const rows = own.reduce((sum, each) => sum + each.rows, 0);
      const remedy = first.isRead
        ? ''
        : ` (to read them: "brand-reports rebuild ${report.name} --brand ${brand} --from ${first.dt} --to ${own.at(-1)?.dt}")`;
      found.push(
        `${report.name} ${unreadableText({ ...first, rows })} on ${rangesText(own, Number.POSITIVE_INFINITY)}${remedy}`,
      );
    }
  }
  if (found.length === 0) return;
  throw configError(
    'unreadable_amounts',
    `${month} of ${brand} has amounts that cannot be read: ${found.join('; ')}. Correct "fields", or ask the operator of the service for plain numbers and read the days again. To close the month without these amounts: "brand-reports close ${month} --brand ${brand} --anyway"`,
  );
}

async function firstDay(ctx: BrandReport, [first = '']: readonly string[]): Promise<string> {
  return Object.keys((await ctx.ledger(first).cached()).days).sort()[0] ?? '';
}

function whyNotWhole({
  committed,
  failure,
  erasedAt,
}: DayEntry): Close['exceptions'][number]['why'] | undefined {
  if (erasedAt !== undefined) return 'erased';
  if (failure) return 'failed';
  if (!committed) return 'missing';
  return committed.state === 'open' || committed.state === 'unconfirmed' ? committed.state : undefined;
}

function closedDay(report: string, day: string, committed: NonNullable<DayEntry['committed']>): ClosedDay {
  const { snapshot, rows, bytes, digest, readFrom, timeZone, state } = committed;
  return {
    ...{ report, day, snapshot, rows, bytes, digest, readFrom },
    ...(timeZone !== undefined && { timeZone }),
    ...(state === 'open' && { isOpen: true as const }),
  };
}

/**
 * The days that closes name and that now have another version than in the latest of these closes, or that were erased since
 * and read again. The closes are ordered by the time of closing, so that each change is carried over once, whatever the
 * order in which months were closed.
 */
async function carriedOf(ctx: BrandReport, closes: readonly Close[]): Promise<ClosedDay[]> {
  const named = new Map<string, ClosedDay | { day: string; snapshot?: never; lifecycle?: never }>();
  for (const close of byTime(closes))
    for (const each of [...namedDays(close), ...(close.erased ?? [])])
      if (each.report === ctx.report.name) named.set(each.day, each);
  const carried: ClosedDay[] = [];
  for (const [of, last] of Map.groupBy(named.values(), ({ day }) => monthOf(day))) {
    const { days } = await ctx.ledger(of).refresh();
    for (const { day, snapshot } of last) {
      const { committed } = days[day] ?? {};
      if (!committed) continue;
      const isSame = committed.snapshot === snapshot;
      if (!isSame) carried.push(closedDay(ctx.report.name, day, committed));
    }
  }
  return carried;
}

/** @throws BrandReportsError `config` if another process has closed the month in the meantime, or an object is missing */
async function commitClose(options: CloseOptions, of: BrandReports, first: Close): Promise<Close> {
  const { store } = options.lake;
  let draft = first;
  let lost: string[] = [];
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const [own = ''] = draft.recentWrites;
    const document = createLakeDocuments({ store, ...options }).close(draft);
    const written = await document.update((current) => (current === draft ? { ...draft } : current));
    if (!written.recentWrites.includes(own)) throw configError('already_closed', alreadyClosed(written));
    lost = await lostOf(of, draft);
    if (lost.length === 0) return draft;
    await store.delete([closeKey(draft.brand, draft.month)]);
    draft = (await draftOf(options, of, await readCloses(store, of.brand))) ?? draft;
    if (draft.exceptions.length > 0 && !options.anyway) throw configError('not_whole', notWhole(draft));
  }
  throw configError(
    'version_lost',
    `${lost[0]} is missing. To find out how to heal it: "brand-reports verify"`,
  );
}

async function lostOf({ reports }: BrandReports, close: Close): Promise<string[]> {
  const lost: string[] = [];
  for (const { ctx } of reports) {
    const { report, brand, lake } = ctx;
    const own = namedDays(close).filter((each) => each.report === report.name);
    for (const [month, named] of Map.groupBy(own, ({ day }) => monthOf(day))) {
      const { days } = await ctx.ledger(month).refresh();
      const found = new Set<string>();
      for (const table of dayTables(report))
        for await (const { key } of lake.store.list(
          partitionPrefix(table, dayPartition(brand, month)).slice(0, -1),
        ))
          found.add(key);
      for (const each of named) {
        const known = idsIn(days[each.day]);
        for (const [table, id] of snapshotsByTable(report, each)) {
          const key = versionKey(table, brand, each.day, id);
          if (!known.includes(id) || !found.has(key)) lost.push(key);
        }
      }
    }
  }
  return lost;
}

function idsIn({ committed, superseded = [] }: DayEntry = {}): (string | undefined)[] {
  return [committed?.snapshot, ...superseded.map(({ snapshot }) => snapshot)];
}

function notWhole({ brand, month, exceptions }: Close): string {
  const readable = exceptions.filter(({ why }) => why !== 'erased');
  const sorted = readable.map(({ day }) => day).sort();
  const reports = [...new Set(readable.map(({ report }) => report))].join(' ');
  const range = `--from ${sorted[0]} --to ${sorted.at(-1)}`;
  const read =
    sorted.length === 0 ? '' : ` To read them: "brand-reports sync ${reports} --brand ${brand} ${range}".`;
  return `${month} of ${brand} is not whole: ${exceptionsText(exceptions)}.${read} To close it as it is, with these days recorded in the close: "brand-reports close ${month} --brand ${brand} --anyway"`;
}

/** `order_list missing 2026-10-01 to 2026-10-03, 2026-10-05; order_list failed 2026-10-09` */
export function exceptionsText(exceptions: Close['exceptions']): string {
  const groups = [...Map.groupBy(exceptions, ({ report, why }) => `${report} ${why}`)];
  const daysOf = (own: Close['exceptions']) => own.map(({ day }) => ({ dt: day }));
  return groups
    .map(([what, own]) => `${what} ${rangesText(daysOf(own), Number.POSITIVE_INFINITY)}`)
    .join('; ');
}

function alreadyClosed({ brand, month, closedAt }: Close): string {
  return `${month} of ${brand} was closed at ${closedAt}. To close it again, remove that close first: "brand-reports close ${month} --brand ${brand} --remove"`;
}
