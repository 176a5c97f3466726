import { expect, it } from '@jest/globals';
import { leaseOnlyRuns } from '../../shared/adapters/aws/s3-store.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { writeLedgerTable } from '../../shared/catalog/ledger-tables.ts';
import { createBrandReport } from '../../shared/context/context.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import { reports } from '../../shared/reports/index.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';

it('I5: writers of one brand in several processes lose no rows of each other', async () => {
  const lake = { store: memoryStore(), catalog: memoryCatalog(), runs: leaseOnlyRuns };
  const access = { lake, clock: systemClock(), log: () => {}, random: () => 0.5, newId: () => 'id', reports };
  const written = Object.values(reports).map((report) => {
    const documents = createLakeDocuments({ store: lake.store, ...access });
    const run = createBrandReport(access, documents, { brand: 'acme', report, policy: undefined });
    return writeLedgerTable(run, coverageTable, () => [{ report: report.name, dt: '2026-01-31' }]);
  });
  await Promise.all(written);
  const published = await lake.catalog.snapshotsByPartition('coverage', [['brand', 'acme']]);
  const [[path, [id = '']] = ['', []]] = published;
  const stored = lake.store.objects.get(`snapshots/coverage/${path}/${id}/part-0000.parquet`);
  const body = stored?.body ?? new Uint8Array();
  const range = async (start: number, end: number) => body.subarray(start, end);
  const rows = await Array.fromAsync(readParquetRows({ bytes: body.length, range }));
  expect(rows.map(({ report }) => report)).toEqual(Object.keys(reports).sort());
});
