import { DAY_MS, addDays } from '../days.ts';
import { BrandReportsError, asBrandReportsError } from '../errors.ts';
import { timestampFields, windowToRead, dayQueries } from '../planning/day-queries.ts';
import { observeEndDate } from '../pipeline/probe-end-date.ts';
import { fetchFirstPageOf, fetchFirstPage } from '../attempt/fetch.ts';
import { type FetchContext, todayIn } from '../context/context.ts';
import type { ReportService } from '../ports.ts';
import {
  type RunOptions,
  brandSettingsOf,
  createService,
  createFetchContext,
  selectBrands,
  selectReports,
} from '../run/run.ts';
import { readCredentials } from '../service/credentials.ts';
import { fixedRate } from '../service/rate-limit.ts';
import { type BrandSettings, undocumentedStates } from '../settings/settings.ts';

/** What was found, and what to do where it is not `ok`. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  code: string;
  message: string;
}

/** The findings about one report. */
export interface ReportCheck {
  report: string;
  findings: Finding[];
}

/** The findings about one brand and its reports. */
export interface BrandCheck {
  brand: string;
  /** Clock skew: service time minus local time, in milliseconds. */
  clockSkewMs: number;
  findings: Finding[];
  reports: ReportCheck[];
}

/** The document of `check --json`, and the Lambda handler's result. */
export interface CheckOutcome {
  status: 'ok' | 'failed';
  brands: BrandCheck[];
}

const MAX_QUIET_SKEW_MS = 30_000;

/**
 * Fetches each report's first page, and probes what the interface leaves open (docs/interface.md). It needs no lake:
 * nothing is read from one and nothing is written.
 */
export async function runCheck(options: RunOptions): Promise<CheckOutcome> {
  const brands = await Promise.all(selectBrands(options).map((brand) => checkBrand(options, brand)));
  const failed = brands.some(({ findings, reports }) =>
    [findings, ...reports.map((report) => report.findings)].flat().some(({ level }) => level === 'error'),
  );
  return { status: failed ? 'failed' : 'ok', brands };
}

async function checkBrand(options: RunOptions, brand: string): Promise<BrandCheck> {
  const credentials = await findingsOf(async () => {
    const { baseUrl } = await readCredentials(
      options.credentials,
      brand,
      brandSettingsOf(options, brand).baseUrl,
    );
    const where =
      baseUrl === undefined
        ? 'name no baseUrl, so any address in the settings receives them'
        : 'are for the baseUrl of the settings';
    return [ok('credentials', `the credentials can be read; they ${where}`)];
  });
  if (credentials.some(({ level }) => level === 'error'))
    return { brand, clockSkewMs: 0, findings: credentials, reports: [] };
  const { scope, settings } = options;
  // Without the budget that runs share, which is in the lake: about ten requests, one after another.
  const highestRate = fixedRate(scope.requestsPerSecond ?? settings.requestsPerSecond);
  const service = createService(options, brand, { highestRate });
  const reports: ReportCheck[] = [];
  for (const report of selectReports(options, brand)) {
    const context = createFetchContext(options, { brand, report, service });
    const findings = [...(await checkReport(context)), ...statesFindings(context)];
    reports.push({ report: report.name, findings });
  }
  return {
    brand,
    clockSkewMs: service.clockSkewMs,
    findings: [...credentials, clockFinding(service)],
    reports,
  };
}

function clockFinding({ clockSkewMs }: ReportService): Finding {
  const seconds = Math.round(clockSkewMs / 1000);
  if (Math.abs(clockSkewMs) < MAX_QUIET_SKEW_MS) return ok('clock', `the clocks differ by ${seconds} s`);
  const message = `this machine's clock and the service's differ by ${seconds} s; requests are signed with the service's time, but correct this machine's clock (NTP)`;
  return { level: 'warning', code: 'clock', message };
}

function statesFindings({ settings }: FetchContext): Finding[] {
  return undocumentedStates(settings.states).map((state) =>
    warning('states', `states.final has ${state}: days with records in another state are read for longer`),
  );
}

async function checkReport(context: FetchContext): Promise<Finding[]> {
  const { day, paging } = context.report;
  if (day.by === 'upstream')
    return [
      ok('lookup', `one call for each record of ${day.report}; the check of that report covers this one`),
    ];
  const first = await findingsOf(() => checkFirstPage(context));
  if (first.some(({ level }) => level === 'error')) return first;
  const openPoint = await findingsOf(() =>
    day.by === 'dates' ? checkEndDate(context) : checkTimestampUnit(context),
  );
  const numbering = paging.style === 'numbered' ? await findingsOf(() => checkFirstPageNumber(context)) : [];
  return [...first, ...openPoint, ...numbering];
}

async function checkFirstPage(context: FetchContext): Promise<Finding[]> {
  const { report, brandSettings, settings, clock } = context;
  const yesterday = addDays(todayIn(context), -1);
  const window = windowToRead(brandSettings, yesterday, clock.now().getTime(), undefined);
  const findings: Finding[] = [];
  for (const query of dayQueries(report, brandSettings, settings, yesterday, window)) {
    const { records } = await fetchFirstPageOf(context, query);
    if (query.role === 'include')
      findings.push(ok('first_page', `the first page of ${yesterday} has ${records.count} records`));
  }
  return findings;
}

/** Whether `end_date` is a day or its midnight (docs/interface.md, section 4.4). */
async function checkEndDate(context: FetchContext): Promise<Finding[]> {
  const { endDate } = context.brandSettings;
  const observed = await observeEndDate(context);
  if (observed === undefined)
    return [
      warning(
        'end_date',
        `two days ago has no records, so the setting endDate (${endDate}) could not be verified`,
      ),
    ];
  if (observed === endDate)
    return [ok('end_date', `the setting endDate, ${endDate}, is what the service does`)];
  if (observed === 'whole_day')
    return [
      warning(
        'end_date',
        'the service takes end_date as a whole day: "endDate": "whole_day" halves the requests',
      ),
    ];
  return [error('end_date', 'the service takes end_date as that day\'s midnight: set "endDate": "midnight"')];
}

/** The unit of `start_time` and `end_time` (docs/interface.md, sections 4.1 and 4.3): queries the last week in both units. */
async function checkTimestampUnit(context: FetchContext): Promise<Finding[]> {
  const { timestampUnit } = context.brandSettings;
  const other = timestampUnit === 'seconds' ? 'milliseconds' : 'seconds';
  if (await lastWeekHasRecords(context, timestampUnit))
    return [ok('timestamp_unit', `${timestampUnit} return records of the last week`)];
  if (await lastWeekHasRecords(context, other))
    return [
      error(
        'timestamp_unit',
        `only ${other} return records of the last week: set "timestampUnit": "${other}"`,
      ),
    ];
  return [
    warning(
      'timestamp_unit',
      `the last week has no records, so the setting timestampUnit (${timestampUnit}) could not be verified`,
    ),
  ];
}

async function lastWeekHasRecords(
  context: FetchContext,
  timestampUnit: BrandSettings['timestampUnit'],
): Promise<boolean> {
  const { brandSettings, settings } = context;
  const week = lastWeek(context, { ...brandSettings, timestampUnit });
  try {
    return (await fetchFirstPage(context, { ...settings.filters, ...week })).records.count > 0;
  } catch (thrown) {
    const refused = asBrandReportsError(thrown);
    if (refused.kind === 'contract' && timestampUnit !== brandSettings.timestampUnit) return false;
    throw refused;
  }
}

/** The first `page_number` (docs/interface.md, section 4.3): a page 0 with other records than page 1 would be missed. */
async function checkFirstPageNumber(context: FetchContext): Promise<Finding[]> {
  const { report, brandSettings, settings } = context;
  const week = lastWeek(context, brandSettings);
  const page = (firstPage: number) =>
    fetchFirstPage(
      { ...context, brandSettings: { ...brandSettings, firstPage } },
      { ...settings.filters, ...week },
    );
  const zero = await page(0).catch(contractOnly);
  const one = await page(1);
  const set = brandSettings.firstPage;
  const begins = zero && zero.records.count > 0 && zero.hash !== one.hash ? 0 : 1;
  if (one.records.count === 0 && begins === 1)
    return [
      warning(
        'first_page_number',
        `the last week has no ${report.table}, so the setting firstPage (${set}) could not be verified`,
      ),
    ];
  if (begins === set) return [ok('first_page_number', `pages are numbered from ${set}`)];
  return [error('first_page_number', `pages are numbered from ${begins}: set "firstPage": ${begins}`)];
}

function lastWeek({ clock }: FetchContext, brandSettings: BrandSettings) {
  const nowMs = clock.now().getTime();
  return timestampFields(brandSettings, nowMs - 7 * DAY_MS, nowMs);
}

function contractOnly(thrown: unknown): undefined {
  if (asBrandReportsError(thrown).kind !== 'contract') throw thrown;
}

async function findingsOf(check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (thrown) {
    const { kind, code, message } = asBrandReportsError(thrown);
    if (kind === 'bug' && !(thrown instanceof BrandReportsError)) throw thrown;
    return [error(code, `${kind}: ${message}`)];
  }
}

const ok = (code: string, message: string): Finding => ({ level: 'ok', code, message });
const warning = (code: string, message: string): Finding => ({ level: 'warning', code, message });
const error = (code: string, message: string): Finding => ({ level: 'error', code, message });
