/*
 * Builds one version of a day under a new prefix. A reading feeds the builder while its pages arrive. A rebuild, or a
 * reading whose assumptions were wrong, feeds it from chunks. SQL does not see the file before the commit. Memory holds
 * a page, a row group and some tens of bytes for each record that has a key (I12).
 */
import { isDeepStrictEqual } from 'node:util';
import type { Column } from '../base/column-types.ts';
import type { Committed, VersionContent } from '../lake/ledger.ts';
import type { Slice } from '../lake/progress.ts';
import { ColumnFacts, fullest } from '../table/column-facts.ts';
import { type Observations, growSchema, observe } from '../table/columns.ts';
import { Amounts } from '../table/amounts.ts';
import { Digest, RowHashes } from '../table/digest.ts';
import { loadCodedFile, loadParquet } from '../table/load-parquet.ts';
import { damageOf, fileIn } from '../table/readable-file.ts';
import { ROW_GROUP_BYTES, maxRowsOfGroup } from '../table/row-group-limits.ts';
import { RowGroups } from '../table/row-groups.ts';
import { fieldsWithMeaning } from '../planning/primary-key.ts';
import type { RecordKey, RecordList } from '../records/record-list.ts';
import type { BuildContext } from '../context/context.ts';
import type { OpenDay } from '../context/open-day.ts';
import { NotedKey, areChangesIntact } from '../history/index.ts';
import { type KeyRule, type Verdict, type Versions, createRowsOfDay } from './rows-of-day.ts';

/** The version to commit; if the content has not changed, `snapshot` is the committed snapshot. */
export type BuiltSnapshot = VersionContent & {
  unchanged: boolean;
  /** The hashes of its rows, if it replaces a closed day: they show which rows it changes. */
  hashes?: RowHashes;
  /** The values of its key, unless the key of the day's chain of changes is chosen already. */
  noted?: NotedKey;
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
  const { lake, report, settings } = ctx;
  const { day, committed, keys } = open;
  const snapshot = ctx.newId();
  const { state } = committed ?? {};
  const hashes = state === undefined || state === 'open' ? undefined : new RowHashes();
  const digest = new Digest(hashes);
  const rowsOfDay = createRowsOfDay(ctx, day, basis.keyField, basis.rule);
  const observations: Observations = {};
  const isKeyOpen = committed?.history?.key === undefined;
  let noted: NotedKey | undefined;
  let { columns } = basis;
  const width = (columns ?? (await ctx.schema.cached()).columns).length;
  const wanted = fieldsWithMeaning(ctx);
  const limits = { rows: maxRowsOfGroup(width), bytes: basis.groupBytes ?? ROW_GROUP_BYTES };
  const groups = new RowGroups(limits, async () => {
    const { writeParquet } = await loadParquet();
    const known = await ctx.schema.cached();
    const chosen = columns ?? growSchema(known, observations, settings.columns, wanted).columns;
    const output = lake.store.create(keys.version(snapshot));
    if (isKeyOpen)
      noted = new NotedKey({
        report,
        settings,
        columns: chosen,
        fields: settings.fields,
        keyIsNone: basis.rule === 'is_none',
      });
    return {
      columns: chosen,
      file: writeParquet(output, chosen, digest),
      facts: new ColumnFacts(chosen),
      amounts: new Amounts(chosen, settings.fields),
      count: (rows, named) => noted?.count(rows, named) ?? named,
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
        return {
          ...content,
          values: { ...(filled && { filled }), ...counted },
          unchanged: true,
          ...(noted && { noted }),
        };
      }
      const { filled, ...written } = await file.finish();
      isEnded = true;
      const values = { filled: fullest(filled), ...counted };
      const content = { snapshot, ...written, digest: digest.value(), values };
      return { ...content, unchanged: false, ...(hashes && { hashes }), ...(noted && { noted }) };
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
