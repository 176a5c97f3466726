import { describe, expect, it } from '@jest/globals';
import { MINUTE_MS } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { rateBudgetKey } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { ledgerEntries, wrongReports } from './lake-contents.ts';
import { BRAND, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const REPORT = 'order_list';
const KEY = rateBudgetKey(BRAND);
/** More than a run of a few minutes takes: a run that does not end fails at this limit. */
const MAX_READS = 1_000;

const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: '2026-03-09', reports: [REPORT] });

/** The store of a lake in which `rates/` is read-only. */
function withoutRates(store: ObjectStore): ObjectStore {
  const denied = async () => {
    throw new BrandReportsError('config', 'aws_refused', 'access to rates/ is denied');
  };
  return {
    ...store,
    put: (key, body, precondition) => (key === KEY ? denied() : store.put(key, body, precondition)),
  };
}

/** The store of a lake in which another run has the whole rate, and stays alive. */
function withGreedyRun(store: ObjectStore): ObjectStore {
  let reads = 0;
  return {
    ...store,
    async get(key) {
      if (key !== KEY) return store.get(key);
      reads += 1;
      if (reads > MAX_READS) throw new Error('the run does not end');
      const greedy = { rate: 1000, wants: 1000, limit: 1000, renewals: reads };
      const budget = { version: 1, runs: { greedy }, recentWrites: [] };
      return { body: Buffer.from(JSON.stringify(budget)), etag: String(reads) };
    },
    put: async (key, body, precondition) =>
      key === KEY ? { etag: String(reads) } : store.put(key, body, precondition),
  };
}

describe('a run that gets nothing of the rate', () => {
  it.each([
    ['when its time is over', 5 * MINUTE_MS, 5 * MINUTE_MS],
    ['after a minute if it has no time', 0, MINUTE_MS],
  ])(
    'ends %s: its days are left to the next run, and no day has failed',
    async (_name, timeMs, endsAfterMs) => {
      const ran = sample.emptyLake();
      const startMs = ran.service.now().getTime();
      const requests = ran.service.requests.length;
      const { status, reports } = await ran.sync({
        lake: { store: withGreedyRun(ran.store), catalog: ran.catalog, runs: blindRegistry },
        deadline: { softMs: startMs + timeMs, hardMs: Number.POSITIVE_INFINITY },
      });
      expect(status).toBe('incomplete');
      expect(ran.service.now().getTime() - startMs).toBe(endsAfterMs);
      expect(ran.service.requests).toHaveLength(requests);
      expect(reports.map(({ days, error }) => [days, error])).toEqual([[[], undefined]]);
      for (const [, { failure }] of await ledgerEntries(ran, REPORT)) expect(failure).toBeUndefined();
      expect((await ran.sync()).status).toBe('complete');
      expect(await wrongReports(ran, '2026-03-10', [REPORT])).toEqual({});
    },
  );
});

describe('a run that may not share the rate', () => {
  it('reports it and leaves its days to the next run, and no day has failed', async () => {
    const ran = sample.emptyLake();
    const requests = ran.service.requests.length;
    const denied = { store: withoutRates(ran.store), catalog: ran.catalog, runs: blindRegistry };
    const { status, reports } = await ran.sync({ lake: denied });
    expect(status).toBe('failed');
    expect(ran.service.requests).toHaveLength(requests);
    const [report] = reports;
    expect(report?.error).toMatchObject({ kind: 'config', code: 'rate_unavailable' });
    expect(report?.error?.message).toContain('access to rates/ is denied');
    expect(report?.days.map(({ outcome }) => outcome)).toEqual(['pending', 'pending']);
    for (const [, { failure }] of await ledgerEntries(ran, REPORT)) expect(failure).toBeUndefined();
    expect((await ran.sync()).status).toBe('complete');
    expect(await wrongReports(ran, '2026-03-10', [REPORT])).toEqual({});
  });
});
