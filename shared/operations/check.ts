import { addDays, dayOf } from '../days.ts';
import { BrandReportsError, asBrandReportsError } from '../errors.ts';
import { timestampFields, windowToRead, dayQueries } from '../planning/day-queries.ts';
import { observeEndDate } from '../pipeline/probe-end-date.ts';
import { fetchFirstPageOf, fetchFirstPage } from '../pipeline/fetch.ts';
import type { RunContext } from '../pipeline/context.ts';
import { type RunOptions, createService, createRunContext, selectBrands, selectReports } from '../run.ts';
import type { ServiceClient } from '../service/client.ts';

/** What was found, and where it is not well, how to mend it. */
export interface Finding {
  level: 'ok' | 'warning' | 'error';
  code: string;
  message: string;
}

export interface ReportCheck {
  report: string;
  findings: Finding[];
}

export interface BrandCheck {
  brand: string;
  /** What the machine's clock lacks against the service's. */
  clockSkewMs: number;
  findings: Finding[];
  reports: ReportCheck[];
}

/** What `check` answers with, on the command line and from the Lambda handler. */
export interface CheckOutcome {
  status: 'ok' | 'failed';
  brands: BrandCheck[];
}

const NOTICEABLE_SKEW_MS = 30_000;

/**
 * Asks the service for each report's first page and for what the interface document leaves open; reads nothing of
 * the lake and writes nothing.
 */
export async function runCheck(options: RunOptions): Promise<CheckOutcome> {
  const brands = await Promise.all(selectBrands(options).map((brand) => checkBrand(options, brand)));
  const failed = brands.some(({ findings, reports }) =>
    [findings, ...reports.map((report) => report.findings)].flat().some(({ level }) => level === 'error'),
  );
  return { status: failed ? 'failed' : 'ok', brands };
}

async function checkBrand(options: RunOptions, brand: string): Promise<BrandCheck> {
  const credentials = await finding(async () => {
    await options.credentials.read(brand);
    return [ok('credentials', 'the credentials can be read')];
  });
  if (credentials.some(({ level }) => level === 'error'))
    return { brand, clockSkewMs: 0, findings: credentials, reports: [] };
  const service = createService(options, brand, undefined);
  const reports: ReportCheck[] = [];
  for (const report of selectReports(options, brand)) {
    const run = createRunContext(options, {
      id: 'check',
      brand,
      report,
      service,
      units: { begun: 0 },
      ledgers: new Map(),
    });
    reports.push({ report: report.name, findings: await checkReport(run) });
  }
  return {
    brand,
    clockSkewMs: service.clockSkewMs,
    findings: [...credentials, clockFinding(service)],
    reports,
  };
}

function clockFinding({ clockSkewMs }: ServiceClient): Finding {
  const seconds = Math.round(clockSkewMs / 1000);
  if (Math.abs(clockSkewMs) < NOTICEABLE_SKEW_MS) return ok('clock', `the clocks differ by ${seconds} s`);
  const message = `this machine's clock and the service's differ by ${seconds} s; requests are signed with the service's time, but set this machine's clock right (NTP)`;
  return { level: 'warning', code: 'clock', message };
}

async function checkReport(run: RunContext): Promise<Finding[]> {
  const { by } = run.report.day;
  if (by === 'upstream')
    return [ok('lookup', `one call for each record of ${run.report.day.report}; its check stands for this`)];
  const first = await finding(() => firstPageFinding(run));
  if (first.some(({ level }) => level === 'error')) return first;
  const open = by === 'dates' ? endDateFinding : unitFinding;
  const numbered =
    run.report.paging.style === 'numbered' ? await finding(() => firstPageNumberFinding(run)) : [];
  return [...first, ...(await finding(() => open(run))), ...numbered];
}

async function firstPageFinding(run: RunContext): Promise<Finding[]> {
  const yesterday = addDays(today(run), -1);
  const window = windowToRead(run.brandSettings, yesterday, run.clock.now().getTime(), undefined);
  const findings: Finding[] = [];
  for (const { role, fields } of dayQueries(run.report, run.brandSettings, run.settings, yesterday, window)) {
    const { records } = await fetchFirstPageOf(run, role, fields);
    if (role === 'include')
      findings.push(ok('first_page', `the first page of ${yesterday} has ${records.length} records`));
  }
  return findings;
}

/** Whether `end_date` is a day or its midnight (interface document, section 4.4). */
async function endDateFinding(run: RunContext): Promise<Finding[]> {
  const { endDate } = run.brandSettings;
  const reading = await observeEndDate(run);
  if (reading === undefined)
    return [
      warning('end_date', `two days ago holds no records, so the setting endDate (${endDate}) is unproven`),
    ];
  if (reading === endDate)
    return [ok('end_date', `the setting endDate, ${endDate}, is what the service does`)];
  if (reading === 'whole_day')
    return [
      warning(
        'end_date',
        'the service takes end_date as a whole day: "endDate": "whole_day" halves the requests',
      ),
    ];
  return [error('end_date', 'the service takes end_date as that day\'s midnight: set "endDate": "midnight"')];
}

/** The unit of `start_time` and `end_time` (sections 4.1 and 4.3): the last week, asked both ways. */
async function unitFinding(run: RunContext): Promise<Finding[]> {
  const { timestampUnit } = run.brandSettings;
  const other = timestampUnit === 'seconds' ? 'milliseconds' : 'seconds';
  if (await weekHolds(run, timestampUnit))
    return [ok('timestamp_unit', `${timestampUnit} bring records of the last week`)];
  if (await weekHolds(run, other))
    return [
      error(
        'timestamp_unit',
        `only ${other} bring records of the last week: set "timestampUnit": "${other}"`,
      ),
    ];
  return [
    warning(
      'timestamp_unit',
      `the last week holds no records, so the setting timestampUnit (${timestampUnit}) is unproven`,
    ),
  ];
}

async function weekHolds(run: RunContext, timestampUnit: 'seconds' | 'milliseconds'): Promise<boolean> {
  const nowMs = run.clock.now().getTime();
  const range = timestampFields({ ...run.brandSettings, timestampUnit }, nowMs - 7 * 86_400_000, nowMs);
  try {
    return (await fetchFirstPage(run, { ...run.settings.filters, ...range })).records.length > 0;
  } catch (thrown) {
    const refused = asBrandReportsError(thrown);
    if (refused.kind === 'contract' && timestampUnit !== run.brandSettings.timestampUnit) return false;
    throw refused;
  }
}

/** The first `page_number` (section 4.3): a page 0 with other records than page 1 would be missed. */
async function firstPageNumberFinding(run: RunContext): Promise<Finding[]> {
  const nowMs = run.clock.now().getTime();
  const week = timestampFields(run.brandSettings, nowMs - 7 * 86_400_000, nowMs);
  const page = (firstPage: number) =>
    fetchFirstPage(
      { ...run, brandSettings: { ...run.brandSettings, firstPage } },
      { ...run.settings.filters, ...week },
    );
  const zero = await page(0).catch(contractOnly);
  const one = await page(1);
  const set = run.brandSettings.firstPage;
  const begins = zero && zero.records.length > 0 && zero.hash !== one.hash ? 0 : 1;
  if (one.records.length === 0 && begins === 1)
    return [
      warning(
        'first_page_number',
        `the last week holds no ${run.report.table}, so the setting firstPage (${set}) is unproven`,
      ),
    ];
  if (begins === set) return [ok('first_page_number', `pages are numbered from ${set}`)];
  return [error('first_page_number', `pages are numbered from ${begins}: set "firstPage": ${begins}`)];
}

function contractOnly(thrown: unknown): undefined {
  if (asBrandReportsError(thrown).kind !== 'contract') throw thrown;
}

async function finding(look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (thrown) {
    const { kind, code, message } = asBrandReportsError(thrown);
    if (kind === 'bug' && !(thrown instanceof BrandReportsError)) throw thrown;
    return [error(code, `${kind}: ${message}`)];
  }
}

function today({ clock, policy }: RunContext): string {
  return dayOf(clock.now().getTime(), policy.timeZone);
}

const ok = (code: string, message: string): Finding => ({ level: 'ok', code, message });
const warning = (code: string, message: string): Finding => ({ level: 'warning', code, message });
const error = (code: string, message: string): Finding => ({ level: 'error', code, message });
