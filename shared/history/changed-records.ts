/*
 * Compares two versions of a day by the key of its chain of changes. Rows are compared by the hashes that the digest counts,
 * so that the values of all rows are never in memory (I12). All records of one key are a group: if one of them differs, the
 * change has every record that the group had before. Records without a key are compared one by one.
 */
import type { CodedFile } from '../table/coded-columns.ts';
import { HashIndex, unpairedRows } from '../table/hash-index.ts';
import type { Lanes } from '../records/murmur.ts';
import { type RecordKey, isKeyless, keyHashes } from './record-key.ts';

/** What a change has of a row, 0: nothing; `NEW_KEY`: only the key of a new group. */
export const [ALTERED, REMOVED, ADDED, NEW_KEY] = [1, 2, 3, 4] as const;

export interface ComparedVersion {
  file: CodedFile;
  hashes: Lanes;
}

export interface ChangedRecords {
  /** By row of the version before: 0, ALTERED or REMOVED. */
  before: Uint8Array;
  /** By row of the new version: 0, ADDED for a record without a key, or NEW_KEY for the first record of a new group. */
  after: Uint8Array;
  /** How many records differ; of a group, as many as possible count as altered. */
  added: number;
  removed: number;
  altered: number;
}

export async function changedRecords(
  before: ComparedVersion,
  after: ComparedVersion,
  key: RecordKey,
): Promise<ChangedRecords> {
  const unpaired = unpairedRows(before.hashes, after.hashes);
  const keys = { before: await keyHashes(before.file, key), after: await keyHashes(after.file, key) };
  const groups = groupsOf(keys);
  const [lost, gained] = [new Int32Array(groups.count), new Int32Array(groups.count)];
  const sizeAfter = new Int32Array(groups.count);
  const changed: ChangedRecords = {
    ...{ before: new Uint8Array(before.file.rows), after: new Uint8Array(after.file.rows) },
    ...{ added: 0, removed: 0, altered: 0 },
  };
  for (let row = 0; row < after.file.rows; row += 1) {
    if (isKeyless(keys.after, row)) {
      if (unpaired.after[row] === 0) continue;
      changed.after[row] = ADDED;
      changed.added += 1;
      continue;
    }
    const group = groups.ofAfter(row);
    sizeAfter[group] = (sizeAfter[group] ?? 0) + 1;
    if (group >= before.file.rows && sizeAfter[group] === 1) changed.after[row] = NEW_KEY;
    if (group >= before.file.rows || unpaired.after[row] === 1) gained[group] = (gained[group] ?? 0) + 1;
  }
  for (let row = 0; row < before.file.rows; row += 1)
    if (unpaired.before[row] === 1 && !isKeyless(keys.before, row)) {
      const group = groups.ofBefore(row);
      lost[group] = (lost[group] ?? 0) + 1;
    }
  for (let row = 0; row < before.file.rows; row += 1) {
    if (isKeyless(keys.before, row)) {
      if (unpaired.before[row] === 0) continue;
      changed.before[row] = REMOVED;
      changed.removed += 1;
      continue;
    }
    const group = groups.ofBefore(row);
    if ((lost[group] ?? 0) + (gained[group] ?? 0) === 0) continue;
    changed.before[row] = sizeAfter[group] === 0 ? REMOVED : ALTERED;
  }
  for (let group = 0; group < groups.count; group += 1) {
    const [gone, come] = [lost[group] ?? 0, gained[group] ?? 0];
    const altered = Math.min(gone, come);
    changed.altered += altered;
    changed.removed += gone - altered;
    changed.added += come - altered;
  }
  return changed;
}

interface Groups {
  count: number;
  ofBefore: (row: number) => number;
  /** Not below the number of rows before, if the version before has no record of the group. */
  ofAfter: (row: number) => number;
}

function groupsOf(keys: { before: Lanes; after: Lanes }): Groups {
  const [before, after] = [new HashIndex(keys.before), new HashIndex(keys.after)];
  const rows = before.firstOf.length;
  return {
    count: rows + after.firstOf.length,
    ofBefore: (row) => before.firstOf[row] ?? row,
    ofAfter: (row) => before.find(keys.after, row) ?? rows + (after.firstOf[row] ?? row),
  };
}
