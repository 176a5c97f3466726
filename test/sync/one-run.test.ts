import { describe, expect, it } from '@jest/globals';
import { MINUTE_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { leaseKey } from '../../shared/lake/paths.ts';
import type { ObjectStore, RunRegistry, SendRequest } from '../../shared/ports.ts';
import { gatedStore } from '../fakes/gated-store.ts';
import { ledgerEntries, outcomesOf, wrongReports } from './lake-contents.ts';
import { BRAND, NO_TIME, type SampleLake, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const REPORT = 'order_list';
const KEY = leaseKey(BRAND);
const scope = { reports: [REPORT] };
const TODAY = '2026-03-10';

const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: '2026-03-09', reports: [REPORT] });

/** The store of a lake whose holder renews its lease whenever another run reads it. */
function withHolder(store: ObjectStore, name = 'laptop/7'): ObjectStore {
  let reads = 0;
  return {
    ...store,
    async get(key) {
      if (key !== KEY) return store.get(key);
      reads += 1;
      const lease = { holder: { run: 'other', name }, recentWrites: [String(reads)] };
      return { body: Buffer.from(JSON.stringify(lease)), etag: String(reads) };
    },
    put: async (key, ...rest) => (key === KEY ? 'conflict' : store.put(key, ...rest)),
  };
}

const holderOf = ({ store }: SampleLake) =>
  JSON.parse(Buffer.from(store.objects.get(KEY)?.body ?? []).toString()).holder;

/** By the clock of the service. */
function leaseOver(lake: SampleLake, store: ObjectStore, runs: RunRegistry = blindRegistry) {
  return { store, catalog: lake.catalog, runs };
}

describe('a run beside another run of its brand', () => {
  it.each([
    ['for two minutes', undefined, 2 * MINUTE_MS],
    ['no longer than it has time', { softMs: 30_000, hardMs: 50_000 }, 30_000],
  ])(
    'waits %s, is busy with the name of the holder, and records no failure',
    async (_name, limits, waitsMs) => {
      const lake = sample.emptyLake();
      const startMs = lake.service.now().getTime();
      const requests = lake.service.requests.length;
      const deadline = limits && { softMs: startMs + limits.softMs, hardMs: startMs + limits.hardMs };
      const ran = await lake.sync({
        lake: leaseOver(lake, withHolder(lake.store)),
        ...(deadline && { deadline }),
      });
      expect(ran.status).toBe('busy');
      expect(ran.reports).toMatchObject([
        {
          status: 'busy',
          days: [],
          error: { kind: 'conflict', message: expect.stringContaining('laptop/7') },
        },
      ]);
      expect(lake.service.now().getTime() - startMs).toBe(waitsMs);
      expect(lake.service.requests).toHaveLength(requests);
      expect([...lake.store.objects.keys()].filter((key) => key.startsWith('ledger/order_list'))).toEqual([]);
      expect((await lake.sync()).status).toBe('complete');
      expect(await wrongReports(lake, TODAY, [REPORT])).toEqual({});
    },
  );

  it.each([
    ['due days', {}],
    ['a range', { from: '2026-03-09', to: '2026-03-10' }],
  ])('reads %s after the other run has ended, and nothing twice', async (_name, range) => {
    const lake = sample.emptyLake();
    const gate = gatedStore(lake.store, (key) => key.includes('chunk-'));
    const first = lake.sync({ scope, lake: lake.over(gate.store) });
    await gate.reached;
    const held = holderOf(lake);
    // The other run waits in real time, because its clock would pass the minute after which a holder counts as dead.
    const waiting = lake.sync({
      scope: { ...scope, ...range },
      lake: { ...lake.over(lake.store), runs: { ...blindRegistry, isDead: async () => drained() } },
    });
    gate.letGo();
    const [one, other] = await Promise.all([first, waiting]);
    expect(held).toMatchObject({ run: expect.stringMatching(/^id-/) });
    expect(one.status).toBe('complete');
    expect(outcomesOf(other, REPORT)).toEqual({ '2026-03-09': 'unchanged', '2026-03-10': 'unchanged' });
    expect(holderOf(lake)).toBeUndefined();
    expect(await wrongReports(lake, TODAY, [REPORT])).toEqual({});
  });

  it('does not need the lease for a rebuild', async () => {
    const lake = sample.emptyLake();
    await lake.sync();
    const rebuilt = await lake.rebuild(
      { reports: [REPORT], from: '2026-03-09', to: '2026-03-09' },
      { lake: leaseOver(lake, withHolder(lake.store)) },
    );
    expect(rebuilt.status).toBe('complete');
  });

  it('leaves the other brands of its run alone: they are read, and the result names the busy brand', async () => {
    const lake = sample.emptyLake();
    const { baseUrl } = lake.brand;
    const brands = ['b1', 'b2', BRAND, 'b3'];
    const commonSettings = {
      brands: Object.fromEntries(
        brands.map((name) => [
          name,
          { ...{ baseUrl, service: 'ACME', timeZone: 'UTC' }, startDate: TODAY, secretName: 'x' },
        ]),
      ),
    };
    const ran = await lake.sync({
      commonSettings,
      scope: { ...scope, brands },
      lake: leaseOver(lake, withHolder(lake.store)),
      send: emptyService,
    });
    expect(ran.status).toBe('incomplete');
    expect(ran.reports.map(({ brand: name, status }) => [name, status])).toEqual([
      ['b1', 'complete'],
      ['b2', 'complete'],
      [BRAND, 'busy'],
      ['b3', 'complete'],
    ]);
  });
});

const emptyService: SendRequest = async (_request, { onHeaders }) => {
  onHeaders({});
  return {
    status: 200,
    headers: {},
    body: Buffer.from('{"code":0,"msg":"success","data":{"list":[],"total":0}}'),
  };
};

async function drained(): Promise<false> {
  for (let round = 0; round < 50; round += 1) await new Promise(setImmediate);
  return false;
}

describe('the lease of a brand', () => {
  it.each<[string, Parameters<SampleLake['sync']>[0]]>([
    ['at the end of a run', {}],
    [
      'after an error',
      { credentials: { read: () => Promise.reject(new BrandReportsError('auth', 'refused', 'no')) } },
    ],
    ['when a run is stopped', { signal: AbortSignal.abort() }],
    ['when a run has no time', { deadline: NO_TIME }],
  ])('is free %s', async (_name, options) => {
    const lake = sample.emptyLake();
    await lake.sync(options);
    expect(lake.store.objects.has(KEY) ? holderOf(lake) : undefined).toBeUndefined();
  });

  it('is written twice by a short run', async () => {
    const lake = sample.emptyLake();
    const puts: string[] = [];
    const store: ObjectStore = {
      ...lake.store,
      put: (key, ...rest) => {
        puts.push(key);
        return lake.store.put(key, ...rest);
      },
    };
    await lake.sync({ lake: lake.over(store) });
    expect(puts.filter((key) => key === KEY)).toHaveLength(2);
  });

  it('that may not be written fails the run, but no day', async () => {
    const lake = sample.emptyLake();
    const put: ObjectStore['put'] = (key, ...rest) =>
      key === KEY
        ? Promise.reject(new BrandReportsError('config', 'aws_refused', 'access to leases/ is denied'))
        : lake.store.put(key, ...rest);
    const { status, reports } = await lake.sync({ lake: lake.over({ ...lake.store, put }) });
    expect(status).toBe('failed');
    expect(reports[0]?.error).toMatchObject({ kind: 'config', code: 'lease_unavailable' });
    expect(reports[0]?.error?.message).toContain('access to leases/ is denied');
    for (const [, { failure }] of await ledgerEntries(lake, REPORT)) expect(failure).toBeUndefined();
    expect((await lake.sync()).status).toBe('complete');
  });
});
