import * as z from 'zod/mini';
import { isDay } from '../shared/base/days.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { bool, object, oneOf, parseInput, text } from '../shared/settings/input.ts';

type Enabled = Readonly<Record<string, readonly string[]>>;

/** `{}` means the due days of all brands; names of tables become names of reports. @throws BrandReportsError `config` */
export function parseSyncEvent(event: unknown, { brands }: Settings, reports: ReportRegistry) {
  const enabled: Enabled = Object.fromEntries(
    Object.entries(brands).map(([brand, own]) => [
      brand,
      Object.keys(own.reports).filter((name) => own.reports[name]?.enabled),
    ]),
  );
  return parseInput(syncSchema(enabled, reports), event, 'event', 'the event');
}

function syncSchema(enabled: Enabled, reports: ReportRegistry) {
  return object({
    brand: z.optional(oneOf(...Object.keys(enabled))),
    reports: z.optional(reportsSchema(enabled, reports)),
    /** With `to`: read these days, `YYYY-MM-DD`, whether they are due or not. */
    from: z.optional(day()),
    to: z.optional(day()),
    /** Whether a reading with fewer records may replace records that can no longer change. */
    acceptFewer: z.optional(bool()),
    /** Checks only credentials, clock and the first page; writes nothing. */
    check: z.optional(bool()),
    /** Makes the days of a brand from their raw records, without a request to the service. */
    rebuild: z.optional(z.literal(true, { error: 'true' })),
  }).check(({ value, issues }) => {
    const { acceptFewer, check, rebuild, brand, from, to } = value;
    const refuse = (name: string, input: unknown, message: string) =>
      issues.push({ code: 'custom', path: [name], input, message });
    refuseContradictions(value, enabled, issues);
    if (acceptFewer && from === undefined && to === undefined)
      refuse('acceptFewer', acceptFewer, 'true only together with "from" or "to"');
    if (!rebuild) return;
    for (const [name, given] of Object.entries({ brand, from, to }))
      if (given === undefined) refuse('rebuild', rebuild, `true only together with "${name}"`);
    for (const [name, given] of Object.entries({ acceptFewer, check }))
      if (given) refuse(name, given, 'true only without "rebuild"');
  });
}

function day() {
  return text('a day, YYYY-MM-DD', isDay);
}

function reportsSchema(enabled: Enabled, reports: ReportRegistry) {
  const names = [...new Set(Object.values(enabled).flat())];
  const byTable = new Map(Object.values(reports).map(({ name, table }) => [table, name]));
  const tables = [...byTable].flatMap(([table, name]) => (names.includes(name) ? [table] : []));
  const error = 'a list of reports, at least one';
  return z.pipe(
    z.array(oneOf(...new Set([...names, ...tables])), { error }).check(z.minLength(1, { error })),
    z.transform((given) => [...new Set(given.map((name) => byTable.get(name) ?? name))]),
  );
}

interface Scope {
  brand?: string | undefined;
  reports?: readonly string[] | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** Refuses reports that the brand has not enabled, because a run of nothing would look complete, and ranges backwards. */
function refuseContradictions(
  { brand, reports = [], from, to }: Scope,
  enabled: Enabled,
  issues: z.core.$ZodRawIssue[],
): void {
  const own = brand === undefined ? reports : (enabled[brand] ?? []);
  for (const [place, name] of reports.entries())
    if (!own.includes(name))
      issues.push({ code: 'custom', path: ['reports', place], input: name, message: own.join(', ') });
  if (from !== undefined && to !== undefined && from > to)
    issues.push({ code: 'custom', path: ['from'], input: from, message: `a day not after ${to}` });
}
