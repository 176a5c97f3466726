/*
 * Makes the checks that reports declare (`Check` in `reports/definition.ts`), and logs what is odd about the days of a run.
 * It runs after the run's days, because a check may need days of another report that are read later. It uses the versions
 * that the ledgers name as committed. If a run dies before it, the next run that reads the month makes the checks.
 * The result is recorded with a fingerprint of the input, so that nothing is read again as long as nothing has changed. A
 * check that cannot be made is logged and stops nothing.
 */
import { hash } from 'node:crypto';
import { addDays, daysFrom, earlier, monthOf, monthsFrom } from '../base/days.ts';
import { asBrandReportsError } from '../base/errors.ts';
import { undamaged } from '../lake/cas-document.ts';
import { type Committed, type ExaminedDay, recordFindings, undamagedLedgers } from '../lake/ledger.ts';
import { newColumnsOf } from '../lake/schema.ts';
import { versionKey } from '../lake/paths.ts';
import type { Row } from '../table/columns.ts';
import { loadCodedFile } from '../table/load-parquet.ts';
import { fileIn } from '../table/readable-file.ts';
import { errorSummary } from '../base/outcome.ts';
import { COMPARED_DAYS } from './field-findings.ts';
import { type FindingFacts, entriesIn, findingsOf } from './findings.ts';
import type { Check, ReportDefinition } from '../reports/definition.ts';
import { fieldsIn, placesOf, textAt } from '../reports/roles.ts';
import type { BrandReport, RunContext } from '../context/context.ts';

/**
 * Examines the complete days of these months whose content, or the content they are compared with, is new. The next write of
 * the ledgers records the results; if the run dies before that write, the next run examines the days again.
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
  await logFindings(ctx, published);
}

async function examine(ctx: RunContext, day: string, committed: Committed): Promise<ExaminedDay['checks']> {
  const made = new Map<string, { fingerprint: string; count: number | undefined }>();
  for (const check of ctx.report.checks) {
    if (ctx.time.isUp()) break;
    try {
      const inputs = await inputsOf(ctx, check, day, committed);
      if (!inputs) continue;
      const fingerprint = fingerprintOf(ctx, check, inputs);
      if (committed.checks?.examined?.[check.name] === fingerprint) continue;
      const count = await countOf(ctx, check, inputs, committed);
      made.set(check.name, { fingerprint, count });
      if (count !== undefined && count > 0 && count !== committed.checks?.findings?.[check.name])
        ctx.log({ event: 'day_finding', day, check: check.name, message: `${check.counts}: ${count}` });
    } catch (thrown) {
      // Every error is logged only: damaged Parquet looks like a bug of its reader, and no finding is worth a failed run.
      const error = errorSummary(asBrandReportsError(thrown));
      ctx.log({ event: 'check_not_made', day, check: check.name, ...error });
    }
  }
  return made;
}

interface Content {
  report: ReportDefinition;
  day: string;
  committed: Committed;
}

/** The content that a check reads: the values, and for `found_in` the places in which they must be found. */
interface Inputs {
  values: Content;
  places: Content[];
}

/** @returns `undefined` if a day that is needed is not complete, or a filter leaves records of a report out */
async function inputsOf(
  ctx: RunContext,
  check: Check,
  day: string,
  committed: Committed,
): Promise<Inputs | undefined> {
  const own = { report: ctx.report, day, committed };
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

/** The committed version of a day of another report, if the day is complete and needs no confirmation by another reading. */
async function completeDay(ctx: RunContext, name: string, day: string): Promise<Content | undefined> {
  const other = ctx.other(name);
  if (!other || !ctx.brandSettings.reports[name]?.enabled) return undefined;
  const committed = (await undamaged(other.ledger(monthOf(day)).cached()))?.days[day]?.committed;
  const isComplete = committed?.state === 'closed' || committed?.state === 'settled';
  return isComplete ? { report: other.report, day, committed } : undefined;
}

/** Whether no filter hides the values that are looked for. In the report's own days, the same filter hides the same records. */
function isWhole({ report, brandSettings }: RunContext, places: string): boolean {
  const filters = brandSettings.reports[places]?.filters ?? {};
  return places === report.name || Object.keys(filters).length === 0;
}

/** Whether the day was looked up from the current version of its upstream day, and no lookup will be repeated. */
function isLookedUp({ upstreamDigest, refusedLookups }: Committed, values: Content): boolean {
  if (upstreamDigest === undefined) return true;
  return upstreamDigest === values.committed.digest && refusedLookups?.retryAt === undefined;
}

function fingerprintOf(ctx: RunContext, check: Check, { values, places }: Inputs): string {
  const snapshots = [values, ...places].map(({ committed: { snapshot } }) => snapshot);
  const { advice: _advice, counts: _counts, ...rule } = check;
  // Only a setting may add to the input: otherwise every day would be examined again.
  const set = [values, ...places].flatMap(({ report }) => orderIdOf(ctx, report) ?? []);
  const input = set.length === 0 ? [rule, snapshots] : [rule, snapshots, set];
  return hash('sha256', JSON.stringify(input), 'hex').slice(0, 16);
}

/** @returns `undefined` if the check does not apply to this day */
async function countOf(
  ctx: RunContext,
  check: Check,
  { values, places }: Inputs,
  { refusedLookups }: Committed,
): Promise<number | undefined> {
  if (check.rule === 'one_value') return countSeveralValues(ctx, values, check);
  const wanted = new Set<string>();
  for await (const id of idsIn(ctx, values, [check.values.column])) wanted.add(id);
  const { size } = wanted;
  for (const place of places) {
    if (wanted.size === 0) break;
    for await (const id of idsIn(ctx, place, check.places.columns)) wanted.delete(id);
  }
  if (check.isAssumed && size > 0 && wanted.size === size) return undefined;
  return Math.max(0, wanted.size - (refusedLookups?.count ?? 0));
}

/** The ids in these columns of a day. The setting `fields` may name other fields for the order's id. */
async function* idsIn(
  ctx: RunContext,
  content: Content,
  columns: readonly string[],
): AsyncGenerator<string, void, undefined> {
  const set = columns.includes('order_id') ? orderIdOf(ctx, content.report) : undefined;
  const places = placesOf((await ctx.schemaOf(content.report).cached()).columns, set ?? columns);
  for await (const row of rowsOf(ctx, content, [...new Set(places.map(({ column }) => column.name))])) {
    const ids = places.flatMap(({ column, path }) => {
      const text = textIn(row[column.name]);
      return (path.length > 0 ? textAt(text, path) : text) || [];
    });
    // Of a list of fields, the first that has a value counts.
    yield* set ? ids.slice(0, 1) : ids;
  }
}

function orderIdOf({ brandSettings }: RunContext, { name }: ReportDefinition): readonly string[] | undefined {
  const set = brandSettings.reports[name]?.fields.order_id ?? undefined;
  return set === undefined ? undefined : [set].flat();
}

/** I12: keeps each value of `by` in memory once, with the first value of `column` that occurs with it. */
async function countSeveralValues(
  ctx: RunContext,
  content: Content,
  { by, column }: Extract<Check, { rule: 'one_value' }>,
): Promise<number> {
  const met = new Map<string, string>();
  const several = new Set<string>();
  for await (const row of rowsOf(ctx, content, [by, column])) {
    const name = String(row[by] ?? '');
    const { [column]: value } = row;
    if (name === '' || value === null || value === undefined) continue;
    const first = met.get(name);
    if (first === undefined) met.set(name, String(value));
    else if (first !== String(value)) several.add(name);
  }
  return several.size;
}

/** Texts, and whole numbers as their digits, identify something. */
function textIn(value: Row[string]): string {
  return typeof value === 'string' || typeof value === 'bigint' ? String(value) : '';
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

/** Logs the findings of new content that follow from the ledgers alone; the checks log their own findings when they are made. */
async function logFindings(ctx: RunContext, published: readonly string[]): Promise<void> {
  const declared = new Set(ctx.report.checks.map(({ name }) => name));
  for (const [month, days] of Map.groupBy(published, monthOf)) {
    const ofMonth = await findingFacts(ctx, month);
    for (const day of days)
      for (const { check, title, detail } of findingsOf({ ...ofMonth, day }))
        if (!declared.has(check))
          ctx.log({ event: 'day_finding', day, check, message: `${title}: ${detail}` });
  }
}

/**
 * The input of the findings of a month's days: its ledger, and the ledgers of the weeks before it. A ledger that cannot be
 * read is left out: its days have no findings, and the days after them are compared with fewer weeks.
 */
export async function findingFacts(
  { report, policy, ledger, schema }: BrandReport,
  month: string,
): Promise<Omit<FindingFacts, 'day'>> {
  const first = `${month}-01`;
  const earliest = addDays(first, -COMPARED_DAYS);
  const from = policy && policy.startDate > earliest ? earlier(policy.startDate, first) : earliest;
  const ledgers = await undamagedLedgers(monthsFrom(from, first).map((each) => ledger(each).cached()));
  const stored = await undamaged(schema.cached());
  const newColumns = stored && newColumnsOf(stored);
  const roles = stored && fieldsIn(stored.columns, policy?.fields ?? {});
  return { report, policy, newColumns, columns: stored?.columns, roles, entryOn: entriesIn(ledgers) };
}
