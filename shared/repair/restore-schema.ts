import type { Column } from '../column-types.ts';
import { mapConcurrent } from '../concurrency.ts';
import { asBrandReportsError } from '../errors.ts';
import type { StoredSchema } from '../lake/documents/schema.ts';
import { snapshotOfKey, tablePrefix } from '../lake/paths.ts';
import { DERIVED_COLUMNS, baseSchema } from '../lake/table/columns.ts';
import { loadCodedFile } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import type { LakeAccess } from '../context/context.ts';
import type { ListedObject, ObjectStore } from '../ports.ts';
import type { ReportDefinition } from '../reports/definition.ts';

/** The document that replaces a damaged document, and what the operator should know about it. */
export interface Restored {
  document: object;
  notes: string[];
}

const CONCURRENCY = 8;

/**
 * I7: restores the columns of all snapshots. Columns are only ever appended, so the snapshot with the most columns has them
 * in their order. Columns that only other snapshots have are appended.
 */
export async function restoreSchema(
  { lake, newId }: Pick<LakeAccess, 'lake' | 'newId'>,
  { table, columns: documented }: ReportDefinition,
): Promise<Restored> {
  const read = await mapConcurrent(await snapshotsOf(lake.store, table), CONCURRENCY, (snapshot) =>
    columnsOf(lake.store, snapshot),
  );
  const readable = read.flatMap(({ columns }) => (columns ? [columns] : []));
  const [longest, ...others] = readable.toSorted((a, b) => b.length - a.length);
  const columns = longest ? others.reduce(appended, longest) : baseSchema(documented).columns;
  const schema: StoredSchema = { version: 1, table, columns, recentWrites: [newId()] };
  const found = `${columns.length} columns were found in ${readable.length} snapshots`;
  const unknown = 'columns that no snapshot has yet are no longer known';
  return { document: schema, notes: [found, unknown, ...read.flatMap(({ note }) => note ?? [])] };
}

async function snapshotsOf(store: ObjectStore, table: string): Promise<ListedObject[]> {
  const objects = await Array.fromAsync(store.list(tablePrefix(table)));
  return objects.filter(({ key }) => snapshotOfKey(key) !== undefined);
}

async function columnsOf(
  store: ObjectStore,
  object: ListedObject,
): Promise<{ columns?: Column[]; note?: string }> {
  const { key } = object;
  const { openCodedFile } = await loadCodedFile();
  try {
    const { columns } = await openCodedFile(fileIn(store, object));
    const isOurs = DERIVED_COLUMNS.every((derived) => columns.some(({ name }) => name === derived));
    return isOurs ? { columns } : { note: `${key} is no snapshot of a report` };
  } catch (thrown) {
    return { note: `${key} cannot be read: ${asBrandReportsError(thrown).message}` };
  }
}

/** A field has one column of each type: if two columns were made for it, the first one keeps the field. */
function appended(columns: Column[], others: readonly Column[]): Column[] {
  const names = new Set(columns.map(({ name }) => name));
  const held = new Set(columns.map(({ field, type }) => `${type} of ${field}`));
  const missing = others.filter(
    ({ name, field, type }) => !names.has(name) && !held.has(`${type} of ${field}`),
  );
  return [...columns, ...missing];
}
