import { afterAll, describe, expect, it } from '@jest/globals';
import type { Held } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { addDays, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { errorOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, ZONE, sampleLake } from './sample-lake.ts';

/** The first day has 23 hours. */
const FIRST = '2026-03-08';
const TODAY = '2026-03-11';
const orders = { reports: ['order_list'] } as const;

const lakes: SampleLake[] = [];
afterAll(() => Promise.all(lakes.map((lake) => lake.close())));

/** Milliseconds from a day's first instant: the last second of the day before, the instant, and the second after it. */
const AROUND_MIDNIGHT = [-1000, -999, -600, -1, 0, 0, 1, 400, 999, 1000, 1400];

/** Orders around each midnight, and some within each day, all alike and without a key. */
function ordersAroundMidnights(): Held[] {
  const days = [0, 1, 2, 3].map((days) => startOfDay(addDays(FIRST, days), ZONE));
  const times = days.flatMap((start) => [
    ...AROUND_MIDNIGHT.map((ms) => start + ms),
    ...[2, 5, 9].map((hours) => start + hours * 3_600_000 + 250),
  ]);
  return times.sort((a, b) => a - b).map((at) => ({ at, record: { amount: 7 } }));
}

async function lakeWith(
  interpretations: Partial<Interpretations>,
  brandSettings: JsonObject,
): Promise<SampleLake> {
  const lake = await sampleLake({
    now: '2026-03-11T15:00:00Z',
    startDate: FIRST,
    interpretations: { pageCap: 40, ...interpretations },
    brandSettings,
  });
  lakes.push(lake);
  lake.brand.records.order_list = ordersAroundMidnights();
  return lake;
}

type Case = {
  setting: 'auto' | 'inclusive';
  endTime: Interpretations['endTime'];
  equalTimes: Interpretations['equalTimes'];
  unit: Interpretations['timestampUnit'];
};

/** Every setting with every kind of service that it fits. */
const cases: Case[] = [
  { setting: 'auto', endTime: 'inclusive', equalTimes: 'answered' } as const,
  { setting: 'auto', endTime: 'exclusive', equalTimes: 'answered' } as const,
  { setting: 'inclusive', endTime: 'inclusive', equalTimes: 'refused' } as const,
  { setting: 'inclusive', endTime: 'inclusive', equalTimes: 'answered' } as const,
  { setting: 'inclusive', endTime: 'exclusive', equalTimes: 'refused' } as const,
].flatMap((one) => (['seconds', 'milliseconds'] as const).map((unit) => ({ ...one, unit })));

describe('orders in the second around midnight', () => {
  it.each(cases)(
    'I1: are each in exactly one day: endTime "$setting", the end $endTime, a range of one instant $equalTimes, in $unit',
    async ({ setting, endTime, equalTimes, unit }) => {
      const lake = await lakeWith(
        { endTime, equalTimes, timestampUnit: unit },
        { endTime: setting, timestampUnit: unit },
      );
      const outcome = await lake.sync({ scope: orders });
      expect(errorOf(outcome, 'order_list')).toBeUndefined();
      expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    },
  );
});
