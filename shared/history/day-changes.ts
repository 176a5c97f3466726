/*
 * Stores the changes of a day. One immutable object contains all its changes so far, in the columns of the table `changes`.
 * It is written before the commit, which names it in the ledger. The table contains the same rows, so that the object and
 * the table are backups of each other.
 */
import { monthOf } from '../days.ts';
import type { DayChanges } from '../lake/documents/ledger.ts';
import { changesKey, monthPartition, partitionPath, snapshotKey } from '../lake/paths.ts';
import type { Row } from '../lake/table/columns.ts';
import { loadCodedFile, loadParquet } from '../lake/table/load-parquet.ts';
import type { ParquetFile } from '../lake/table/parquet.ts';
import { damageOf, fileIn, findFile } from '../lake/table/readable-file.ts';
import type { BrandReport } from '../context/context.ts';
import { changesTable, summaryOfRows } from './change-rows.ts';

export type ChangesOfReport = Pick<BrandReport, 'brand' | 'report' | 'lake' | 'newId' | 'log'>;

/**
 * Writes the changes of a day so far, and then one more.
 * @param own the rows of the new change
 * @returns the entry for the ledger, to be stored together with the version that the change leads to
 */
export async function addChange(
  of: ChangesOfReport,
  day: string,
  earlier: DayChanges | undefined,
  own: readonly Row[],
): Promise<DayChanges> {
  const { at, times, last } = summaryOfRows(own);
  const all = earlier && (await writeAll(of, day, earlier, own));
  if (all) {
    const newest = last ?? earlier.last;
    return { ...earlier, ...all, at, times: earlier.times + times, ...(newest && { last: newest }) };
  }
  // Lost changes cannot be written again, and must not keep the day from being read.
  const alone = await writeObject(of, day, (file) => appendRows(file, own));
  const unread = earlier && [...(earlier.unread ?? []), earlier.snapshot];
  return { ...alone, at, times, ...(last && { last }), ...(unread && { unread }) };
}

/** Writes the changes of a day again if their object is lost. @returns `undefined` if the table does not have them either */
export async function rewriteChanges(
  of: ChangesOfReport,
  day: string,
  lost: DayChanges,
): Promise<DayChanges | undefined> {
  const all = await writeAll(of, day, lost, []);
  return all && { ...lost, ...all };
}

/** Appends the changes of a day to a file with the columns of the table. @returns what is wrong with their object, if it is damaged */
export async function appendChanges(
  file: ParquetFile,
  of: ChangesOfReport,
  day: string,
  changes: DayChanges,
): Promise<string | undefined> {
  try {
    await file.appendFile(objectOf(of, day, changes));
    return undefined;
  } catch (thrown) {
    return damageOf(thrown);
  }
}

/** Whether the object of a day's changes can be read, and contains the changes that the ledger states. */
export async function areIntact(of: ChangesOfReport, day: string, changes: DayChanges): Promise<boolean> {
  const { readParquetRows } = await loadCodedFile();
  try {
    const rows = await Array.fromAsync(readParquetRows(objectOf(of, day, changes)));
    const { at, times } = summaryOfRows(rows);
    return rows.length === changes.rows && at === changes.at && times === changes.times;
  } catch (thrown) {
    damageOf(thrown);
    return false;
  }
}

type Written = Pick<DayChanges, 'snapshot' | 'bytes' | 'rows'>;

/**
 * Writes the earlier changes from their object, or, if a second read finds the object damaged too, from the table.
 * @returns `undefined` if neither the object nor the table has them
 */
async function writeAll(
  of: ChangesOfReport,
  day: string,
  earlier: DayChanges,
  own: readonly Row[],
): Promise<Written | undefined> {
  const fromObject = (file: ParquetFile) => file.appendFile(objectOf(of, day, earlier));
  const fromTable = async (file: ParquetFile) => appendRows(file, await rowsInTable(of, day, earlier));
  const damages: string[] = [];
  for (const append of [fromObject, fromObject, fromTable]) {
    try {
      const written = await writeObject(of, day, async (file) => {
        await append(file);
        await appendRows(file, own);
      });
      const rows = written.rows - own.length;
      if (rows === earlier.rows) return written;
      damages.push(`it has ${rows} rows instead of ${earlier.rows}`);
    } catch (thrown) {
      damages.push(damageOf(thrown));
    }
  }
  of.log({
    event: 'changes_lost',
    day,
    message: `${changesKey(of.brand, of.report.name, day, earlier.snapshot)} cannot be read (${damages[1]}), and the table "changes" has no copy`,
  });
  return undefined;
}

function objectOf({ lake, brand, report }: ChangesOfReport, day: string, { snapshot, bytes }: DayChanges) {
  return fileIn(lake.store, { key: changesKey(brand, report.name, day, snapshot), bytes });
}

/** @throws if the table does not have these changes */
async function rowsInTable(
  { lake, brand, report }: ChangesOfReport,
  day: string,
  { at }: DayChanges,
): Promise<Row[]> {
  const { readParquetRows } = await loadCodedFile();
  const month = monthPartition(brand, report.name, monthOf(day));
  const snapshots = await lake.catalog?.snapshotsByPartition(changesTable.name, month);
  const [snapshot] = snapshots?.get(partitionPath(month)) ?? [];
  const file = snapshot && (await findFile(lake.store, snapshotKey(changesTable.name, month, snapshot)));
  const rows: Row[] = [];
  if (file) for await (const row of readParquetRows(file)) if (row.dt === day) rows.push(row);
  if (summaryOfRows(rows).at !== at) throw new Error('the table has other changes');
  return rows;
}

async function writeObject(
  { lake, brand, report, newId }: ChangesOfReport,
  day: string,
  append: (file: ParquetFile) => Promise<void>,
): Promise<Written> {
  const { writeParquet } = await loadParquet();
  const snapshot = newId();
  const object = lake.store.create(changesKey(brand, report.name, day, snapshot));
  const file = writeParquet(object, changesTable.columns);
  try {
    await append(file);
    const { rows, bytes } = await file.finish();
    return { snapshot, rows, bytes };
  } catch (thrown) {
    await file.abort();
    throw thrown;
  }
}

async function appendRows(file: ParquetFile, rows: Iterable<Row>): Promise<void> {
  for (const row of rows) await file.append(row);
}
