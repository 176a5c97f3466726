/*
 * Writes tables that are made from ledgers and closes: one object a brand, so that a query over all brands sends few
 * requests to S3. Objects are immutable and numbered, and each is made from the one before it. A writer creates the next
 * number only if it does not exist. So of two writers that began with the same object, the second begins again with the
 * object of the first, and no row is lost (I5).
 */
import { isDeepStrictEqual } from 'node:util';
import type { BrandReport } from '../context/context.ts';
import type { RowsOfReport } from '../lake/lake-documents.ts';
import {
  brandPartitions,
  partitionPath,
  partitionPrefix,
  snapshotKey,
  snapshotOfKey,
} from '../lake/paths.ts';
import type { Row } from '../table/columns.ts';
import { loadCodedFile, loadParquet } from '../table/load-parquet.ts';
import type { TableShape } from '../ports.ts';

/**
 * Replaces the rows of a report, together with the rows of other reports of the brand whose runs end meanwhile.
 * @param rowsOf the rows from now on; called again, with the rows that the table then has, after each write
 */
export async function writeLedgerTable(
  run: BrandReport,
  shape: TableShape,
  rowsOf: RowsOfReport['rowsOf'],
): Promise<void> {
  if (!run.lake.catalog) return;
  const own: RowsOfReport = { report: run.report.name, rowsOf };
  await run.ledgerTable(shape.name).add(own, (take) => writeBrand(run, shape, take));
  if (own.failure !== undefined) throw own.failure;
}

async function writeBrand(run: BrandReport, shape: TableShape, take: () => RowsOfReport[]): Promise<void> {
  const { store, catalog } = run.lake;
  if (!catalog) return;
  await catalog.ensureTable(shape);
  const partition = brandPartitions(run.brand);
  const keyOf = (id: string) => snapshotKey(shape.name, partition, id);
  const snapshots = await catalog.snapshotsByPartition(shape.name, partition);
  let published = snapshots.get(partitionPath(partition))?.find((id) => NUMBER.test(id));
  let id = published ?? (await newestId(run, partitionPrefix(shape.name, partition)));
  let rows = (await readRows(run, keyOf(id))) ?? [];
  const reports = take();
  for (;;) {
    const wanted = await replaced(rows, reports);
    const next = String(Number(id) + 1).padStart(ID_DIGITS, '0');
    const isWritten =
      !areSame(shape, wanted, rows) &&
      (await store.put(keyOf(next), await parquetOf(shape, wanted), { ifAbsent: true })) !== 'conflict';
    const newer = isWritten ? wanted : await readRows(run, keyOf(next));
    if (newer) [id, rows] = [next, newer];
    else if (published === id || Number(id) === 0) return;
    else {
      await catalog.setSnapshot(shape, partition, id);
      published = id;
    }
  }
}

const ID_DIGITS = 12;
const NUMBER = /^\d+$/;

/** Without a catalog's entry, numbers must not begin anew: an old object would count as newer. */
async function newestId({ lake: { store } }: BrandReport, prefix: string): Promise<string> {
  const ids = await Array.fromAsync(store.list(prefix), ({ key }) => snapshotOfKey(key) ?? '');
  return ids.filter((id) => NUMBER.test(id)).at(-1) ?? '0';
}

async function readRows({ lake: { store } }: BrandReport, key: string): Promise<Row[] | undefined> {
  const stored = await store.get(key);
  if (!stored) return undefined;
  const { readParquetRows } = await loadCodedFile();
  const range = async (start: number, end: number) => stored.body.subarray(start, end);
  return Array.fromAsync(readParquetRows({ bytes: stored.body.length, range }));
}

/** A report whose rows cannot be made keeps its rows, and fails alone. */
async function replaced(rows: readonly Row[], reports: readonly RowsOfReport[]): Promise<Row[]> {
  const byReport = Map.groupBy(rows, ({ report }) => String(report));
  for (const own of reports) {
    try {
      byReport.set(own.report, [...(await own.rowsOf(byReport.get(own.report) ?? []))]);
    } catch (thrown) {
      own.failure = thrown;
    }
  }
  return [...byReport.keys()].sort().flatMap((report) => byReport.get(report) ?? []);
}

export function areSame({ columns }: TableShape, some: readonly Row[], others: readonly Row[]): boolean {
  const valuesOf = (row: Row = {}) => columns.map(({ name }) => row[name] ?? null);
  const isSame = (row: Row, other: Row | undefined) =>
    row === other || isDeepStrictEqual(valuesOf(row), valuesOf(other));
  return some.length === others.length && some.every((row, index) => isSame(row, others[index]));
}

async function parquetOf({ columns }: TableShape, rows: readonly Row[]): Promise<Uint8Array> {
  const { writeParquet } = await loadParquet();
  const parts: Uint8Array[] = [];
  const write = async (bytes: Uint8Array) => void parts.push(bytes);
  const nothing = async () => {};
  const parquet = writeParquet({ write, finish: nothing, abort: nothing }, columns);
  for (const row of rows) await parquet.append(row);
  await parquet.finish();
  return Buffer.concat(parts);
}
