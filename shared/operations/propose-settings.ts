/**
 * `init` writes these proposals: settings as text with comments, made from what a service showed. A value that the service
 * has shown is written as a setting; a likely value is written as a comment. Texts of the service are in comments and in
 * JSON only, so that no field name can add a setting.
 */
import { dayOf } from '../days.ts';
import { type Json, type JsonObject, stringifyJson } from '../json.ts';
import { shownZones, usualName } from '../proofs/time-zone.ts';
import { fieldsOfKey, keyOf } from '../records/record-list.ts';
import { type ReportDefinition, STATE_WORDS, comparedState } from '../reports/definition.ts';
import type { ReportSettings } from '../settings/settings.ts';
import { type BrandMeasurement, type ReportMeasurement, endDateOf, zoneEvidence } from './measure-brand.ts';
import { fieldInSample, openRoles } from './propose-roles.ts';

/** What the user enters. */
export interface BrandAnswers {
  brand: string;
  baseUrl: string;
  service: string;
  startDate: string;
  timeZone: string;
}

/** A setting and its reason; `isCertain`: it is in force, otherwise it is a comment. */
interface Line {
  name: string;
  value: Json;
  why?: string;
  isCertain: boolean;
}

/** The text of a settings file with one brand; it contains only settings that differ from the defaults. @param nowMs the date in its first line */
export function proposedSettings(answers: BrandAnswers, measured: BrandMeasurement, nowMs: number): string {
  const { brand, baseUrl, service, startDate } = answers;
  const given = Object.entries({ baseUrl, service, startDate }).map(([name, value]) => certain(name, value));
  const lines = [...given, zoneLine(answers, measured), ...openPoints(measured)];
  const reports = measured.reports.flatMap((found) => reportText(found, brand));
  return [
    `// Written by "brand-reports init" on ${dayOf(nowMs, 'UTC')}. docs/reference/settings.md describes all settings.`,
    '{',
    '  "brands": {',
    `    ${stringifyJson(brand)}: {`,
    ...lines.flatMap((line) => lineText(line, 6)),
    ...(reports.length > 0 ? ['      "reports": {', ...reports, '      },'] : []),
    '    },',
    '  },',
    '}',
    '',
  ].join('\n');
}

function zoneLine({ timeZone }: BrandAnswers, { zone }: BrandMeasurement): Line {
  if (!zone) return certain('timeZone', timeZone, 'Given. No record has shown the days of the brand.');
  const others = shownZones(zone.fits, timeZone);
  const why = zone.isProven
    ? `Proven by ${zoneEvidence(zone)}${others === '' ? '' : `; ${others} have the same days`}.`
    : `Given. It fits ${zoneEvidence(zone)}, but so does ${others}.`;
  return certain('timeZone', timeZone, why);
}

/** The zone that the records prove; missing if they do not. */
export function provenZone({ zone }: BrandMeasurement): string | undefined {
  return zone?.isProven ? usualName(zone.fits) : undefined;
}

/** Settings for points on which the service differs from the defaults. */
function openPoints(measured: BrandMeasurement): Line[] {
  const { reports, method } = measured;
  const orders = reports.find(({ report }) => report.paging.style === 'numbered');
  const unit = reports.find(({ timestampUnit }) => timestampUnit)?.timestampUnit;
  const lines: Line[] = [];
  if (method === 'GET') lines.push(certain('method', method, 'The service refuses POST.'));
  if (unit === 'milliseconds')
    lines.push(certain('timestampUnit', unit, 'Only milliseconds return records of the last days.'));
  if (orders?.firstPage === 0) lines.push(certain('firstPage', 0, 'Page 0 has other orders than page 1.'));
  if (orders && orders.firstPage === undefined)
    lines.push(doubtful('firstPage', 0, 'Too few orders to show whether pages begin with 0 or 1 (default).'));
  if (orders?.answersInstant === false)
    lines.push(certain('endTime', 'inclusive', 'The service refuses a range of one instant.'));
  if (endDateOf(measured) === 'midnight')
    lines.push(
      certain('endDate', 'midnight', 'Days that were requested one by one had fewer records than together.'),
    );
  if (endDateOf(measured) === undefined)
    lines.push(
      doubtful('endDate', 'midnight', 'Too few records to show whether end_date is a whole day (default).'),
    );
  return lines;
}

function reportText({ report, sample }: ReportMeasurement, brand: string): string[] {
  const lines =
    sample.length === 0 ? [] : [rolesLine(report, sample, brand), wordsLine(sample), keyLine(report, sample)];
  const proposed = lines.filter((line) => line !== undefined);
  if (proposed.length === 0) return [];
  return [`        "${report.name}": {`, ...proposed.flatMap((line) => lineText(line, 10)), '        },'];
}

function rolesLine(report: ReportDefinition, sample: readonly JsonObject[], brand: string): Line | undefined {
  // Documented fields need no proposal.
  const open = report.columns.length > 0 ? [] : openRoles(report.name, sample, { brand });
  if (open.length === 0) return undefined;
  const fields = open.map(({ role, candidates }) => [role, candidates[0] ?? null] as const);
  return doubtful(
    'fields',
    Object.fromEntries(fields),
    open.map(({ role, evidence }) => `${role}: ${evidence}`).join('; '),
  );
}

/** State words of the records that are neither in the interface nor in the settings. */
export function unknownWords(
  sample: readonly JsonObject[],
  { fields, states }: Partial<Pick<ReportSettings, 'fields' | 'states'>>,
): string[] {
  const { state = fieldInSample('state', sample) } = fields ?? {};
  const named = [state ?? []].flat();
  const known = [...STATE_WORDS, ...Object.keys(states?.words ?? {}).map(comparedState)];
  const values = sample
    .flatMap((record) => named.map((field) => record[field]))
    .filter((value) => typeof value === 'string');
  return [...new Set(values)].filter((word) => !known.includes(comparedState(word))).slice(0, 20);
}

function wordsLine(sample: readonly JsonObject[]): Line | undefined {
  const words = unknownWords(sample, {});
  if (words.length === 0) return undefined;
  const why = `Choose the meaning of these states: ${STATE_WORDS.join(', ')}.`;
  return doubtful('states', { words: Object.fromEntries(words.map((word) => [word, 'new'])) }, why);
}

const LEAST_RECORDS = 20;

/** The field, or the pair of fields, whose values differ in all records of the page. A page alone proves no key. */
function keyLine({ primaryKey }: ReportDefinition, sample: readonly JsonObject[]): Line | undefined {
  if (sample.length < LEAST_RECORDS) return undefined;
  const isUnique = (fields: readonly string[]) =>
    new Set(sample.map((record) => stringifyJson(fields.map((field) => record[field] ?? null)))).size ===
    sample.length;
  const names = Object.keys(sample[0] ?? {}).filter((name) => /id|no|number|key|sku|asin/i.test(name));
  const filled = names.filter((name) => sample.every((record) => keyOf(record[name]) !== undefined));
  if (primaryKey && isUnique(fieldsOfKey(primaryKey.field))) return undefined;
  const pairs = filled.flatMap((one, index) => filled.slice(index + 1).map((other) => [one, other]));
  const key = [...filled.map((name) => [name]), ...pairs].find(isUnique);
  return (
    key &&
    doubtful('key', key.length === 1 ? (key[0] ?? '') : key, `Different in each of ${sample.length} records.`)
  );
}

function certain(name: string, value: Json, why?: string): Line {
  return { name, value, isCertain: true, ...(why !== undefined && { why }) };
}

function doubtful(name: string, value: Json, why: string): Line {
  return { name, value, isCertain: false, why };
}

function lineText({ name, value, why, isCertain }: Line, indent: number): string[] {
  const space = ' '.repeat(indent);
  const setting = `${isCertain ? '' : '// '}"${name}": ${stringifyJson(value)},`;
  return [...(why === undefined ? [] : [`// ${inComment(why)}`]), setting].map((line) => space + line);
}

/** Replaces line breaks, which would end the comment. */
function inComment(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, ' ');
}
