import { monthOf } from '../days.ts';
import { asBrandReportsError } from '../errors.ts';
import type { Committed, DayEntry, Ledger } from '../lake/documents/ledger.ts';
import {
  brandPartitions,
  dayPartition,
  parseDayKey,
  partitionPath,
  partitionPrefix,
  snapshotOfKey,
} from '../lake/paths.ts';
import { Digest } from '../lake/table/digest.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import type { LakeAccess } from '../pipeline/context.ts';
import type { Lake, ListedObject } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';
import type { Remade } from './remake-schema.ts';

/** The month of a report and brand whose ledger is made again. */
interface LedgerScope {
  report: ReportDefinition;
  brand: string;
  month: string;
}

/**
 * The ledger as the published snapshots tell it. How they were read is not in them, so every day counts as open and read
 * up to its beginning: the next runs read it whole again, and until then readers keep the snapshot (I2, I3).
 */
export async function remakeLedger(
  { lake, newId }: Pick<LakeAccess, 'lake' | 'newId'>,
  scope: LedgerScope,
): Promise<Remade> {
  const { report, brand, month } = scope;
  const { entries, notes } = await publishedDays(lake, scope, `repair-${newId()}`);
  const days: Ledger['days'] = Object.fromEntries(entries);
  const ledger: Ledger = { version: 1, report: report.name, brand, month, days, recentWrites: [newId()] };
  const unknown =
    'how and when the days were read, failures, and attempts in progress are not known any more: every day of the month is read again';
  return {
    document: ledger,
    notes: [`${entries.length} days were found in ${sourceOf(lake)}`, unknown, ...notes],
  };
}

function sourceOf({ catalog }: Lake): string {
  return catalog
    ? 'the catalog'
    : 'the snapshots, the newest of each day, because no catalog was named (--database)';
}

type Entry = [day: string, entry: DayEntry];

async function publishedDays(
  lake: Lake,
  { report, brand, month }: LedgerScope,
  attempt: string,
): Promise<{ entries: Entry[]; notes: string[] }> {
  const pointed = await lake.catalog?.snapshotsByPartition(report.table, brandPartitions(brand));
  const prefix = partitionPrefix(report.table, brandPartitions(brand));
  const stored = (await Array.fromAsync(lake.store.list(prefix))).flatMap((object) => {
    const { day, id } = parseDayKey(prefix, object.key) ?? {};
    const isOurs = snapshotOfKey(object.key) === id && day !== undefined && monthOf(day) === month;
    return isOurs && id !== undefined ? [{ ...object, day, id }] : [];
  });
  const entries: Entry[] = [];
  const notes: string[] = [];
  for (const [day, snapshots] of Map.groupBy(stored, ({ day }) => day)) {
    const current = pointed?.get(partitionPath(dayPartition(brand, day))) ?? [];
    const candidates = pointed ? snapshots.filter(({ id }) => current.includes(id)) : snapshots;
    const newest = candidates.toSorted((a, b) => b.modifiedAt.getTime() - a.modifiedAt.getTime())[0];
    if (!newest) {
      notes.push(`${day}: the catalog points at none of its snapshots, so it counts as missing`);
      continue;
    }
    // Two links of a folder are left by a crash: neither is current until the publication is repeated.
    const published = !pointed || current.length === 1;
    try {
      const content = await contentOf(lake, newest);
      const how = howItWasRead(day, attempt);
      entries.push([day, { committed: { ...how, ...content, snapshot: newest.id, published } }]);
    } catch (thrown) {
      const { message } = asBrandReportsError(thrown);
      notes.push(`${day}: ${newest.key} cannot be read, so it counts as missing: ${message}`);
    }
  }
  return { entries, notes };
}

async function contentOf(
  { store }: Lake,
  { key, bytes }: ListedObject,
): Promise<Pick<Committed, 'rows' | 'bytes' | 'digest'>> {
  const { readParquetRows } = await loadParquet();
  const digest = new Digest();
  const range = (start: number, end: number) => store.range(key, start, end);
  for await (const row of readParquetRows({ bytes, range })) digest.add(row);
  return { rows: digest.rows, bytes, digest: digest.value() };
}

function howItWasRead(
  day: string,
  attempt: string,
): Omit<Committed, 'rows' | 'bytes' | 'digest' | 'snapshot' | 'published'> {
  const beginning = `${day}T00:00:00.000Z`;
  return {
    state: 'open',
    settled: false,
    identicalPasses: 0,
    confirmed: false,
    attempt,
    pages: 0,
    readFrom: beginning,
    readTo: beginning,
    queryFingerprint: '',
  };
}
