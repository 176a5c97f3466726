import { describe, expect, it } from '@jest/globals';
import { runClock } from '../../shared/context/context.ts';
import { recordChange } from '../../shared/history/index.ts';
import type { Column } from '../../shared/column-types.ts';
import type { Committed } from '../../shared/lake/documents/ledger.ts';
import { createLakeDocuments } from '../../shared/lake/documents/lake-documents.ts';
import { changesKey, dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import { readContent } from '../../shared/lake/table/read-content.ts';
import { readParquetRows } from '../../shared/lake/table/coded-columns.ts';
import { orders as report } from '../../shared/reports/orders.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { blindRegistry } from '../sync/sample-lake.ts';
import { parquetOf, readable } from '../lake/table/parquet-files.ts';
import { readAt } from '../planning/entries.ts';

const DAY = '2026-03-09';
const NUMBERS = Array.from({ length: 8 }, (_, index) => ({
  name: `n${index}`,
  type: 'bigint' as const,
  field: `n${index}`,
}));
const COLUMNS: readonly Column[] = [{ name: 'transid', type: 'string', field: 'transid' }, ...NUMBERS];

/** A closed day whose versions are written by hand. */
async function dayOfVersions() {
  const store = memoryStore();
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  const clock = runClock({
    wallMs: () => 0,
    monotonicMs: () => 0,
    sleep: async () => {},
    every: () => () => {},
  });
  const documents = createLakeDocuments({
    store,
    newId,
    clock,
    random: () => 0,
  });
  const schema = documents.schema(report);
  await schema.update((stored) => ({ ...stored, columns: [...stored.columns, ...COLUMNS] }));
  const ctx = {
    brand: 'acme',
    report,
    lake: { store, runs: blindRegistry },
    schema,
    newId,
    clock,
    log: () => {},
  };
  let committed: Committed | undefined;
  return {
    async replaceBy(rows: Iterable<Row>): Promise<void> {
      const snapshot = newId();
      const bytes = await parquetOf(COLUMNS, rows);
      const key = snapshotKey(report.table, dayPartition('acme', DAY), snapshot);
      await store.put(key, bytes, { ifAbsent: true });
      const after = { snapshot, ...(await readContent(readable(bytes))) };
      const at = new Date(Date.parse('2026-03-10T06:00:00Z') + ids).toISOString();
      const changes =
        committed && (await recordChange(ctx, DAY, { before: committed, after, cause: 'reading' }));
      committed = readAt(at, { ...after, ...(changes && { changes }) }).committed;
    },
    async changes(): Promise<Row[]> {
      const { snapshot = '', bytes = 0 } = committed?.changes ?? {};
      const object = await store.get(changesKey('acme', report.name, DAY, snapshot));
      expect(object?.body.length).toBe(bytes);
      return Array.fromAsync(readParquetRows(readable(object?.body ?? Buffer.of())));
    },
  };
}

/** Records whose first columns have a different value in each version. */
function* records(count: number, version: number, altered: number): Generator<Row> {
  for (let index = 0; index < count; index += 1) {
    const values = NUMBERS.map(({ name }, at) => [name, at < altered ? BigInt(version) : 7n]);
    yield { transid: `t${index}`, ...Object.fromEntries(values) };
  }
}

describe('a day whose records differ in every reading', () => {
  it('only counts its changes from 50,000 rows on, so that each change rewrites few rows', async () => {
    const day = await dayOfVersions();
    await day.replaceBy(records(2_600, 0, 8));
    for (const [version, altered] of [8, 8, 8, 2].entries())
      await day.replaceBy(records(2_600, version + 1, altered));
    const rows = await day.changes();
    const changes = rows.filter(({ what }) => what === 'day');
    expect(changes.map(({ altered, listed }) => [altered, listed])).toEqual([
      [2_600n, true],
      [2_600n, true],
      [2_600n, false],
      [2_600n, false],
    ]);
    expect(rows.filter(({ what }) => what === 'altered')).toHaveLength(2 * 8 * 2_600);
    expect(rows.filter(({ what }) => what === 'sum')).toHaveLength(4 * 8);
  });
});
