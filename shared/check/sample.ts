/** Sends about ten requests a report for what the interface leaves open (`docs/explanation/interface.md`). Missing values were not shown. */
import { fetchFirstPage, pageRequest } from '../day/fetch.ts';
import { type FetchContext, todayIn } from '../context/context.ts';
import { DAY_MS, addDays, daysBetween, endOfDay, startOfDay } from '../base/days.ts';
import { type BrandReportsError, asBrandReportsError, rethrowBugs } from '../base/errors.ts';
import { type JsonObject, stringifyJson } from '../base/json.ts';
import { observeEndDate } from '../day/probe-end-date.ts';
import { dateFields, timestampFields } from '../planning/day-queries.ts';
import { type ZoneInSample, daysToMeasure, proveTimeZone, decisiveDay, timesOf } from './zone.ts';
import { timeField } from './roles.ts';
import { recordsOfList } from '../records/record-list.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import {
  type RunOptions,
  brandSettingsOf,
  createFetchContext,
  createService,
  selectReports,
} from '../run/run.ts';
import type { Page } from '../service/paging/page.ts';
import { pages } from '../service/paging/pages.ts';
import { allTimeZones } from '../settings/time-zone.ts';
import type { BrandSettings } from '../settings/settings.ts';

export interface BrandSample {
  /** Service time minus local time, in milliseconds; missing if no response had a date. */
  clockSkewMs?: number;
  method?: BrandSettings['method'];
  /** Why no report could be measured. */
  error?: BrandReportsError;
  reports: ReportSample[];
  zone?: ZoneInSample;
}

export interface ReportSample {
  report: ReportDefinition;
  /** Records of the last days: one page. */
  records: JsonObject[];
  /** The settings for points that the interface leaves open, as the responses show them. */
  shown: Partial<Pick<BrandSettings, 'timestampUnit' | 'firstPage' | 'endTime' | 'endDate'>>;
  /** The oldest day with records, from the start date on; `isFirst`: there are records on the start date or before it. */
  oldest?: { day: string; isFirst: boolean };
  error?: BrandReportsError;
}

export const SAMPLE_DAYS = 30;
/** Days that are read to prove the zone, and pages of each. */
const ZONE_DAYS = 10;
const ZONE_PAGES = 5;
/** Earlier than any start date that settings allow. */
const BEFORE_ALL = '2000-01-01';
/** Refusals that a wrong method may have caused. Other refusals are not tried again, because each counts against the credentials. */
const MAY_BE_METHOD = /^(http_40[045]|not_json) |\b(method|GET|POST)\b/i;
/** People wait for the result: a host that does not exist fails within two seconds. */
const IMPATIENT = { maxAttempts: 3, baseMs: 400, capMs: 800, maxWaitMs: 20_000 };

/** The meaning of `end_date`: a report whose records are all of midnight shows the same in both cases, so `midnight` wins. */
export function endDateOf(measured: Pick<BrandSample, 'reports'>): BrandSettings['endDate'] | undefined {
  const all = measured.reports.map(({ shown }) => shown.endDate);
  return all.find((endDate) => endDate === 'midnight') ?? all.find((endDate) => endDate !== undefined);
}

/** Needs no lease: a check beside a run of hours doubles the rate for some seconds. */
export async function sampleBrand(options: RunOptions, brand: string): Promise<BrandSample> {
  const reports = selectReports(options, brand).filter(({ day }) => day.by !== 'upstream');
  const [first] = reports;
  if (!first) return { reports: [] };
  const { service, method, error } = await makeContact(options, brand, first);
  // Every report would fail alike. Only a refusal may concern this report alone, so the other reports are next; after a
  // second refusal the client stops.
  const mayConcernOne = !error || (error.kind === 'auth' && error.context.status !== undefined);
  const read: ReadReport[] = [];
  const inOrder = error ? [...reports.slice(1), first] : reports;
  for (const report of mayConcernOne ? inOrder : []) {
    const ctx = createFetchContext(options, { brand, report, service });
    read.push(await measureReport(withBrandSettings(ctx, { method })));
  }
  const { clockSkewMs } = service;
  if (!mayConcernOne || !service.hasAnswered) return { clockSkewMs, error, reports: [] };
  return { clockSkewMs, method, reports: read.map(({ found }) => found), zone: await measureZone(read) };
}

interface ReadReport {
  /** With the values that the service showed in place of the settings. */
  ctx: FetchContext;
  found: ReportSample;
}

async function makeContact(options: RunOptions, brand: string, report: ReportDefinition) {
  const { method: set } = brandSettingsOf(options, brand);
  const contactBy = async (method: BrandSettings['method']) => {
    const beganMs = options.clock.monotonicMs();
    // The second service counts no request of the first one.
    const claim = async () => beganMs;
    const service = createService(options, brand, { claim, method, retry: IMPATIENT });
    // Page 1 exists whether pages are numbered from 0 or from 1.
    const ctx = withBrandSettings(createFetchContext(options, { brand, report, service }), { firstPage: 1 });
    const error = await fetchFirstPage(ctx, sampleFields(ctx)).then(() => undefined, rethrowBugs);
    return { service, method, error };
  };
  const first = await contactBy(set);
  if (!first.error || !MAY_BE_METHOD.test(`${first.error.code} ${first.error.message}`)) return first;
  const second = await contactBy(set === 'POST' ? 'GET' : 'POST');
  return second.error ? first : second;
}

async function measureReport(ctx: FetchContext): Promise<ReadReport> {
  const found: ReportSample = { report: ctx.report, records: [], shown: {} };
  try {
    const isByDates = ctx.report.day.by === 'dates';
    const known = await (isByDates ? measureDates(ctx, found) : measureTimestamps(ctx, found));
    if (found.records.length > 0) found.oldest = await oldestDay(known);
  } catch (thrown) {
    found.error = rethrowBugs(thrown);
  }
  return { ctx: withBrandSettings(ctx, found.shown), found };
}

async function measureDates(ctx: FetchContext, found: ReportSample): Promise<FetchContext> {
  const endDate = await observeEndDate(ctx);
  if (endDate) found.shown = { endDate };
  const known = withBrandSettings(ctx, found.shown);
  found.records = recordsOfList((await fetchFirstPage(known, sampleFields(known))).records);
  return known;
}

async function measureTimestamps(ctx: FetchContext, found: ReportSample): Promise<FetchContext> {
  const { report, brandSettings } = ctx;
  const isNumbered = report.paging.style === 'numbered';
  let refusal: unknown;
  for (const [index, candidate] of readings(brandSettings, isNumbered).entries()) {
    const tried = withBrandSettings(ctx, candidate);
    const page = await fetchFirstPage(tried, sampleFields(tried)).catch((thrown: unknown) => {
      if (index === 0) refusal = thrown;
      return contractOnly(thrown);
    });
    if (!page || page.records.count === 0) continue;
    // Small pages, so that there are several. Orders without an id may be so similar that small pages are equal.
    const firstPage = isNumbered
      ? ((await measureFirstPage(withLeastPages(tried))) ?? (await measureFirstPage(tried)))
      : undefined;
    found.records = recordsOfList(page.records);
    found.shown = {
      timestampUnit: candidate.timestampUnit,
      ...(firstPage !== undefined && { firstPage }),
      // The default requests a single instant.
      ...(report.day.by === 'timestamps' &&
        !(await answersInstant(tried)) && { endTime: 'inclusive' as const }),
    };
    return withBrandSettings(tried, found.shown);
  }
  if (refusal !== undefined) throw refusal;
  return ctx;
}

function readings({ timestampUnit, firstPage }: BrandSettings, isNumbered: boolean) {
  const other = timestampUnit === 'seconds' ? ('milliseconds' as const) : ('seconds' as const);
  const numbers = isNumbered ? [firstPage, 1 - firstPage] : [firstPage];
  return [timestampUnit, other].flatMap((unit) =>
    numbers.map((number) => ({ timestampUnit: unit, firstPage: number })),
  );
}

/** If page 0 has other records than page 1, reading from page 1 on would miss them. */
async function measureFirstPage(ctx: FetchContext): Promise<0 | 1 | undefined> {
  const [zero, one] = [await pageIfAny(ctx, 0), await pageIfAny(ctx, 1)];
  if (!zero?.records.count) return one?.records.count ? 1 : undefined;
  if (one?.hash !== zero.hash) return 0;
  // Page 1 may be page 0 by another name, or a repetition after the last page, or all of their records are alike.
  const two = await pageIfAny(ctx, 2);
  const texts = recordsOfList(one.records).map(stringifyJson);
  const areAlike = new Set(texts).size < texts.length;
  return two?.records.count && two.hash !== one.hash && !areAlike ? 1 : undefined;
}

function pageIfAny(ctx: FetchContext, number: number): Promise<Page | undefined> {
  const numbered = withBrandSettings(ctx, { firstPage: number });
  return fetchFirstPage(numbered, sampleFields(ctx)).catch(contractOnly);
}

async function answersInstant(ctx: FetchContext): Promise<boolean> {
  const { brandSettings, settings } = ctx;
  const atMs = startOfDay(todayIn(ctx), brandSettings.timeZone);
  const fields = { ...settings.filters, ...timestampFields(brandSettings, atMs, atMs) };
  return (await fetchFirstPage(ctx, fields).catch(contractOnly)) !== undefined;
}

/** Reads days whose records distinguish the zones that still fit, until one zone is left. */
async function measureZone(read: readonly ReadReport[]): Promise<ZoneInSample | undefined> {
  for (const { ctx, found } of read) {
    const field = ctx.report.day.by === 'dates' ? timeField(found.records) : undefined;
    if (field === undefined) continue;
    try {
      const zone = await zoneOf(ctx, found, field);
      if (zone.seen.length > 0) return zone;
    } catch (thrown) {
      found.error ??= rethrowBugs(thrown);
    }
  }
}

async function zoneOf(ctx: FetchContext, found: ReportSample, field: string): Promise<ZoneInSample> {
  const nowMs = ctx.clock.now().getTime();
  const limit = found.oldest?.isFirst === false ? found.oldest.day : BEFORE_ALL;
  const named = [ctx.brandSettings.timeZone, ...allTimeZones()];
  const evidence = { report: ctx.report.name, field, seen: [], records: 0 };
  const zone: ZoneInSample = { ...evidence, fits: [...new Set(named)], isProven: false };
  let days = daysToMeasure(addDays(todayIn(ctx), -1), limit);
  let [day] = days;
  for (let daysRead = 0; daysRead < ZONE_DAYS && day !== undefined; daysRead += 1) {
    const times = timesOf(await recordsOfDay(ctx, day), field);
    const [firstMs, lastMs] = [times[0], times.at(-1)];
    const withNextMidnight = ctx.brandSettings.endDate === 'midnight';
    zone.records += times.length;
    if (firstMs !== undefined && lastMs !== undefined) {
      zone.seen.push({ day, firstMs, lastMs, withNextMidnight });
      Object.assign(zone, proveTimeZone(zone.seen, nowMs, zone.fits));
      if (zone.isProven || zone.fits.length === 0) break;
    }
    days = days.filter((other) => other !== day);
    day = zone.seen.length === 0 ? days[0] : decisiveDay(zone.fits, days);
  }
  return zone;
}

async function recordsOfDay(ctx: FetchContext, day: string): Promise<JsonObject[]> {
  const { brandSettings, settings } = ctx;
  const range = dateFields(day, brandSettings.endDate === 'midnight' ? addDays(day, 1) : day);
  const records: JsonObject[] = [];
  let read = 0;
  for await (const page of pages(pageRequest(ctx, { ...settings.filters, ...range }))) {
    records.push(...recordsOfList(page.records));
    read += 1;
    if (read === ZONE_PAGES) break;
  }
  return records;
}

/** Halves the days since the start date: about nine requests for a year, one if the start date itself has records. */
async function oldestDay(ctx: FetchContext): Promise<ReportSample['oldest']> {
  const { startDate } = ctx.policy;
  const leastPages = withLeastPages(ctx);
  const hasRecordsUntil = async (day: string) =>
    (await fetchFirstPage(leastPages, rangeFields(ctx, BEFORE_ALL, day))).records.count > 0;
  if (await hasRecordsUntil(startDate)) return { day: startDate, isFirst: true };
  let [without, withRecords] = [startDate, todayIn(ctx)];
  while (daysBetween(without, withRecords) > 1) {
    const middle = addDays(without, Math.floor(daysBetween(without, withRecords) / 2));
    if (await hasRecordsUntil(middle)) withRecords = middle;
    else without = middle;
  }
  return { day: withRecords, isFirst: false };
}

function sampleFields(ctx: FetchContext) {
  const today = todayIn(ctx);
  return rangeFields(ctx, addDays(today, -SAMPLE_DAYS), today);
}

/** The request fields for all days from `from` to `to`, both included. */
function rangeFields({ report, brandSettings, settings, clock }: FetchContext, from: string, to: string) {
  const { timeZone, endDate } = brandSettings;
  if (report.day.by === 'dates')
    return { ...settings.filters, ...dateFields(from, endDate === 'midnight' ? addDays(to, 1) : to) };
  // A range may include its end, and the next midnight is of another day.
  const toMs = Math.min(endOfDay(to, timeZone) - 1000, clock.now().getTime() + DAY_MS);
  return { ...settings.filters, ...timestampFields(brandSettings, startOfDay(from, timeZone), toMs) };
}

function withBrandSettings(ctx: FetchContext, shown: Partial<BrandSettings>): FetchContext {
  return { ...ctx, brandSettings: { ...ctx.brandSettings, ...shown } };
}

function withLeastPages(ctx: FetchContext): FetchContext {
  const { paging } = ctx.report;
  const pageSize = paging.style === 'lookup' ? 1 : paging.pageSize.min;
  return { ...ctx, settings: { ...ctx.settings, pageSize } };
}

/** Returns if the service refuses an allowed interpretation of the interface: the refusal is a result. @throws every other error */
function contractOnly(thrown: unknown): undefined {
  if (asBrandReportsError(thrown).kind !== 'contract') throw thrown;
}
