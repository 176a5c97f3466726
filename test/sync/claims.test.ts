import { describe, expect, it } from '@jest/globals';
import { gatedStore } from '../fakes/gated-store.ts';
import { withoutLease } from '../fakes/without-lease.ts';
import { ledgerEntry, outcomesOf, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const NOW = '2026-03-10T15:00:00Z';
const [EARLIER, TODAY] = ['2026-03-09', '2026-03-10'];
const scope = { reports: ['order_list'] };

const sample = sharedLakes({
  now: NOW,
  startDate: EARLIER,
  clicksPerDay: 8,
  interpretations: { pageCap: 2 },
});

/** A run that waits in the middle of a day until the test calls `letGo`. */
async function slowRun(lake: SampleLake, holds: (key: string) => boolean) {
  const gate = gatedStore(lake.store, holds);
  const done = lake.sync({ scope, lake: lake.over(withoutLease(gate.store)) });
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

describe('the claim of a day', () => {
  it.each([
    ['while pages are staged', inChunk],
    ['while a snapshot is built', inSnapshot],
  ])('I5: lost %s leaves the day to the run that took it over', async (_name, place) => {
    const lake = sample.emptyLake();
    const holder = await slowRun(lake, place(TODAY));
    await lake.sync({ scope });
    const after = await ledgerEntry(lake, 'order_list', TODAY);
    holder.letGo();
    expect(outcomesOf(await holder.done, 'order_list')[TODAY]).toBe('busy');
    expect(await ledgerEntry(lake, 'order_list', TODAY)).toEqual(after);
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
