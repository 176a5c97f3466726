/**
 * The connection test compares what a service shows (`measure-brand.ts`) with the settings. Every finding that is `ok`
 * rests on a response. The test needs no lake and changes nothing.
 */
import { addDays, dayOf } from '../days.ts';
import { BrandReportsError, asBrandReportsError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { WATCHED_UNTIL_AGE_DAYS } from '../planning/due.ts';
import { keyProblem } from '../planning/primary-key.ts';
import { contradiction, shownZones, usualName } from '../proofs/time-zone.ts';
import { type RecordKey, fieldsOfKey, keyOf } from '../records/record-list.ts';
import { STATE_WORDS, comparedState } from '../reports/definition.ts';
import { type RunOptions, brandSettingsOf, selectBrands, selectReports } from '../run/run.ts';
import { readCredentials } from '../service/credentials.ts';
import { BY_CHECK } from '../service/envelope.ts';
import type { BrandSettings, ReportSettings } from '../settings/settings.ts';
import {
  type BrandMeasurement,
  type ReportMeasurement,
  SAMPLE_DAYS,
  type ZoneMeasurement,
  endDateOf,
  measureBrand,
  zoneEvidence,
} from './measure-brand.ts';
import { openRoles } from './propose-roles.ts';
import { unknownWords } from './propose-settings.ts';

/** What the test found, and what to do if the level is not `ok`. */
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

/** Measures each brand in scope and compares it with its settings. */
export async function runCheck(options: RunOptions): Promise<CheckOutcome> {
  const brands = await Promise.all(selectBrands(options).map((brand) => checkBrand(options, brand)));
  return { status: brands.some(hasErrors) ? 'failed' : 'ok', brands };
}

/** Whether something has to be corrected. */
export function hasErrors({ findings, reports }: BrandCheck): boolean {
  return [...findings, ...reports.flatMap((report) => report.findings)].some(
    ({ level }) => level === 'error',
  );
}

async function checkBrand(options: RunOptions, brand: string): Promise<BrandCheck> {
  const settings = brandSettingsOf(options, brand);
  const credentials = await credentialsFinding(options, brand, settings);
  if (credentials.level === 'error') return { brand, clockSkewMs: 0, findings: [credentials], reports: [] };
  const { findings, ...rest } = judgeBrand(options, brand, await measureBrand(options, brand));
  return { ...rest, findings: [credentials, ...findings] };
}

/** Compares what a brand's service showed with its settings; sends no request. */
export function judgeBrand(options: RunOptions, brand: string, measured: BrandMeasurement): BrandCheck {
  const settings = brandSettingsOf(options, brand);
  const nowMs = options.clock.wallMs();
  return {
    brand,
    clockSkewMs: measured.clockSkewMs ?? 0,
    findings: [
      ...connectionFindings(settings, measured),
      ...startFindings(settings, nowMs),
      ...(measured.error ? [] : zoneFindings(settings.timeZone, measured)),
    ],
    reports: measured.error ? [] : reportChecks(options, brand, measured, nowMs),
  };
}

async function credentialsFinding(
  { credentials }: RunOptions,
  brand: string,
  settings: BrandSettings,
): Promise<Finding> {
  try {
    const { baseUrl } = await readCredentials(credentials, brand, settings.baseUrl);
    const where =
      baseUrl === undefined
        ? 'name no baseUrl, so any address in the settings receives them'
        : 'are for the baseUrl of the settings';
    return ok('credentials', `the credentials can be read; they ${where}`);
  } catch (thrown) {
    return errorFinding(thrown);
  }
}

/** @throws an unexpected error, which is a bug */
function errorFinding(thrown: unknown): Finding {
  const { kind, code, message } = asBrandReportsError(thrown);
  if (kind === 'bug' && !(thrown instanceof BrandReportsError)) throw thrown;
  return error(code, `${kind}: ${message.replaceAll(BY_CHECK, '')}`);
}

/** Findings that concern all requests. A refusal contains no cause, so its finding lists the headers that were sent. */
function connectionFindings(settings: BrandSettings, measured: BrandMeasurement): Finding[] {
  const findings = clockFindings(measured);
  if (measured.error) {
    const found = errorFinding(measured.error);
    const isRefused = measured.error.kind === 'auth' || measured.error.code === 'service_code';
    return [
      ...findings,
      isRefused ? { ...found, message: `${found.message}; ${sentHeaders(settings, found)}` } : found,
    ];
  }
  const { method } = measured;
  if (method !== undefined && method !== settings.method)
    findings.push(error('method', `the service refuses ${settings.method}: set "method": "${method}"`));
  return findings;
}

/** A refusal may contain the header name that the service expects. */
function sentHeaders({ service }: BrandSettings, { message }: Finding): string {
  const sent = `the request had the headers X-${service}-DATE and X-${service}-AUTHENTICATION, from the setting service`;
  const [, named] = /\bX-([\w-]{1,60}?)-(?:DATE|AUTHENTICATION)\b/i.exec(message) ?? [];
  const isOther = named !== undefined && named.toLowerCase() !== service.toLowerCase();
  return isOther
    ? `${sent}: set "service": "${named.toUpperCase()}", which the service names`
    : `${sent}: compare them with the names in the documentation of the service`;
}

function clockFindings({ clockSkewMs }: BrandMeasurement): Finding[] {
  if (clockSkewMs === undefined) return [];
  const seconds = Math.round(clockSkewMs / 1000);
  if (Math.abs(clockSkewMs) < MAX_QUIET_SKEW_MS) return [ok('clock', `the clocks differ by ${seconds} s`)];
  const message = `this machine's clock and the service's differ by ${seconds} s; requests are signed with the service's time, but correct this machine's clock (NTP)`;
  return [warning('clock', message)];
}

function startFindings({ startDate, timeZone }: BrandSettings, nowMs: number): Finding[] {
  const today = dayOf(nowMs, timeZone);
  return startDate > today
    ? [
        error(
          'start_date',
          `startDate is ${startDate}, which is in the future, so no day would be read; allowed: up to ${today}`,
        ),
      ]
    : [];
}

/** Whether the records agree with the time zone of the settings. */
function zoneFindings(set: string, { zone, keepsClickTimes }: BrandMeasurement): Finding[] {
  const findings: Finding[] = [];
  if (keepsClickTimes === false)
    findings.push(
      error(
        'click_times',
        'clicks_list does not return a click for the second of its created_time, so start_time and end_time do not mean UTC instants, and days would be cut at wrong times; ask the operator of the service',
      ),
    );
  return [...findings, zoneFinding(set, zone)];
}

function zoneFinding(set: string, zone: ZoneMeasurement | undefined): Finding {
  const unproven = `the setting timeZone (${set}) could not be verified`;
  if (!zone)
    return warning(
      'time_zone',
      `${unproven}: no report that is requested by date returned records with the time of the order as an instant; compare the number of orders of a day with the dashboard`,
    );
  const evidence = zoneEvidence(zone);
  const usual = usualName(zone.fits);
  if (usual === undefined)
    return warning(
      'time_zone',
      `${unproven}: no zone fits ${evidence}, so another time decides on which day a record is returned`,
    );
  const wrong = zone.fits.includes(set) ? undefined : contradiction(set, zone.seen);
  if (wrong) {
    const at = new Date(wrong.atMs).toISOString();
    return error(
      'time_zone',
      `timeZone is ${set}, but ${zone.report} returned a record of ${at} (${zone.field}) for ${wrong.day}, and in ${set} this is ${dayOf(wrong.atMs, set)}: set "timeZone": "${usual}", ${zone.isProven ? 'which the records prove' : `which fits ${evidence}, as does ${shownZones(zone.fits, usual)}`}`,
    );
  }
  return zone.isProven
    ? ok('time_zone', `the time zone ${set} is proven by ${evidence}`)
    : warning('time_zone', `${unproven}: ${set} fits ${evidence}, but so does ${shownZones(zone.fits, set)}`);
}

function reportChecks(
  options: RunOptions,
  brand: string,
  measured: BrandMeasurement,
  nowMs: number,
): ReportCheck[] {
  const settings = brandSettingsOf(options, brand);
  return selectReports(options, brand).map(({ name, day }) => {
    const found = measured.reports.find(({ report }) => report.name === name);
    const own = settings.reports[name];
    if (found && own)
      return {
        report: name,
        findings: [
          ...reportFindings(brand, settings, own, found, measured),
          ...oldestFindings(settings, own, found, nowMs),
        ],
      };
    const upstream = day.by === 'upstream' ? day.report : name;
    const message = `one call for each record of ${upstream}; the check of that report covers this one`;
    return { report: name, findings: [ok('lookup', message)] };
  });
}

function reportFindings(
  brand: string,
  settings: BrandSettings,
  own: ReportSettings,
  found: ReportMeasurement,
  measured: BrandMeasurement,
): Finding[] {
  const findings = found.error ? [errorFinding(found.error)] : [];
  const { sample } = found;
  if (!found.error || sample.length > 0)
    findings.push(
      ok('first_page', `the first page of the last ${SAMPLE_DAYS} days has ${sample.length} records`),
    );
  if (!found.error) findings.push(...openPoints(settings, found, measured));
  findings.push(...fieldFindings(brand, own, found));
  return findings;
}

/** Lists fields and states of the records that need a setting. */
function fieldFindings(brand: string, own: ReportSettings, { report, sample }: ReportMeasurement): Finding[] {
  const { fields, states } = own;
  const open =
    report.columns.length > 0 ? [] : openRoles(report.name, sample, { brand, fields, words: states?.words });
  const roles = open.map(({ role, evidence, candidates, setting }) =>
    warning(
      'roles',
      `no field is certain to be ${role}, so its columns are NULL: ${evidence}; ${candidates.length > 0 ? 'set' : 'if the service has no such field, set'} ${setting}`,
    ),
  );
  const words = unknownWords(sample, own).map((word) =>
    warning(
      'states',
      `the records have the state ${JSON.stringify(word)}, which the interface does not define; allowed: ${STATE_WORDS.join(', ')}; set "states": { "words": { ${JSON.stringify(word)}: "…" } }`,
    ),
  );
  const byState = Object.entries(own.filters).filter(([, value]) =>
    STATE_WORDS.includes(comparedState(String(value))),
  );
  const hidden = byState.map(([name, value]) =>
    warning(
      'filters',
      `the filter ${name} (${value}) is a state, so a record vanishes from its day when its state changes; remove the filter, and filter in SQL`,
    ),
  );
  return [...roles, ...words, ...hidden, ...keyFindings(own.key, sample)];
}

/** Whether the records have the key of the settings. Whether the key is unique, only all records of a day can show. */
function keyFindings(key: RecordKey | undefined, sample: readonly JsonObject[]): Finding[] {
  if (key === undefined) return [];
  const without = sample.filter((record) =>
    fieldsOfKey(key).some((field) => keyOf(record[field]) === undefined),
  );
  const fields = [...new Set(sample.flatMap(Object.keys))];
  const of = { records: sample.length, withoutKey: without.length, fields, keyIsNone: false };
  const problem = keyProblem(key, of);
  return problem === undefined
    ? []
    : [warning('key', `the setting key does not identify every record: ${problem}`)];
}

/** Settings for points that the interface leaves open. */
function openPoints(
  settings: BrandSettings,
  found: ReportMeasurement,
  measured: BrandMeasurement,
): Finding[] {
  const { report, timestampUnit, firstPage } = found;
  if (report.day.by === 'dates')
    return [compared('endDate', 'end_date', settings.endDate, found.endDate && endDateOf(measured))];
  const findings = [compared('timestampUnit', 'timestamp_unit', settings.timestampUnit, timestampUnit)];
  if (report.paging.style === 'numbered')
    findings.push(compared('firstPage', 'first_page_number', settings.firstPage, firstPage));
  if (found.answersInstant === false && settings.endTime === 'auto')
    findings.push(
      error(
        'end_time',
        'the service refuses a range of one instant: set "endTime": "inclusive", which is right whether or not a range includes its end',
      ),
    );
  return findings;
}

/** @param set the setting @param shown what the service does; missing if there were too few records to show it */
function compared(
  name: string,
  code: string,
  set: string | number,
  shown: string | number | undefined,
): Finding {
  if (shown === undefined)
    return warning(
      code,
      `the setting ${name} (${set}) could not be verified, because there are too few records of the last ${SAMPLE_DAYS} days`,
    );
  if (shown === set) return ok(code, `the setting ${name}, ${set}, is what the service does`);
  if (shown === 'whole_day')
    return warning(
      code,
      'the service takes end_date as a whole day: "endDate": "whole_day" halves the requests',
    );
  return error(
    code,
    `the setting ${name} is ${JSON.stringify(set)}, but the service needs another value: set "${name}": ${JSON.stringify(shown)}`,
  );
}

/** If the service deletes old days, later readings of these days would return no records. */
function oldestFindings(
  { startDate, timeZone }: BrandSettings,
  own: ReportSettings,
  found: ReportMeasurement,
  nowMs: number,
): Finding[] {
  const { oldest } = found;
  if (!oldest) return [];
  if (oldest.isFirst)
    return [ok('oldest_day', `the service returns records of ${startDate} (startDate) or before`)];
  const refreshDays = own.refresh.at(-1)?.untilAgeDays ?? 0;
  const days = Math.max(refreshDays, found.report.states ? WATCHED_UNTIL_AGE_DAYS : 0);
  const reaches = days > 0 && later(startDate, addDays(dayOf(nowMs, timeZone), -days)) < oldest.day;
  const has = `the oldest day with records is ${oldest.day}`;
  if (!reaches) return [ok('oldest_day', has)];
  return [
    warning(
      'oldest_day',
      `${has}, but days of ${found.report.name} are re-read until they are up to ${days} days old; if the service deletes old days, set "startDate": "${oldest.day}"`,
    ),
  ];
}

function later(one: string, other: string): string {
  return one > other ? one : other;
}

const ok = (code: string, message: string): Finding => ({ level: 'ok', code, message });
const warning = (code: string, message: string): Finding => ({ level: 'warning', code, message });
const error = (code: string, message: string): Finding => ({ level: 'error', code, message });
