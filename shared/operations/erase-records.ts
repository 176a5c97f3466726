/*
 * Erases the records of one customer or publisher: finds the days that have such records in any version, change or raw
 * record, and writes their current versions without them. A version is replaced by a commit, like the commit of a rollback.
 * No change is recorded, because the change would contain the erased records.
 */
import { claimForVersion } from '../attempt/claim.ts';
import { decompress } from '../attempt/stage.ts';
import { type Column, RESCUED, typeSpec } from '../column-types.ts';
import type { BrandReport, LakeAccess } from '../context/context.ts';
import { changeDay, openDayAnew } from '../context/open-day.ts';
import { monthOf } from '../days.ts';
import { type BrandReportsError, configError } from '../errors.ts';
import { type Json, isJsonObject, numberText, parseJson } from '../json.ts';
import type { LakeDocuments } from '../lake/documents/lake-documents.ts';
import { claimLost, forgetHistory, releaseDay } from '../lake/documents/ledger.ts';
import { decidedRoles } from '../lake/documents/roles.ts';
import type { Row } from '../lake/table/columns.ts';
import { loadCodedFile, loadParquet } from '../lake/table/load-parquet.ts';
import { readContent } from '../lake/table/read-content.ts';
import { damageOf, fileIn, findFile } from '../lake/table/readable-file.ts';
import { dueAtMs, upstreamState } from '../planning/due.ts';
import { publishDay } from '../pipeline/publish.ts';
import type { Settings } from '../settings/settings.ts';
import type { ErasedObject } from './erased-objects.ts';
import { commitRollback } from './rollback.ts';

/** Selects records by the text of one value. */
export interface RecordsOf {
  /** A column, a field of the service, or a role. */
  field: string;
  value: string;
}

/** A day that has such records. */
export interface DayWithRecords {
  ctx: BrandReport;
  day: string;
  /** `false`: only the day's raw records have some. */
  hasVersions: boolean;
}

/** @throws BrandReportsError `config` if no table of the brand has the field */
export async function daysWithRecords(
  contexts: readonly BrandReport[],
  objects: readonly ErasedObject[],
  records: RecordsOf,
): Promise<DayWithRecords[]> {
  const matchers = new Map(
    await Promise.all(contexts.map(async (ctx) => [ctx, await matcherOf(ctx, records)] as const)),
  );
  if ([...matchers.values()].every((matches) => !matches)) {
    const names = await Promise.all(
      contexts.map(async ({ schema }) => (await schema.cached()).columns.map(({ name }) => name)),
    );
    throw configError(
      'unknown_field',
      `No table has the field, column or role "${records.field}". Columns: ${[...new Set(names.flat())].sort().join(', ')}.`,
    );
  }
  const days = new Map<string, DayWithRecords>();
  for (const { of, ...object } of objects) {
    const matches = of && matchers.get(of.ctx);
    if (!matches) continue;
    const { ctx, day, id: version } = of;
    const isFound = await hasRecords(ctx, object, matches, records.value).catch(async (thrown: unknown) => {
      const why = damageOf(thrown);
      const { committed } = (await ctx.ledger(monthOf(day)).cached()).days[day] ?? {};
      if (object.kind === 'versions' && committed?.snapshot === version)
        throw unreadable(ctx, day, object.key, why);
      // The object may have such records, and a damaged object is of no use: it counts as found.
      return true;
    });
    if (!isFound) continue;
    const id = `${ctx.report.name} ${day}`;
    const hasVersions = object.kind !== 'raw' || (days.get(id)?.hasVersions ?? false);
    days.set(id, { ctx, day, hasVersions });
  }
  return [...days.values()];
}

function unreadable(
  { report, brand }: BrandReport,
  day: string,
  key: string,
  why: string,
): BrandReportsError {
  return configError(
    'version_unreadable',
    `${key}, the current version of ${report.name} ${day}, cannot be read (${why}), so nothing was erased. Erase the whole day with --brand ${brand} --from ${day} --to ${day}, or find out how to heal it with "brand-reports verify".`,
  );
}

type Matches = (row: Row) => boolean;

/** Whether a row is one of the records; `undefined` if the table lacks the field. */
async function matcherOf(ctx: BrandReport, { field, value }: RecordsOf): Promise<Matches | undefined> {
  const roles: Readonly<Record<string, string | null | undefined>> = { ...(await rolesOf(ctx)) };
  const { columns } = await ctx.schema.cached();
  const found = columns.filter((column) =>
    [column.name, column.field].some(
      (name) => name === field || (name !== undefined && name === roles[field]),
    ),
  );
  if (found.length === 0) return undefined;
  const hasValue =
    (row: Row) =>
    ({ name, type }: Column) => {
      const held = row[name];
      return held !== undefined && held !== null && typeSpec(type).texts(held).includes(value);
    };
  return (row) => found.some(hasValue(row)) || isRescued(row[RESCUED], found, value);
}

/** Values that do not fit into a column are in `_rescued`, by field. */
function isRescued(rescued: Row[string], columns: readonly Column[], value: string): boolean {
  const parsed = typeof rescued === 'string' ? parseJson(rescued) : null;
  return (
    isJsonObject(parsed) &&
    columns.some(({ field = '' }) => Object.hasOwn(parsed, field) && has(parsed[field] ?? null, value))
  );
}

async function rolesOf({ roles, brand, policy }: BrandReport) {
  return decidedRoles((await roles.cached()).brands[brand], policy?.fields);
}

async function hasRecords(
  { lake }: BrandReport,
  { key, bytes, kind }: Omit<ErasedObject, 'of'>,
  matches: Matches,
  value: string,
): Promise<boolean> {
  const { readParquetRows } = await loadCodedFile();
  const rows = () => readParquetRows(fileIn(lake.store, { key, bytes }));
  if (kind === 'versions') for await (const row of rows()) if (matches(row)) return true;
  if (kind === 'changes' || kind === 'lifecycle')
    for await (const row of rows())
      if (Object.values(row).some((cell) => typeof cell === 'string' && hasText(cell, value))) return true;
  if (kind !== 'raw' || !key.endsWith('.zst')) return false;
  const chunk = await lake.store.get(key);
  const pages = chunk ? (await decompress(chunk.body)).toString('utf8').split('\u001e').slice(1) : [];
  return pages.some((page) => has(parseJson(page), value));
}

/** A text in `changes` or in the lifecycle tables is a value, or JSON with values. */
function hasText(cell: string, value: string): boolean {
  if (cell === value) return true;
  try {
    return /^[[{"]/.test(cell) && has(parseJson(cell), value);
  } catch {
    return false;
  }
}

function has(json: Json, value: string): boolean {
  if ((typeof json === 'boolean' ? String(json) : (numberText(json) ?? json)) === value) return true;
  return Array.isArray(json)
    ? json.some((each) => has(each, value))
    : isJsonObject(json) && Object.values(json).some((each) => has(each, value));
}

/**
 * Writes the current version of the day without the records, and removes all other versions from the ledger.
 * @throws BrandReportsError `conflict` if a run is working on the day
 */
export async function rewriteDay(
  options: LakeAccess & { settings: Settings | undefined; documents: LakeDocuments; runId: string },
  { ctx, day }: DayWithRecords,
  records: RecordsOf,
): Promise<void> {
  const { runId, documents, newId, lake } = options;
  const claimant = { ...ctx, leases: true, runId };
  const open = await openDayAnew(ctx, day);
  const claimed = await claimForVersion(claimant, open, (attempt) =>
    documents.progress(ctx.report.name, ctx.brand, day, attempt),
  );
  if (!claimed) throw claimLost(day);
  try {
    const { committed } = open;
    const matches = await matcherOf(ctx, records);
    const other = newId();
    const file = committed && (await findFile(lake.store, open.keys.version(committed.snapshot)));
    if (committed && file && matches) {
      const isLess = await writeWithout(ctx, open.keys.version(other), file, matches);
      const snapshot = isLess ? other : committed.snapshot;
      const written = await findFile(lake.store, open.keys.version(snapshot));
      if (!written) throw claimLost(day);
      const content = await readContent(written, await rolesOf(ctx));
      // Earlier records may match although no current record does, so the lifecycle rows are written anew in any case.
      if (isLess || committed.lifecycle)
        await commitRollback(options, claimant, claimed, committed, { snapshot, ...content }, 'erasure');
    }
  } finally {
    await changeDay(ctx, open, (ledger) => releaseDay(ledger, day, runId));
  }
  await publishDay(ctx, day);
  const at = new Date(ctx.clock.wallMs()).toISOString();
  await changeDay(ctx, open, (ledger) => forgetHistory(ledger, day, at));
}

/** @returns whether rows were left out; otherwise no version is written */
async function writeWithout(
  { lake, schema }: BrandReport,
  key: string,
  from: Parameters<typeof readContent>[0],
  matches: Matches,
): Promise<boolean> {
  const [{ writeParquet }, { readParquetRows }] = await Promise.all([loadParquet(), loadCodedFile()]);
  const parquet = writeParquet(lake.store.create(key), (await schema.refresh()).columns);
  let left = 0;
  try {
    for await (const row of readParquetRows(from))
      if (matches(row)) left += 1;
      else await parquet.append(row);
    await (left > 0 ? parquet.finish() : parquet.abort());
    return left > 0;
  } catch (thrown) {
    await parquet.abort();
    throw thrown;
  }
}

/** Whether a run re-reads the day by the normal rules, which brings back the records that the service still has. */
export async function isReread(ctx: BrandReport, day: string): Promise<boolean> {
  const { policy, upstream, clock } = ctx;
  const entry = (await ctx.ledger(monthOf(day)).cached()).days[day];
  const ofUpstream = upstreamState((await upstream?.ledger(monthOf(day)).cached())?.days[day]);
  return policy !== undefined && dueAtMs(day, entry, policy, clock.now().getTime(), ofUpstream) !== null;
}
