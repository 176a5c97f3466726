import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunRegistry } from '../../shared/ports.ts';
import { gatedStore } from '../fakes/gated-store.ts';
import {
  MINUTE,
  NO_TIME,
  type SampleLake,
  type SyncChange,
  entryOf,
  outcomesOf,
  requestsOf,
  sampleLake,
  unknowing,
  wrongReports,
} from './sample-lake.ts';

const NOW = '2026-03-10T15:00:00Z';
const [EARLIER, TODAY] = ['2026-03-09', '2026-03-10'];
const request = { reports: ['order_list'] };
const SECOND = 1000;

let service: SampleLake;
beforeAll(async () => {
  service = await sampleLake({ now: NOW, startDate: EARLIER, clicksPerDay: 8, readings: { pageCap: 2 } });
});
afterAll(() => service.close());

/** A run that stays in the midst of a day until it is let go. */
async function slowRun(lake: SampleLake, holds: (key: string) => boolean, options: SyncChange = {}) {
  const gate = gatedStore(lake.store, holds);
  const done = lake.sync({
    scope: request,
    lake: { store: gate.store, catalog: lake.catalog, runs: unknowing },
    ...options,
  });
  await gate.reached;
  await settled();
  return { done, letGo: gate.letGo };
}

/** Lets everything go on that waits for nothing but its turn. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
}

const inSnapshot = (day: string) => (key: string) => key.startsWith(`snapshots/orders/brand=acme/dt=${day}/`);
const inChunk = (day: string) => (key: string) => key.includes(`/dt=${day}/`) && key.includes('chunk-');

describe('a lease', () => {
  it('I5: makes a day busy for another run, which goes on with the others', async () => {
    const lake = service.beside();
    const held = await slowRun(lake, inChunk(TODAY), { scope: { ...request, from: TODAY, to: TODAY } });
    const other = await lake.sync({ scope: request });
    expect(outcomesOf(other, 'order_list')).toEqual({ [TODAY]: 'busy', [EARLIER]: 'published' });
    expect(other.status).toBe('incomplete');
    held.letGo();
    expect((await held.done).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I5: makes a run busy that finds every due day held', async () => {
    const lake = service.beside();
    const held = await slowRun(lake, inChunk(TODAY));
    const other = await lake.sync({ scope: { ...request, from: TODAY, to: TODAY } });
    expect(other.status).toBe('busy');
    held.letGo();
    expect((await held.done).status).toBe('complete');
  });

  it.each([
    ['while pages are staged', inChunk],
    ['while a snapshot is built', inSnapshot],
  ])('I5: is renewed %s, however long that takes', async (_name, place) => {
    const lake = service.beside();
    const held = await slowRun(lake, place(TODAY));
    for (let minutes = 0; minutes < 5; minutes += 1) {
      for (let times = 0; times < 4; times += 1) {
        lake.pass(15 * SECOND);
        await settled();
      }
      const other = await lake.sync({ scope: { ...request, from: TODAY, to: TODAY } });
      expect({ minutes, status: other.status }).toEqual({ minutes, status: 'busy' });
    }
    held.letGo();
    expect((await held.done).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each([
    ['is kept 59 s after its last renewal', 59 * SECOND, 'busy'],
    ['is taken over 60 s after it', 60 * SECOND, 'complete'],
  ])('I5: %s', async (_name, ms, status) => {
    const lake = service.beside();
    const held = await slowRun(lake, inChunk(TODAY));
    lake.nowMs += ms;
    const options = { scope: { ...request, from: TODAY, to: TODAY } };
    expect((await lake.sync(options)).status).toBe(status);
    held.letGo();
    const first = await held.done;
    expect(first.status).toBe(status === 'busy' ? 'complete' : 'incomplete');
    await lake.sync({ scope: request });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it.each([
    ['while pages are staged', inChunk],
    ['while a snapshot is built', inSnapshot],
  ])('I5: lost %s, the day is left to the run that has taken it over', async (_name, place) => {
    const lake = service.beside();
    const held = await slowRun(lake, place(TODAY));
    lake.nowMs += 2 * MINUTE;
    await lake.sync({ scope: request });
    const after = await entryOf(lake, 'order_list', TODAY);
    held.letGo();
    expect(outcomesOf(await held.done, 'order_list')[TODAY]).toBe('busy');
    expect(await entryOf(lake, 'order_list', TODAY)).toEqual(after);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I5: lost, a failure of the late run does not mark the day that another one has published', async () => {
    const lake = service.beside();
    const held = await slowRun(lake, inChunk(TODAY));
    lake.nowMs += 2 * MINUTE;
    await lake.sync({ scope: request });
    const heal = lake.service.addFault({ on: { action: 'report/order_list' }, fault: { kind: 'html' } });
    held.letGo();
    await held.done;
    heal();
    expect((await entryOf(lake, 'order_list', TODAY)).failure).toBeUndefined();
  });

  it('I5: is taken over at once where the registry says that its run is gone', async () => {
    const lake = service.beside();
    const held = await slowRun(lake, inChunk(TODAY));
    const runs: RunRegistry = { ...unknowing, isDead: async () => true };
    const other = await lake.sync({
      scope: request,
      lake: { store: lake.store, catalog: lake.catalog, runs },
    });
    expect(other.status).toBe('complete');
    held.letGo();
    await held.done;
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('is given back by a run that stops in good order: the next one goes on at once, behind what is staged', async () => {
    const lake = service.beside();
    expect((await lake.sync({ scope: request, deadline: NO_TIME })).status).toBe('incomplete');
    const before = requestsOf(lake, 'order_list').length;
    expect((await lake.sync({ scope: { ...request, from: TODAY, to: TODAY } })).status).toBe('complete');
    const pages = requestsOf(lake, 'order_list')
      .slice(before)
      .map(({ fields }) => fields.page_number);
    // The last staged page is asked again, to see that it still leads on.
    expect(pages.slice(0, 2).map(Number)).toEqual([1, 2]);
    expect(await wrongReports({ ...lake, startDate: TODAY }, TODAY, ['order_list'])).toEqual({});
  });

  it('is given back where requests are stopped that are under way', async () => {
    const lake = service.beside();
    const stop = new AbortController();
    const onlyToday = { ...request, from: TODAY, to: TODAY };
    const heal = lake.service.addFault({
      on: { action: 'report/order_list', nth: 2 },
      fault: { kind: 'hang' },
    });
    const before = requestsOf(lake, 'order_list').length;
    const run = lake.sync({ scope: onlyToday, signal: stop.signal });
    while (requestsOf(lake, 'order_list').length < before + 2) await settled();
    stop.abort();
    const stopped = await run;
    heal();
    expect({ status: stopped.status, days: outcomesOf(stopped, 'order_list') }).toEqual({
      status: 'incomplete',
      days: { [TODAY]: 'pending' },
    });
    expect((await entryOf(lake, 'order_list', TODAY)).claim?.runId).toBeNull();
    expect((await lake.sync({ scope: onlyToday })).status).toBe('complete');
  });
});
