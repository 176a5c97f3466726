/** What belongs to a report is in its definition. A test compares docs/reference/settings.md with this schema. */
import * as z from 'zod/mini';
import { DAY_MS, intervalMs, isDay, later } from '../base/days.ts';
import { deploymentSchema } from './deployment.ts';
import { configError } from '../base/errors.ts';
import { isJsonObject } from '../base/json.ts';
import { BASE_URL, isBaseUrl } from './base-url.ts';
import { parseJsonc } from './jsonc.ts';
import { NOT_A_SETTING, bool, integer, like, number, object, oneOf, parseInput, text } from './input.ts';
import { DERIVED_COLUMNS, DAY_PARTITION_KEYS, ALLOWED_TYPES, parseColumnType } from '../base/column-types.ts';
import { ROLES } from '../reports/roles.ts';
import { TIME_ZONE, isTimeZone, likelyZones } from './time-zone.ts';
import {
  STATE_WORDS,
  type Filter,
  type PageSize,
  type ReportDefinition,
  type ReportRegistry,
} from '../reports/definition.ts';

export type Settings = z.output<ReturnType<typeof settingsSchema>>;

export type BrandSettings = z.output<ReturnType<typeof brandSchema>>;

export type ReportSettings = BrandSettings['reports'][string];

/** The part of a brand's settings that a lake keeps: what records mean, and when days are due. It has no address. */
export type LakeBrandSettings = z.output<ReturnType<typeof lakeBrandSchema>>;

export interface LakeSettings {
  brands: Readonly<Record<string, LakeBrandSettings>>;
  catalogs?: Settings['catalogs'];
  deployment?: Pick<Settings['deployment'], 'schedule'>;
}

/** @param text a `cdk.json` (its `context.brandReports`) or only that object @throws BrandReportsError `config` */
export function loadSettings(text: string, origin: string, reports: ReportRegistry): Settings {
  return parseSettings(settingsInput(text, origin), reports, origin);
}

/** @throws BrandReportsError `config` if the text has no settings */
export function settingsInput(text: string, origin: string): unknown {
  const parsed = parseJsonc(text, (json): unknown => JSON.parse(json));
  if ('problem' in parsed) throw configError('settings_json', `${origin} ${parsed.problem}`);
  const { value: file } = parsed;
  if (!isJsonObject(file) || !('context' in file || 'app' in file)) return file;
  const { context } = file;
  if (isJsonObject(context) && context.brandReports !== undefined) return context.brandReports;
  const next = 'put them under "context": { "brandReports": … }.';
  throw configError('settings_missing', `${origin} has no settings: ${next}`);
}

/** @throws BrandReportsError `config` with a line for every problem: path, value found, what is allowed */
export function parseSettings(input: unknown, reports: ReportRegistry, origin = 'settings'): Settings {
  return parseInput(settingsSchema(reports), input, 'settings', origin);
}

export function settingsSchema(reports: ReportRegistry) {
  return object({
    brands: z
      .record(
        like('lower-case letters, digits and "-", 41 at most', /^[a-z0-9][a-z0-9-]{0,40}$/),
        brandSchema(reports),
        { error: 'an object that holds each brand by its name' },
      )
      .check(z.refine((brands) => Object.keys(brands).length > 0, { error: 'one brand or more' })),
    /** For each brand; all its reports share it. */
    requestsPerSecond: z._default(number(Number.MIN_VALUE, 1000, 'a number above 0, up to 1000'), 5),
    pagesInFlight: z._default(integer(1, 32), 4),
    /** Which catalogs show the lake to engines. Views and `coverage` are in `hive` only. */
    catalogs: z._default(catalogsSchema(), ['hive']),
    deployment: z.prefault(deploymentSchema(), {}),
  });
}

function catalogsSchema() {
  const error = '["hive"] or ["hive", "iceberg"]';
  return z
    .array(z.enum(['hive', 'iceberg'], { error }), { error })
    .check(z.refine((names) => names.includes('hive') && new Set(names).size === names.length, { error }));
}

function brandSchema(reports: ReportRegistry) {
  const schema = object({
    /** The address of the service with the brand's path. */
    baseUrl: text(BASE_URL, isBaseUrl),
    /** The SERVICE in the names of the two headers. */
    service: like('the <SERVICE> of the header X-<SERVICE>-DATE: letters, digits, "-", "_"', /^[\w-]{1,60}$/),
    /** In AWS Secrets Manager; missing: `SECRETS_PREFIX` and the name of the brand. */
    secretName: z.optional(
      like('the name of a secret in Secrets Manager, not its ARN', /^[\w/+=.@-]{1,512}$/),
    ),
    method: z._default(oneOf('POST', 'GET'), 'POST'),
    timeoutSeconds: z._default(integer(1, 600), 30),
    ...lakeShape(),
    /** Every report of the registry, in its order, with defaults filled in. */
    reports: z.prefault(reportsSchema(reports), {}),
  });
  return z.pipe(
    schema,
    z.transform((brand) => ({ ...brand, reports: startingOn(reports, brand) })),
  );
}

/** The schema of `LakeBrandSettings` as a lake has them: without page sizes, and perhaps with more reports. */
export function lakeBrandSchema(reports: ReportRegistry) {
  const schema = lakeSchemas.get(reports) ?? newLakeBrandSchema(reports);
  lakeSchemas.set(reports, schema);
  return schema;
}

/** A schema takes longer to build than the settings of a brand to parse, and a lake may have 300 brands. */
const lakeSchemas = new WeakMap<ReportRegistry, ReturnType<typeof newLakeBrandSchema>>();

function newLakeBrandSchema(reports: ReportRegistry) {
  return z.pipe(
    object({ ...lakeShape(), reports: z.object(reportShapes(reports)) }),
    z.transform((brand) => ({ ...brand, reports: startingOn(reports, brand) })),
  );
}

function lakeShape() {
  return {
    /** IANA name; days begin and end in it. */
    timeZone: text(TIME_ZONE, isTimeZone, likelyZones),
    startDate: startDate(),
    timestampUnit: z._default(oneOf('seconds', 'milliseconds'), 'seconds'),
    firstPage: z._default(integer(0, 1), 1),
    /** A setting, because a service may refuse a range of one instant, and its refusal does not name this cause (I10). */
    endTime: z._default(oneOf('auto', 'inclusive'), 'auto'),
    endDate: z._default(oneOf('whole_day', 'midnight'), 'whole_day'),
    /** How late a record may appear: a day is closed this long after its end. */
    lateMinutes: z._default(integer(0, 1440), 15),
    /** How long a version of a day is kept after another version has replaced it. */
    snapshotRetentionDays: z._default(integer(1, 3650), 30),
  };
}

/** The first day of each report, whose settings may have a later one than the brand. */
function startingOn<Own extends { startDate?: string | undefined }>(
  reports: ReportRegistry,
  brand: { startDate: string; reports: Readonly<Record<string, Own>> },
): Record<string, Own & { startDate: string }> {
  const startOf = (name: string) => brand.reports[name]?.startDate ?? brand.startDate;
  const started = Object.entries(brand.reports).map(([name, own]) => {
    const { [name]: { day } = {} } = reports;
    // A day without records of the upstream report has nothing to look up.
    const starts = [startOf(name), ...(day?.by === 'upstream' ? [startOf(day.report)] : [])];
    return [name, { ...own, startDate: starts.reduce(later) }] as const;
  });
  return Object.fromEntries(started);
}

function startDate() {
  return text(
    'a day of the calendar from 2000-01-01 on, YYYY-MM-DD',
    (day) => isDay(day) && day >= '2000-01-01',
  );
}

function reportsSchema(reports: ReportRegistry) {
  return object(reportShapes(reports)).check((context) => {
    for (const { name, day } of Object.values(reports)) {
      if (day.by !== 'upstream' || !context.value[name]?.enabled || context.value[day.report]?.enabled)
        continue;
      const message = `false, unless ${day.report} is enabled: its records are looked up one by one`;
      context.issues.push({ code: 'custom', path: [name, 'enabled'], input: true, message });
    }
  });
}

function reportShapes(reports: ReportRegistry) {
  const shape = Object.entries(reports).map(
    ([name, report]) => [name, z.prefault(reportSchema(report), {})] as const,
  );
  return Object.fromEntries(shape);
}

function reportSchema(report: ReportDefinition) {
  const { paging, primaryKey } = report;
  const pageSize = paging.style === 'lookup' ? undefined : paging.pageSize;
  const pageSizeIn = (field: PageSize['field']) =>
    pageSize?.field === field
      ? z._default(integer(pageSize.min, pageSize.max), pageSize.default)
      : NOT_A_SETTING;
  const schema = object({
    enabled: z._default(bool(), report.enabledByDefault),
    /** The least time between two readings of a day; `run`: every run. A day that has ended is read without it. */
    every: z._default(text(INTERVALS, isInterval), 'run'),
    /** The first day to read, if the report has records only from a later day on; missing: the start date of the brand. */
    startDate: z.optional(startDate()),
    filters: z.prefault(filtersSchema(report), {}),
    /** By column name: its type. If the column exists with another type, a further column gets this type. */
    columns: z.prefault(columnsSchema(), {}),
    /** By role: its fields, or null if the service has no such field. Other roles have a column with a well-known name. */
    fields: z.prefault(fieldsSchema(), {}),
    /** The words of the role `kind` that are bonuses; missing: the words of the interface. */
    kinds: report.states ? z.optional(z.array(wordSchema(), { error: 'a list of words' })) : NOT_A_SETTING,
    refresh: z._default(refreshSchema(), [...report.refresh]),
    /** The meaning of the service's words for states; missing if the report's records have no state. */
    states: report.states ? z._default(statesSchema(), { words: {} }) : NOT_A_SETTING,
    page_size: pageSizeIn('page_size'),
    limit: pageSizeIn('limit'),
    /** The field that identifies a record, if it differs from the key of the report's definition. */
    key: primaryKey?.always ? NOT_A_SETTING : z.optional(keySchema()),
  });
  return z.pipe(
    schema,
    z.transform(({ page_size, limit, key, states, kinds, ...rest }) => ({
      ...rest,
      ...(states && { states }),
      ...(kinds && { kinds }),
      pageSize: page_size ?? limit ?? 1,
      ...(key === undefined ? {} : { key }),
    })),
  );
}

function keySchema() {
  const allowed = 'the name of a field, or a list of several';
  return oneOrSeveral(like(allowed, /./s), allowed);
}

function oneOrSeveral(field: z.ZodMiniType<string>, error: string) {
  const isList = (names: readonly string[]) => names.length > 0 && new Set(names).size === names.length;
  return z.union([field, z.array(field).check(z.refine(isList, { error }))], { error });
}

function filtersSchema({ filters }: ReportDefinition) {
  const shape = Object.entries(filters).map(
    ([name, filter]) => [name, z.optional(filterSchema(filter))] as const,
  );
  return z.pipe(
    object(Object.fromEntries(shape)),
    z.transform((set) =>
      Object.fromEntries(
        Object.entries(set).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
    ),
  );
}

function filterSchema(filter: Filter): z.ZodMiniType<string | number> {
  switch (filter.kind) {
    case 'enum':
      return oneOf(...filter.values);
    case 'integer':
      return integer(filter.min, Number.MAX_SAFE_INTEGER);
    case 'text':
      return text('a text that is not empty, in quotes', (value) => value.trim() !== '');
  }
}

function columnsSchema() {
  const ours = [...DERIVED_COLUMNS, ...DAY_PARTITION_KEYS];
  return z.record(
    text(
      `a column in snake_case, and none of ${ours.join(', ')}`,
      (name) => /^[a-z0-9_]+$/.test(name) && !ours.includes(name),
    ),
    z.pipe(
      text(ALLOWED_TYPES, (type) => parseColumnType(type) !== undefined),
      z.transform((type) => parseColumnType(type) ?? z.NEVER),
    ),
    { error: 'an object that holds column types by column name' },
  );
}

function fieldsSchema() {
  const error =
    'a field of the records, a path such as commission.value, a list of both, or null if there is none';
  const fields = z.nullable(oneOrSeveral(like(error, FIELD), error));
  return z.partialRecord(oneOf(...ROLES), fields, { error: ROLES.join(', ') });
}

export function isFieldPath(text: string): boolean {
  return FIELD.test(text);
}

/** Quotes and backslashes would end the SQL literal in which views have the text. */
const FIELD = /^[^'"\\\p{C}.]{1,255}(\.\w{1,255}){0,5}$/u;

/** A value of the service's records, as views compare it. */
function wordSchema() {
  const allowed = 'a text that is not empty, without backslashes and control characters';
  return text(allowed, (value) => value.trim() !== '' && !/[\\\p{C}]/u.test(value));
}

function statesSchema() {
  return object({
    words: z.prefault(
      z.record(wordSchema(), oneOf(...STATE_WORDS), { error: 'an object that holds states by word' }),
      {},
    ),
  });
}

function refreshSchema() {
  const tier = object({
    untilAgeDays: integer(1, 36_500),
    every: text(INTERVALS, isInterval),
  });
  const isAscending = (tiers: readonly { untilAgeDays: number }[]) =>
    tiers.every((each, index) => each.untilAgeDays > (tiers[index - 1]?.untilAgeDays ?? 0));
  return z
    .array(tier, { error: 'a list of { untilAgeDays, every }' })
    .check(z.refine(isAscending, { error: 'a list with untilAgeDays ascending' }));
}

const INTERVALS = 'run, or an interval such as 6 hours, 1 day';

const MAX_INTERVAL_MS = 3650 * DAY_MS;

function isInterval(every: string): boolean {
  try {
    return every === 'run' || (intervalMs(every) > 0 && intervalMs(every) <= MAX_INTERVAL_MS);
  } catch {
    return false;
  }
}
