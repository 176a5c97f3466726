/**
 * A life of a brand and of the lake that follows it: the service changes as virtual time goes by, the product runs some
 * times a day, and after each run the lake is judged.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, endOfDay, startOfDay } from '../../shared/days.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';
import { plainInterpretation, settingsFor } from '../strict-service/interpretations.ts';
import { Random } from '../torture/random.ts';
import { livingBrand } from './brand.ts';
import { type Judge, createJudge } from './judge.ts';
import type { HeldTable, LivingBrand } from './life.ts';
import { type LakeKind, type Pipeline, VirtualTime, createPipeline } from './pipeline.ts';
import { leastRequests } from './policy.ts';
import { type LivingService, startLivingService } from './service.ts';

export interface LifePlan {
  seed: number;
  days: number;
  lake: LakeKind;
}

export interface LivedLife {
  brand: LivingBrand;
  service: LivingService;
  pipeline: Pipeline;
  judge: Judge;
  time: VirtualTime;
  outcomes: SyncOutcome[];
  least: Record<HeldTable, number>;
  close(): Promise<void>;
}

const ZONE = 'America/New_York';
const FIRST_DAY = '2026-03-01';

export async function live({ seed, days, lake }: LifePlan): Promise<LivedLife> {
  const random = new Random(seed);
  const brand = livingBrand({ timeZone: ZONE, firstDay: FIRST_DAY, dayCount: days }, random.fork('brand'));
  const time = new VirtualTime(startOfDay(FIRST_DAY, ZONE));
  const account = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };
  const interpretation = plainInterpretation;
  const service = await startLivingService({
    brand,
    account,
    interpretation,
    nowMs: () => time.nowMs,
    onCall: time.tick,
  });
  const pipeline = await createPipeline({
    time,
    random: random.fork('pipeline'),
    account,
    kind: lake,
    brandSettings: {
      baseUrl: service.baseUrl,
      service: service.name,
      timeZone: ZONE,
      startDate: FIRST_DAY,
      secretName: 'none',
      ...settingsFor(interpretation),
      reports: { clicks_detail: { enabled: true } },
    },
  });
  const judge = createJudge(brand, pipeline.lake, FIRST_DAY);
  const outcomes: SyncOutcome[] = [];
  const begunMs: number[] = [];
  for (const runMs of runTimes(brand, random.fork('runs'))) {
    time.nowMs = Math.max(time.nowMs, runMs);
    const startMs = time.nowMs;
    const outcome = await pipeline.run();
    outcomes.push(outcome);
    begunMs.push(startMs);
    await judge.look({ startMs, endMs: time.nowMs, isComplete: outcome.status === 'complete' });
  }
  return {
    ...{ brand, service, pipeline, judge, time, outcomes },
    least: leastRequests(brand, begunMs, { clicks: 100, orders: 100, transactions: 200, attribution: 200 }),
    async close() {
      await service.close();
      await pipeline.remove();
    },
  };
}

/** Three times a day, never at the same minute; one day hourly. The last run comes when the last day is closed. */
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
