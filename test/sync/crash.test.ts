import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { diesAtN, diesAtNCatalog, ProcessDied } from '../fakes/dies-at-n-store.ts';
import {
  coverageOf,
  entriesOf,
  MINUTE,
  type SampleLake,
  type SyncChange,
  sampleLake,
  unknowing,
  wrongReports,
} from './sample-lake.ts';

const NOW = '2026-03-01T17:00:00Z';
const TODAY = '2026-03-01';

const groups: ReportName[][] = [
  ['clicks_list', 'clicks_detail'],
  ['order_list'],
  ['transaction_list'],
  ['amazon_attribution_report'],
];

let first: SampleLake;
beforeAll(async () => {
  // Two days in two months: each has a ledger and a coverage of its own.
  first = await sampleLake({ now: NOW, startDate: '2026-02-28', clicksPerDay: 3 });
});
afterAll(() => first.close());

/** A run whose process dies at its n-th operation on the lake. @returns whether it died */
async function dyingRun(
  lake: SampleLake,
  n: number,
  when: 'before' | 'after',
  options: SyncChange,
): Promise<boolean> {
  const store = diesAtN(lake.store, n, { when });
  const catalog = diesAtNCatalog(lake.catalog, store);
  try {
    await lake.sync({ ...options, lake: { store, catalog, runs: unknowing } });
  } catch (error) {
    if (!(error instanceof ProcessDied)) throw error;
  }
  return store.life.dead;
}

/** Two lakes with the same one behave the same from then on. */
function fingerprintOf({ store, catalog }: SampleLake): string {
  const objects = [...store.objects].map(([key, { body }]) => [key, hash('md5', body)]);
  return hash('md5', JSON.stringify([objects.sort(), [...catalog.pointers].sort()]));
}

/** What `coverage` says otherwise than the ledgers. */
async function wrongCoverage(lake: SampleLake, report: ReportName): Promise<unknown[]> {
  const rows = await coverageOf(lake, report);
  const said = Object.entries(rows).map(([day, { state, digest }]) => [day, state, digest]);
  const meant = (await entriesOf(lake, report)).map(([day, { published }]) => [
    day,
    published?.state === 'closed' ? 'complete' : 'open',
    published?.digest,
  ]);
  return JSON.stringify(said) === JSON.stringify(meant) ? [] : [{ said, meant }];
}

/**
 * At every n: a run dies, a plain one follows. Where two deaths leave the very same lake, one rerun speaks for both.
 * @param before brings the lake to where the dying run begins
 */
async function everyDeath(
  reports: ReportName[],
  options: SyncChange,
  before: (lake: SampleLake) => Promise<void>,
): Promise<number> {
  const met = new Set<string>();
  for (const when of ['before', 'after'] as const) {
    for (let n = 1, died = true; died; n += 1) {
      const lake = first.beside();
      await before(lake);
      died = await dyingRun(lake, n, when, { ...options, request: { reports } });
      const fingerprint = fingerprintOf(lake);
      if (met.has(fingerprint)) continue;
      met.add(fingerprint);
      lake.pass(2 * MINUTE);
      const { status } = await lake.sync({ request: { reports } });
      const wrong = await wrongReports(lake, TODAY, reports);
      const coverage = (await Promise.all(reports.map((report) => wrongCoverage(lake, report)))).flat();
      expect({ when, n, status, wrong, coverage }).toEqual({
        when,
        n,
        status: 'complete',
        wrong: {},
        coverage: [],
      });
      expect(n).toBeLessThan(1000);
    }
  }
  return met.size;
}

describe('a process that dies before or after any operation on the lake', () => {
  it.each(groups)(
    'I4: at its first run loses nothing: a plain rerun ends in the right lake (%s)',
    async (...reports) => {
      expect(await everyDeath(reports, {}, async () => {})).toBeGreaterThan(10);
    },
  );
});
