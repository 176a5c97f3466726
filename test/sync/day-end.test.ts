import { afterAll, describe, expect, it } from '@jest/globals';
import type { Held } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { addDays, startOfDay } from '../../shared/days.ts';
import type { JsonObject } from '../../shared/json.ts';
import { errorOf, requestsOf, wrongReports } from './lake-contents.ts';
import { type SampleLake, ZONE, sampleLake } from './sample-lake.ts';

/** The first day has 23 hours. */
const FIRST = '2026-03-08';
const TODAY = '2026-03-11';
const orders = { reports: ['order_list'] } as const;

const lakes: SampleLake[] = [];
afterAll(() => Promise.all(lakes.map((lake) => lake.close())));

/** Milliseconds from a day's first instant: the last second of the day before, the instant, and the second after it. */
const AROUND_MIDNIGHT = [-1000, -999, -600, -1, 0, 0, 1, 400, 999, 1000, 1400];

/** Orders around each midnight, and some within each day; `recordOf` creates the nth record. */
function ordersAroundMidnights(recordOf: (index: number) => JsonObject): Held[] {
  const days = [0, 1, 2, 3].map((days) => startOfDay(addDays(FIRST, days), ZONE));
  const times = days.flatMap((start) => [
    ...AROUND_MIDNIGHT.map((ms) => start + ms),
    ...[2, 5, 9].map((hours) => start + hours * 3_600_000 + 250),
  ]);
  return times.sort((a, b) => a - b).map((at, index) => ({ at, record: recordOf(index) }));
}

const kinds: Record<string, (index: number) => JsonObject> = {
  'with keys': (index) => ({ transid: String(1000 + index), amount: index }),
  'without keys': (index) => ({ amount: index }),
  'all alike': () => ({ amount: 7 }),
};

async function lakeWith(
  interpretations: Partial<Interpretations>,
  brandSettings: JsonObject,
  kind: string,
): Promise<SampleLake> {
  const lake = await sampleLake({
    now: '2026-03-11T15:00:00Z',
    startDate: FIRST,
    interpretations: { pageCap: 40, ...interpretations },
    brandSettings,
  });
  lakes.push(lake);
  const recordOf = kinds[kind];
  if (!recordOf) throw new Error(`no kind ${kind}`);
  lake.brand.records.order_list = ordersAroundMidnights(recordOf);
  return lake;
}

type Case = {
  setting: 'auto' | 'inclusive';
  endTime: Interpretations['endTime'];
  equalTimes: Interpretations['equalTimes'];
  unit: Interpretations['timestampUnit'];
  kind: string;
};

/** Every setting with every kind of service that it fits. */
const cases: Case[] = [
  { setting: 'auto', endTime: 'inclusive', equalTimes: 'answered' } as const,
  { setting: 'auto', endTime: 'exclusive', equalTimes: 'answered' } as const,
  { setting: 'inclusive', endTime: 'inclusive', equalTimes: 'refused' } as const,
  { setting: 'inclusive', endTime: 'inclusive', equalTimes: 'answered' } as const,
  { setting: 'inclusive', endTime: 'exclusive', equalTimes: 'refused' } as const,
].flatMap((one) =>
  (['seconds', 'milliseconds'] as const).flatMap((unit) =>
    Object.keys(kinds).map((kind) => ({ ...one, unit, kind })),
  ),
);

describe('orders in the second around midnight', () => {
  it.each(cases)(
    'I1: are each in exactly one day: endTime "$setting", the end $endTime, a range of one instant $equalTimes, in $unit, $kind',
    async ({ setting, endTime, equalTimes, unit, kind }) => {
      const lake = await lakeWith(
        { endTime, equalTimes, timestampUnit: unit },
        { endTime: setting, timestampUnit: unit },
        kind,
      );
      const outcome = await lake.sync({ scope: orders });
      expect(errorOf(outcome, 'order_list')).toBeUndefined();
      expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    },
  );

  it.each<{ setting: string; requests: number }>([
    { setting: 'auto', requests: 3 + 2 },
    { setting: 'inclusive', requests: 3 + 6 },
  ])(
    'cost $requests requests a closed day of two pages with endTime "$setting"',
    async ({ setting, requests }) => {
      const lake = await lakeWith({ pageCap: 10 }, { endTime: setting }, 'with keys');
      const day = addDays(FIRST, 1);
      await lake.sync({ scope: { ...orders, from: day, to: day } });
      expect(requestsOf(lake, 'order_list')).toHaveLength(requests);
    },
  );
});
