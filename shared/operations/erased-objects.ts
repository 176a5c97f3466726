/* Finds everything in a lake that has data of the days to erase, by keys alone: `KINDS` lists all of it. */
import { DAY_PARTITION_KEYS } from '../base/column-types.ts';
import type { BrandReport } from '../context/context.ts';
import { addDays, monthOf } from '../base/days.ts';
import {
  COVERAGE_PAGE_KEY,
  LEDGER_TABLES,
  QUERY_RESULTS_PREFIX,
  STATUS_PREFIX,
  beforeTable,
  brandClosesPrefix,
  brandPageKey,
  brandPartitions,
  brandStateKey,
  brandRawPrefix,
  brandResultsPrefix,
  brandSettingsPrefix,
  dayPartition,
  icebergMetadataPrefix,
  parseCloseKey,
  parseDayKey,
  parseLedgerKey,
  partitionPrefix,
  leaseKey,
  reportLedgersPrefix,
  snapshotKey,
} from '../lake/paths.ts';
import type { Lake, NoncurrentVersion, Partition } from '../ports.ts';
import { dayTables } from '../reports/definition.ts';

export const KINDS = {
  versions: 'versions of days',
  before: 'what records of days were before they changed',
  raw: 'records as they came, with those of the day before',
  derived: 'rows of coverage and closes; rewritten',
  partitions: 'partitions of the catalog',
  documents: 'ledgers and other documents; they keep the time of the erasure',
  closes: 'closed months; they keep their sums unless the brand is erased',
  iceberg: 'Iceberg metadata; rewritten',
  status: 'status pages, until the next watcher run',
  lease: 'lease of the brand',
  settings: 'settings of the brand, unless days are named',
  query_results: 'results of Athena queries',
  previous: 'previous contents of all these objects',
} as const;
type Kind = keyof typeof KINDS;

export interface ErasedRange {
  lake: Lake;
  brand: string;
  contexts: readonly BrandReport[];
  from: string;
  to: string;
  isAll: boolean;
  /** All days of all reports, and everything else that the lake has of the brand. */
  isBrand: boolean;
}

export function isInRange(
  { contexts, from, to, isAll }: ErasedRange,
  { report, day }: { report: string; day: string },
): boolean {
  return contexts.some((ctx) => ctx.report.name === report) && (isAll || (from <= day && day <= to));
}

interface Place {
  kind: Kind;
  prefix: string;
  isErased: (key: string) => boolean;
  /** The object is written anew without the days, so that only its previous contents are deleted. */
  isRewritten?: boolean;
}

function placesOf(range: ErasedRange): Place[] {
  const { lake, brand, contexts, from, to, isAll, isBrand } = range;
  const isMonth = (month: string | undefined) =>
    isAll || (month !== undefined && monthOf(from) <= month && month <= monthOf(to));
  const always = () => true;
  const ofDays = (kind: Kind, prefix: string, first = from): Place => {
    const isErased = (key: string) => {
      const { day } = parseDayKey(prefix, key) ?? {};
      return day !== undefined && (isAll || (first <= day && day <= to));
    };
    return { kind, prefix, isErased };
  };
  const ofReports = contexts.flatMap((ctx): Place[] => {
    const { name, table } = ctx.report;
    const ledgers = `${reportLedgersPrefix(name)}${brand}/`;
    const prefixOf = (of: string) => partitionPrefix(of, brandPartitions(brand));
    return [
      ofDays('versions', prefixOf(table)),
      ofDays('before', prefixOf(beforeTable(table))),
      // The reading of the day before may have staged records of the range's first instant, to leave them out of its version.
      ofDays('raw', brandRawPrefix(name, brand), addDays(from, -1)),
      {
        ...{ kind: 'documents', prefix: ledgers, isRewritten: true },
        isErased: (key) => isMonth(parseLedgerKey(key)?.month),
      },
      { kind: 'iceberg', prefix: icebergMetadataPrefix(table), isErased: always, isRewritten: true },
    ];
  });
  const isOfOther = (key: string) =>
    key.startsWith(`${QUERY_RESULTS_PREFIX}${DAY_PARTITION_KEYS[0]}=`) &&
    !key.startsWith(brandResultsPrefix(brand));
  // Only Athena writes results, so such a folder in a local lake is somebody else's.
  const results: Place[] =
    lake.store.localFolder === undefined
      ? [{ kind: 'query_results', prefix: QUERY_RESULTS_PREFIX, isErased: (key) => !isOfOther(key) }]
      : [];
  return [
    ...ofReports,
    {
      ...{ kind: 'closes', prefix: brandClosesPrefix(brand), isRewritten: !isBrand },
      // A close has days of its month, and of months that were closed before.
      isErased: (key) => isBrand || (parseCloseKey(key)?.month ?? '') >= monthOf(from),
    },
    ...LEDGER_TABLES.map((of): Place => {
      return { kind: 'derived', prefix: partitionPrefix(of, brandPartitions(brand)), isErased: always };
    }),
    { kind: 'documents', prefix: brandStateKey(brand), isErased: always, isRewritten: true },
    { kind: 'lease', prefix: leaseKey(brand), isErased: () => isBrand },
    { kind: 'settings', prefix: brandSettingsPrefix(brand), isErased: () => isBrand },
    ...results,
    ...[COVERAGE_PAGE_KEY, brandPageKey(brand)].map(
      (prefix): Place => ({ kind: 'status', prefix, isErased: always }),
    ),
    { kind: 'documents', prefix: STATUS_PREFIX, isErased: always, isRewritten: true },
  ];
}

/** An object, a partition of the catalog, or a previous content of an object, which was searched. */
export interface Found {
  kind: Kind;
  name: string;
  bytes: number;
  /** Whether it is removed. Documents with data of the range are rewritten instead. */
  isErased: boolean;
  version?: NoncurrentVersion;
  partition?: [table: string, partition: Partition];
}

export async function search(range: ErasedRange): Promise<Found[]> {
  const { store } = range.lake;
  const places = placesOf(range);
  const placeAt = (key: string) => places.find(({ prefix }) => key.startsWith(prefix));
  const needed = await publishedRows(range);
  const found: Found[] = [];
  for (const prefix of prefixesOf(places)) {
    for await (const { key, bytes } of store.list(prefix)) {
      const place = placeAt(key);
      if (!place) continue;
      const isNeeded = place.isRewritten || (place.kind === 'derived' && needed.has(key));
      found.push({ kind: place.kind, name: key, bytes, isErased: place.isErased(key) && !isNeeded });
    }
    for await (const version of store.noncurrent?.list(prefix) ?? []) {
      const { key, bytes } = version;
      const isErased = placeAt(key)?.isErased(key);
      const name = `${key} ${version.version}`;
      if (isErased !== undefined) found.push({ kind: 'previous', name, bytes, isErased, version });
    }
  }
  return [...found, ...(await partitionsOf(range))];
}

/** No prefix begins with another one, so that no object is found twice. */
function prefixesOf(places: readonly Place[]): string[] {
  const all = [...new Set(places.map(({ prefix }) => prefix))];
  return all.filter((prefix) => !all.some((other) => other !== prefix && prefix.startsWith(other)));
}

async function publishedRows({ lake, brand }: ErasedRange): Promise<ReadonlySet<string>> {
  const current = new Set<string>();
  for (const table of LEDGER_TABLES) {
    const partition = brandPartitions(brand);
    const found = await lake.catalog?.snapshotsByPartition(table, partition);
    for (const id of [...(found?.values() ?? [])].flat()) current.add(snapshotKey(table, partition, id));
  }
  return current;
}

export async function partitionsOf(range: ErasedRange): Promise<Found[]> {
  const { brand, contexts, lake } = range;
  const found: Found[] = [];
  for (const { report } of contexts)
    for (const table of dayTables(report)) {
      const byPath = await lake.catalog?.snapshotsByPartition(table, brandPartitions(brand));
      for (const path of byPath?.keys() ?? []) {
        const [, day = ''] = path.split('/').map((part) => part.slice(part.indexOf('=') + 1));
        const isErased = isInRange(range, { report: report.name, day });
        const partition = dayPartition(brand, day);
        found.push({
          ...{ kind: 'partitions', name: `${table}/${path}`, bytes: 0, isErased },
          partition: [table, partition],
        });
      }
    }
  return found;
}

export type Amounts = Partial<Record<string, { objects: number; bytes: number }>>;

export function amountsOf(found: readonly Found[]): Amounts {
  const byKind = [...Map.groupBy(found, ({ kind }) => kind)];
  const sizeOf = (own: readonly Found[]) => own.reduce((sum, { bytes }) => sum + bytes, 0);
  return Object.fromEntries(byKind.map(([kind, own]) => [kind, { objects: own.length, bytes: sizeOf(own) }]));
}
