import { describe, expect, it } from '@jest/globals';
import { diesAtN, diesAtNCatalog, ProcessDied } from '../fakes/dies-at-n-store.ts';
import { type SampleLake, sampleLake, wrongReports } from './sample-lake.ts';

const NOW = '2026-03-10T15:00:00Z';
const MINUTE = 60_000;

async function smallLake(): Promise<SampleLake> {
  return sampleLake({ now: NOW, startDate: '2026-03-09', clicksPerDay: 3 });
}

/** A run whose process dies at its n-th operation on the lake. @returns whether it died */
async function dyingRun(lake: SampleLake, n: number, when: 'before' | 'after'): Promise<boolean> {
  const store = diesAtN(lake.store, n, { when });
  const catalog = diesAtNCatalog(lake.catalog, store);
  const runs = { enter: async () => async () => {}, isGone: async () => false };
  try {
    await lake.sync({ lake: { store, catalog, runs } });
  } catch (error) {
    if (!(error instanceof ProcessDied)) throw error;
  }
  return store.life.dead;
}

describe('a process that dies', () => {
  it.each(['before', 'after'] as const)(
    'I4: %s any operation on the lake loses nothing: a plain rerun ends in the right lake',
    async (when) => {
      let died = true;
      for (let n = 1; died; n += 1) {
        const lake = await smallLake();
        died = await dyingRun(lake, n, when);
        lake.nowMs += 2 * MINUTE;
        const { status } = await lake.sync();
        expect({ n, status, wrong: await wrongReports(lake, '2026-03-10') }).toEqual({ n, status: 'complete', wrong: {} });
        await lake.close();
        expect(n).toBeLessThan(1000);
      }
    },
    120_000,
  );
});
