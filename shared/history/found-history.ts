import type { BrandReport } from '../context/context.ts';
import type { Committed, DayHistory } from '../lake/documents/ledger.ts';
import type { CodedFile } from '../lake/table/coded-columns.ts';
import { readerOf } from '../lake/table/column-facts.ts';
import type { Row } from '../lake/table/columns.ts';
import { columnHashes } from '../lake/table/digest.ts';
import { areEqual } from '../lake/table/hash-index.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { damageOf, fileIn } from '../lake/table/readable-file.ts';
import type { ListedObject } from '../ports.ts';
import { NO_KEY, columnsOfKey, keyColumn, keyOfName } from './record-key.ts';

/**
 * The history of a day whose ledger is made from snapshots. The changes in an object are used if the last of them led to the
 * version that was found; otherwise history begins anew with that version.
 * @param objects with changes of the day, the newest first
 * @param now ISO 8601
 */
export async function historyOfFound(
  { lake, schema }: Pick<BrandReport, 'lake' | 'schema'>,
  { snapshot }: Pick<Committed, 'snapshot'>,
  objects: readonly (ListedObject & { id: string })[],
  now: string,
): Promise<DayHistory> {
  const { columns, keys = [] } = await schema.cached();
  const { openCodedFile } = await loadCodedFile();
  let next = 0;
  for (const object of objects)
    try {
      const file = await openCodedFile(fileIn(lake.store, object));
      const { first, last } = await endsOf(file);
      next = Math.max(next, Number(last._place) + 1);
      if (last._version !== snapshot) continue;
      const names = [...keys, NO_KEY];
      const fits = await Promise.all(names.map((name) => hasKey(file, keyOfName(columns, name))));
      const key = names.find((_name, index) => fits[index]);
      if (key === undefined) continue;
      const by = timeOf(first._after ?? first._by);
      const anewPlace = Number(first._place) - 1;
      return {
        ...{ by, key, place: Number(last._place), lastBy: timeOf(last._by) },
        ...(anewPlace > 0 && { anewPlace, anewBy: by }),
        object: { snapshot: object.id, rows: file.rows, bytes: object.bytes },
      };
    } catch (thrown) {
      damageOf(thrown);
    }
  return { by: now, place: next, lastBy: now, anewPlace: next, anewBy: now };
}

/** A row of the first and of the last change. @throws if there is none */
async function endsOf(file: CodedFile): Promise<{ first: Row; last: Row }> {
  let first: Row | undefined;
  let last: Row | undefined;
  for await (const { rows, columns } of file.groups(['_place', '_version', '_after', '_by'])) {
    const readers = [...columns].map(([name, column]) => [name, readerOf(column)] as const);
    for (let index = 0; index < rows; index += 1) {
      const row: Row = Object.fromEntries(readers.map(([name, valueAt]) => [name, valueAt(index)]));
      if (!first || Number(row._place) < Number(first._place)) first = row;
      if (!last || Number(row._place) > Number(last._place)) last = row;
    }
  }
  if (!first || !last) throw new Error('the object has no change');
  return { first, last };
}

/** Whether the records that changed have the key texts of this key. */
async function hasKey(file: CodedFile, key: ReturnType<typeof keyOfName>): Promise<boolean> {
  for await (const { rows, columns } of file.groups([...columnsOfKey(key), '_key', '_what'])) {
    const read = new Map(columns);
    const [texts, own] = [read.get('_key'), keyColumn(rows, read, key)];
    const [stored, computed] = [texts, own].map((column) =>
      columnHashes(rows, column ? [['_key', column]] : []),
    );
    const what = read.get('_what');
    const whatAt = what ? readerOf(what) : () => undefined;
    for (let row = 0; row < rows; row += 1)
      if (whatAt(row) !== 'added' && stored && computed && !areEqual(stored, row, computed, row))
        return false;
  }
  return true;
}

function timeOf(at: Row[string]): string {
  if (!(at instanceof Date)) throw new Error('a change has no time');
  return at.toISOString();
}
