/*
 * Builds one version of a day under a new prefix. A reading feeds the builder while its pages arrive. A rebuild, or a
 * reading whose assumptions were wrong, feeds it from chunks. If the content equals the committed version, no snapshot is
 * written. SQL does not see the file before the commit. Memory holds a page, a row group and some tens of bytes for each
 * record that has a key (I12).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Column } from '../base/column-types.ts';
import { BrandReportsError } from '../base/errors.ts';
import type { Committed, VersionContent } from '../lake/ledger.ts';
import type { Slice } from '../lake/progress.ts';
import { ColumnFacts, fullest } from '../table/column-facts.ts';
import {
  MAX_DISCOVERED,
  MAX_DISCOVERED_OF_DAY,
  type Observations,
  fieldsWithoutColumn,
  growSchema,
  mergeObservations,
  observe,
} from '../table/columns.ts';
import { Amounts } from '../table/amounts.ts';
import { Digest } from '../table/digest.ts';
import { loadCodedFile, loadParquet } from '../table/load-parquet.ts';
import { damageOf, fileIn } from '../table/readable-file.ts';
import { ROW_GROUP_BYTES, maxRowsOfGroup } from '../table/row-group-limits.ts';
import { RowGroups } from '../table/row-groups.ts';
import { fieldsWithMeaning, keyProblem } from '../planning/primary-key.ts';
import type { RecordKey, RecordList } from '../records/record-list.ts';
import type { BuildContext } from '../context/context.ts';
import type { OpenDay } from '../context/open-day.ts';
import { areChangesIntact } from '../history/index.ts';
import { type KeyRule, type Verdict, type Versions, createRowsOfDay } from './rows-of-day.ts';
import {
  type StagedDay,
  answersOf,
  exclusionsOf,
  pagesOf,
  recordsOf,
  usedKeyField,
} from './staged-records.ts';

/** The version to commit; if the content has not changed, `snapshot` is the committed snapshot. */
export type BuiltSnapshot = VersionContent & {
  unchanged: boolean;
};

export interface KeyConflict extends Versions {
  slice: Slice;
}

/** What rows depend on besides their records. Chunks prove it; a reading assumes it until its last page. */
export interface Basis {
  /** The fields that identify a record; `undefined` if some record has no key of its own. */
  keyField: RecordKey | undefined;
  rule: KeyRule;
  /** The table's columns; missing: the columns that follow from the pages so far. */
  columns?: readonly Column[];
  /** I12: a row group is written when its values take this many bytes. */
  groupBytes?: number;
}

export interface Builder {
  readonly conflict: KeyConflict | undefined;
  /**
   * Appends the rows among a page's records. Pages of the newest slice come first.
   * @param verdictOf what other staged records show about a record
   * @returns how many of the records belong to the day
   */
  add(list: RecordList, slice: Slice, verdictOf?: (index: number) => Verdict): Promise<number>;
  /**
   * Replaces the assumptions with what all staged records prove.
   * @param proven `records`: how many records are staged, including excluded records
   * @returns whether the chunks would make the same file; if not, the version has to be built from the chunks
   */
  confirm(proven: Required<Pick<Basis, 'columns'>> & Pick<Basis, 'keyField'> & { records: number }): boolean;
  finish(readBack: boolean): Promise<BuiltSnapshot>;
  /** Drops the written part of an unfinished file. Whoever creates a builder must call this at the end. */
  abort(): Promise<void>;
}

export async function createBuilder(ctx: BuildContext, open: OpenDay, basis: Basis): Promise<Builder> {
  const { lake, settings } = ctx;
  const { day, committed, keys } = open;
  const snapshot = ctx.newId();
  const digest = new Digest();
  const rowsOfDay = createRowsOfDay(ctx, day, basis.keyField, basis.rule);
  const observations: Observations = {};
  let { columns } = basis;
  const width = (columns ?? (await ctx.schema.cached()).columns).length;
  const wanted = fieldsWithMeaning(ctx);
  const limits = { rows: maxRowsOfGroup(width), bytes: basis.groupBytes ?? ROW_GROUP_BYTES };
  const groups = new RowGroups(limits, async () => {
    const { writeParquet } = await loadParquet();
    const known = await ctx.schema.cached();
    const chosen = columns ?? growSchema(known, observations, settings.columns, wanted).columns;
    const output = lake.store.create(keys.version(snapshot));
    return {
      columns: chosen,
      file: writeParquet(output, chosen, digest),
      facts: new ColumnFacts(chosen),
      amounts: new Amounts(chosen, settings.fields),
    };
  });
  let current: Slice | undefined;
  let records = 0;
  let conflict: KeyConflict | undefined;
  let isEnded = false;
  return {
    get conflict() {
      return conflict;
    },
    async add(list, slice, verdictOf = () => undefined) {
      if (conflict) return 0;
      if (slice !== current) rowsOfDay.beginSlice();
      current = slice;
      records += list.count;
      if (!columns && !groups.target) observe(observations, list);
      const { kept, ofDay, conflict: met } = rowsOfDay.among(list, verdictOf);
      if (met) conflict = { slice, ...met };
      else await groups.append(list, kept, new Date(slice.startedAt));
      return ofDay;
    },
    confirm(proven) {
      ({ columns } = proven);
      const isAll =
        !conflict && records === proven.records && isDeepStrictEqual(basis.keyField, proven.keyField);
      if (!isAll || groups.largest > maxRowsOfGroup(columns.length)) return false;
      return !groups.target || isDeepStrictEqual(groups.target.columns, columns);
    },
    async finish(readBack) {
      rowsOfDay.end();
      const { file, facts, amounts } = await groups.flush();
      const counted = {
        ...{ ...facts.values, ...amounts.values },
        ...(basis.rule === 'is_none' && { keyIsNone: true }),
      };
      if (committed?.digest === digest.value() && (await isIntact(ctx, open, committed, readBack))) {
        const { snapshot: same, rows, bytes, values } = committed;
        const content = { snapshot: same, rows, bytes, digest: committed.digest };
        const { filled } = values ?? {};
        return { ...content, values: { ...(filled && { filled }), ...counted }, unchanged: true };
      }
      const { filled, ...written } = await file.finish();
      isEnded = true;
      const values = { filled: fullest(filled), ...counted };
      return { snapshot, ...written, digest: digest.value(), values, unchanged: false };
    },
    async abort() {
      if (isEnded) return;
      isEnded = true;
      await groups.target?.file.abort();
    },
  };
}

async function isIntact(
  ctx: BuildContext,
  { day, keys }: OpenDay,
  committed: Committed,
  readBack: boolean,
): Promise<boolean> {
  const { lake } = ctx;
  const { bytes, digest } = committed;
  const file = fileIn(lake.store, { key: keys.version(committed.snapshot), bytes });
  try {
    if (Buffer.from(await file.range(bytes - 4, bytes)).toString('latin1') !== 'PAR1') return false;
    if (!readBack) return true;
    const { digestOf, openCodedFile } = await loadCodedFile();
    return (
      (await digestOf(await openCodedFile(file))) === digest && (await areChangesIntact(ctx, day, committed))
    );
  } catch (thrown) {
    damageOf(thrown);
    return false;
  }
}

export interface BuildOptions {
  readBack: boolean;
  /** Whether the key has changed: a proof that the old key does not identify records does not hold for the new key. */
  isKeyNew?: boolean;
}

/**
 * @param fed the builder that got the reading's pages: it finishes the version if the chunks would make the same file
 * @returns a conflict if records with the same primary key differ, and only a second reading can show why (I1)
 */
export async function build(
  ctx: BuildContext,
  staged: StagedDay,
  options: BuildOptions,
  fed?: Builder,
): Promise<BuiltSnapshot | { conflict: KeyConflict }> {
  const { slices } = staged;
  const columns = await growToFit(
    ctx,
    staged.day,
    slices.map(({ observations }) => observations),
  );
  const keyField = usedKeyField(ctx, slices);
  const built = fed?.confirm({ columns, keyField, records: recordsOf(slices) })
    ? await fed.finish(options.readBack)
    : await buildFromChunks(ctx, staged, options, { columns, keyField, rule: 'identifies' });
  return 'conflict' in built ? built : withKeyProblem(ctx, slices, built);
}

function withKeyProblem(
  { settings: { key } }: BuildContext,
  slices: readonly Slice[],
  built: BuiltSnapshot,
): BuiltSnapshot {
  const keyUnused =
    key &&
    keyProblem(key, {
      records: recordsOf(slices),
      withoutKey: slices.reduce((sum, { withoutKey }) => sum + withoutKey, 0),
      fields: slices.flatMap(({ observations }) => Object.keys(observations)),
      keyIsNone: built.values?.keyIsNone ?? false,
    });
  return keyUnused === undefined ? built : { ...built, values: { ...built.values, keyUnused } };
}

async function buildFromChunks(
  ctx: BuildContext,
  staged: StagedDay,
  options: BuildOptions,
  basis: { columns: readonly Column[]; keyField: RecordKey | undefined; rule: KeyRule },
): Promise<BuiltSnapshot | { conflict: KeyConflict }> {
  const builder = await createBuilder(ctx, staged, basis);
  try {
    await addChunks(ctx, builder, staged, basis.rule === 'identifies' ? basis.keyField : undefined);
    if (!builder.conflict) return await builder.finish(options.readBack);
  } finally {
    await builder.abort();
  }
  const current = options.isKeyNew ? undefined : staged.committed;
  const rule = ruleProvenBy(ctx, builder.conflict, staged, current);
  return rule ? buildFromChunks(ctx, staged, options, { ...basis, rule }) : { conflict: builder.conflict };
}

/**
 * Adds all staged records, the newest slice first, so that its version of a record stays.
 * @param excludedBy the field that identifies records of the next day, if there is such a field
 * @throws BrandReportsError `contract` if the responses do not show which records belong to the day
 */
async function addChunks(
  ctx: BuildContext,
  builder: Builder,
  { day, prefix, slices }: StagedDay,
  excludedBy: RecordKey | undefined,
): Promise<void> {
  const done = slices.filter((slice) => slice.done);
  const answersOfSlice = await answersOf(ctx, day, done);
  for (const slice of done.toReversed()) {
    const answers = answersOfSlice();
    const exclusions = await exclusionsOf(ctx, prefix, slice, excludedBy);
    let ofDay = 0;
    for await (const list of pagesOf(ctx, prefix, slice, 'include')) {
      const isNewest = answers(list);
      const verdictOf = exclusions.among(list);
      ofDay += await builder.add(list, slice, (index) => (isNewest(index) ? verdictOf(index) : 'excluded'));
      if (builder.conflict) return;
    }
    if (ofDay === 0 && exclusions.holdMoreThanTheDay()) throw instantUnclear(ctx, day);
  }
}

/** The error if the exclusions contain all records of the day and more: the service returned records of other times. */
function instantUnclear({ report, brandSettings }: BuildContext, day: string): BrandReportsError {
  const setting = report.day.by === 'dates' ? 'endDate' : 'endTime';
  const message = `${report.name} ${day}: for a query of only the day's last instant, the service returned all records of the day and more. So it is unknown which of them belong to the next day; set "${setting}" (now "${brandSettings[setting]}") to the meaning that the service uses`;
  return new BrandReportsError('contract', 'instant_unclear', message);
}

/** I1: the rule for the key that a conflict proves; `undefined` if only a second reading can show it. */
function ruleProvenBy(
  { report }: BuildContext,
  { slice, versions }: KeyConflict,
  { slices }: StagedDay,
  current: Committed | undefined,
): KeyRule | undefined {
  // If pages overlap by design, every reading has records twice, and a record that changes with every response differs.
  const overlap = report.paging.style === 'position';
  if (slice.repeatsConflict !== undefined)
    return overlap && slice.repeatsConflict !== versions ? 'changes' : 'is_none';
  const isKnown = current?.values?.keyIsNone && !overlap;
  return isKnown || slice !== slices.at(-1) ? 'is_none' : undefined;
}

/** I7: columns are appended before the first file that has them is committed. */
async function growToFit(
  ctx: BuildContext,
  day: string,
  observations: readonly Observations[],
): Promise<readonly Column[]> {
  const observed = observations.reduce<Observations>(mergeObservations, {});
  const wanted = fieldsWithMeaning(ctx);
  const schema = await ctx.schema.update((current) => {
    const grown = growSchema(current, observed, ctx.settings.columns, wanted);
    // A schema that was never written is stored even if it did not grow: later versions may document other types.
    if (grown === current && current.recentWrites.length > 0) return current;
    const at = new Date(ctx.clock.wallMs()).toISOString();
    const seen = grown.columns.slice(current.columns.length).map(({ name }) => [name, { day, at }] as const);
    return { ...current, ...grown, firstSeen: { ...current.firstSeen, ...Object.fromEntries(seen) } };
  });
  const fields = fieldsWithoutColumn(schema, observed).length;
  if (fields > 0) {
    const message = `${fields} fields of ${day} have no column: their values are kept in _rescued. Of the fields that the interface does not document, the ${MAX_DISCOVERED_OF_DAY} most frequent of a day become columns, up to ${MAX_DISCOVERED} for a table. To see the values: SELECT _rescued FROM ${schema.table} WHERE dt = '${day}'. Name other fields that you need in the setting "columns" of ${ctx.report.name}: they become columns first`;
    ctx.log({ event: 'fields_without_column', day, fields, message });
  }
  return schema.columns;
}
