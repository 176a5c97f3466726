import { describe, expect, it } from '@jest/globals';
import { sampleLake, wrongReports } from './sample-lake.ts';

describe('a sync', () => {
  it('brings exactly what the service holds of every day', async () => {
    const lake = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: '2026-03-05', clicksPerDay: 45 });
    const { status } = await lake.sync();
    expect({ status, wrong: await wrongReports(lake, '2026-03-10') }).toEqual({
      status: 'complete',
      wrong: {},
    });
    await lake.close();
  });
});
