import { describe, expect, it } from '@jest/globals';
import { type Held, restate } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { type JsonObject, numberText } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { alter, coverageOf, ledgerEntry, outcomesOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-02-20';
/** The day's first instant in New York, in seconds. */
const DAY_START = String(Date.parse('2026-02-20T05:00:00Z') / 1000);
/** An age at which the day is read once a week. */
const refresh = [{ untilAgeDays: 60, every: '7 days' }];
const scope = { reports: ['order_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  recordsTo: '2026-02-21T20:00:00Z',
  startDate: DAY,
  clicksPerDay: 20,
  interpretations: { pageCap: 3 },
  brandSettings: {
    reports: {
      order_list: { refresh, ...ALL_FINAL },
      transaction_list: { refresh, ...ALL_FINAL },
    },
  },
});

/** Acts before each page of the day, with its number among all that were requested. */
function atEachPage(
  lake: SampleLake,
  report: 'clicks_list' | 'order_list',
  act: (page: number) => void,
): void {
  let page = 0;
  const when = ({ fields: { start_time } }: { fields: JsonObject }) => {
    if (numberText(start_time) !== DAY_START) return false;
    page += 1;
    act(page);
    return false;
  };
  lake.service.addFault({ on: { action: `report/${report}`, when }, fault: { kind: 'html' } });
}

describe('the only reading of an old day of one page of orders', () => {
  it('I11: does not settle it, because an order may have moved before the query of its end', async () => {
    const lake = sample.emptyLake();
    restate(lake.brand, 'order_list', DAY, (held) => held.slice(0, 2));
    const order_list = { refresh: [{ untilAgeDays: 2, every: '1 day' }], ...ALL_FINAL };
    for (const state of ['unconfirmed', 'settled']) {
      await lake.sync({ scope, brandSettings: { reports: { order_list } } });
      expect((await ledgerEntry(lake, 'order_list', DAY)).committed?.state).toBe(state);
      lake.nowMs += HOUR_MS;
    }
  });
});

describe('clicks that shift while their pages are read', () => {
  type Change = (held: Held[]) => Held[];
  const removed =
    (count: number): Change =>
    (held) =>
      held.slice(count);
  const added: Change = (held) => [
    ...held.slice(0, 1).map(({ at, record }) => ({ at, record: { ...record, id: '9999' } })),
    ...held,
  ];

  /** A lake of one day of 55 clicks, which change when a page is requested. */
  async function clicksLake(
    interpretations: Partial<Interpretations>,
    changeAt: (page: number) => Change | undefined,
  ) {
    const lake = await sampleLake({
      ...{ now: '2026-03-10T15:00:00Z', recordsTo: '2026-02-21T04:00:00Z', startDate: DAY },
      interpretations: { pageCap: 20, ...interpretations },
    });
    restate(lake.brand, 'clicks_list', DAY, ([first]) =>
      Array.from({ length: 55 }, (_, place) => ({
        at: (first?.at ?? 0) + place * 1000,
        record: { ...first?.record, id: String(1000 + place) },
      })),
    );
    atEachPage(lake, 'clicks_list', (page) => {
      const change = changeAt(page);
      if (change) restate(lake.brand, 'clicks_list', DAY, change);
    });
    return lake;
  }

  const next = { endCursor: 'next' } as const;
  const exclusive = { first: 'exclusive' } as const;
  it.each<[string, Partial<Interpretations>, number, Change, readings: number]>([
    ['none is', next, 2, removed(0), 1],
    ['one is added', next, 2, added, 2],
    ['one is removed', next, 2, removed(1), 3],
    ['two are removed, although pages overlap', {}, 2, removed(2), 3],
    ['two are removed at a later border', next, 3, removed(2), 3],
    ['cursors are opaque', { ...exclusive, endCursor: 'opaque' }, 2, removed(1), 3],
    ['cursors are opaque, and no click is', { ...exclusive, endCursor: 'opaque' }, 2, removed(0), 2],
  ])(
    'I11: settle an old day only with every click: %s',
    async (_name, interpretations, page, change, readings) => {
      const lake = await clicksLake(interpretations, (at) => (at === page ? change : undefined));
      const states: (string | undefined)[] = [];
      for (; states.at(-1) !== 'settled' && states.length < 5; lake.nowMs += HOUR_MS) {
        await lake.sync({ scope: { reports: ['clicks_list'] } });
        states.push((await ledgerEntry(lake, 'clicks_list', DAY)).committed?.state);
      }
      expect(states).toEqual([...Array(readings - 1).fill('unconfirmed'), 'settled']);
      expect(await wrongReports(lake, '2026-03-10', ['clicks_list'])).toEqual({});
      await lake.close();
    },
  );
});

describe('a day with a field that differs in every response', () => {
  it('I11: is given up after `refresh` ends, once and with a finding, and can be read with a range', async () => {
    const lake = sample.emptyLake();
    const findings: LogEvent[] = [];
    const log = (event: LogEvent) => void (event.event === 'day_finding' && findings.push(event));
    const ages: number[] = [];
    for (let run = 0; run < 45; run += 1) {
      alter(lake, 'order_list', DAY, { answered: `run ${run}` });
      const read = outcomesOf(await lake.sync({ scope, log }), 'order_list');
      if (DAY in read) ages.push(Math.floor((lake.nowMs - Date.parse(DAY)) / DAY_MS));
      lake.nowMs += run < 6 ? HOUR_MS : run < 14 ? 5 * DAY_MS : DAY_MS;
    }
    expect(ages.length).toBeLessThan(20);
    expect(ages.at(-1)).toBeGreaterThan(60);
    expect(ages.at(-1)).toBeLessThan(90);
    expect((await ledgerEntry(lake, 'order_list', DAY)).committed).toMatchObject({
      state: 'settled',
      contradictions: 12,
    });
    expect([...new Set(findings.map((event) => 'check' in event && event.check))]).toEqual([
      'never_agrees',
      'given_up',
    ]);
    expect((await coverageOf(lake, 'order_list'))[DAY]).toMatchObject({
      state: 'settled',
      findings: 'given_up (12 in a row failed or differed)',
    });
    for (let reading = 0; reading < 2; reading += 1)
      await lake.sync({ scope: { ...scope, from: DAY, to: DAY }, log });
    const { state, findings: left } = (await coverageOf(lake, 'order_list'))[DAY] ?? {};
    expect([state, left ?? null]).toEqual(['settled', null]);
  });
});
