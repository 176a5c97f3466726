import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReportName, restate } from '../../sample/brand.ts';
import { numberText } from '../../shared/json.ts';
import {
  HOUR,
  MINUTE,
  type SampleLake,
  entryOf,
  publishedDays,
  requestsOf,
  sampleLake,
  wrongReports,
} from './sample-lake.ts';

const TODAY = '2026-03-09';
const TOMORROW = '2026-03-10';
/** The end of today in New York. */
const END = Date.parse('2026-03-10T04:00:00Z');
const request = { reports: ['clicks_list', 'clicks_detail'] };

let service: SampleLake;
beforeAll(async () => {
  service = await sampleLake({
    now: '2026-03-09T12:00:00Z',
    recordsTo: '2026-03-10T12:00:00Z',
    startDate: TODAY,
    clicksPerDay: 60,
  });
});
afterAll(() => service.close());

/** A click, and its detail, that the service tells of only now. */
function addClick({ brand }: SampleLake, at: number, id: string): void {
  const record = { id, pbtid: '', publisher_id: '1234', created_time: new Date(at).toUTCString() };
  for (const report of ['clicks_list', 'clicks_detail'] as const)
    brand.records[report] = [...brand.records[report], { at, record }];
}

function asked(lake: SampleLake, since: number): number[] {
  return requestsOf(lake, 'clicks_list')
    .slice(since)
    .map(({ fields }) => Number(fields.start_time) * 1000);
}

async function published(lake: SampleLake, report: ReportName = 'clicks_list', day = TODAY) {
  const entry = (await entryOf(lake, report, day)).committed;
  return { state: entry?.state, readTo: entry && Date.parse(entry.readTo), attempt: entry?.attempt };
}

describe('the open day', () => {
  it('I2: is everything known up to the time of the reading, in slices that overlap by lateMinutes', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    for (let hours = 1; hours <= 4; hours += 1) {
      const from = lake.nowMs;
      const before = requestsOf(lake, 'clicks_list').length;
      lake.nowMs += HOUR;
      // What the service tells of ten minutes late is inside the overlap.
      await lake.sync({ scope: request });
      expect(new Set(asked(lake, before))).toEqual(new Set([from - 15 * MINUTE]));
      expect(await published(lake)).toMatchObject({ state: 'open', readTo: lake.nowMs });
      expect(await wrongReports(lake, TODAY, ['clicks_list', 'clicks_detail'])).toEqual({});
    }
  });

  it('I2: takes records in that the service tells of late, and holds each once', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    addClick(lake, lake.nowMs - 10 * MINUTE, '777');
    addClick(lake, lake.nowMs - 20 * MINUTE, '778');
    lake.nowMs += HOUR;
    await lake.sync({ scope: request });
    const rows = (await entryOf(lake, 'clicks_list', TODAY)).committed?.rows;
    // The one told of twenty minutes late is outside: the pass that closes the day brings it.
    const held = lake.brand.records.clicks_list.filter(({ at }) => at <= lake.nowMs).length;
    expect(rows).toBe(held - 1);
    lake.nowMs = END + 15 * MINUTE;
    await lake.sync({ scope: request });
    expect(await published(lake)).toMatchObject({ state: 'closed' });
    expect(await wrongReports(lake, TOMORROW, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it.each([
    ['a second before its end', END - 1000, 'open', false],
    ['at its end', END, 'open', true],
    ['a second before its late minutes are over', END + 15 * MINUTE - 1000, 'open', true],
    ['when its late minutes are over', END + 15 * MINUTE, 'closed', true],
    ['much later', END + 7 * HOUR, 'closed', true],
  ] as const)('I2: read %s', async (_name, atMs, state, whole) => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    const { attempt } = await published(lake);
    const before = requestsOf(lake, 'clicks_list').length;
    lake.nowMs = atMs;
    await lake.sync({ scope: request });
    const after = await published(lake);
    expect(after.state).toBe(state);
    expect(after.attempt === attempt).toBe(!whole);
    const start = Date.parse('2026-03-09T04:00:00Z');
    expect(asked(lake, before).includes(start)).toBe(whole);
    expect(await wrongReports(lake, atMs < END ? TODAY : TOMORROW, ['clicks_list'])).toEqual(
      // One second after midnight is the first at which a day can be asked for.
      atMs === END ? expect.anything() : {},
    );
  });

  it('I2: closes only by a pass of its own: between end and late minutes it is read at every run', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    lake.nowMs = END + 5 * MINUTE;
    await lake.sync({ scope: request });
    addClick(lake, END - 1000, '779');
    lake.nowMs = END + 10 * MINUTE;
    await lake.sync({ scope: request });
    expect(await published(lake)).toMatchObject({ state: 'open' });
    expect(await published(lake, 'clicks_detail')).toMatchObject({ state: 'open' });
    addClick(lake, END - 1000, '780');
    lake.nowMs = END + 16 * MINUTE;
    await lake.sync({ scope: request });
    expect(await published(lake)).toMatchObject({ state: 'closed' });
    expect(await published(lake, 'clicks_detail')).toMatchObject({ state: 'closed' });
    expect(await wrongReports(lake, TOMORROW, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it('I2: keeps its last version where the pass that is to close it fails', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    lake.nowMs = END - MINUTE;
    await lake.sync({ scope: request });
    const before = await published(lake);
    const digests = await publishedDays(lake, 'clicks_list');
    lake.nowMs = END + HOUR;
    const heal = lake.service.addFault({
      on: { action: 'report/clicks_list', nth: 2, times: 100 },
      fault: { kind: 'html' },
    });
    expect((await lake.sync({ scope: request })).status).toBe('failed');
    expect(await published(lake)).toEqual(before);
    expect((await publishedDays(lake, 'clicks_list')).get(TODAY)).toBe(digests.get(TODAY));
    heal();
    lake.nowMs += HOUR;
    expect((await lake.sync({ scope: request })).status).toBe('complete');
    expect(await published(lake)).toMatchObject({ state: 'closed' });
    expect(await wrongReports(lake, TOMORROW, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it('I2: a slice that fails leaves what was known, and the next one begins where that ended', async () => {
    const lake = service.beside();
    await lake.sync({ scope: request });
    const known = lake.nowMs;
    lake.nowMs += HOUR;
    const heal = lake.service.addFault({
      on: { action: 'report/clicks_list' },
      fault: { kind: 'missing_list' },
    });
    await lake.sync({ scope: request });
    expect(await published(lake)).toMatchObject({ state: 'open', readTo: known });
    heal();
    lake.nowMs += HOUR;
    await lake.sync({ scope: request });
    expect(await published(lake)).toMatchObject({ state: 'open', readTo: lake.nowMs });
    expect(await wrongReports(lake, TODAY, ['clicks_list', 'clicks_detail'])).toEqual({});
  });

  it('I2: the clicks’ details are asked for once each while the day is open', async () => {
    const lake = service.beside();
    const ids: unknown[] = [];
    const before = requestsOf(lake, 'clicks_detail').length;
    for (let hours = 0; hours < 4; hours += 1) {
      await lake.sync({ scope: request });
      lake.nowMs += HOUR;
    }
    for (const { fields } of requestsOf(lake, 'clicks_detail').slice(before)) ids.push(numberText(fields.id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe((await entryOf(lake, 'clicks_detail', TODAY)).committed?.rows);
  });

  it('I2: of orders is the whole pass up to now, however an order that is known changes', async () => {
    const lake = service.beside();
    const orders = { reports: ['order_list'] };
    await lake.sync({ scope: orders });
    restate(lake.brand, 'order_list', TODAY, (held) =>
      held.slice(1).map(({ at, record }) => ({ at, record: { ...record, status: 'void' } })),
    );
    lake.nowMs += HOUR;
    await lake.sync({ scope: orders });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });
});
