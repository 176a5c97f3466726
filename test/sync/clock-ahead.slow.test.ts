/** A clock that was days ahead has left times in the ledger; they must have no effect once the clock is right again. */
import { expect, it } from '@jest/globals';
import { type Held, recordsOfDay, restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { type Json, numberText } from '../../shared/json.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { ledgerEntry, outcomesOf } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-02-20';
const CLOSED_AT = Date.parse('2026-02-21T05:15:00Z');
const refresh = [{ untilAgeDays: 20, every: '7 days' }];

const sample = sharedLakes({
  now: '2026-02-20T20:00:00Z',
  recordsTo: '2026-02-22T20:00:00Z',
  startDate: DAY,
  clicksPerDay: 20,
  brandSettings: {
    reports: {
      clicks_detail: { enabled: true },
      order_list: { refresh },
      transaction_list: { refresh, ...ALL_FINAL },
    },
  },
});

/** Runs while the clocks of the machine and the service are ahead. */
async function syncAhead(lake: SampleLake, aheadMs: number, reports: readonly string[]): Promise<void> {
  lake.nowMs += aheadMs;
  await lake.sync({ scope: { reports } });
  lake.nowMs -= aheadMs;
}

it('a day without records is accepted as empty even if a fast clock has read it at a great age', async () => {
  const lake = sample.emptyLake();
  const reports = ['transaction_list'];
  lake.nowMs = CLOSED_AT + HOUR_MS;
  await lake.sync({ scope: { reports } });
  await syncAhead(lake, 60 * DAY_MS, reports);
  restate(lake.brand, 'transaction_list', DAY, () => []);
  lake.nowMs += HOUR_MS;
  const outcome = await lake.sync({ scope: { reports } });
  expect(outcomesOf(outcome, 'transaction_list')).toMatchObject({ [DAY]: 'published' });
});

it('I11: a day that a fast clock closed while it was open is not settled by the first reading that agrees', async () => {
  const lake = sample.emptyLake();
  const reports = ['order_list'];
  const paid = (held: Held[]) => held.map((one) => ({ ...one, record: { ...one.record, status: 'paid' } }));
  lake.nowMs = CLOSED_AT;
  await lake.sync({ scope: { reports: ['clicks_list'] } });
  restate(lake.brand, 'order_list', DAY, paid);
  lake.nowMs = CLOSED_AT - HOUR_MS;
  await syncAhead(lake, 3 * DAY_MS, reports);
  expect((await ledgerEntry(lake, 'order_list', DAY)).committed).toMatchObject({ state: 'closed' });
  lake.nowMs = CLOSED_AT + DAY_MS;
  await lake.sync({ scope: { reports } });
  const { committed } = await ledgerEntry(lake, 'order_list', DAY);
  expect(committed).toMatchObject({ unsettled: { rows: 0 } });
});

it('the first run with a right clock repeats a lookup that was refused while a clock was ahead', async () => {
  const lake = sample.emptyLake();
  const reports = ['clicks_list', 'clicks_detail'];
  lake.nowMs = CLOSED_AT + HOUR_MS;
  const [first] = recordsOfDay(lake.brand, 'clicks_list', DAY);
  const isFirst = ({ fields }: { fields: Record<string, Json> }) =>
    numberText(fields.id) === String(first?.id) || fields.id === first?.id;
  const stop = lake.service.addFault({
    on: { action: 'report/clicks_detail', when: isFirst },
    fault: { kind: 'code', code: 17, msg: 'too new' },
  });
  await syncAhead(lake, 20 * DAY_MS, reports);
  stop();
  const { rows = 0, refusedLookups } = (await ledgerEntry(lake, 'clicks_detail', DAY)).committed ?? {};
  expect(refusedLookups).toMatchObject({ count: 1 });
  lake.nowMs += HOUR_MS;
  await lake.sync({ scope: { reports } });
  const { committed } = await ledgerEntry(lake, 'clicks_detail', DAY);
  expect(committed).not.toHaveProperty('refusedLookups');
  expect(committed?.rows).toBe(rows + 1);
});
