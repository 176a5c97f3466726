/**
 * Runs a brand's life and the lake that follows it: the service changes as virtual time passes, the product runs several
 * times a day, and after each run the lake is judged.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, endOfDay, startOfDay } from '../../shared/days.ts';
import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '../../shared/json.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';
import type { SendRequest } from '../../shared/ports.ts';
import type { LivingBrand } from '../simulation/brand.ts';
import type { LakeKind } from '../simulation/lake.ts';
import { Random } from '../simulation/random.ts';
import {
  ADDRESS,
  SERVICE,
  type SimulatedService,
  httpResponse,
  simulatedService,
} from '../simulation/service.ts';
import { interpretations, plainInterpretation, settingsFor } from '../strict-service/interpretations.ts';
import { livingBrand } from './brand.ts';
import { type Judge, createJudge } from './judge.ts';
import { type LifeTime, type Pipeline, createPipeline } from './pipeline.ts';

export interface LifePlan {
  seed: number;
  days: number;
  lake: LakeKind;
  /** The pipeline's hardships; without any, every run is complete. */
  hardships?: readonly Hardship[];
  /** `YYYY-MM-DD`; missing: two months begin with the first one's first day. */
  firstDay?: string;
}

export interface LivedLife {
  brand: LivingBrand;
  service: SimulatedService;
  judge: Judge;
  outcomes: SyncOutcome[];
  close(): Promise<void>;
}

export const hardships = [
  'a dead week',
  'deaths',
  'company',
  'wrong clocks',
  'outages',
  'small pages',
  'other readings of the interface',
] as const;
export type Hardship = (typeof hardships)[number];

const ZONE = 'America/New_York';
const FIRST_DAY = '2026-03-01';
/** How long a call of the service takes. */
const CALL_MS = 25;

export async function live({
  seed,
  days,
  lake,
  hardships = [],
  firstDay = FIRST_DAY,
}: LifePlan): Promise<LivedLife> {
  const random = new Random(seed);
  const brand = livingBrand({ timeZone: ZONE, firstDay, dayCount: days }, random.fork('brand'));
  const time: LifeTime = { nowMs: startOfDay(firstDay, ZONE) };
  const account = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };
  const has = (hardship: Hardship) => hardships.includes(hardship);
  const reading = has('other readings of the interface') && random.pick(interpretations).interpretation;
  const interpretation = reading || plainInterpretation;
  const service = simulatedService({
    brand,
    account,
    interpretation,
    nowMs: () => time.nowMs,
    // The first response shows the service's time.
    ...(has('wrong clocks') && { tolerated: /clock has drifted/ }),
  });
  let isDown = () => false;
  const send: SendRequest = async (request, { onHeaders }) => {
    await setImmediate();
    time.nowMs += CALL_MS;
    const answered = service.answer(request);
    const response = httpResponse(isDown() ? { status: 503, text: '' } : answered, { dateMs: time.nowMs });
    onHeaders(response.headers);
    return response;
  };
  const pipeline = await createPipeline({
    time,
    random: random.fork('pipeline'),
    account,
    send,
    kind: lake,
    brandSettings: {
      baseUrl: ADDRESS,
      service: SERVICE,
      timeZone: ZONE,
      startDate: firstDay,
      secretName: 'none',
      ...settingsFor(interpretation),
      reports: pageSizes(has('small pages')),
    },
  });
  const judge = createJudge(brand, pipeline.lake, pipeline.settings);
  const outcomes: SyncOutcome[] = [];
  const hard = random.fork('hardships');
  const times = runTimes(brand, random.fork('runs'));
  const run = async (options: Parameters<Pipeline['run']>[0], isAlone = true) => {
    const [outcome] = await Promise.all([pipeline.run(options), ...(isAlone ? [] : [pipeline.run()])]);
    outcomes.push(outcome);
    const isComplete = outcome.status === 'complete' && isAlone;
    await judge.look({ endMs: time.nowMs, isComplete });
    return outcome;
  };
  for (const runMs of has('a dead week') ? withoutAWeek(times) : times) {
    time.nowMs = Math.max(time.nowMs, runMs);
    isDown = has('outages') && hard.chance(0.1) ? () => hard.chance(0.5) : () => false;
    if (has('deaths') && hard.chance(0.3)) {
      await pipeline.runUntilDeath(hard.whole(1, 400));
      await judge.look({ endMs: time.nowMs, isComplete: false });
    }
    const clockAheadMs =
      has('wrong clocks') && hard.chance(0.2) ? hard.pick([-3 * DAY_MS, HOUR_MS, 40 * DAY_MS]) : 0;
    await run({ clockAheadMs }, !(has('company') && hard.chance(0.3)));
  }
  isDown = () => false;
  for (let calm = 0; hardships.length > 0 && calm < MAX_CALM_RUNS; calm += 1) {
    time.nowMs += HOUR_MS;
    const { status, reports: ended } = await run({});
    if (
      status === 'complete' &&
      ended.every(({ days: read }) => read.every(({ outcome }) => outcome === 'unchanged'))
    )
      break;
  }
  return {
    ...{ brand, service, judge, outcomes },
    close: () => pipeline.lake.close(),
  };
}

/** Three times a day, never at the same minute; one day hourly. The last run comes after the last day is closed. */
function runTimes({ days, timeZone }: LivingBrand, random: Random): number[] {
  const times = days.flatMap((day, index) => {
    const startMs = startOfDay(day, timeZone);
    const everyMs = index === Math.floor(days.length / 2) ? HOUR_MS : 8 * HOUR_MS;
    const count = Math.floor(DAY_MS / everyMs);
    return Array.from(
      { length: count },
      (_, run) => startMs + run * everyMs + random.whole(16, 50) * MINUTE_MS,
    );
  });
  return [...times, endOfDay(days.at(-1) ?? '', timeZone) + HOUR_MS];
}

/** No run happens for a week in the middle; in a short life, for a third of it. */
function withoutAWeek(times: readonly number[]): number[] {
  const [middleMs = 0, lastMs = 0] = [times[Math.floor(times.length / 2)], times.at(-1)];
  const gapMs = Math.min(7 * DAY_MS, (lastMs - middleMs) * (2 / 3));
  return times.filter((ms) => ms < middleMs || ms > middleMs + gapMs);
}

/** After hardships, plain runs follow until nothing is left to do. */
const MAX_CALM_RUNS = 60;

function pageSizes(small: boolean): JsonObject {
  const [page, limit] = small ? [20, 5] : [100, 200];
  return {
    clicks_list: { page_size: page },
    clicks_detail: { enabled: true },
    order_list: { page_size: page },
    transaction_list: { limit },
    amazon_attribution_report: { limit },
  };
}
