/*
 * Copies a lake to another place with its history, so that days which the service no longer has survive a move. It copies
 * each ledger with everything that the ledger names: versions, changes, raw records and their progress. Report states,
 * schemas, roles and the watcher's record follow; the rate budgets of running processes do not. Whatever has addresses
 * (Glue, local links, Iceberg) is rebuilt from the ledgers.
 * Until all of it is there, the copy has no format number, so that every other command refuses it. A copy that died is
 * finished by running it again: objects that are complete stay.
 * Runs may write to the source meanwhile. Report states are older than the ledgers, which causes an unnecessary read at
 * most; schemas are newer, so that they have every column. If the vacuum deletes what a ledger named, the ledger is
 * copied again.
 */
import { rebuildCatalog } from '../catalog/rebuild.ts';
import { forEachConcurrent } from '../concurrency.ts';
import type { LakeAccess } from '../context/context.ts';
import { type Deadline, createTimeBudget } from '../context/time-budget.ts';
import { BrandReportsError, asBrandReportsError } from '../errors.ts';
import { parseJsonDocument } from '../lake/documents/cas-document.ts';
import {
  LAKE_FORMAT,
  type StoredFormat,
  formatDocument,
  parseFormat,
} from '../lake/documents/lake-format.ts';
import { type DayEntry, parseLedger } from '../lake/documents/ledger.ts';
import { parseProgress } from '../lake/documents/progress.ts';
import * as paths from '../lake/paths.ts';
import type { ObjectStore } from '../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../reports/definition.ts';
import type { Settings } from '../settings/settings.ts';

/** Reports at a time, ledgers of each, and days of each of these. */
const CONCURRENCY = { reports: 4, ledgers: 2, days: 2 };
/** I12: of an object, how much is in memory. */
const BLOCK_BYTES = 4 * 2 ** 20;
/** How often a ledger is copied again because objects that it named were deleted meanwhile. */
const MAX_TRIES = 5;
/** What a deployment or its watcher writes into a bucket before the first day is read. */
const NO_DATA = [
  paths.STATUS_PREFIX,
  paths.DEPLOYMENTS_PREFIX,
  paths.RATES_PREFIX,
  paths.QUERY_RESULTS_PREFIX,
  paths.FORMAT_KEY,
];

export interface CopyOptions extends LakeAccess {
  from: ObjectStore;
  reports: ReportRegistry;
  /** Decide which days `coverage` of the copy says are due. */
  settings?: Settings | undefined;
  deadline?: Deadline;
}

export interface CopyOutcome {
  /** `incomplete`: time was up; a repetition continues. */
  status: 'complete' | 'incomplete';
  from: string;
  to: string;
  ledgers: number;
  /** What the ledgers name, and how much of it this run has copied. */
  objects: number;
  bytes: number;
  copiedObjects: number;
  copiedBytes: number;
  /** Keys that ledgers name and that the source does not have. */
  missing: string[];
}

/** The ledger of a month, by its key. */
type LedgerPlace = NonNullable<ReturnType<typeof paths.parseLedgerKey>>;
type Sizes = Map<string, number>;

/**
 * @param options `lake` is the copy, whose store must not be guarded by its format
 * @throws BrandReportsError `config` if the copy has other data, or a document of the source is damaged; `conflict` if another
 * program writes to the copy; `transient` if an object of the copy differs at the end
 */
export async function copyLake(options: CopyOptions): Promise<CopyOutcome> {
  const { from, lake, reports, clock, log, deadline } = options;
  const to = lake.store;
  const time = createTimeBudget(deadline, clock.monotonicMs);
  const outcome: CopyOutcome = {
    ...{ status: 'complete', from: from.url, to: to.url, ledgers: 0, objects: 0, bytes: 0 },
    ...{ copiedObjects: 0, copiedBytes: 0, missing: [] },
  };
  const { ledgers, states } = await documentsOf(from, reports);
  if ((await begin(from, to)) === 'finished') return outcome;

  for (const key of states) await copyDocument(from, to, key);
  const ofReports = Map.groupBy(ledgers, ({ report, brand }) => `${report}/${brand}`);
  await forEachConcurrent([...ofReports.values()], CONCURRENCY.reports, copyReport);
  if (outcome.status === 'incomplete') return outcome;

  for await (const { key } of from.list(paths.SCHEMAS_PREFIX)) await copyDocument(from, to, key);
  await copyDocument(from, to, paths.WATCH_KEY);
  if (lake.catalog) ({ status: outcome.status } = await rebuildCatalog({ ...options, isFatal: () => false }));
  if (outcome.status === 'complete') await finish(from, to);
  return outcome;

  async function copyReport(own: readonly LedgerPlace[]): Promise<void> {
    const [{ report: name = '', brand = '' } = {}] = own;
    const { [name]: report } = reports;
    if (!report) throw new BrandReportsError('bug', 'unknown_report', `There is no report ${name}`);
    const [source, present] = await Promise.all([sizesOf(from, report, brand), sizesOf(to, report, brand)]);
    const named: Sizes = new Map();
    await forEachConcurrent(own, CONCURRENCY.ledgers, async (place) => {
      if (time.isUp()) {
        outcome.status = 'incomplete';
        return;
      }
      const objects = await copyLedger({ from, to, report, source, present }, place, outcome);
      for (const [key, bytes] of objects) named.set(key, bytes);
      outcome.ledgers += 1;
      const bytes = objects.values().reduce((sum, each) => sum + each, 0);
      log({ event: 'month_copied', brand, report: name, month: place.month, objects: objects.size, bytes });
    });
    outcome.objects += named.size;
    outcome.bytes += named.values().reduce((sum, each) => sum + each, 0);
    const found = await sizesOf(to, report, brand);
    for (const [key, bytes] of named) if (found.get(key) !== bytes) throw differs(from, to, key);
  }
}

interface Copying {
  from: ObjectStore;
  to: ObjectStore;
  report: ReportDefinition;
  /** What both lakes had when the report was begun. */
  source: Sizes;
  present: Sizes;
}

/** Copies what the ledger names, then the ledger. @returns the bytes of the objects, by key */
async function copyLedger(copying: Copying, place: LedgerPlace, outcome: CopyOutcome): Promise<Sizes> {
  const { from, to, report } = copying;
  const key = paths.ledgerKey(place.report, place.brand, place.month);
  for (let tries = 1; ; tries += 1) {
    const stored = await from.get(key);
    const { days } = parseLedger(key, place)(stored && parseJsonDocument(key, stored.body));
    const objects: Sizes = new Map();
    const lost: string[] = [];
    await forEachConcurrent(Object.entries(days), CONCURRENCY.days, async ([day, entry]) => {
      for (const each of versionsOf(report, place.brand, day, entry))
        if (!(await copyObject(copying, each, objects, outcome))) lost.push(each);
      for (const attempt of [entry.committed?.attempt, entry.claim?.attempt])
        if (attempt !== undefined) await copyAttempt(copying, place.brand, day, attempt, objects, outcome);
    });
    const isCurrent = lost.length === 0 || (await from.get(key))?.etag === stored?.etag;
    if (!isCurrent && tries < MAX_TRIES) continue;
    outcome.missing.push(...lost);
    if (stored) await putDocument(from, to, key, stored.body);
    return objects;
  }
}

/** The keys of the versions and changes of a day. */
function versionsOf(
  { name, table }: ReportDefinition,
  brand: string,
  day: string,
  { committed, superseded = [] }: DayEntry,
): string[] {
  const kept = superseded.filter(({ isLost }) => !isLost);
  const { changes } = committed ?? {};
  return [
    ...[...(committed ? [committed] : []), ...kept].map(({ snapshot }) =>
      paths.versionKey(table, brand, day, snapshot),
    ),
    ...(changes ? [changes.snapshot, ...(changes.unread ?? [])] : []).map((id) =>
      paths.changesKey(brand, name, day, id),
    ),
  ];
}

/** The raw records that the progress document names, then the document. A lifecycle rule may have deleted any of them. */
async function copyAttempt(
  copying: Copying,
  brand: string,
  day: string,
  attempt: string,
  objects: Sizes,
  outcome: CopyOutcome,
): Promise<void> {
  const { from, to, report } = copying;
  const key = paths.progressKey(report.name, brand, day, attempt);
  const stored = await from.get(key);
  if (!stored) return;
  const { slices } = parseProgress(key)(parseJsonDocument(key, stored.body));
  const prefix = paths.attemptPrefix(report.name, brand, day, attempt);
  for (const { name } of slices.flatMap(({ parts }) => parts.flatMap(({ chunks }) => chunks)))
    await copyObject(copying, `${prefix}${name}`, objects, outcome);
  await putDocument(from, to, key, stored.body);
  objects.set(key, stored.body.length);
}

/** Objects that are named by ids never change: a complete one is not copied again. @returns whether the source has it */
async function copyObject(
  { from, to, source, present }: Copying,
  key: string,
  objects: Sizes,
  outcome: CopyOutcome,
): Promise<boolean> {
  const size = source.get(key);
  const isPresent = size !== undefined && present.get(key) === size;
  const bytes = isPresent ? size : await stream(from, to, key, size);
  if (bytes === undefined) return false;
  objects.set(key, bytes);
  if (isPresent) return true;
  outcome.copiedObjects += 1;
  outcome.copiedBytes += bytes;
  return true;
}

/** @returns the bytes of the object; `undefined` if it does not exist */
async function stream(
  from: ObjectStore,
  to: ObjectStore,
  key: string,
  size = Number.POSITIVE_INFINITY,
): Promise<number | undefined> {
  const block = (at: number) => from.range(key, at, Math.min(at + BLOCK_BYTES, size));
  const first = await block(0).catch((thrown: unknown) => {
    if (asBrandReportsError(thrown).code !== 'object_missing') throw thrown;
    return undefined;
  });
  if (!first) return undefined;
  const writer = to.create(key);
  try {
    let bytes = 0;
    for (let part = first; part.length > 0; part = await block(bytes)) {
      await writer.write(part);
      bytes += part.length;
      if (bytes === size) break;
    }
    await writer.finish();
    return bytes;
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** The objects of a report of a brand, with their bytes. */
async function sizesOf(store: ObjectStore, { name, table }: ReportDefinition, brand: string): Promise<Sizes> {
  const sizes: Sizes = new Map();
  const prefixes = [
    paths.partitionPrefix(table, paths.brandPartitions(brand)),
    paths.changesPrefix(brand, name),
    paths.brandRawPrefix(name, brand),
  ];
  for (const prefix of prefixes) for await (const { key, bytes } of store.list(prefix)) sizes.set(key, bytes);
  return sizes;
}

/** The ledgers and the keys of the report states. @throws BrandReportsError `config` if there is none, or this program does not know the report of one */
async function documentsOf(from: ObjectStore, reports: ReportRegistry) {
  const ledgers: LedgerPlace[] = [];
  const states: string[] = [];
  for await (const { key } of from.list(paths.LEDGERS_PREFIX)) {
    const ledger = paths.parseLedgerKey(key);
    if (ledger && !Object.hasOwn(reports, ledger.report))
      throw refused(
        'unknown_report',
        `The lake ${from.url} has days of the report "${ledger.report}", which this program does not have: ${Object.keys(reports).join(', ')}. Use the version of brand-reports that wrote it.`,
      );
    if (ledger) ledgers.push(ledger);
    else if (paths.parseReportStateKey(key)) states.push(key);
  }
  if (ledgers.length === 0)
    throw refused(
      'nothing_to_copy',
      `The lake ${from.url} has no days. Name the folder or the s3://bucket/prefix of a lake.`,
    );
  return { ledgers, states };
}

/** Marks the copy as unfinished, if its place is empty. @throws BrandReportsError `config` if it has other data */
async function begin(from: ObjectStore, to: ObjectStore): Promise<'unfinished' | 'finished'> {
  const [inside, outside] = [`${to.url}/`, `${from.url}/`];
  if (inside.startsWith(outside) || outside.startsWith(inside))
    throw refused('copy_of_itself', `${to.url} and ${from.url} are one lake, or one is inside the other.`);
  const stored = await to.get(paths.FORMAT_KEY);
  const { format, copyOf } = stored ? parseFormat(stored.body) : {};
  if (stored && copyOf === from.url) return format === undefined ? 'unfinished' : 'finished';
  if (copyOf !== undefined)
    throw refused('other_data', `${to.url} is a copy of ${copyOf}, not of ${from.url}. Name an empty place.`);
  for await (const { key } of to.list(''))
    if (!NO_DATA.some((prefix) => key.startsWith(prefix)))
      throw refused('other_data', `${to.url} has other data, e.g. ${key}. Name an empty place.`);
  if (stored && format !== LAKE_FORMAT)
    throw refused('other_data', `${to.url} has another format. Name an empty place.`);
  await putFormat(to, { copyOf: from.url }, stored?.etag);
  return 'unfinished';
}

/** From now on the copy is a lake. */
async function finish(from: ObjectStore, to: ObjectStore): Promise<void> {
  const stored = await to.get(paths.FORMAT_KEY);
  await putFormat(to, { format: LAKE_FORMAT, copyOf: from.url }, stored?.etag);
}

async function putFormat(to: ObjectStore, document: StoredFormat, etag: string | undefined): Promise<void> {
  const body = formatDocument(document);
  const condition = etag === undefined ? { ifAbsent: true as const } : { ifMatch: etag };
  if ((await to.put(paths.FORMAT_KEY, body, condition)) !== 'conflict') return;
  if (!isSame((await to.get(paths.FORMAT_KEY))?.body, body)) throw written(to, paths.FORMAT_KEY);
}

async function copyDocument(from: ObjectStore, to: ObjectStore, key: string): Promise<void> {
  const stored = await from.get(key);
  if (stored) await putDocument(from, to, key, stored.body);
}

/** Writes the document, or replaces the one of an earlier try. Conditional, because the bucket refuses every other write. */
async function putDocument(from: ObjectStore, to: ObjectStore, key: string, body: Uint8Array): Promise<void> {
  if ((await to.put(key, body, { ifAbsent: true })) !== 'conflict') return;
  const found = await to.get(key);
  if (isSame(found?.body, body)) return;
  // Another process may have finished the copy, and runs have gone on in it.
  const marker = await to.get(paths.FORMAT_KEY);
  const { format, copyOf } = marker ? parseFormat(marker.body) : {};
  const isOurs = format === undefined && copyOf === from.url;
  if (!isOurs || !found || (await to.put(key, body, { ifMatch: found.etag })) === 'conflict')
    throw written(to, key);
}

function isSame(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && Buffer.compare(a, b) === 0;
}

function refused(code: string, message: string): BrandReportsError {
  return new BrandReportsError('config', code, `${message} Nothing was copied.`);
}

function written({ url }: ObjectStore, key: string): BrandReportsError {
  return new BrandReportsError(
    'conflict',
    'copy_written',
    `Another program has written ${url}/${key} during the copy. Stop it, then run the copy again.`,
  );
}

function differs(from: ObjectStore, to: ObjectStore, key: string): BrandReportsError {
  return new BrandReportsError(
    'transient',
    'copy_differs',
    `${to.url}/${key} is missing or has another size than in ${from.url}. Run the copy again.`,
  );
}
