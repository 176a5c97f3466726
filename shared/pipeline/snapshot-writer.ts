import type { Column } from '../column-types.ts';
import type { Committed } from '../lake/documents/ledger.ts';
import { dayPartition, snapshotKey } from '../lake/paths.ts';
import { ColumnFacts } from '../lake/table/column-facts.ts';
import { Digest, RowHashes } from '../lake/table/digest.ts';
import { loadParquet } from '../lake/table/load-parquet.ts';
import type { RowGroupLimits } from '../lake/table/row-group-limits.ts';
import { RowGroups } from '../lake/table/row-groups.ts';
import type { BuildContext } from './context.ts';

/** A snapshot while its rows are appended. Its object is begun with the first full row group, and exists when it is whole. */
export class SnapshotWriter {
  readonly snapshot: string;
  readonly digest: Digest;
  /** Of its rows, where it would replace a closed day: they show what it changes. */
  readonly hashes: RowHashes | undefined;
  readonly rows: RowGroups;

  /**
   * @param current what is committed of the day
   * @param limits of its row groups
   * @param columns asked for once, when the first row group is full or the last row is in
   */
  constructor(
    ctx: BuildContext,
    day: string,
    current: Committed | undefined,
    limits: RowGroupLimits,
    columns: () => readonly Column[] | Promise<readonly Column[]>,
  ) {
    this.snapshot = ctx.newId();
    this.hashes = replacesClosed(current) ? new RowHashes() : undefined;
    this.digest = new Digest(this.hashes);
    const key = snapshotKey(ctx.report.table, dayPartition(ctx.brand, day), this.snapshot);
    this.rows = new RowGroups(limits, this.digest, async () => {
      const { writeParquet } = await loadParquet();
      const chosen = await columns();
      const file = writeParquet(ctx.lake.store.create(key), chosen);
      return { columns: chosen, file, facts: new ColumnFacts(chosen, ctx.settings.states) };
    });
  }

  readonly abort = async (): Promise<void> => {
    await this.rows.target?.file.abort();
  };
}

/** Whether what comes next would be a restatement. */
export function replacesClosed(current: Committed | undefined): boolean {
  return current?.state === 'closed';
}
