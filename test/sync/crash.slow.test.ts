import { describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import type { Committed } from '../../shared/lake/ledger.ts';
import type { Lake } from '../../shared/ports.ts';
import { changesOf } from './changes-of-day.ts';
import { alter, coverageOf, ledgerEntries, ledgerEntry, wrongReports } from './lake-contents.ts';
import { everyDeath } from './every-death.ts';
import { NO_TIME, type SampleLake, type SyncOptions, syncUntilComplete } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const NOW = '2026-03-01T17:00:00Z';
const [YESTERDAY, TODAY] = ['2026-02-28', '2026-03-01'];

const groups: { reports: ReportName[] }[] = [
  { reports: ['clicks_list', 'clicks_detail'] },
  { reports: ['order_list'] },
  { reports: ['transaction_list'] },
];

// Two days in two months: each month has its own ledger and coverage.
const options = { now: NOW, recordsTo: '2026-03-01T22:00:00Z', startDate: YESTERDAY, clicksPerDay: 4 };
const sample = sharedLakes(options);
const smallPages = sharedLakes({ ...options, interpretations: { pageCap: 2 } });

const syncing =
  (options: SyncOptions) =>
  (lake: SampleLake, dying: Lake): Promise<unknown> =>
    lake.sync({ ...options, lake: dying });

/** The differences between `coverage` and the ledgers; `[]` is right. */
async function coverageDiffers(lake: SampleLake, reports: ReportName[]): Promise<unknown[]> {
  return (await Promise.all(reports.map((report) => wrongCoverage(lake, report)))).flat();
}

async function wrongCoverage(lake: SampleLake, report: ReportName): Promise<unknown[]> {
  const rows = await coverageOf(lake, report);
  const covered = Object.entries(rows).map(([day, { state, digest }]) => [day, state, digest]);
  const expected = (await ledgerEntries(lake, report)).map(([day, { committed }]) => [
    day,
    stateOf(committed),
    committed?.digest,
  ]);
  return JSON.stringify(covered) === JSON.stringify(expected) ? [] : [{ covered, expected }];
}

function stateOf(committed: Committed | undefined): string {
  if (committed?.state === 'settled' || committed?.state === 'open') return committed.state;
  return 'complete';
}

/** Deaths of a run at every operation. @param resume plain runs, two minutes later */
async function everyDeathOf(
  begin: () => SampleLake,
  reports: ReportName[],
  options: SyncOptions,
  resume: (lake: SampleLake) => Promise<unknown>,
): Promise<number> {
  return everyDeath(begin, syncing(options), async (lake, n) => {
    lake.advance(2 * MINUTE_MS);
    await resume(lake);
    const wrong = await wrongReports(lake, TODAY, reports);
    const coverage = await coverageDiffers(lake, reports);
    expect({ n, wrong, coverage }).toEqual({ n, wrong: {}, coverage: [] });
  });
}

describe('a process that dies at any operation on the lake', () => {
  it('I4: records each change of a closed day exactly once, with the resulting version', async () => {
    const reports: ReportName[] = ['order_list'];
    const scope = { reports, from: YESTERDAY, to: YESTERDAY };
    const published = sample.emptyLake();
    await published.sync({ scope: { reports } });
    const original = (await ledgerEntry(published, 'order_list', YESTERDAY)).committed;
    const state = (status: string) => alter(published, 'order_list', YESTERDAY, { status });
    state('locked');
    published.nowMs += HOUR_MS;
    await published.sync({ scope });
    const first = (await ledgerEntry(published, 'order_list', YESTERDAY)).committed;
    state('paid');
    const { nowMs } = published;
    const begin = () => {
      const lake = published.fork();
      lake.nowMs = nowMs + HOUR_MS;
      return lake;
    };
    const resume = async (lake: SampleLake) => {
      expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
      expect((await lake.sync({ scope })).status).toBe('complete');
      const { committed } = await ledgerEntry(lake, 'order_list', YESTERDAY);
      const rows = await changesOf(lake, 'order_list', YESTERDAY);
      const steps = rows.map(({ _place, _previous, _version }) => [_place, _previous, _version].join());
      expect(steps).toHaveLength(2 * (original?.rows ?? 0));
      expect([...new Set(steps)]).toEqual([
        [1, original?.snapshot, first?.snapshot].join(),
        [2, first?.snapshot, committed?.snapshot].join(),
      ]);
      expect(committed?.history?.place).toBe(2);
    };
    expect(await everyDeathOf(begin, reports, { scope }, resume)).toBeGreaterThan(5);
  });

  it('I4: loses nothing when a range is re-read in a month with no other due days', async () => {
    const reports: ReportName[] = ['clicks_list'];
    const published = sample.emptyLake();
    await published.sync({ scope: { reports } });
    alter(published, 'clicks_list', YESTERDAY, { referrer: 'restated' });
    const { nowMs } = published;
    const begin = () => {
      const lake = published.fork();
      lake.nowMs = nowMs + HOUR_MS;
      return lake;
    };
    const options = { scope: { reports, from: YESTERDAY, to: YESTERDAY } };
    const resume = async (lake: SampleLake) => {
      // A run that died before it claimed the day has left no trace of the requested range.
      expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
      expect(await coverageDiffers(lake, reports)).toEqual([]);
      expect((await lake.sync(options)).status).toBe('complete');
    };
    expect(await everyDeathOf(begin, reports, options, resume)).toBeGreaterThan(5);
  });

  it.each(groups)(
    'I4: loses nothing of $reports in the middle of a day that is read by runs of one page each',
    async ({ reports }) => {
      const options = { scope: { reports }, deadline: NO_TIME };
      const begun = smallPages.emptyLake();
      for (let runs = 0; runs < 4; runs += 1) await begun.sync(options);
      const { nowMs } = begun;
      const begin = () => {
        const lake = begun.fork();
        lake.nowMs = nowMs;
        return lake;
      };
      const resume = (lake: SampleLake) => syncUntilComplete(lake, options);
      expect(await everyDeathOf(begin, reports, options, resume)).toBeGreaterThan(3);
    },
  );
});
