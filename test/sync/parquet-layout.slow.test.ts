import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import type { Column } from '../../shared/column-types.ts';
import { DAY_MS } from '../../shared/days.ts';
import { changesTable } from '../../shared/history/index.ts';
import { readSchema } from '../../shared/lake/documents/read.ts';
import { reports } from '../../shared/reports/index.ts';
import { duckdb } from '../lake/table/parquet-files.ts';
import { alter } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const DAY = '2026-03-09';
const refresh = [{ untilAgeDays: 20, every: 'run' }];

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: '2026-02-27',
    clicksPerDay: 60,
    brandSettings: { reports: { order_list: { refresh }, clicks_detail: { enabled: true } } },
  });
  await lake.sync();
  // A new field and other states: older files then have fewer columns, and `changes` has rows.
  alter(lake, 'order_list', DAY, { a_new_field: 'x', status: 'void' });
  lake.nowMs += DAY_MS;
  await lake.sync();
});
afterAll(() => lake.close());

interface StoredColumn {
  name: string;
  field_id: bigint;
  converted_type: string | null;
}

/** The elements of each Parquet object of a table. */
async function filesOf(table: string): Promise<StoredColumn[][]> {
  const files: StoredColumn[][] = [];
  for (const [key, { body }] of lake.store.objects)
    if (key.startsWith(`snapshots/${table}/`))
      files.push(
        (
          await duckdb(
            body,
            'SELECT name, field_id, converted_type FROM parquet_schema({file}) WHERE type IS NOT NULL',
          )
        ).map(({ name, field_id, converted_type }) => ({
          name: String(name),
          field_id: BigInt(String(field_id)),
          converted_type: converted_type === null ? null : String(converted_type),
        })),
      );
  return files;
}

const ledgerTables = [coverageTable, changesTable].map(
  ({ name, columns }): [string, () => Promise<readonly Column[]>] => [name, async () => columns],
);
const reportTables = Object.values(reports).map((report): [string, () => Promise<readonly Column[]>] => [
  report.table,
  async () => (await readSchema(lake.store, report)).columns,
]);

describe('the Parquet files of a lake', () => {
  it.each([...reportTables, ...ledgerTables])(
    'of %s use each column’s position as its field id, and have times in microseconds',
    async (table, columnsOf) => {
      const columns = await columnsOf();
      const files = await filesOf(table);
      expect(files.length).toBeGreaterThan(0);
      for (const file of files)
        expect(file).toEqual(
          columns.slice(0, file.length).map(({ name, type }, index) => ({
            name,
            field_id: BigInt(index + 1),
            converted_type: type === 'timestamp' ? 'TIMESTAMP_MICROS' : file[index]?.converted_type,
          })),
        );
    },
  );

  it('of one table may have more columns in later files, after the earlier columns', async () => {
    const widths = (await filesOf('orders')).map(({ length }) => length);
    expect(new Set(widths).size).toBeGreaterThan(1);
  });
});
