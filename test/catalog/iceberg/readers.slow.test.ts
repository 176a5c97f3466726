import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openLake } from '../../../shared/adapters/open-lake.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/base/days.ts';
import { versionAt } from './version-at.ts';
import { daysOfLedgers, readLedgers } from '../../../shared/lake/read.ts';
import { versionKey } from '../../../shared/lake/paths.ts';
import { reports } from '../../../shared/reports/index.ts';
import { pythonPackages } from '../../fakes/python-packages.ts';
import { temporaryFolder } from '../../fakes/temporary-folder.ts';
import { Random } from '../../simulation/random.ts';
import { alter } from '../../sync/lake-contents.ts';
import { sharedLakes } from '../../sync/shared-lakes.ts';

const execute = promisify(execFile);
const PACKAGES = [
  'pyiceberg[pyarrow]==0.12.0',
  'duckdb==1.5.5',
  'duckdb-extension-iceberg==1.5.5',
  'duckdb-extension-avro==1.5.5',
];
const INSTANTS = 1_000;
const ICEBERG = { catalogs: ['hive', 'iceberg'] };
const DAYS = ['2026-02-27', '2026-02-28', '2026-03-01'] as const;
const sample = sharedLakes({
  now: '2026-03-01T17:00:00Z',
  recordsTo: '2026-03-10T00:00:00Z',
  startDate: DAYS[0],
  clicksPerDay: 40,
});

let programs: string;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeAll(async () => {
  folder = await temporaryFolder();
  programs = await pythonPackages('iceberg', PACKAGES);
}, 600_000);
afterAll(() => folder.remove());

it('I3: pyiceberg and DuckDB read the same rows as the links and --as-of, after restated days and new columns', async () => {
  const lake = sample.emptyLake();
  const disk = await openLake(folder.path);
  const random = new Random('readers');
  const outside: [fromMs: number, toMs: number][] = [];
  for (let run = 0; run < 6; run += 1) {
    if (run > 0)
      alter(lake, 'order_list', random.pick(DAYS), { status: `state ${run}`, [`field_${run}`]: run });
    expect(await lake.sync({ lake: disk, commonSettings: ICEBERG })).toMatchObject({ status: 'complete' });
    lake.advance(MINUTE_MS);
    const fromMs = lake.nowMs;
    lake.advance(random.whole(7, 12) * HOUR_MS);
    outside.push([fromMs, lake.nowMs]);
  }
  // Before the last 24 hours only the last snapshot of each day is left. The script reads each snapshot that is left.
  const sinceMs = (outside.at(-1)?.[0] ?? 0) - DAY_MS;
  const ledgers = await readLedgers(disk.store, reports);
  const filesAt = (atMs: number) =>
    daysOfLedgers(ledgers.filter(({ report }) => report.table === 'orders'))
      .flatMap((day) => {
        const snapshot = versionAt(day.entry, atMs);
        const rows = day.entry.committed?.rows ?? 0;
        return snapshot !== undefined && rows > 0
          ? [`${disk.iceberg?.url}/${versionKey(day.report.table, day.brand, day.day, snapshot)}`]
          : [];
      })
      .sort();
  const instants = Array.from({ length: INSTANTS }, () => {
    const [fromMs, toMs] = random.pick(outside.filter(([, endMs]) => endMs > sinceMs));
    const atMs = random.whole(Math.max(fromMs, sinceMs), toMs);
    return { atMs, files: filesAt(atMs) };
  });
  const expected = `${folder.path}/expected.json`;
  const firstMs = outside[0]?.[0] ?? 0;
  await writeFile(expected, JSON.stringify({ table: 'orders', firstMs: firstMs - HOUR_MS, instants }));
  const script = fileURLToPath(new URL('readers.py', import.meta.url));
  const { stdout } = await execute(`${programs}/python`, [script, folder.path, expected]);
  const { problems, compared, snapshots } = JSON.parse(stdout);
  expect(problems).toEqual([]);
  expect(compared).toBeGreaterThan(1_000);
  expect(snapshots).toBeLessThan(6);
  expect(snapshots).toBeGreaterThan(2);
}, 600_000);
