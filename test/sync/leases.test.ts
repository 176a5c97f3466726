import { describe, expect, it } from '@jest/globals';
import { MINUTE_MS } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import type { RunRegistry } from '../../shared/ports.ts';
import { gatedStore } from '../fakes/gated-store.ts';
import { withoutLease } from '../fakes/without-lease.ts';
import { ledgerEntry, outcomesOf, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, type SyncOptions, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const NOW = '2026-03-10T15:00:00Z';
const [EARLIER, TODAY] = ['2026-03-09', '2026-03-10'];
const scope = { reports: ['order_list'] };
const SECOND = 1000;

const sample = sharedLakes({
  now: NOW,
  startDate: EARLIER,
  clicksPerDay: 8,
  interpretations: { pageCap: 2 },
});

/** A run that waits in the middle of a day until the test calls `letGo`. */
async function slowRun(lake: SampleLake, holds: (key: string) => boolean, options: SyncOptions = {}) {
  const gate = gatedStore(lake.store, holds);
  const done = lake.sync({
    scope,
    lake: lake.over(withoutLease(gate.store)),
    ...options,
  });
  await gate.reached;
  await drainEventLoop();
  return { done, letGo: gate.letGo };
}

/** Lets all pending callbacks of the event loop run. */
async function drainEventLoop(): Promise<void> {
  for (let round = 0; round < 200; round += 1) await new Promise(setImmediate);
}

const inSnapshot = (day: string) => (key: string) => key.startsWith(`snapshots/orders/brand=acme/dt=${day}/`);
const inChunk = (day: string) => (key: string) => key.includes(`/dt=${day}/`) && key.includes('chunk-');

describe('a lease', () => {
  it('I5: makes its day busy for another run, which reads the other days', async () => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, inChunk(TODAY), { scope: { ...scope, from: TODAY, to: TODAY } });
    const other = await lake.sync({ scope });
    expect(outcomesOf(other, 'order_list')).toEqual({ [TODAY]: 'busy', [EARLIER]: 'published' });
    expect(other.status).toBe('incomplete');
    holder.letGo();
    expect((await holder.done).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I5: makes a run busy if other runs hold every due day', async () => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, inChunk(TODAY));
    const other = await lake.sync({ scope: { ...scope, from: TODAY, to: TODAY } });
    expect(other.status).toBe('busy');
    holder.letGo();
    expect((await holder.done).status).toBe('complete');
  });

  it('is held even if its first renewal fails before a page is staged', async () => {
    const lake = sample.emptyLake();
    let failures = 0;
    const put: typeof lake.store.put = (key, ...rest) => {
      if (failures > 0 || !key.endsWith('progress.json')) return lake.store.put(key, ...rest);
      failures += 1;
      throw new BrandReportsError('transient', 'network', 'the store does not answer');
    };
    const gate = gatedStore({ ...lake.store, put }, inChunk(TODAY));
    const options = { lake: lake.over(gate.store) };
    const done = lake.sync({ scope: { ...scope, from: TODAY, to: TODAY }, ...options });
    await gate.reached;
    lake.advance(20 * SECOND);
    await drainEventLoop();
    gate.letGo();
    expect(await done).toMatchObject({ status: 'complete' });
    expect(failures).toBe(1);
  });

  it.each([
    ['while pages are staged', inChunk],
    ['while a snapshot is built', inSnapshot],
  ])('I5: is renewed %s, however long it takes', async (_name, place) => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, place(TODAY));
    for (let minutes = 0; minutes < 5; minutes += 1) {
      for (let times = 0; times < 4; times += 1) {
        lake.advance(15 * SECOND);
        await drainEventLoop();
      }
      const other = await lake.sync({ scope: { ...scope, from: TODAY, to: TODAY } });
      expect({ minutes, status: other.status }).toEqual({ minutes, status: 'busy' });
    }
    holder.letGo();
    expect((await holder.done).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each([
    ['keeps others off 30 s', 30 * SECOND, 'busy'],
    ['lets others take over 60 s', 60 * SECOND, 'complete'],
  ])('I5: %s after its last renewal', async (_name, ms, status) => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, inChunk(TODAY));
    lake.nowMs += ms;
    const options = { scope: { ...scope, from: TODAY, to: TODAY } };
    expect((await lake.sync(options)).status).toBe(status);
    holder.letGo();
    const first = await holder.done;
    expect(first.status).toBe(status === 'busy' ? 'complete' : 'incomplete');
    await lake.sync({ scope });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each([
    ['while pages are staged', inChunk],
    ['while a snapshot is built', inSnapshot],
  ])('I5: lost %s leaves the day to the run that took it over', async (_name, place) => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, place(TODAY));
    lake.nowMs += 2 * MINUTE_MS;
    await lake.sync({ scope });
    const after = await ledgerEntry(lake, 'order_list', TODAY);
    holder.letGo();
    expect(outcomesOf(await holder.done, 'order_list')[TODAY]).toBe('busy');
    expect(await ledgerEntry(lake, 'order_list', TODAY)).toEqual(after);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I5: is taken over at once if the registry lists its run as dead', async () => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, inChunk(TODAY));
    const runs: RunRegistry = { ...blindRegistry, isDead: async () => true };
    const other = await lake.sync({
      scope,
      lake: { store: lake.store, catalog: lake.catalog, runs },
    });
    expect(other.status).toBe('complete');
    holder.letGo();
    await holder.done;
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('is released by a run whose time is up: the next run resumes at once after the staged pages', async () => {
    const lake = sample.emptyLake();
    expect((await lake.sync({ scope, deadline: NO_TIME })).status).toBe('incomplete');
    const before = requestsOf(lake, 'order_list').length;
    expect((await lake.sync({ scope: { ...scope, from: TODAY, to: TODAY } })).status).toBe('complete');
    const pages = requestsOf(lake, 'order_list')
      .slice(before)
      .map(({ fields }) => fields.page_number);
    // The run requests the last staged page again, to check that its continuation is the same.
    expect(pages.slice(0, 2).map(Number)).toEqual([1, 2]);
    expect(await wrongReports({ ...lake, startDate: TODAY }, TODAY, ['order_list'])).toEqual({});
  });

  it('is released if a run is stopped while requests are in flight', async () => {
    const lake = sample.emptyLake();
    const stop = new AbortController();
    const onlyToday = { ...scope, from: TODAY, to: TODAY };
    const removeFault = lake.service.addFault({
      // The first request is for the service's time.
      on: { action: 'report/order_list', nth: 3 },
      fault: { kind: 'hang' },
    });
    const before = requestsOf(lake, 'order_list').length;
    const run = lake.sync({ scope: onlyToday, signal: stop.signal });
    while (requestsOf(lake, 'order_list').length < before + 2) await drainEventLoop();
    stop.abort();
    const stopped = await run;
    removeFault();
    expect({ status: stopped.status, days: outcomesOf(stopped, 'order_list') }).toEqual({
      status: 'incomplete',
      days: { [TODAY]: 'pending' },
    });
    expect((await ledgerEntry(lake, 'order_list', TODAY)).claim?.runId).toBeNull();
    expect((await lake.sync({ scope: onlyToday })).status).toBe('complete');
  });
});
