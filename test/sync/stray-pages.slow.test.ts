import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Held, restate } from '../../sample/brand.ts';
import type { Fault } from '../../sample/faults.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { HOUR_MS } from '../../shared/days.ts';
import { numberText } from '../../shared/json.ts';
import { ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const DAY = '2026-02-20';
/** The day's first instant in New York, in seconds, and the settings under which a day of its age is read once a week. */
const START = String(Date.parse('2026-02-20T05:00:00Z') / 1000);
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
    brandSettings: { reports: { order_list: { refresh } } },
  });
});
afterAll(() => sample.close());

/** Acts once, when this page of the day is requested, which then has the fault, if there is one. */
function atPage(lake: SampleLake, page: string, act: () => void, fault?: Fault): void {
  let isOver = false;
  lake.service.addFault({
    on: {
      action: 'report/order_list',
      when({ fields: { start_time, page_number } }) {
        if (isOver || numberText(start_time) !== START || numberText(page_number) !== page) return false;
        isOver = true;
        act();
        return fault !== undefined;
      },
    },
    fault: fault ?? { kind: 'html' },
  });
}

const rowsOf = async (lake: SampleLake) => (await ledgerEntry(lake, 'order_list', DAY)).committed?.rows;

describe('orders without a transid', () => {
  it('I11: that a new order moves to the next page are in the day twice for one run, whatever its age', async () => {
    const lake = sample.emptyLake();
    const withoutKey = ({ at, record: { transid: _transid, ...record } }: Held, index: number) => ({
      at,
      record: { ...record, number: index },
    });
    restate(lake.brand, 'order_list', DAY, (held) => held.map(withoutKey));
    let held = 0;
    atPage(lake, '2', () =>
      restate(lake.brand, 'order_list', DAY, ([first, ...others]) => {
        if (!first) throw new Error('the day has orders');
        held = others.length + 2;
        return [{ at: first.at, record: { number: 'new' } }, first, ...others];
      }),
    );
    await lake.sync({ scope });
    // The new order is missing, and the last one of the first page is the first one of the second, too.
    expect(await rowsOf(lake)).toBe(held);
    expect(await wrongReports(lake, '2026-03-10', ['order_list'])).not.toEqual({});
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    expect(await wrongReports(lake, '2026-03-10', ['order_list'])).toEqual({});
  });
});

describe('orders of a service that interprets pages in another way', () => {
  let own: SampleLake;
  afterEach(() => own.close());

  /** A lake whose day has this many orders. */
  async function lakeOf(orders: number, interpretations: Partial<Interpretations>): Promise<SampleLake> {
    const lake = await sampleLake({
      now: '2026-03-10T15:00:00Z',
      recordsTo: '2026-02-21T04:00:00Z',
      startDate: DAY,
      clicksPerDay: 20,
      interpretations,
    });
    restate(lake.brand, 'order_list', DAY, ([first]) => {
      if (!first) throw new Error('the day has orders');
      const transids = Array.from({ length: orders }, (_, index) => String(1_000 + index));
      return transids.map((transid) => ({ at: first.at, record: { ...first.record, transid } }));
    });
    return lake;
  }

  it('I8: are read with few requests where the last page comes again, and is another one in every response', async () => {
    own = await lakeOf(8, { pageCap: 3, pastLastPage: 'repeat' });
    own.service.addFault({
      on: {
        when() {
          for (const held of own.brand.records.order_list)
            held.record = { ...held.record, served: own.service.requests.length };
          if (own.service.requests.length > 50) throw new Error('the pass does not end');
          return false;
        },
      },
      fault: { kind: 'html' },
    });
    expect((await own.sync({ scope: { ...scope, from: DAY, to: DAY } })).status).toBe('complete');
    expect(await rowsOf(own)).toBe(8);
    // Three pages, the last one twice more; and the day's last instant, which has no order.
    expect(requestsOf(own, 'order_list')).toHaveLength(6);
  });
});
