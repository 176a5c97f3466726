import { hash } from 'node:crypto';
import { parseInstant } from '../exact-values.ts';
import { endOfDay, monthOf, startOfDay } from '../days.ts';
import { BrandReportsError, asBrandReportsError } from '../errors.ts';
import { type JsonObject, stringifyJson } from '../json.ts';
import {
  type Observations,
  type Row,
  type TableSchema,
  growSchema,
  mergeObservations,
  rowMapper,
} from '../lake/table/columns.ts';
import { Digest } from '../lake/table/digest.ts';
import type { Committed } from '../lake/documents/ledger.ts';
import {
  ROW_GROUP_BYTES,
  ROW_GROUP_ROWS,
  readParquetRows,
  weightOf,
  writeParquet,
} from '../lake/table/parquet.ts';
import { attemptPrefix, dayPartition, snapshotKey } from '../lake/paths.ts';
import type { Progress, Slice } from '../lake/documents/progress.ts';
import type { Attempt } from './claim.ts';
import type { RunContext } from './context.ts';
import { primaryKeyField, primaryKeyOf, readChunk } from './stage.ts';

/** What a publication holds; `snapshot` is the published one's where its content is the same. */
export type BuiltSnapshot = Pick<Committed, 'snapshot' | 'rows' | 'bytes' | 'digest'> & {
  unchanged: boolean;
};

/**
 * Makes a snapshot of all that the attempt has staged: schema grown first, chunks → typed rows → Parquet under a
 * prefix of its own. Content equal to what is published makes none. Memory holds a chunk, a row group and, where
 * records have an identity, some tens of bytes of each.
 * @param readBack whether what is published is held against its digest before it is taken for the same
 */
export async function build(run: RunContext, reading: Attempt, readBack: boolean): Promise<BuiltSnapshot> {
  const { day } = reading;
  const progress = await reading.progress.cached();
  const current = (await run.ledger(monthOf(day)).cached()).days[day]?.committed;
  const schema = await growToFit(run, progress);
  const columns = schema.columns;
  const snapshot = run.newId();
  const key = snapshotKey(run.report.table, dayPartition(run.brand, day), snapshot);
  const digest = new Digest();
  let open: ReturnType<typeof writeParquet> | undefined;
  const held: Row[] = [];
  let heldBytes = 0;
  const write = async () => {
    open ??= writeParquet(run.lake.store.create(key), columns);
    for (const row of held.splice(0)) await open.append(row);
    heldBytes = 0;
    return open;
  };
  try {
    for await (const row of rows(run, reading, progress, schema)) {
      digest.add(row);
      held.push(row);
      heldBytes += weightOf(row);
      if (held.length >= ROW_GROUP_ROWS || heldBytes >= ROW_GROUP_BYTES) await write();
    }
    const value = digest.value();
    if (current?.digest === value && (await isIntact(run, day, current, readBack))) {
      await open?.abort();
      return {
        snapshot: current.snapshot,
        rows: current.rows,
        bytes: current.bytes,
        digest: value,
        unchanged: true,
      };
    }
    const { rows: written, bytes } = await (await write()).finish();
    return { snapshot, rows: written, bytes, digest: value, unchanged: false };
  } catch (error) {
    await open?.abort();
    throw error;
  }
}

/** Whether the published object is there, ends as Parquet does and, if it is to be read back, holds what it should. */
async function isIntact(
  { lake, report, brand }: RunContext,
  day: string,
  { snapshot, bytes, digest }: Committed,
  readBack: boolean,
): Promise<boolean> {
  const key = snapshotKey(report.table, dayPartition(brand, day), snapshot);
  const range = (start: number, end: number) => lake.store.range(key, start, end);
  try {
    if (Buffer.from(await range(bytes - 4, bytes)).toString('latin1') !== 'PAR1') return false;
    if (!readBack) return true;
    const held = new Digest();
    for await (const row of readParquetRows({ bytes, range })) held.add(row);
    return held.value() === digest;
  } catch (thrown) {
    // What the store cannot give now may be there all the same; what cannot be read as Parquet is not intact.
    const { kind, code } = asBrandReportsError(thrown);
    if (kind !== 'bug' && code !== 'object_missing') throw thrown;
    return false;
  }
}

async function growToFit(run: RunContext, progress: Progress): Promise<TableSchema> {
  const met = progress.slices
    .map(({ observations }) => observations)
    .reduce<Observations>(mergeObservations, {});
  return run.schema.update((current) => {
    const grown = growSchema(current, met, run.settings.columns);
    // A schema that was never stored is, so that documented columns keep their types in later versions too.
    return grown === current && current.recentWrites.length > 0 ? current : { ...current, ...grown };
  });
}

/** The rows of everything staged, the newest slice first, so that its version of a record is the one kept. */
async function* rows(
  run: RunContext,
  reading: Attempt,
  progress: Progress,
  schema: TableSchema,
): AsyncGenerator<Row> {
  const { report } = run;
  const identity =
    report.primaryKey?.always || everyRecordHasKey(progress) ? primaryKeyField(run) : undefined;
  const toRow = rowMapper(schema);
  const belongs = dayFilter(run, reading.day);
  const met = new Set<string>();
  for (const slice of progress.slices.filter(({ done }) => done).toReversed()) {
    const less = await exclusionsOf(run, reading, slice, identity);
    let kept = 0;
    const syncedAt = new Date(slice.startedAt);
    for await (const record of records(run, reading, slice, 'include')) {
      if (!belongs(record) || less.takes(record)) continue;
      kept += 1;
      const id = primaryKeyOf(record, identity);
      if (id !== undefined) {
        const key = fingerprint(id);
        if (met.has(key)) continue;
        met.add(key);
      }
      yield toRow(record, syncedAt);
    }
    if (kept === 0 && less.coversMore()) throw instantUnclear(run, reading.day);
  }
}

function everyRecordHasKey(progress: Progress): boolean {
  return progress.slices.every(({ withoutKey }) => withoutKey === 0);
}

/** Sixteen bytes as text: what a set of all the day's identities can afford to hold. */
function fingerprint(text: string): string {
  return hash('md5', text, 'buffer').toString('latin1');
}

async function* records(
  run: RunContext,
  { day, id }: Attempt,
  slice: Slice,
  role: 'include' | 'exclude',
): AsyncGenerator<JsonObject> {
  const prefix = attemptPrefix(run.report.name, run.brand, day, id);
  for (const part of slice.parts) {
    if (part.role !== role) continue;
    for (const chunk of part.chunks) yield* await readChunk(run.lake.store, prefix, chunk);
  }
}

/** The end of the day took all of it away, and there is more: the service did not answer for one instant. */
function instantUnclear({ report, brandSettings }: RunContext, day: string): BrandReportsError {
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  return new BrandReportsError(
    'contract',
    'instant_unclear',
    `${report.name} ${day}: asked for the one instant that ends the day, the service gave all records of the day and more, so nothing can be told from it; set "${setting}" (now "${brandSettings[setting]}") to what the service means`,
  );
}

/** Tells, once for each of its occurrences, whether a record is one that the day's end took in from the next day. */
async function exclusionsOf(
  run: RunContext,
  reading: Attempt,
  slice: Slice,
  identity: string | undefined,
): Promise<{ takes(record: JsonObject): boolean; coversMore(): boolean }> {
  const less = new Map<string, number>();
  const keyOf = (record: JsonObject) => fingerprint(primaryKeyOf(record, identity) ?? stringifyJson(record));
  for await (const record of records(run, reading, slice, 'exclude')) {
    const key = keyOf(record);
    less.set(key, identity === undefined ? (less.get(key) ?? 0) + 1 : Number.POSITIVE_INFINITY);
  }
  const matched = new Set<string>();
  return {
    takes(record) {
      if (less.size === 0) return false;
      const key = keyOf(record);
      const left = less.get(key) ?? 0;
      if (left > 0) less.set(key, left - 1);
      if (left > 0) matched.add(key);
      return left > 0;
    },
    coversMore: () => matched.size > 0 && matched.size < less.size,
  };
}

/** Where a record bears its own time, that decides the day; one whose time cannot be read stays where it was asked for. */
function dayFilter({ report, policy }: RunContext, day: string): (record: JsonObject) => boolean {
  const rule = report.day;
  if (rule.by !== 'created') return () => true;
  const startMs = startOfDay(day, policy.timeZone);
  const endMs = endOfDay(day, policy.timeZone);
  return (record) => {
    const instant = Object.hasOwn(record, rule.field) ? parseInstant(record[rule.field]) : undefined;
    return instant === undefined || (instant.getTime() >= startMs && instant.getTime() < endMs);
  };
}
