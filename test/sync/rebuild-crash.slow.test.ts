import { expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import type { Lake } from '../../shared/ports.ts';
import { changesOf } from './changes-of-day.ts';
import { coverageOf, ledgerEntries, publishedDays } from './lake-contents.ts';
import { everyDeath } from './every-death.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const [DAY, TODAY] = ['2026-02-28', '2026-03-01'];

const sample = sharedLakes({ now: '2026-03-01T17:00:00Z', startDate: DAY, clicksPerDay: 4 });

it('I4: a rebuild for another type that dies at any point loses nothing, and a second rebuild completes it', async () => {
  const report = 'order_list';
  const brandSettings = { reports: { order_list: { columns: { create_time: 'timestamp' } } } };
  const scope = { reports: [report], from: DAY, to: TODAY };
  const read = sample.emptyLake();
  await read.sync({ scope: { reports: [report] } });
  read.nowMs += 3 * HOUR_MS;
  const { nowMs } = read;
  const rebuilt = read.fork();
  await rebuilt.rebuild(scope, { brandSettings });
  const wanted = await publishedDays(rebuilt, report);
  const changesIn = async (lake: SampleLake) =>
    (await changesOf(lake, report, DAY)).map(({ _key, _what, _place, _cause }) => [
      ...[_key, _what, _place, _cause],
    ]);
  const wantedChanges = await changesIn(rebuilt);
  expect(wantedChanges).not.toEqual([]);
  const begin = () => {
    const lake = read.fork();
    lake.nowMs = nowMs;
    return lake;
  };
  const rebuild = (lake: SampleLake, dying: Lake) => lake.rebuild(scope, { brandSettings, lake: dying });
  const deaths = await everyDeath(begin, rebuild, async (lake, n) => {
    // A scheduled run publishes committed versions and updates coverage.
    const between = lake.fork();
    between.nowMs += 2 * MINUTE_MS;
    await between.sync({ scope: { reports: [report] }, brandSettings });
    await expectCoverage(between, report);
    await publishedDays(between, report);

    lake.nowMs = nowMs + 2 * MINUTE_MS;
    await lake.rebuild(scope, { brandSettings });
    expect({ n, days: await publishedDays(lake, report) }).toEqual({ n, days: wanted });
    await expectCoverage(lake, report);
    expect(await changesIn(lake)).toEqual(wantedChanges);
  });
  expect(deaths).toBeGreaterThan(5);
}, 600_000);

async function expectCoverage(lake: SampleLake, report: ReportName): Promise<void> {
  const rows = await coverageOf(lake, report);
  const covered = Object.entries(rows).map(([day, { digest }]) => [day, digest]);
  const committed = (await ledgerEntries(lake, report)).map(([day, entry]) => [day, entry.committed?.digest]);
  expect(covered).toEqual(committed);
}
