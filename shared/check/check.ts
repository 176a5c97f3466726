/** Each finding rests on responses, and may have the setting that they support. */
import { dayOf } from '../base/days.ts';
import { BrandReportsError, asBrandReportsError } from '../base/errors.ts';
import { type RunOptions, brandSettingsOf, selectBrands, selectReports } from '../run/run.ts';
import { BY_CHECK } from '../base/command-line.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import { usualName } from '../settings/time-zone.ts';
import { type Finding, error, ok, proposed, warning } from './finding.ts';
import { recordFindings } from './record-findings.ts';
import { type BrandSample, type ReportSample, SAMPLE_DAYS, endDateOf, sampleBrand } from './sample.ts';
import { type ZoneInSample, contradiction, shownZones, zoneEvidence } from './zone.ts';

export interface BrandCheck {
  brand: string;
  findings: Finding[];
  reports: { report: string; findings: Finding[] }[];
}

/** The document of `check --json`, and the Lambda handler's result. */
export interface CheckOutcome {
  status: 'ok' | 'failed';
  brands: BrandCheck[];
}

const MAX_QUIET_SKEW_SECONDS = 30;

export async function runCheck(options: RunOptions): Promise<CheckOutcome> {
  const check = async (brand: string) => judgeBrand(options, brand, await sampleBrand(options, brand));
  const brands = await Promise.all(selectBrands(options).map(check));
  return { status: brands.some(hasErrors) ? 'failed' : 'ok', brands };
}

export function hasErrors(check: BrandCheck): boolean {
  return findingsOf(check).some(({ level }) => level === 'error' || level === 'undecided');
}

export function findingsOf({ findings, reports }: BrandCheck): Finding[] {
  return [...findings, ...reports.flatMap((report) => report.findings)];
}

type Judged = Pick<RunOptions, 'settings' | 'reports' | 'scope' | 'clock'>;

export function judgeBrand(options: Judged, brand: string, sample: BrandSample): BrandCheck {
  const settings = brandSettingsOf(options, brand);
  const findings = connectionFindings(settings, sample);
  if (sample.error) return { brand, findings, reports: [] };
  findings.push(zoneFinding(settings.timeZone, sample.zone));
  return { brand, findings, reports: reportChecks(options, brand, sample) };
}

/** @throws an unexpected error, which is a bug */
function errorFinding(thrown: unknown): Finding {
  const { kind, code, message } = asBrandReportsError(thrown);
  if (kind === 'bug' && !(thrown instanceof BrandReportsError)) throw thrown;
  return error(code, `${kind}: ${message.replaceAll(BY_CHECK, '')}`);
}

/** Findings that concern all requests. A refusal contains no cause, so its finding lists the headers that were sent. */
function connectionFindings(settings: BrandSettings, sample: BrandSample): Finding[] {
  const { clockSkewMs, method, error: thrown } = sample;
  const findings = clockSkewMs === undefined ? [] : [clockFinding(Math.round(clockSkewMs / 1000))];
  if (!thrown)
    return method && method !== settings.method
      ? [...findings, compared(settings, 'method', method)]
      : findings;
  const found = errorFinding(thrown);
  const isRefused = thrown.kind === 'auth';
  const sent = `compare its header X-${settings.service}-DATE, from the setting service, with the documentation`;
  return [...findings, isRefused ? { ...found, message: `${found.message}; ${sent}` } : found];
}

function clockFinding(seconds: number): Finding {
  const differ = `the clocks differ by ${seconds} s`;
  if (Math.abs(seconds) < MAX_QUIET_SKEW_SECONDS) return ok('clock', differ);
  return warning('clock', `${differ}: correct this machine's clock (NTP)`);
}

function zoneFinding(set: string, zone: ZoneInSample | undefined): Finding {
  const unproven = `the setting timeZone (${set}) could not be verified`;
  const evidence = zone && zoneEvidence(zone);
  const usual = zone && usualName(zone.fits);
  if (!zone || usual === undefined) {
    const why = evidence === undefined ? 'no record shows its instant' : `no zone fits ${evidence}`;
    return warning('time_zone', `${unproven}: ${why}; compare the orders of a day with the dashboard`);
  }
  const wrong = contradiction(set, zone.seen);
  if (wrong) {
    const at = new Date(wrong.atMs).toISOString();
    const fits = zone.isProven ? 'is proven' : `fits ${evidence}, as does ${shownZones(zone.fits, usual)}`;
    const found = `${zone.report} returned a record of ${at} (${zone.field}) for ${wrong.day}`;
    const why = `${found}, which is no time of that day in ${set}; ${usual} ${fits}`;
    return proposed('error', 'time_zone', {
      ...{ path: ['timeZone'], value: usual, why, isCertain: zone.isProven },
    });
  }
  return zone.isProven
    ? ok('time_zone', `the time zone ${set} is proven by ${evidence}`)
    : warning('time_zone', `${unproven}: ${set} fits ${evidence}, but so does ${shownZones(zone.fits, set)}`);
}

function reportChecks(options: Judged, brand: string, sample: BrandSample): BrandCheck['reports'] {
  const settings = brandSettingsOf(options, brand);
  const today = dayOf(options.clock.wallMs(), settings.timeZone);
  return selectReports(options, brand).map(({ name }) => {
    const found = sample.reports.find(({ report }) => report.name === name);
    const own = settings.reports[name];
    if (!found || !own) return { report: name, findings: [ok('lookup', 'its upstream report covers it')] };
    const { report, records, error: thrown } = found;
    const read = `the first page of the last ${SAMPLE_DAYS} days has ${records.length} records`;
    const findings = [
      ...(thrown ? [errorFinding(thrown)] : []),
      ...(thrown && records.length === 0 ? [] : [ok('first_page', read)]),
      ...(thrown ? [] : openPoints(settings, found, sample)),
      ...recordFindings(report, own, records),
      ...startFindings(own, found, today),
    ];
    return { report: name, findings };
  });
}

function openPoints(settings: BrandSettings, found: ReportSample, sample: BrandSample): Finding[] {
  const { report, shown } = found;
  if (report.day.by === 'dates') return [compared(settings, 'endDate', shown.endDate && endDateOf(sample))];
  return [
    compared(settings, 'timestampUnit', shown.timestampUnit),
    ...(report.paging.style === 'numbered' ? [compared(settings, 'firstPage', shown.firstPage)] : []),
    ...(shown.endTime ? [compared(settings, 'endTime', shown.endTime)] : []),
  ];
}

/** By setting: the code of its findings, and the value that is not its default. */
const OPEN_POINTS = {
  method: ['method', 'GET'],
  timestampUnit: ['timestamp_unit', 'milliseconds'],
  firstPage: ['first_page_number', 0],
  endTime: ['end_time', 'inclusive'],
  endDate: ['end_date', 'midnight'],
} as const;

/** @param shown what the service does; missing if there were too few records to show it */
function compared(settings: BrandSettings, name: keyof typeof OPEN_POINTS, shown?: string | number): Finding {
  const { [name]: set } = settings;
  const [code, other] = OPEN_POINTS[name];
  if (shown === set) return ok(code, `the setting ${name}, ${set}, is what the service does`);
  if (shown === undefined) {
    const why = `the setting ${name} (${set}) could not be verified: too few records in ${SAMPLE_DAYS} days`;
    if (set === other) return warning(code, why);
    return proposed('warning', code, {
      path: [name],
      value: other,
      why: `${why}; if days stay empty`,
      isCertain: false,
    });
  }
  const [level, why] =
    shown === 'whole_day'
      ? (['warning', 'end_date is a whole day, which halves the requests'] as const)
      : (['error', `the responses contradict the setting ${name} (${set})`] as const);
  return proposed(level, code, { path: [name], value: shown, why, isCertain: true });
}

/** Days before the first record would count as complete, although the service has nothing to return for them. */
function startFindings(
  { startDate }: ReportSettings,
  { report, oldest }: ReportSample,
  today: string,
): Finding[] {
  const path = ['reports', report.name, 'startDate'];
  if (startDate > today)
    return [error('start_date', `startDate (${startDate}) is in the future; allowed: up to ${today}`)];
  if (!oldest) return [];
  if (oldest.isFirst)
    return [ok('oldest_day', `the service returns records of ${startDate} (startDate) or before`)];
  const why = `the first records are of ${oldest.day}, and empty days before would count as complete`;
  return [proposed('warning', 'oldest_day', { path, value: oldest.day, why, isCertain: true })];
}
