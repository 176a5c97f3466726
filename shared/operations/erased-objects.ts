/* Finds the objects of a lake that contain data of the days to erase, by their keys alone. */
import type { BrandReport } from '../context/context.ts';
import { addDays, monthOf } from '../days.ts';
import {
  COVERAGE_PAGE_KEY,
  DAMAGED_PREFIX,
  LEDGER_TABLES,
  QUERY_RESULTS_PREFIX,
  STATUS_PREFIX,
  brandClosesPrefix,
  brandPartitions,
  brandRawPrefix,
  changesPrefix,
  icebergMetadataPrefix,
  keyOfDamagedCopy,
  monthPartition,
  parseDayKey,
  parseLedgerKey,
  partitionPrefix,
  rateBudgetKey,
  reportLedgersPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import type { Lake, ListedObject } from '../ports.ts';

/** The brand's part of a lake, and the range, `YYYY-MM-DD`. */
export interface ErasedRange {
  lake: Lake;
  brand: string;
  contexts: readonly BrandReport[];
  from: string;
  to: string;
  /** Everything that the lake has of the brand, whatever the range. */
  isAll: boolean;
}

/** The kind of an object; `documents` and `iceberg` are replaced by documents without the days, all other kinds are deleted. */
type Kind =
  | 'versions'
  | 'lifecycle'
  | 'changes'
  | 'raw'
  | 'derived'
  | 'iceberg'
  | 'documents'
  | 'rates'
  | 'status'
  | 'query_results'
  | 'damaged';

/** An object that contains data of the range. */
export interface ErasedObject {
  key: string;
  bytes: number;
  kind: Kind;
  /** Only for an object of a day. */
  of?: { ctx: BrandReport; day: string; id: string };
}

/** A prefix below which such objects lie. */
interface Place {
  kind: Kind;
  prefix: string;
  /** Only for objects of days. */
  days?: { ctx: BrandReport; from: string };
}

function placesOf({ lake, brand, contexts, from, isAll }: ErasedRange): Place[] {
  const ofReports = contexts.flatMap((ctx): Place[] => {
    const { name, table, lifecycle } = ctx.report;
    const days = { ctx, from };
    const placeOf = (kind: Kind, of: string): Place => ({
      ...{ kind, prefix: partitionPrefix(of, brandPartitions(brand)), days },
    });
    // The reading of the day before may have staged records of the range's first instant, to leave them out of its version.
    const before = { ctx, from: addDays(from, -1) };
    return [
      placeOf('versions', table),
      ...(lifecycle ? [placeOf('lifecycle', lifecycle.table)] : []),
      { kind: 'changes', prefix: changesPrefix(brand, name), days },
      { kind: 'raw', prefix: brandRawPrefix(name, brand), days: before },
      { kind: 'iceberg', prefix: icebergMetadataPrefix(table) },
      { kind: 'documents', prefix: `${reportLedgersPrefix(name)}${brand}/` },
      ...LEDGER_TABLES.map(
        (each): Place => ({ kind: 'derived', prefix: partitionPrefix(each, monthPartition(brand, name)) }),
      ),
    ];
  });
  const rates: Place = { kind: 'rates', prefix: rateBudgetKey(brand) };
  // A versioned bucket may have kept closes that were removed.
  const closes: Place = { kind: 'documents', prefix: brandClosesPrefix(brand) };
  // Only Athena writes results, so such a folder in a local lake is somebody else's.
  const results: Place[] =
    lake.store.localFolder === undefined ? [{ kind: 'query_results', prefix: QUERY_RESULTS_PREFIX }] : [];
  return [
    ...ofReports,
    ...(isAll ? [rates, closes] : []),
    ...results,
    { kind: 'status', prefix: STATUS_PREFIX },
  ];
}

/** The object with its kind if its key belongs to the range; otherwise an empty list. */
function foundAt<T extends Pick<ListedObject, 'key' | 'bytes'>>(
  range: ErasedRange,
  places: readonly Place[],
  object: T,
): (T & ErasedObject)[] {
  const { from, to, isAll } = range;
  const key = keyOfDamagedCopy(object.key);
  const place = places.find(({ prefix }) => key.startsWith(prefix));
  if (!place) return [];
  const kind = key === object.key ? place.kind : 'damaged';
  const { month = monthOf(from) } = parseLedgerKey(key) ?? {};
  if (!place.days)
    return isAll || (monthOf(from) <= month && month <= monthOf(to)) ? [{ ...object, kind }] : [];
  const { ctx, from: first } = place.days;
  const parsed = parseDayKey(place.prefix, key);
  return parsed && (isAll || (first <= parsed.day && parsed.day <= to))
    ? [{ ...object, kind, of: { ctx, ...parsed } }]
    : [];
}

/** All objects of the lake that contain data of the range. */
export async function erasedObjects(range: ErasedRange): Promise<ErasedObject[]> {
  const places = placesOf(range);
  const found: ErasedObject[] = [];
  for (const prefix of [...places.map((place) => place.prefix), DAMAGED_PREFIX])
    for await (const { key, bytes } of range.lake.store.list(prefix))
      found.push(...foundAt(range, places, { key, bytes }));
  return found;
}

/** The objects that nothing needs. An object of a table made from ledgers is needed if a partition points at it now. */
export async function withoutNeeded(
  { lake, brand, contexts }: ErasedRange,
  found: readonly ErasedObject[],
): Promise<ErasedObject[]> {
  const current = new Set<string>();
  for (const { report } of contexts)
    for (const table of LEDGER_TABLES)
      for (const ids of (
        await lake.catalog?.snapshotsByPartition(table, monthPartition(brand, report.name))
      )?.values() ?? [])
        for (const id of ids) current.add(id);
  return found.filter(({ key, kind }) => {
    const id = kind === 'derived' ? snapshotOfKey(key) : undefined;
    if (kind === 'derived') return id !== undefined && !current.has(id);
    return kind === 'status' ? key === COVERAGE_PAGE_KEY : kind !== 'documents' && kind !== 'iceberg';
  });
}

/** Deletes the noncurrent versions of these objects in a versioned bucket. @returns how much was deleted */
export async function purge(range: ErasedRange): Promise<Amount> {
  const { noncurrent } = range.lake.store;
  const places = placesOf(range);
  const amount = { objects: 0, bytes: 0 };
  for (const prefix of noncurrent ? [...places.map((place) => place.prefix), DAMAGED_PREFIX] : []) {
    const listed = await Array.fromAsync(noncurrent?.list(prefix) ?? []);
    const found = listed.flatMap((version) => foundAt(range, places, version));
    await noncurrent?.delete(found);
    const { objects, bytes } = amountOf(found);
    amount.objects += objects;
    amount.bytes += bytes;
  }
  return amount;
}

/** How much was removed. */
export interface Amount {
  objects: number;
  bytes: number;
}

/** The number and size of the objects, by kind. */
export function amountsOf(objects: readonly ErasedObject[]): Partial<Record<Kind | 'noncurrent', Amount>> {
  const byKind = [...Map.groupBy(objects, ({ kind }) => kind)];
  return Object.fromEntries(byKind.map(([kind, own]) => [kind, amountOf(own)]));
}

function amountOf(objects: readonly { bytes: number }[]): Amount {
  return { objects: objects.length, bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0) };
}
