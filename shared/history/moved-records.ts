/*
 * Finds out whether other days have the records of a version. The service may correct the date of an order, and a change of
 * the time zone cuts all days anew. Then the day that had the records may come back empty, and another day has them.
 */
import { type Committed, type VersionContent } from '../lake/documents/ledger.ts';
import { versionKey } from '../lake/paths.ts';
import { HashIndex } from '../lake/table/hash-index.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import { LANES } from '../records/murmur.ts';
import type { HistoryContext } from './day-history.ts';
import { keyHashes, ownKey } from './record-key.ts';

export interface OtherDay {
  day: string;
  committed: Committed;
  /** Read only a moment ago: if no such day has a record of the version, no other day is read. */
  isNew?: boolean;
}

/**
 * @param version of the day; `reading`: a later reading of the day that has fewer records
 * @param others versions of other days that were read later than the version
 * @returns which of the records are in `reading` or in `others`, by a key that is their own; `none` without such a key
 */
export async function whereRecordsAre(
  ctx: HistoryContext & Required<Pick<HistoryContext, 'settings'>>,
  { day, version, reading }: { day: string; version: Committed; reading?: VersionContent },
  others: readonly OtherDay[],
): Promise<'all' | 'some' | 'none'> {
  const { report, brand, lake, settings, schema } = ctx;
  // A record that names its own day cannot move, so its key may repeat on every day.
  if (report.day.by === 'dates' && report.day.field !== undefined) return 'none';
  const { columns } = await schema.cached();
  const { openCodedFile } = await loadCodedFile();
  const open = (of: string, { snapshot, bytes }: VersionContent) =>
    openCodedFile(fileIn(lake.store, { key: versionKey(report.table, brand, of, snapshot), bytes }));
  try {
    const file = await open(day, version);
    const keyIsNone = version.values?.keyIsNone ?? false;
    const key = await ownKey(file, { report, settings, columns, fields: settings.fields, keyIsNone });
    if (!key) return 'none';
    const index = new HashIndex(await keyHashes(file, key));
    const left = new Set(index.firstOf);
    const meet = async (of: string, content: VersionContent) => {
      if (content.rows === 0 || content.values?.keyIsNone) return;
      const hashes = await keyHashes(await open(of, content), key);
      for (let row = 0; row < hashes.length / LANES; row += 1) left.delete(index.find(hashes, row) ?? -1);
    };
    if (reading) await meet(day, reading);
    const inReading = left.size;
    for (const { day: of, committed, isNew } of others) {
      if (left.size === inReading && isNew === false) return 'none';
      await meet(of, committed);
      if (left.size === 0) return 'all';
    }
    return left.size < inReading ? 'some' : 'none';
  } catch (thrown) {
    damageOf(thrown);
    return 'none';
  }
}
