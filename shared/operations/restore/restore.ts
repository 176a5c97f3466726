/**
 * Finds documents that cannot be parsed or were lost, and puts back the newest earlier version that can be parsed. Only the
 * damaged bytes are replaced (compare-and-swap); the store keeps them like every content that a write replaces. Without an
 * earlier version, a ledger is made from snapshots, and every other document begins anew, except a close: nothing else
 * shows what people were paid by. Readers keep what is published (I3).
 */
import { type Json, isJsonObject } from '../../base/json.ts';
import { monthOf } from '../../base/days.ts';
import { asBrandReportsError } from '../../base/errors.ts';
import { parseCurrentSettings, parseSettingsVersion } from '../../lake/brand-settings.ts';
import { documentBytes, parseJsonDocument, readOrDamage, undamaged } from '../../lake/cas-document.ts';
import { parseClose } from '../../lake/close.ts';
import { createLakeDocuments } from '../../lake/lake-documents.ts';
import { type Ledger, type VersionContent, eraseDays, parseLedger } from '../../lake/ledger.ts';
import { lostLedger, snapshotMonths } from '../../lake/lost-documents.ts';
import { parseBrandState, withoutHints } from '../../lake/report-state.ts';
import { parseStoredSchema } from '../../lake/schema.ts';
import {
  SETTINGS_OF_BRANDS,
  CLOSES_PREFIX,
  COVERAGE_TABLE,
  LEDGERS_PREFIX,
  beforeTable,
  brandOfState,
  brandSettingsKey,
  dayPartition,
  ledgerKey,
  brandPartitions,
  parseBrandSettingsKey,
  parseCloseKey,
  parseDayKey,
  parseLedgerKey,
  partitionPath,
  partitionPrefix,
  reportLedgersPrefix,
  schemaKey,
  snapshotOfKey,
} from '../../lake/paths.ts';
import { readParquetRows } from '../../table/coded-columns.ts';
import { readContent } from '../../lake/read-content.ts';
import { damageOf, fileIn } from '../../table/readable-file.ts';
import type { LakeAccess } from '../../context/context.ts';
import type { ListedObject, ObjectStore, StoredObject } from '../../ports.ts';
import type { ReportDefinition, ReportRegistry } from '../../reports/definition.ts';

export interface DamagedDocument {
  key: string;
  problem: string;
  remedy: string;
  /** `changed`: another program wrote it in the meantime, so it was left alone. */
  outcome: 'damaged' | 'restored' | 'changed' | 'failed';
  /** When the version that is put back was written: later changes are lost. Missing if there is no such version. */
  writtenAt?: string;
}

export interface DocumentScope {
  report?: ReportDefinition;
  brand?: string;
  month?: string;
}

export interface RestoreOptions extends LakeAccess {
  reports: ReportRegistry;
  apply: boolean;
  isWanted: (scope: DocumentScope) => boolean;
}

interface LakeDocument extends DocumentScope {
  key: string;
  parse: (stored: Json | undefined) => object;
  /** The document from an earlier version, or from what the lake has besides; missing: as `parse` makes it. */
  remake?: (earlier: Json | undefined) => Promise<object>;
  /** What is done if the store has no earlier version; missing: the document begins anew. */
  otherwise?: string;
  isUnique?: true;
  /** Runs fill it again, and an earlier version could show that no day is due. */
  isHint?: true;
  /** The damage if the document is missing; missing: then it was never written. */
  lost?: string;
}

export async function restoreDocuments(options: RestoreOptions): Promise<DamagedDocument[]> {
  const documents: DamagedDocument[] = [];
  for await (const document of documentsOf(options)) {
    const { lost, key } = document;
    if (!options.isWanted(document)) continue;
    const stored = await options.lake.store.get(key);
    const read = stored && (await readOrDamage(parsed(document, stored.body)));
    const damage = read && 'damage' in read ? String(read.damage.context.problem) : undefined;
    const problem = stored ? damage : lost;
    if (problem !== undefined) documents.push({ key, problem, ...(await treat(options, document, stored)) });
  }
  return documents;
}

/** Documents that the next run begins anew and that nobody else reads are not examined: progress, leases, the watch record. */
async function* documentsOf(options: RestoreOptions): AsyncGenerator<LakeDocument> {
  const { store } = options.lake;
  for await (const { key } of store.list(LEDGERS_PREFIX)) {
    const brand = brandOfState(key);
    if (brand !== undefined) yield { key, brand, parse: parseBrandState(key), isHint: true };
  }
  for (const report of Object.values(options.reports)) {
    const { name, table } = report;
    const monthsOf = await snapshotMonths(store, table);
    const lost = monthsOf.size > 0 && { lost: 'it is missing, but the lake has snapshots of its table' };
    const otherwise =
      'begin it anew with the documented columns, unless you restore it from a backup; "verify" then names the days that have others, and the command that adds them';
    yield { key: schemaKey(table), report, parse: parseStoredSchema(report), otherwise, ...lost };
    const keys = (await Array.fromAsync(store.list(reportLedgersPrefix(name)))).map(({ key }) => key);
    for (const of of keys.map(parseLedgerKey)) if (of) yield ledgerDocument(options, { ...of, report });
    for (const [brand, months] of monthsOf)
      for (const month of months)
        if (!keys.includes(ledgerKey(name, brand, month)))
          yield { ...ledgerDocument(options, { report, brand, month }), lost: lostLedger(month) };
  }
  for await (const { key } of store.list(SETTINGS_OF_BRANDS)) {
    const of = parseBrandSettingsKey(key);
    if (of) yield { key, brand: of.brand, ...settingsDocument(options, of) };
  }
  for await (const { key } of store.list(CLOSES_PREFIX)) {
    const of = parseCloseKey(key);
    const parse = (stored: Json | undefined) => parseClose(key, stored ?? null);
    const otherwise = 'nothing: the lake has no earlier version of it. Remove it to close the month again';
    if (of) yield { key, ...of, parse, otherwise, isUnique: true };
  }
}

function settingsDocument(
  { lake, reports }: RestoreOptions,
  { brand, hash }: { brand: string; hash?: string },
): Pick<LakeDocument, 'parse' | 'remake' | 'otherwise'> {
  const key = brandSettingsKey(brand);
  const current = parseCurrentSettings(brand, reports);
  if (hash === undefined)
    return {
      parse: current,
      otherwise: 'begin it anew: the next run writes the settings of the brand again',
    };
  const parse = parseSettingsVersion(brandSettingsKey(brand, hash), hash, reports);
  const remake = async (earlier: Json | undefined) => {
    const stored = await lake.store.get(key);
    const ofCurrent = stored && current(parseJsonDocument(key, stored.body)).current?.settings;
    const settings = isJsonObject(earlier) ? earlier : (ofCurrent ?? {});
    parse(settings);
    return settings;
  };
  return { parse, remake, otherwise: `take it from ${key}, if that has the same settings` };
}

function ledgerDocument(
  options: RestoreOptions,
  of: { report: ReportDefinition; brand: string; month: string },
): LakeDocument {
  const { report, brand, month } = of;
  const key = ledgerKey(report.name, brand, month);
  const parse = parseLedger(key, { report: report.name, brand, month });
  const remake = async (earlier: Json | undefined) => {
    const ledger = earlier === undefined ? await ledgerFromSnapshots(options, of) : parse(earlier);
    const documents = createLakeDocuments({ store: options.lake.store, ...options });
    // The state may record that no day of the month is due.
    await documents.reportState(report.name, brand).update((state) => withoutHints(state, [month]));
    const at = new Date(options.clock.wallMs()).toISOString();
    return eraseDays(ledger, await erasedByCoverage(options, of), at, ledger);
  };
  const otherwise = 'make it from the newest snapshot of each day; the next runs read these days again';
  return { key, ...of, parse, remake, otherwise };
}

/**
 * Makes the ledger of a month from its snapshots. How a day was read is lost, and so is whether its version contains the whole
 * day: the next runs read it again. Until then readers keep the snapshot (I2, I3). A day without a readable snapshot is left
 * out. The other versions of a day are kept. Its history begins anew with that snapshot.
 */
async function ledgerFromSnapshots(
  options: LakeAccess & { reports: ReportRegistry },
  { report, brand, month }: { report: ReportDefinition; brand: string; month: string },
): Promise<Ledger> {
  const { lake, newId, clock } = options;
  const { store } = lake;
  const now = new Date(clock.wallMs()).toISOString();
  const prefixOf = (table: string) => partitionPrefix(table, brandPartitions(brand));
  const pointed = await lake.catalog?.snapshotsByPartition(report.table, brandPartitions(brand));
  const changesByDay = await objectsByDay(store, month, prefixOf(beforeTable(report.table)));
  const days: Ledger['days'] = {};
  for (const [day, snapshots] of await objectsByDay(store, month, prefixOf(report.table))) {
    const ids = pointed?.get(partitionPath(dayPartition(brand, day))) ?? [];
    const named = snapshots.filter(({ id }) => ids.includes(id));
    const version = await firstReadable(
      [...named, ...snapshots],
      async (object): Promise<VersionContent> => ({
        snapshot: object.id,
        ...(await readContent(fileIn(store, object))),
      }),
    );
    if (!version) continue;
    const changes = changesByDay.get(day) ?? [];
    const committed = {
      ...{ state: 'unconfirmed' as const, attempt: `restore-${newId()}`, pages: 0, queryFingerprint: '' },
      ...{ readFrom: `${day}T00:00:00.000Z`, readTo: `${day}T00:00:00.000Z` },
      ...version,
      // A crash may have left two links in a folder: neither is current until the publication is repeated. It also
      // removes the changes before this version.
      published: !pointed || (ids.length === 1 && ids[0] === version.snapshot && changes.length === 0),
    };
    const place = await placeAfter(store, changes);
    const history = { by: now, place, lastBy: now, anewPlace: place, anewBy: now };
    // I3: the other versions are kept as long as the settings allow, from now on, because the day may have been rolled back.
    const others = snapshots.filter(({ id }) => id !== version.snapshot).toReversed();
    days[day] = {
      committed: { ...committed, history },
      ...(others.length > 0 && { superseded: others.map(({ id }) => ({ snapshot: id, at: now })) }),
    };
  }
  return { report: report.name, brand, month, days, recentWrites: [newId()] };
}

interface ObjectOfDay extends ListedObject {
  day: string;
  id: string;
}

/** The newest of a day come first. */
async function objectsByDay(
  store: ObjectStore,
  month: string,
  prefix: string,
): Promise<Map<string, ObjectOfDay[]>> {
  const stored = (await Array.fromAsync(store.list(prefix))).flatMap((object): ObjectOfDay[] => {
    const of = parseDayKey(prefix, object.key);
    const isOfMonth = of && monthOf(of.day) === month && snapshotOfKey(object.key) === of.id;
    return isOfMonth ? [{ ...object, ...of }] : [];
  });
  return Map.groupBy(newestFirst(stored), ({ day }) => day);
}

function newestFirst<T extends ListedObject>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => b.modifiedAt.getTime() - a.modifiedAt.getTime());
}

/** Places go on counting, because closes name earlier places of the day. */
async function placeAfter(store: ObjectStore, objects: readonly ObjectOfDay[]): Promise<number> {
  let next = 0;
  for (const object of objects)
    try {
      for await (const { _place } of readParquetRows(fileIn(store, object), ['_place']))
        next = Math.max(next, Number(_place) + 1);
    } catch (thrown) {
      damageOf(thrown);
    }
  return next;
}

async function firstReadable<T extends ListedObject, Content>(
  objects: readonly T[],
  read: (object: T) => Promise<Content>,
): Promise<Content | undefined> {
  for (const object of objects)
    try {
      return await read(object);
    } catch (thrown) {
      damageOf(thrown);
    }
  return undefined;
}

/** The erased days by the newest coverage that can be read. */
async function erasedByCoverage(
  { lake: { store } }: RestoreOptions,
  { report, brand, month }: { report: ReportDefinition; brand: string; month: string },
): Promise<string[]> {
  const prefix = partitionPrefix(COVERAGE_TABLE, brandPartitions(brand));
  const written = newestFirst(await Array.fromAsync(store.list(prefix)));
  const rows = await firstReadable(written, (object) =>
    Array.fromAsync(readParquetRows(fileIn(store, object), ['report', 'month', 'dt', 'state'])),
  );
  const own = (rows ?? []).filter((row) => row.report === report.name && row.month === month);
  return own.filter(({ state }) => state === 'erased').map(({ dt }) => String(dt));
}

async function parsed({ key, parse }: LakeDocument, body: Uint8Array): Promise<Json> {
  const stored = parseJsonDocument(key, body);
  parse(stored);
  return stored;
}

async function treat(
  options: RestoreOptions,
  document: LakeDocument,
  stored: StoredObject | undefined,
): Promise<Omit<DamagedDocument, 'key' | 'problem'>> {
  const { key, otherwise = 'begin it anew: runs fill it again' } = document;
  const { store } = options.lake;
  try {
    const earlier = document.isHint ? undefined : await earlierVersion(options, document);
    const remedy = earlier
      ? `put back its version of ${earlier.writtenAt}; later changes of it are lost`
      : otherwise;
    const plan = { remedy, ...(earlier && { writtenAt: earlier.writtenAt }) };
    if (!options.apply || (document.isUnique && !earlier)) return { ...plan, outcome: 'damaged' };
    const next = (await document.remake?.(earlier?.json)) ?? document.parse(earlier?.json);
    const condition = stored ? { ifMatch: stored.etag } : { ifAbsent: true as const };
    // The bytes of kept settings have the hash in their name.
    const body = 'recentWrites' in next ? documentBytes(next) : Buffer.from(`${JSON.stringify(next)}\n`);
    if ((await store.put(key, body, condition)) !== 'conflict') return { ...plan, outcome: 'restored' };
    return { outcome: 'changed', remedy: 'another program wrote it in the meantime' };
  } catch (thrown) {
    return { outcome: 'failed', remedy: asBrandReportsError(thrown).message };
  }
}

async function earlierVersion({ lake: { store } }: RestoreOptions, document: LakeDocument) {
  for await (const version of store.noncurrent?.list(document.key) ?? []) {
    // A delete marker has no bytes.
    const isOfDocument = version.key === document.key && version.bytes > 0;
    const body = isOfDocument ? await store.noncurrent?.get(version) : undefined;
    const json = body && (await undamaged(parsed(document, body)));
    if (json !== undefined) return { json, writtenAt: version.modifiedAt.toISOString() };
  }
  return undefined;
}
