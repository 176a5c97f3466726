import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DAY_MS, daysFrom } from '../../shared/base/days.ts';
import { numberText } from '../../shared/base/json.ts';
import { coverageOf, ledgerEntry } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

/*
 * The service refuses a day of February at every request. The days before and after it are read. Then the settings
 * begin in March.
 */
const FIRST = '2026-02-25';
const REFUSED = '2026-02-27';
const LATER = '2026-03-04';
const TODAY = '2026-03-10';
const REPORT = 'order_list';
const off = { enabled: false };
const only = {
  clicks_list: off,
  clicks_detail: off,
  transaction_list: off,
  amazon_attribution_report: off,
};

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({
    now: `${TODAY}T15:00:00Z`,
    startDate: FIRST,
    clicksPerDay: 6,
    brandSettings: { reports: only },
  });
  lake.service.addFault({
    on: { when: ({ fields }) => isOfRefusedDay(numberText(fields.start_time), numberText(fields.end_time)) },
    fault: { kind: 'code', code: 17, msg: 'no longer kept' },
  });
  for (let days = 0; days < 3; days += 1) {
    await lake.sync();
    lake.nowMs += DAY_MS;
  }
  lake.nowMs -= DAY_MS;
  expect((await ledgerEntry(lake, REPORT, REFUSED)).failure).toMatchObject({ code: 'service_code' });
});
afterAll(() => lake.close());

/** Whether a query covers the refused day, and not only the second after the day before. */
function isOfRefusedDay(from: string | undefined, to: string | undefined): boolean {
  const ms = Number(from) * 1000;
  const midnightMs = Date.parse(`${REFUSED}T05:00:00Z`);
  return from !== to && ms >= midnightMs && ms < midnightMs + DAY_MS;
}

const begin = (startDate: string) => ({ brandSettings: { startDate } });

async function publishedDays(): Promise<Record<string, unknown>> {
  const rows = Object.entries(await coverageOf(lake, REPORT));
  return Object.fromEntries(rows.map(([dt, { state }]) => [dt, state]));
}

describe('a day that was never read', () => {
  it('is failed in coverage while the settings include it', async () => {
    expect((await publishedDays())[REFUSED]).toBe('failed');
  });

  it('has no row in coverage after the next run, although no run reads its month any longer', async () => {
    expect((await lake.sync(begin(LATER))).status).toBe('complete');
    const days = await publishedDays();
    expect(Object.keys(days)).toEqual(daysFrom(FIRST, '2026-03-12').filter((day) => day !== REFUSED));
    expect(Object.values(days)).not.toContain('failed');
  });

  it('is expected and requested again once the settings begin earlier', async () => {
    lake.nowMs += DAY_MS;
    await lake.sync(begin(FIRST));
    expect((await publishedDays())[REFUSED]).toBe('failed');
  });
});
