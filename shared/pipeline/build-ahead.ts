/**
 * Builds the snapshot of a day while its pages come in, so that a page is read once: its records are rows of the
 * snapshot when they are staged. What a later page can still change is known here: a row group is written under the
 * schema as the pages so far would make it, no record is excluded, every record has its key. Where a later page shows
 * otherwise, what was built is dropped, and `build` makes the day from its chunks, which alone decide (I1, I7). So is a
 * day that an earlier run began.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Column } from '../column-types.ts';
import type { Committed } from '../lake/documents/ledger.ts';
import type { Slice, SlicePart } from '../lake/documents/progress.ts';
import { type Observations, growSchema, observe } from '../lake/table/columns.ts';
import { maxRowsOfGroup } from '../lake/table/row-group-limits.ts';
import { primaryKeyField } from '../planning/primary-key.ts';
import type { RecordList } from '../records/record-list.ts';
import { type BuildContext, type RunContext, committedOf } from './context.ts';
import { SnapshotWriter, replacesClosed } from './snapshot-writer.ts';
import { RowsOfDay, type StagedDay, type StagedSlice, usedKeyField } from './staged-records.ts';

/**
 * I12: about what rows that are not written yet take of all days that are in flight when a day begins, and of each at
 * least: small row groups cost a reader more. What is written early is not left to the end, when nothing is waited for any
 * more.
 */
const PENDING_BYTES = 64 * 2 ** 20;
const MIN_PENDING_BYTES = 4 * 2 ** 20;

export class BuildAhead {
  readonly #ctx: BuildContext;
  readonly #slice: Slice;
  readonly #keyField: string | undefined;
  readonly #rowsOfDay: RowsOfDay;
  readonly #maxRows: number;
  readonly #written: SnapshotWriter;
  /** Of all pages, until the first row group is written. */
  readonly #observations: Observations = {};
  /** Of the table, once all pages are read. */
  #columns: readonly Column[] | undefined;
  #records = 0;
  /** Whether row groups of the columns may have fewer rows than those that were begun. */
  #isTooWide = false;
  #isDropped = false;

  private constructor(
    ctx: RunContext,
    day: string,
    slice: Slice,
    { width, current }: { width: number; current: Committed | undefined },
  ) {
    this.#ctx = ctx;
    this.#slice = slice;
    this.#keyField = primaryKeyField(ctx);
    this.#rowsOfDay = new RowsOfDay(ctx, day, this.#keyField, 'identifies');
    this.#maxRows = maxRowsOfGroup(width);
    // Of each that is read another one may be built.
    const days = Math.max(2 * ctx.daysInFlight, ctx.days.count);
    const limits = { rows: this.#maxRows, bytes: Math.max(MIN_PENDING_BYTES, PENDING_BYTES / days) };
    this.#written = new SnapshotWriter(ctx, day, current, limits, () => this.#columnsNow());
  }

  /**
   * @param slices of the attempt, before a page is read
   * @returns `undefined` where pages are staged already, or the records are found by lookups
   */
  static async begin(
    ctx: RunContext,
    day: string,
    slices: readonly Slice[],
  ): Promise<BuildAhead | undefined> {
    const [slice, ...others] = slices;
    if (!slice || others.length > 0 || slice.parts.some(({ pages }) => pages > 0)) return undefined;
    if (ctx.report.paging.style === 'lookup') return undefined;
    const { length: width } = (await ctx.schema.cached()).columns;
    return new BuildAhead(ctx, day, slice, { width, current: await committedOf(ctx, day) });
  }

  /** Appends a page of the day's records that was added to the stage. */
  async append(list: RecordList): Promise<void> {
    if (this.#isDropped) return;
    const { kept, conflict } = this.#rowsOfDay.among(list);
    if (conflict) return this.abort();
    const { rows } = this.#written;
    if (!rows.target) observe(this.#observations, list);
    await rows.append(list, kept, new Date(this.#slice.startedAt));
    this.#records += list.count;
    if (this.#isTooWide) await this.abort();
  }

  /**
   * What was written, where the chunks would make the same of what was staged: the caller finishes or aborts it.
   * @param columns of the table, which has grown to fit
   * @throws BrandReportsError `contract` where all records are other days'
   */
  complete(
    { slices }: StagedDay,
    columns: readonly Column[],
    current: Committed | undefined,
  ): SnapshotWriter | undefined {
    const { rows, hashes } = this.#written;
    const holds =
      !this.#isDropped &&
      this.#isAllOf(slices) &&
      this.#keyField === usedKeyField(this.#ctx, slices) &&
      replacesClosed(current) === (hashes !== undefined) &&
      (rows.target
        ? isDeepStrictEqual(rows.target.columns, columns)
        : rows.pending <= maxRowsOfGroup(columns.length));
    if (!holds) return undefined;
    this.#rowsOfDay.end();
    this.#columns = columns;
    return this.#written;
  }

  async abort(): Promise<void> {
    if (this.#isDropped) return;
    this.#isDropped = true;
    await this.#written.abort();
  }

  /** Whether these are the records that were appended, and none of another role is among them. */
  #isAllOf(slices: readonly StagedSlice[]): boolean {
    const [staged, ...others] = slices;
    if (!staged || others.length > 0 || staged.slice.startedAt !== this.#slice.startedAt) return false;
    const recordsIn = (parts: readonly SlicePart[]) => parts.reduce((sum, { records }) => sum + records, 0);
    const { include = [], ...filters } = Object.groupBy(staged.slice.parts, ({ role }) => role);
    return recordsIn(include) === this.#records && recordsIn(Object.values(filters).flat()) === 0;
  }

  async #columnsNow(): Promise<readonly Column[]> {
    if (this.#columns) return this.#columns;
    const schema = await this.#ctx.schema.cached();
    const { columns } = growSchema(schema, this.#observations, this.#ctx.settings.columns);
    this.#isTooWide = maxRowsOfGroup(columns.length) < this.#maxRows;
    return columns;
  }
}
