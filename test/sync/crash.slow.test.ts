import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReportName, restate } from '../../sample/brand.ts';
import { diesAtN, diesAtNCatalog, ProcessDied } from '../fakes/dies-at-n-store.ts';
import {
  HOUR,
  NO_TIME,
  coverageOf,
  entriesOf,
  MINUTE,
  type SampleLake,
  type SyncChange,
  sampleLake,
  syncUntilComplete,
  unknowing,
  wrongReports,
} from './sample-lake.ts';

const NOW = '2026-03-01T17:00:00Z';
const [YESTERDAY, TODAY] = ['2026-02-28', '2026-03-01'];

const groups: { reports: ReportName[] }[] = [
  { reports: ['clicks_list', 'clicks_detail'] },
  { reports: ['order_list'] },
  { reports: ['transaction_list'] },
  { reports: ['amazon_attribution_report'] },
];

let service: SampleLake;
let smallPages: SampleLake;
beforeAll(async () => {
  // Two days in two months: each has a ledger and a coverage of its own.
  const options = { now: NOW, recordsTo: '2026-03-01T22:00:00Z', startDate: '2026-02-28' };
  service = await sampleLake({ ...options, clicksPerDay: 4 });
  smallPages = await sampleLake({ ...options, clicksPerDay: 4, readings: { pageCap: 2 } });
});
afterAll(() => Promise.all([service.close(), smallPages.close()]));

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
  const objects = [...store.objects].map(([key, { body }]) => `${key} ${hash('md5', body)}`);
  const pointers = [...catalog.pointers].map((pointer) => pointer.join(' '));
  return hash('md5', [...objects, ...pointers].sort().join('\n'));
}

/** What `coverage` says otherwise than the ledgers. */
async function coverageDiffers(lake: SampleLake, reports: ReportName[]): Promise<unknown[]> {
  return (await Promise.all(reports.map((report) => wrongCoverage(lake, report)))).flat();
}

async function wrongCoverage(lake: SampleLake, report: ReportName): Promise<unknown[]> {
  const rows = await coverageOf(lake, report);
  const said = Object.entries(rows).map(([day, { state, digest }]) => [day, state, digest]);
  const meant = (await entriesOf(lake, report)).map(([day, { committed }]) => [
    day,
    committed?.state === 'closed' ? 'complete' : 'open',
    committed?.digest,
  ]);
  return JSON.stringify(said) === JSON.stringify(meant) ? [] : [{ said, meant }];
}

/**
 * At every n: a run dies, plain ones follow. Where two deaths leave the very same lake, one rerun speaks for both.
 * @param begin the lake as the dying run finds it
 * @returns how many different lakes the deaths have left
 */
async function everyDeath(
  begin: () => SampleLake,
  reports: ReportName[],
  options: SyncChange,
  goOn: (lake: SampleLake) => Promise<unknown>,
): Promise<number> {
  const met = new Set<string>();
  const leftBefore: string[] = [];
  for (const when of ['before', 'after'] as const) {
    for (let n = 1, died = true; died; n += 1) {
      // An operation that changes nothing leaves the same lake behind it as before it.
      if (when === 'after' && leftBefore[n] === leftBefore[n + 1]) continue;
      const lake = begin();
      died = await dyingRun(lake, n, when, options);
      const fingerprint = fingerprintOf(lake);
      if (when === 'before') leftBefore[n] = fingerprint;
      if (met.has(fingerprint)) continue;
      met.add(fingerprint);
      lake.pass(2 * MINUTE);
      await goOn(lake);
      const wrong = await wrongReports(lake, TODAY, reports);
      const coverage = await coverageDiffers(lake, reports);
      expect({ when, n, wrong, coverage }).toEqual({ when, n, wrong: {}, coverage: [] });
      expect(n).toBeLessThan(1000);
    }
  }
  return met.size;
}

describe('a process that dies before or after any operation on the lake', () => {
  it.each(groups)('I4: loses nothing in its first run: $reports', async ({ reports }) => {
    const request = { reports };
    const begin = () => service.beside();
    const goOn = async (lake: SampleLake) =>
      expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect(await everyDeath(begin, reports, { scope: request }, goOn)).toBeGreaterThan(10);
  });

  it.each(groups.slice(0, 2))(
    'I4: loses nothing where some hours later the open day is read again: $reports',
    async ({ reports }) => {
      const request = { reports };
      const published = service.beside();
      await published.sync({ scope: request });
      const { nowMs } = published;
      const begin = () => {
        const lake = published.beside('copied');
        lake.nowMs = nowMs + 4 * HOUR;
        return lake;
      };
      const goOn = async (lake: SampleLake) =>
        expect((await lake.sync({ scope: request })).status).toBe('complete');
      expect(await everyDeath(begin, reports, { scope: request }, goOn)).toBeGreaterThan(5);
    },
  );

  it('I4: a chunk that it had stored and not named is not taken for one of the next run', async () => {
    const reports: ReportName[] = ['order_list'];
    const hasChunk = ({ store }: SampleLake) =>
      [...store.objects.keys()].some((key) => key.includes('/chunk-'));
    let lake = service.beside();
    for (let n = 1; !hasChunk(lake); n += 1) {
      lake = service.beside();
      await dyingRun(lake, n, 'after', { scope: { reports } });
    }
    for (const day of [YESTERDAY, TODAY])
      restate(lake.brand, 'order_list', day, (held) =>
        held.map(({ at, record }) => ({ at, record: { ...record, status: 'restated' } })),
      );
    lake.pass(2 * MINUTE);
    expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, reports)).toEqual({});
  });

  it('I4: loses nothing where a range is read again, in a month in which nothing else is due', async () => {
    const reports: ReportName[] = ['clicks_list'];
    const published = service.beside();
    await published.sync({ scope: { reports } });
    restate(published.brand, 'clicks_list', YESTERDAY, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, referrer: 'restated' } })),
    );
    const { nowMs } = published;
    const begin = () => {
      const lake = published.beside('copied');
      lake.nowMs = nowMs + HOUR;
      return lake;
    };
    const options = { scope: { reports, from: YESTERDAY, to: YESTERDAY } };
    const goOn = async (lake: SampleLake) => {
      // Where the run died before it had claimed the day, nobody knows that it is to be read again.
      expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
      const before = await coverageDiffers(lake, reports);
      expect(before).toEqual([]);
      expect((await lake.sync(options)).status).toBe('complete');
    };
    expect(await everyDeath(begin, reports, options, goOn)).toBeGreaterThan(5);
  });

  it.each(groups.slice(0, 3))(
    'I4: loses nothing in the middle of a day that runs of a page each read: $reports',
    async ({ reports }) => {
      const options = { scope: { reports }, deadline: NO_TIME };
      const begun = smallPages.beside();
      for (let runs = 0; runs < 4; runs += 1) await begun.sync(options);
      const { nowMs } = begun;
      const begin = () => {
        const lake = begun.beside('copied');
        lake.nowMs = nowMs;
        return lake;
      };
      const goOn = (lake: SampleLake) => syncUntilComplete(lake, options);
      expect(await everyDeath(begin, reports, options, goOn)).toBeGreaterThan(3);
    },
  );
});
