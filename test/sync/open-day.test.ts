import { describe, expect, it } from '@jest/globals';
import { type ReportName, restate } from '../../sample/brand.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { ledgerEntry, publishedDays, requestsOf, wrongReports } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const TODAY = '2026-03-09';
const TOMORROW = '2026-03-10';
/** The end of today in New York. */
const END = Date.parse('2026-03-10T04:00:00Z');
const scope = { reports: ['clicks_list', 'clicks_detail'] };

const sample = sharedLakes({
  now: '2026-03-09T12:00:00Z',
  recordsTo: '2026-03-10T12:00:00Z',
  startDate: TODAY,
  clicksPerDay: 60,
});

/** Adds a click and its detail, which the service returns from now on. */
function addClick({ brand }: SampleLake, at: number, id: string): void {
  const record = { id, pbtid: '', publisher_id: '1234', created_time: new Date(at).toUTCString() };
  for (const report of ['clicks_list', 'clicks_detail'] as const)
    brand.records[report] = [...brand.records[report], { at, record }];
}

function startTimesSince(lake: SampleLake, firstRequest: number): number[] {
  return requestsOf(lake, 'clicks_list')
    .slice(firstRequest)
    .map(({ fields }) => Number(fields.start_time) * 1000);
}

async function committedState(lake: SampleLake, report: ReportName = 'clicks_list', day = TODAY) {
  const entry = (await ledgerEntry(lake, report, day)).committed;
  const readTo = entry && new Date(entry.readTo).setMilliseconds(0);
  return { state: entry?.state, readTo, attempt: entry?.attempt };
}

describe('the open day', () => {
  it('I2: has all records up to the time of the run, read in slices that overlap by lateMinutes', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    for (let hours = 1; hours <= 4; hours += 1) {
      const from = lake.nowMs;
      const before = requestsOf(lake, 'clicks_list').length;
      lake.nowMs += HOUR_MS;
      // Records that come up to fifteen minutes late are inside the overlap.
      await lake.sync({ scope });
      expect(new Set(startTimesSince(lake, before))).toEqual(new Set([from - 15 * MINUTE_MS]));
      expect(await committedState(lake)).toMatchObject({ state: 'open', readTo: lake.nowMs });
      expect(await wrongReports(lake, TODAY, ['clicks_list', 'clicks_detail'])).toEqual({});
    }
  });

  it('I2: includes each late record once', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    addClick(lake, lake.nowMs - 10 * MINUTE_MS, '777');
    addClick(lake, lake.nowMs - 20 * MINUTE_MS, '778');
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    const rows = (await ledgerEntry(lake, 'clicks_list', TODAY)).committed?.rows;
    // The record that is twenty minutes late is outside the overlap: the full read that closes the day finds it.
    const held = lake.brand.records.clicks_list.filter(({ at }) => at <= lake.nowMs).length;
    expect(rows).toBe(held - 1);
    lake.nowMs = END + 15 * MINUTE_MS;
    await lake.sync({ scope });
    expect(await committedState(lake)).toMatchObject({ state: 'closed' });
    expect(await wrongReports(lake, TOMORROW, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it.each<{ clicks: string; ids: readonly (string | undefined)[]; whole: boolean }>([
    { clicks: 'that all have an id', ids: ['771', '772', '773'], whole: false },
    { clicks: 'of which one has no id', ids: ['771', undefined, '773'], whole: true },
  ])('I1: has each click once in the overlap of two slices, with clicks $clicks', async ({ ids, whole }) => {
    const lake = sample.emptyLake();
    const start = Date.parse('2026-03-09T04:00:00Z');
    for (const [index, id] of ids.entries()) {
      const at = lake.nowMs - (index + 1) * MINUTE_MS;
      const record = { ...(id && { id }), pbtid: '', created_time: new Date(at).toUTCString() };
      lake.brand.records.clicks_list = [...lake.brand.records.clicks_list, { at, record }];
    }
    await lake.sync({ scope: { reports: ['clicks_list'] } });
    for (let runs = 0; runs < 2; runs += 1) {
      const [from, requested] = [lake.nowMs, requestsOf(lake, 'clicks_list').length];
      lake.nowMs += 5 * MINUTE_MS;
      await lake.sync({ scope: { reports: ['clicks_list'] } });
      const since = whole ? start : from - 15 * MINUTE_MS;
      expect(new Set(startTimesSince(lake, requested))).toEqual(new Set([since]));
      expect(await wrongReports(lake, TODAY, ['clicks_list'])).toEqual({});
    }
  });

  it.each([
    ['a second before its end', END - 1000, 'open', false],
    ['at its end', END, 'open', true],
    ['a second before its late minutes are over', END + 15 * MINUTE_MS - 1000, 'open', true],
    ['when its late minutes are over', END + 15 * MINUTE_MS, 'closed', true],
    ['much later', END + 7 * HOUR_MS, 'closed', true],
  ] as const)('I2: is read in the right state %s', async (_name, atMs, state, whole) => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const { attempt } = await committedState(lake);
    const before = requestsOf(lake, 'clicks_list').length;
    lake.nowMs = atMs;
    await lake.sync({ scope });
    const after = await committedState(lake);
    expect(after.state).toBe(state);
    expect(after.attempt === attempt).toBe(!whole);
    const start = Date.parse('2026-03-09T04:00:00Z');
    expect(startTimesSince(lake, before).includes(start)).toBe(whole);
    expect(await wrongReports(lake, atMs < END ? TODAY : TOMORROW, ['clicks_list'])).toEqual(
      // At midnight itself the new day is still empty: its first second has yet to end.
      atMs === END ? expect.anything() : {},
    );
  });

  it('I2: keeps its last version if the full read that would close it fails', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    lake.nowMs = END - MINUTE_MS;
    await lake.sync({ scope });
    const before = await committedState(lake);
    const digests = await publishedDays(lake, 'clicks_list');
    lake.nowMs = END + HOUR_MS;
    const removeFault = lake.service.addFault({
      on: { action: 'report/clicks_list', nth: 2, times: 100 },
      fault: { kind: 'html' },
    });
    expect((await lake.sync({ scope })).status).toBe('failed');
    expect(await committedState(lake)).toEqual(before);
    expect((await publishedDays(lake, 'clicks_list')).get(TODAY)).toBe(digests.get(TODAY));
    removeFault();
    lake.nowMs += HOUR_MS;
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await committedState(lake)).toMatchObject({ state: 'closed' });
    expect(await wrongReports(lake, TOMORROW, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it('I2: keeps its records if a slice fails, and the next slice begins where the last good slice ended', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const known = lake.nowMs;
    lake.nowMs += HOUR_MS;
    const removeFault = lake.service.addFault({
      on: { action: 'report/clicks_list' },
      fault: { kind: 'missing_list' },
    });
    await lake.sync({ scope });
    expect(await committedState(lake)).toMatchObject({ state: 'open', readTo: known });
    removeFault();
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    expect(await committedState(lake)).toMatchObject({ state: 'open', readTo: lake.nowMs });
    expect(await wrongReports(lake, TODAY, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it('I2: is read in full for orders, which may change after a reading', async () => {
    const lake = sample.emptyLake();
    const orders = { reports: ['order_list'] };
    await lake.sync({ scope: orders });
    restate(lake.brand, 'order_list', TODAY, (held) =>
      held.slice(1).map(({ at, record }) => ({ at, record: { ...record, status: 'void' } })),
    );
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope: orders });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });
});
