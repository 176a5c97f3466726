import { hash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { changesOf } from './changes-of-day.ts';
import { coverageOf, ledgerEntries, publishedDays } from './lake-contents.ts';
import { type SampleLake, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const [FIRST, DAY, TODAY] = ['2026-02-27', '2026-02-28', '2026-03-01'];

const sample = sharedLakes({ now: '2026-03-01T17:00:00Z', startDate: FIRST, clicksPerDay: 4 });

function fingerprintOf({ store, catalog }: SampleLake): string {
  const objects = [...store.objects].map(([key, { body }]) => `${key} ${hash('md5', body)}`);
  const pointers = [...catalog.pointers].map((pointer) => pointer.join(' '));
  return hash('md5', [...objects, ...pointers].sort().join('\n'));
}

const cases: { report: ReportName; name: string; brandSettings: JsonObject }[] = [
  {
    report: 'order_list',
    name: 'another type',
    brandSettings: { reports: { order_list: { columns: { create_time: 'timestamp' } } } },
  },
  { report: 'order_list', name: 'another key', brandSettings: { reports: { order_list: { key: 'none' } } } },
];

it.each(cases)(
  'I4: a rebuild of $report for $name that dies at any point loses nothing, and a second rebuild completes it',
  async ({ report, brandSettings }) => {
    const scope = { reports: [report], from: FIRST, to: TODAY };
    const read = sample.emptyLake();
    await read.sync({ scope: { reports: [report] } });
    read.nowMs += 3 * HOUR_MS;
    const { nowMs } = read;
    const rebuilt = read.fork();
    await rebuilt.rebuild(scope, { brandSettings });
    const wanted = await publishedDays(rebuilt, report);

    const seen = new Set<string>();
    for (const when of ['before', 'after'] as const)
      for (let n = 1, died = true; died; n += 1) {
        const lake = read.fork();
        lake.nowMs = nowMs;
        const store = diesAtN(lake.store, n, { when });
        const catalog = diesAtNCatalog(lake.catalog, store);
        try {
          await lake.rebuild(scope, { brandSettings, lake: { store, catalog, runs: blindRegistry } });
        } catch (error) {
          if (!(error instanceof ProcessDied)) throw error;
        }
        died = store.life.dead;
        const fingerprint = fingerprintOf(lake);
        if (seen.has(fingerprint)) continue;
        seen.add(fingerprint);
        // A scheduled run publishes committed versions and updates coverage.
        const between = lake.fork();
        between.nowMs += 2 * MINUTE_MS;
        await between.sync({ scope: { reports: [report] }, brandSettings });
        await expectCoverage(between, report);
        await publishedDays(between, report);

        lake.nowMs = nowMs + 2 * MINUTE_MS;
        await lake.rebuild(scope, { brandSettings });
        expect({ when, n, days: await publishedDays(lake, report) }).toEqual({ when, n, days: wanted });
        await expectCoverage(lake, report);
        expect((await changesOf(lake, report, DAY)).filter(({ what }) => what === 'day')).toEqual(
          (await changesOf(rebuilt, report, DAY))
            .filter(({ what }) => what === 'day')
            .map((row) => ({
              ...row,
              changed_at: expect.any(Date),
              change_id: expect.any(String),
            })),
        );
        expect(n).toBeLessThan(1000);
      }
    expect(seen.size).toBeGreaterThan(5);
  },
  240_000,
);

async function expectCoverage(lake: SampleLake, report: ReportName): Promise<void> {
  const rows = await coverageOf(lake, report);
  const covered = Object.entries(rows).map(([day, { digest }]) => [day, digest]);
  const committed = (await ledgerEntries(lake, report)).map(([day, entry]) => [day, entry.committed?.digest]);
  expect(covered).toEqual(committed);
}
