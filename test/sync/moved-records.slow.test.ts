import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { numberText } from '../../shared/json.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import { coverageOf, ledgerEntry, outcomesOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, sampleLake, syncUntilComplete } from './sample-lake.ts';

const DAY = '2026-02-20';
/** An age at which the day is read once a week. */
const refresh = [{ untilAgeDays: 60, every: '7 days' }];
const scope = { reports: ['order_list'] };

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    recordsTo: '2026-02-21T20:00:00Z',
    startDate: DAY,
    clicksPerDay: 20,
    interpretations: { pageCap: 3 },
    brandSettings: {
      reports: {
        order_list: { refresh, watchUnsettledDays: 0 },
        transaction_list: { refresh, watchUnsettledDays: 0 },
      },
    },
  });
});
afterAll(() => sample.close());

/** The first order is removed between the first and the second page of the day: the fourth falls through. */
function removeOneBetweenPages(lake: SampleLake): () => boolean {
  let isRemoved = false;
  const dayStart = String(Date.parse('2026-02-20T05:00:00Z') / 1000);
  lake.service.addFault({
    on: {
      action: 'report/order_list',
      when({ fields: { start_time, page_number } }) {
        if (isRemoved || numberText(start_time) !== dayStart || numberText(page_number) !== '2') return false;
        isRemoved = true;
        restate(lake.brand, 'order_list', DAY, (held) =>
          held.toSorted((a, b) => (String(a.record.transid) < String(b.record.transid) ? -1 : 1)).slice(1),
        );
        return false;
      },
    },
    fault: { kind: 'html' },
  });
  return () => isRemoved;
}

describe('an order that is removed while pages are read', () => {
  it('I11: makes another one fall through for one run, whatever the age of the day', async () => {
    const lake = sample.emptyLake();
    const isRemoved = removeOneBetweenPages(lake);
    await lake.sync({ scope });
    expect(isRemoved()).toBe(true);
    expect(await wrongReports(lake, '2026-03-10', ['order_list'])).not.toEqual({});
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.confirmed).toBe(false);
    lake.nowMs += HOUR_MS;
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrongReports(lake, '2026-03-10', ['order_list'])).toEqual({});
  });
});

describe('a day with a field that differs in every answer', () => {
  it('I11: is given up behind its policy, once and not silently, and a range reads it again', async () => {
    const lake = sample.emptyLake();
    const findings: LogEvent[] = [];
    const log = (event: LogEvent) => void (event.event === 'day_finding' && findings.push(event));
    const ages: number[] = [];
    for (let run = 0; run < 45; run += 1) {
      restate(lake.brand, 'order_list', DAY, (held) =>
        held.map(({ at, record }) => ({ at, record: { ...record, answered: `run ${run}` } })),
      );
      const read = outcomesOf(await lake.sync({ scope, log }), 'order_list');
      if (DAY in read) ages.push(Math.floor((lake.nowMs - Date.parse(DAY)) / DAY_MS));
      lake.nowMs += run < 6 ? HOUR_MS : run < 14 ? 5 * DAY_MS : DAY_MS;
    }
    expect(ages.length).toBeLessThan(20);
    expect(ages.at(-1)).toBeGreaterThan(60);
    expect(ages.at(-1)).toBeLessThan(90);
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed).toMatchObject({
      settled: true,
      lastReadingGivenUp: true,
      disagreements: 3,
    });
    expect(findings).toMatchObject([{ day: DAY, check: 'never_agrees' }]);
    expect((await coverageOf(lake, 'order_list'))[DAY]).toMatchObject({
      state: 'complete',
      findings: 'never_agrees (3 in a row differed)',
    });
    for (let reading = 0; reading < 2; reading += 1)
      await lake.sync({ scope: { ...scope, from: DAY, to: DAY }, log });
    const { state, findings: left } = (await coverageOf(lake, 'order_list'))[DAY] ?? {};
    expect([state, left ?? null]).toEqual(['settled', null]);
  });
});

describe('a pass that several runs read', () => {
  it('I11: does not settle its day alone, even where pages are a snapshot', async () => {
    const lake = sample.emptyLake();
    const transactions = { reports: ['transaction_list'] };
    lake.nowMs += 90 * DAY_MS;
    await syncUntilComplete(lake, { scope: { ...transactions, from: DAY, to: DAY }, deadline: NO_TIME });
    const first = (await ledgerEntry(lake, 'transaction_list', DAY)).committed;
    expect(first).toMatchObject({ state: 'closed', settled: false, resumed: true, identicalPasses: 1 });
    lake.nowMs += 7 * DAY_MS;
    await lake.sync({ scope: transactions });
    const second = (await ledgerEntry(lake, 'transaction_list', DAY)).committed;
    expect(second).toMatchObject({ settled: true, identicalPasses: 2 });
    expect(second?.resumed).toBeUndefined();
  });
});
