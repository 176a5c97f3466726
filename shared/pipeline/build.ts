import type { Column } from '../column-types.ts';
import { asBrandReportsError } from '../errors.ts';
import type { Committed } from '../lake/documents/ledger.ts';
import { dayPartition, snapshotKey } from '../lake/paths.ts';
import {
  MAX_DISCOVERED,
  MAX_DISCOVERED_OF_DAY,
  type Observations,
  type TableSchema,
  fieldsWithoutColumn,
  growSchema,
  mergeObservations,
} from '../lake/table/columns.ts';
import { fullest } from '../lake/table/column-facts.ts';
import { Digest, type RowHashes } from '../lake/table/digest.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import { fileIn } from '../lake/table/readable-file.ts';
import { ROW_GROUP_BYTES, maxRowsOfGroup } from '../lake/table/row-group-limits.ts';
import type { BuildAhead } from './build-ahead.ts';
import { type BuildContext, committedOf } from './context.ts';
import { SnapshotWriter } from './snapshot-writer.ts';
import { type KeyConflict, type KeyRule, type StagedDay, stagedRecords } from './staged-records.ts';

/** What is to be committed; `snapshot` is the committed one's where the content is the same. */
export type BuiltSnapshot = Pick<
  Committed,
  | 'snapshot'
  | 'rows'
  | 'bytes'
  | 'digest'
  | 'keyIsNone'
  | 'filled'
  | 'sums'
  | 'rescued'
  | 'unsettled'
  | 'statesFingerprint'
> & {
  unchanged: boolean;
  /** Of its rows, where it replaces a closed day: they show what it changes. */
  hashes?: RowHashes;
};

/** How a snapshot is made. */
export interface BuildOptions {
  /** Whether to re-read the committed snapshot and compare digests before reporting `unchanged`. */
  readBack: boolean;
  /** What of a field that was proven to be no key need not hold of this one. */
  isKeyNew?: boolean;
}

/**
 * Makes a snapshot of all that was staged of a day: first the schema grows, then the records of its chunks become
 * typed columns, and these Parquet under a prefix of its own. Content equal to what is committed makes no snapshot. Memory holds a
 * chunk, a row group and some tens of bytes of each record that has a key (I12).
 * @param ahead what was built while the pages came in: used where it is what the chunks would make. The caller aborts it
 * where this throws
 * @returns a conflict where records with one primary key differ, and only a second pass can tell why (I1)
 */
export async function build(
  ctx: BuildContext,
  staged: StagedDay,
  options: BuildOptions,
  ahead?: BuildAhead,
): Promise<BuiltSnapshot | { conflict: KeyConflict }> {
  const current = await committedOf(ctx, staged.day);
  const { columns } = await growToFit(ctx, staged);
  const written = ahead?.complete(staged, columns, current);
  if (written) return finished(ctx, staged.day, written, current, options);
  await ahead?.abort();
  return buildFromChunks(ctx, staged, options, { columns, current, rule: 'identifies' });
}

async function buildFromChunks(
  ctx: BuildContext,
  staged: StagedDay,
  options: BuildOptions,
  to: { columns: readonly Column[]; current: Committed | undefined; rule: KeyRule },
): Promise<BuiltSnapshot | { conflict: KeyConflict }> {
  const { columns, current, rule } = to;
  const limits = { rows: maxRowsOfGroup(columns.length), bytes: ROW_GROUP_BYTES };
  const written = new SnapshotWriter(ctx, staged.day, current, limits, () => columns);
  try {
    for await (const records of stagedRecords(ctx, staged, rule)) {
      if ('conflict' in records) {
        await written.abort();
        const proven = ruleProvenBy(ctx, records.conflict, staged, options.isKeyNew ? undefined : current);
        return proven ? buildFromChunks(ctx, staged, options, { ...to, rule: proven }) : records;
      }
      await written.rows.append(records.list, records.kept, records.syncedAt);
    }
  } catch (error) {
    await written.abort();
    throw error;
  }
  const built = await finished(ctx, staged.day, written, current, options);
  return { ...built, ...(rule === 'is_none' && { keyIsNone: true }) };
}

/** The snapshot, or the committed one where its content is the same. */
async function finished(
  ctx: BuildContext,
  day: string,
  { snapshot, rows, digest, hashes, abort }: SnapshotWriter,
  current: Committed | undefined,
  options: BuildOptions,
): Promise<BuiltSnapshot> {
  try {
    const { file, facts } = await rows.flush();
    const { statesFingerprint } = ctx.policy;
    const known = {
      sums: facts.sums,
      ...(facts.rescued && { rescued: facts.rescued }),
      ...(facts.unsettled !== undefined && { unsettled: facts.unsettled }),
      ...(statesFingerprint !== undefined && { statesFingerprint }),
    };
    if (current?.digest === digest.value() && (await isIntact(ctx, day, current, options))) {
      await abort();
      const { snapshot: same, rows, bytes, filled } = current;
      const content = { snapshot: same, rows, bytes, digest: current.digest, ...(filled && { filled }) };
      return { ...content, ...known, unchanged: true };
    }
    const { filled, ...written } = await file.finish();
    const content = { snapshot, ...written, digest: digest.value(), filled: fullest(filled) };
    return { ...content, ...known, unchanged: false, ...(hashes && { hashes }) };
  } catch (error) {
    await abort();
    throw error;
  }
}

/** I1: what a conflict proves of the key; `undefined` where only a second pass can tell. */
function ruleProvenBy(
  { report }: BuildContext,
  { slice, versions }: KeyConflict,
  { slices }: StagedDay,
  current: Committed | undefined,
): KeyRule | undefined {
  // Where pages overlap by design, every pass has records twice, and one that changes with every response differs.
  const overlap = report.paging.style === 'position';
  if (slice.repeatsConflict !== undefined)
    return overlap && slice.repeatsConflict !== versions ? 'changes' : 'is_none';
  const isKnown = current?.keyIsNone && !overlap;
  return isKnown || slice !== slices.at(-1)?.slice ? 'is_none' : undefined;
}

/** Whether the committed object exists, ends like a Parquet file and, with `readBack`, has the digest of the ledger. */
async function isIntact(
  { lake, report, brand }: BuildContext,
  day: string,
  { snapshot, bytes, digest }: Committed,
  { readBack }: BuildOptions,
): Promise<boolean> {
  const key = snapshotKey(report.table, dayPartition(brand, day), snapshot);
  const file = fileIn(lake.store, { key, bytes });
  try {
    if (Buffer.from(await file.range(bytes - 4, bytes)).toString('latin1') !== 'PAR1') return false;
    if (!readBack) return true;
    const { readParquetRows } = await loadParquet();
    const found = new Digest();
    for await (const row of readParquetRows(file)) found.add(row);
    return found.value() === digest;
  } catch (thrown) {
    // An object that the store cannot read now may be intact; one that is not parseable as Parquet is damaged.
    const { kind, code } = asBrandReportsError(thrown);
    if (kind !== 'bug' && code !== 'object_missing') throw thrown;
    return false;
  }
}

/** I7: columns are appended before the first file that has them is written. */
async function growToFit(ctx: BuildContext, { day, slices }: StagedDay): Promise<TableSchema> {
  const observed = slices.map(({ slice }) => slice.observations).reduce<Observations>(mergeObservations, {});
  const schema = await ctx.schema.update((current) => {
    const grown = growSchema(current, observed, ctx.settings.columns);
    // A schema that was never written is stored even if it did not grow: later versions may document other types.
    return grown === current && current.recentWrites.length > 0 ? current : { ...current, ...grown };
  });
  const fields = fieldsWithoutColumn(schema, observed).length;
  if (fields > 0) {
    const message = `${fields} fields of ${day} have no column: their values are in _rescued, where nothing is lost. Of the fields of one day that the interface does not document, the ${MAX_DISCOVERED_OF_DAY} most frequent can become columns, and ${MAX_DISCOVERED} of a table in all. To see them: SELECT _rescued FROM ${schema.table} WHERE dt = '${day}'. Name those that you need in the setting "columns" of ${ctx.report.name}: they become columns first`;
    ctx.log({ event: 'fields_without_column', day, fields, message });
  }
  return schema;
}
