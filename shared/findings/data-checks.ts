/*
 * Makes the checks that reports declare (`Check` in `reports/definition.ts`), and logs what is odd about the days of a run.
 * It works behind the run's days, on what the ledgers say is committed: a check may need days of another report that are
 * read later, and a day whose run died before this is examined by the next one that looks at its month. What was
 * examined is recorded with its result, so that nothing is read again while nothing has changed. A check that cannot be
 * made is logged and stops nothing.
 */
import { hash } from 'node:crypto';
import type { Value } from '../column-types.ts';
import { addDays, daysFrom, earlier, monthOf, monthsFrom } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import { readOrDamage } from '../lake/documents/cas-document.ts';
import { type Committed, type ExaminedDay, recordFindings } from '../lake/documents/ledger.ts';
import { decidedRoles } from '../lake/documents/roles.ts';
import { versionKey } from '../lake/paths.ts';
import { readerOf } from '../lake/table/column-facts.ts';
import { type Row, snakeCase } from '../lake/table/columns.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { errorSummary } from '../outcome.ts';
import { COMPARED_DAYS, type FindingFacts, entriesIn, findingsOf, isNewFinding } from './findings.ts';
import type { Check, ReportDefinition } from '../reports/definition.ts';
import type { BrandReport, RunContext } from '../context/context.ts';

/**
 * Examines the complete days of these months whose content, or what it is compared with, is new. The ledgers' next write
 * notes it: a run that dies before leaves it to the next one.
 * @param published the days whose content is new since this run
 */
export async function runDataChecks(
  ctx: RunContext,
  months: readonly string[],
  published: readonly string[],
): Promise<void> {
  for (const month of months) {
    const { days } = await ctx.ledger(month).cached();
    for (const [day, { committed }] of Object.entries(days).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (!committed || committed.state === 'open') continue;
      const checks = await examine(ctx, day, committed);
      if (checks.size === 0) continue;
      const examined = { day, snapshot: committed.snapshot, checks };
      ctx.ledger(month).updateLater((ledger) => recordFindings(ledger, examined));
    }
  }
  await logNewFindings(ctx, published);
}

/** Makes those checks of a day that were not made of the same snapshots before. */
async function examine(ctx: RunContext, day: string, committed: Committed): Promise<ExaminedDay['checks']> {
  const made = new Map<string, { fingerprint: string; count: number | undefined }>();
  let became: ReadonlyMap<string, number> | undefined;
  for (const check of ctx.report.checks) {
    if (ctx.time.isUp()) break;
    try {
      const inputs = await inputsOf(ctx, check, day, committed);
      if (!inputs) continue;
      const fingerprint = fingerprintOf(ctx, check, inputs);
      if (committed.checks?.examined?.[check.name] === fingerprint) continue;
      if (check.rule === 'lifecycle') became ??= await countBecame(ctx, day, committed);
      const count =
        check.rule === 'lifecycle' ? became?.get(check.name) : await countOf(ctx, check, inputs, committed);
      made.set(check.name, { fingerprint, count });
      if (count !== undefined && count > 0 && count !== committed.checks?.findings?.[check.name])
        ctx.log({ event: 'day_finding', day, check: check.name, message: `${check.counts}: ${count}` });
    } catch (thrown) {
      // Whatever it is: bytes that are no Parquet look like a bug of their reader, and a finding is worth no run.
      const error = errorSummary(asBrandReportsError(thrown));
      ctx.log({ event: 'check_not_made', day, check: check.name, ...error });
    }
  }
  return made;
}

/** A committed day of a report. */
interface Content {
  report: ReportDefinition;
  day: string;
  committed: Committed;
}

/** What a check reads: the values, and for `found_in` the places where they have to be. */
interface Inputs {
  values: Content;
  places: Content[];
}

/** @returns `undefined` where a day that is needed is not complete, or a report is not read as a whole */
async function inputsOf(
  ctx: RunContext,
  check: Check,
  day: string,
  committed: Committed,
): Promise<Inputs | undefined> {
  const own = { report: ctx.report, day, committed };
  if (check.rule === 'lifecycle' && !committed.lifecycle) return undefined;
  if (check.rule !== 'found_in') return { values: own, places: [] };
  const { values, places } = check;
  const around = daysFrom(addDays(day, -places.daysAround), addDays(day, places.daysAround));
  const contentOf = async (report: string, dt: string) =>
    report === ctx.report.name && dt === day ? own : await completeDay(ctx, report, dt);
  const valuesOf = await contentOf(values.report, day);
  if (!valuesOf || !isWhole(ctx, places.report) || !isLookedUp(committed, valuesOf)) return undefined;
  const found = await Promise.all(around.map((dt) => contentOf(places.report, dt)));
  const complete = found.filter((content) => content !== undefined);
  return complete.length === found.length ? { values: valuesOf, places: complete } : undefined;
}

/** What is committed of a day of another report, if it is complete and no other reading has to confirm it. */
async function completeDay(ctx: RunContext, name: string, day: string): Promise<Content | undefined> {
  const other = ctx.other(name);
  if (!other || !ctx.brandSettings.reports[name]?.enabled) return undefined;
  const read = await readOrDamage(other.ledger(monthOf(day)).cached());
  const committed = 'value' in read ? read.value.days[day]?.committed : undefined;
  const isComplete = committed?.state === 'closed' || committed?.state === 'settled';
  return isComplete ? { report: other.report, day, committed } : undefined;
}

/** Whether no filter leaves out what is looked for. Of its own days a report lacks what the others lack by the same filter. */
function isWhole({ report, brandSettings }: RunContext, places: string): boolean {
  const filters = brandSettings.reports[places]?.filters ?? {};
  return places === report.name || Object.keys(filters).length === 0;
}

/** Whether the day was looked up from what is committed of its upstream day now, and no lookup is to be repeated. */
function isLookedUp({ upstreamDigest, refusedLookups }: Committed, values: Content): boolean {
  if (upstreamDigest === undefined) return true;
  return upstreamDigest === values.committed.digest && refusedLookups?.retryAt === undefined;
}

function fingerprintOf(ctx: RunContext, check: Check, { values, places }: Inputs): string {
  const snapshots = [values, ...places].map(({ committed: { snapshot, lifecycle } }) =>
    check.rule === 'lifecycle' ? lifecycle?.snapshot : snapshot,
  );
  const { advice: _advice, counts: _counts, ...rule } = check;
  // Only a setting may add to it: otherwise every day would be examined again.
  const set = [values, ...places].flatMap(({ report }) => orderIdOf(ctx, report) ?? []);
  const input = set.length === 0 ? [rule, snapshots] : [rule, snapshots, set];
  return hash('sha256', JSON.stringify(input), 'hex').slice(0, 16);
}

/** @returns `undefined` where the check says nothing of this day */
async function countOf(
  ctx: RunContext,
  check: Exclude<Check, { rule: 'lifecycle' }>,
  { values, places }: Inputs,
  { refusedLookups }: Committed,
): Promise<number | undefined> {
  if (check.rule === 'one_value') return countSeveralValues(ctx, values, check);
  const wanted = new Set<string>();
  for await (const row of rowsOf(ctx, values, columnsOf(ctx, values, [check.values.column])))
    for (const text of textsIn(row)) wanted.add(text);
  const { size } = wanted;
  for (const place of places) {
    if (wanted.size === 0) break;
    for await (const row of rowsOf(ctx, place, columnsOf(ctx, place, check.places.columns)))
      for (const text of textsIn(row)) wanted.delete(text);
  }
  if (check.isAssumed && size > 0 && wanted.size === size) return undefined;
  return Math.max(0, wanted.size - (refusedLookups?.count ?? 0));
}

/** Columns that identify an order are those of the setting `fields`, if it names one. */
function columnsOf(ctx: RunContext, { report }: Content, columns: readonly string[]): readonly string[] {
  const orderId = orderIdOf(ctx, report);
  return orderId !== undefined && columns.includes('order_id') ? [snakeCase(orderId)] : columns;
}

function orderIdOf({ brandSettings }: RunContext, { name }: ReportDefinition): string | undefined {
  return brandSettings.reports[name]?.fields.order_id ?? undefined;
}

/** I12: holds each value of `by` once, with the one of `column` that it was met with. */
async function countSeveralValues(
  ctx: RunContext,
  content: Content,
  { by, column }: Extract<Check, { rule: 'one_value' }>,
): Promise<number> {
  const met = new Map<string, string>();
  const several = new Set<string>();
  for await (const { [by]: name, [column]: value } of rowsOf(ctx, content, [by, column])) {
    if (typeof name !== 'string' || name === '' || value === null || value === undefined) continue;
    const first = met.get(name);
    if (first === undefined) met.set(name, String(value));
    else if (first !== String(value)) several.add(name);
  }
  return several.size;
}

/** All checks of what became of a day's records in one pass: counts by the name of the check. */
async function countBecame(
  { brand, report, lake }: RunContext,
  day: string,
  { lifecycle }: Committed,
): Promise<ReadonlyMap<string, number>> {
  const checks = report.checks.flatMap((check) =>
    check.rule === 'lifecycle' ? [{ check, count: 0, isSaid: check.onlyIf === undefined }] : [],
  );
  if (report.lifecycle && lifecycle && lifecycle.rows > 0) {
    const { openCodedFile } = await loadCodedFile();
    const key = versionKey(report.lifecycle.table, brand, day, lifecycle.snapshot);
    const sql = checks.map(({ check }) => check.sql.replaceAll(/'[^']*'/g, '')).join(' ');
    const names = [...new Set(sql.match(/[a-z_]+/g))];
    const file = await openCodedFile(fileIn(lake.store, { key, bytes: lifecycle.bytes }));
    for await (const { rows, columns } of file.groups(names)) {
      const readers = [...columns].map(([name, column]) => [name, readerOf(column)] as const);
      // An object for each row would cost ten times as much as the checks.
      const row: Record<string, Value | undefined> = {};
      for (let at = 0; at < rows; at += 1) {
        for (const [name, read] of readers) row[name] = read(at);
        for (const each of checks) {
          if (each.check.holds(row)) each.count += 1;
          if (each.check.onlyIf !== undefined && row[each.check.onlyIf] instanceof Date) each.isSaid = true;
        }
      }
    }
  }
  return new Map(checks.map(({ check, count, isSaid }) => [check.name, isSaid ? count : 0]));
}

/** Values that identify something: texts, and whole numbers by their digits. */
function* textsIn(row: Row): Generator<string, void, undefined> {
  for (const value of Object.values(row)) {
    if (typeof value === 'string' && value !== '') yield value;
    if (typeof value === 'bigint') yield String(value);
  }
}

async function* rowsOf(
  { brand, lake }: RunContext,
  { report, day, committed }: Content,
  columns: readonly string[],
): AsyncGenerator<Row, void, undefined> {
  if (committed.rows === 0) return;
  const { readParquetRows } = await loadCodedFile();
  const key = versionKey(report.table, brand, day, committed.snapshot);
  yield* readParquetRows(fileIn(lake.store, { key, bytes: committed.bytes }), columns);
}

/** Those that follow from the ledgers alone; the checks log theirs when they are made. */
async function logNewFindings(ctx: RunContext, published: readonly string[]): Promise<void> {
  const declared = new Set(ctx.report.checks.map(({ name }) => name));
  for (const [month, days] of Map.groupBy(published, monthOf)) {
    const ofMonth = await findingFacts(ctx, month);
    for (const day of days) {
      const facts = { ...ofMonth, day };
      for (const finding of findingsOf(facts)) {
        const { check, title, detail } = finding;
        if (declared.has(check) || !isNewFinding(finding, facts)) continue;
        ctx.log({ event: 'day_finding', day, check, message: `${title}: ${detail}` });
      }
    }
  }
}

/**
 * What the findings of a month's days follow from: its ledger, and those of the weeks before it. A ledger that cannot be
 * read is none: of its days nothing is known, and the days after them are compared with fewer weeks.
 */
export async function findingFacts(
  { brand, report, policy, ledger, roles }: BrandReport,
  month: string,
): Promise<Omit<FindingFacts, 'day'>> {
  const first = `${month}-01`;
  const earliest = addDays(first, -COMPARED_DAYS);
  const from = policy && policy.startDate > earliest ? earlier(policy.startDate, first) : earliest;
  const read = await Promise.all(
    monthsFrom(from, first).map(async (each) => [each, await readOrDamage(ledger(each).cached())] as const),
  );
  const ledgers = new Map(read.flatMap(([each, found]) => ('value' in found ? [[each, found.value]] : [])));
  const said = decidedRoles((await roles.cached()).brands[brand], policy?.fields);
  return { report, policy, roles: said, entryOn: entriesIn(ledgers) };
}
