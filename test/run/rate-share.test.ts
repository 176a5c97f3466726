import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MINUTE_MS } from '../../shared/days.ts';
import { BrandReportsError } from '../../shared/errors.ts';
import { parseJson } from '../../shared/json.ts';
import { createLakeDocuments } from '../../shared/lake/documents/lake-documents.ts';
import {
  FORGET_AFTER_MS,
  IDLE_AFTER_MS,
  RENEW_EVERY_MS,
  VALID_MS,
  parseRateBudget,
} from '../../shared/lake/documents/rate-budget.ts';
import { rateBudgetKey } from '../../shared/lake/paths.ts';
import { createRateShare } from '../../shared/run/rate-share.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { type Fate, type RunPlan, simulateRuns } from '../fakes/simulated-runs.ts';
import { virtualTime } from '../fakes/virtual-time.ts';
import { runs } from '../fixtures/property-runs.ts';

const LIMIT = 5;
const KEY = rateBudgetKey('acme');
const FAULTS_END_MS = 4 * MINUTE_MS;
const FAST: Fate = { beforeMs: 10, afterMs: 10, outcome: 'answered', lateMs: 0 };
const A_MINUTE_LATER_MS = FORGET_AFTER_MS + 2 * RENEW_EVERY_MS;

const STEADY: RunPlan = {
  startMs: 0,
  speed: 1,
  wallSkewMs: 0,
  wallSteps: [],
  pauses: [],
  idle: [],
  wants: LIMIT,
};

const IDLE: RunPlan = { ...STEADY, idle: [{ atMs: 60_000, forMs: 60_000 }] };
const FAULTLESS = { limit: LIMIT, fateOf: () => FAST, detectsDeadRuns: false };

const moment = fc.integer({ min: 0, max: FAULTS_END_MS });
const span = fc.integer({ min: 1, max: 100_000 });

/** Runs that start, pause, idle, die and end at any time; after `FAULTS_END_MS` the other runs only send. */
const plan: fc.Arbitrary<RunPlan> = fc
  .record(
    {
      startMs: fc.integer({ min: 0, max: FAULTS_END_MS / 2 }),
      endMs: moment,
      diesMs: moment,
      speed: fc.double({ min: 0.8, max: 1.25, noNaN: true }),
      wallSkewMs: fc.integer({ min: -1e9, max: 1e9 }),
      wallSteps: fc.array(fc.record({ atMs: moment, byMs: fc.integer({ min: -1e6, max: 1e6 }) }), {
        maxLength: 2,
      }),
      pauses: fc
        .array(fc.record({ atMs: moment, forMs: span, monotonicStops: fc.boolean() }), { maxLength: 3 })
        .map(apart),
      idle: fc.array(fc.record({ atMs: moment, forMs: span }), { maxLength: 2 }).map(apart),
      wants: fc.constantFrom(LIMIT, LIMIT, LIMIT, 0.5, 2),
      limit: fc.constantFrom(LIMIT, LIMIT, LIMIT, LIMIT, 0.5, 4.9),
    },
    { requiredKeys: ['startMs', 'speed', 'wallSkewMs', 'wallSteps', 'pauses', 'idle', 'wants', 'limit'] },
  )
  // If one clock is set back while the other stands still, no process can measure the time that has passed.
  .map((made) =>
    made.pauses.some(({ monotonicStops }) => monotonicStops) ? { ...made, wallSteps: [] } : made,
  );

const latency = fc.oneof({ weight: 9, arbitrary: fc.nat(400) }, fc.nat(60_000));
const fate: fc.Arbitrary<Fate> = fc.record({
  beforeMs: latency,
  afterMs: latency,
  outcome: fc.constantFrom('answered', 'answered', 'answered', 'answered', 'refused', 'lost', 'late'),
  lateMs: fc.nat(120_000),
});

function apart<T extends { atMs: number; forMs: number }>(spans: readonly T[]): T[] {
  const sorted = [...spans].sort((a, b) => a.atMs - b.atMs);
  return sorted.filter(({ atMs, forMs }, index) => {
    const next = sorted[index + 1];
    return atMs + forMs < Math.min(FAULTS_END_MS, next?.atMs ?? Number.POSITIVE_INFINITY);
  });
}

const sum = (rates: readonly number[]) => rates.reduce((total, rate) => total + rate, 0);

describe('the rate of a brand', () => {
  it('is never exceeded by its runs, whatever limit each run has, and is shared fairly by living runs', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 5 }),
        fc.array(fate, { minLength: 1, maxLength: 200 }),
        fc.boolean(),
        async (plans, fates, detectsDeadRuns) => {
          const simulation = simulateRuns(plans, {
            limit: LIMIT,
            detectsDeadRuns,
            fateOf: (operation, nowMs) =>
              (nowMs < FAULTS_END_MS ? fates[operation % fates.length] : undefined) ?? FAST,
          });
          await simulation.runUntil(FAULTS_END_MS + 3 * A_MINUTE_LATER_MS, () => {
            const rates = simulation.rates();
            const limits = plans.flatMap(({ limit = LIMIT }, run) => (rates[run] ? [limit] : []));
            expect(sum(rates)).toBeLessThanOrEqual(Math.min(...limits) + 1e-9);
          });
          const lives = ({ endMs, diesMs }: RunPlan) => endMs === undefined && diesMs === undefined;
          const limit = Math.min(...plans.filter(lives).map(({ limit: own = LIMIT }) => own));
          const wants = plans.map((run) => (lives(run) ? run.wants : 0));
          expect(simulation.rates().map((rate) => rate.toFixed(6))).toEqual(
            fairRates(wants, limit).map((rate) => rate.toFixed(6)),
          );
        },
      ),
      { ...runs(50), endOnFailure: true },
    );
  });

  it.each<[string, RunPlan, number, number[]]>([
    [
      'shared soon by a run that joins',
      { ...STEADY, startMs: 60_000 },
      60_000 + 2 * RENEW_EVERY_MS,
      [2.5, 2.5],
    ],
    [
      'free soon after a run has ended',
      { ...STEADY, endMs: 60_000 },
      60_000 + 2 * RENEW_EVERY_MS,
      [LIMIT, 0],
    ],
    ['free soon after a run sends nothing', IDLE, 60_000 + IDLE_AFTER_MS + 3 * RENEW_EVERY_MS, [LIMIT, 0]],
    ['free a minute after a run has died', { ...STEADY, diesMs: 60_000 }, 2 * MINUTE_MS, [LIMIT, 0]],
    ['left to the others by a run that needs less', { ...STEADY, wants: 1 }, 60_000, [4, 1]],
  ])('is %s', async (_name, other, atMs, rates) => {
    const simulation = simulateRuns([STEADY, other], FAULTLESS);
    await simulation.runUntil(atMs);
    expect(simulation.rates()).toEqual(rates);
  });

  it('is free at once after a run has died, if the lake detects dead runs', async () => {
    const dies = { ...STEADY, diesMs: 60_000 };
    const simulation = simulateRuns([STEADY, dies], { ...FAULTLESS, detectsDeadRuns: true });
    await simulation.runUntil(60_000 + 2 * RENEW_EVERY_MS);
    expect(simulation.rates()).toEqual([LIMIT, 0]);
  });

  it('is shared again within two renewals of a document that cannot be read', async () => {
    const later = { ...STEADY, startMs: 61_000 };
    const simulation = simulateRuns([STEADY, later], FAULTLESS);
    simulation.at(60_000, () => {
      simulation.store.objects.set(KEY, {
        body: Buffer.from('not JSON'),
        etag: 'damaged',
        modifiedAt: new Date(),
      });
    });
    const rates: number[] = [];
    await simulation.runUntil(60_000 + A_MINUTE_LATER_MS, () => {
      if (simulation.nowMs > 60_000 + 2 * RENEW_EVERY_MS) rates.push(sum(simulation.rates()));
    });
    expect(Math.max(...rates)).toBe(LIMIT);
    expect(simulation.rates()).toEqual([2.5, 2.5]);
  });

  it('is not written by idle runs, and by a single run only every few seconds', async () => {
    const puts = async (plan: RunPlan) => {
      const simulation = simulateRuns([plan], FAULTLESS);
      await simulation.runUntil(MINUTE_MS);
      const { body } = simulation.store.objects.get(KEY) ?? {};
      return body && parseRateBudget(KEY)(parseJson(Buffer.from(body).toString())).recentWrites.length;
    };
    expect(await puts({ ...STEADY, idle: [{ atMs: 0, forMs: MINUTE_MS }] })).toBeUndefined();
    expect(await puts(STEADY)).toBe(MINUTE_MS / RENEW_EVERY_MS);
  });
});

describe('a run without a share', () => {
  it.each<[string, BrandReportsError, number]>([
    ['of a fault that an operator must fix', new BrandReportsError('config', 'aws_refused', 'no'), 0],
    [
      'of a store that fails for long',
      new BrandReportsError('transient', 'aws_unavailable', 'no'),
      FORGET_AFTER_MS,
    ],
  ])('fails because %s, and logs that once', async (_name, error, afterMs) => {
    const time = virtualTime(0);
    const logged: unknown[] = [];
    const store = { ...memoryStore(), get: () => Promise.reject(error) };
    const share = createRateShare({
      document: createLakeDocuments({ store, newId: () => 'id', clock: time, random: () => 0 }).rateBudget(
        'acme',
      ),
      runId: 'run',
      limit: LIMIT,
      wants: LIMIT,
      clock: { ...time, every: () => () => {} },
      runs: { isDead: async () => false },
      log: (event) => logged.push(event),
    });
    for (; time.monotonicMs() < afterMs; time.advance(1000)) await share.claim();
    await expect(share.claim()).rejects.toMatchObject({
      kind: error.kind,
      code: 'rate_unavailable',
      cause: error,
    });
    await share.leave();
    expect(logged).toEqual([{ event: 'rate_budget_not_updated', message: 'no' }]);
  });
});

/** A run on a clock that a test moves; its clock calls `tick` every few seconds. */
function steered(
  store = memoryStore(),
  given: { runId?: string; limit?: number; wants?: number; dead?: readonly string[] } = {},
) {
  const { runId = 'run', limit = LIMIT, wants = LIMIT, dead = [] } = given;
  const time = virtualTime(1_000_000);
  const logged: unknown[] = [];
  const asked: string[] = [];
  const timers: { everyMs: number; tick: () => void; isOn: boolean }[] = [];
  let ids = 0;
  let wallAheadMs = 0;
  let failsWith: Error | undefined;
  const failing = {
    ...store,
    get: (key: string) => (failsWith ? Promise.reject(failsWith) : store.get(key)),
  };
  const share = createRateShare({
    document: createLakeDocuments({
      store: failing,
      newId: () => `${runId}-${++ids}`,
      clock: time,
      random: () => 0,
    }).rateBudget('acme'),
    runId,
    limit,
    wants,
    clock: {
      monotonicMs: time.monotonicMs,
      wallMs: () => time.wallMs() + wallAheadMs,
      every(everyMs, tick) {
        const timer = { everyMs, tick, isOn: true };
        timers.push(timer);
        return () => {
          timer.isOn = false;
        };
      },
    },
    runs: {
      async isDead(id) {
        asked.push(id);
        return dead.includes(id);
      },
    },
    log: (event) => logged.push(event),
  });
  const stored = () => {
    const { body } = store.objects.get(KEY) ?? {};
    return parseRateBudget(KEY)(body && parseJson(Buffer.from(body).toString()));
  };
  return {
    share,
    time,
    logged,
    asked,
    timers,
    stored,
    writes: () => stored().recentWrites.length,
    setWallAhead: (ms: number) => {
      wallAheadMs = ms;
    },
    fail: (error: Error | undefined) => {
      failsWith = error;
    },
    tick: async () => {
      for (const timer of timers) if (timer.isOn) timer.tick();
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    },
  };
}

describe('the share of one run', () => {
  it('is 0 before it has joined, and the granted rate afterwards', async () => {
    const { share, stored, timers } = steered();
    expect(share.requestsPerSecond).toBe(0);
    expect(timers).toEqual([]);
    await share.claim();
    expect(share.requestsPerSecond).toBe(LIMIT);
    expect(stored().runs).toEqual({ run: { rate: LIMIT, wants: LIMIT, limit: LIMIT, renewals: 1 } });
    expect(timers.map(({ everyMs }) => everyMs)).toEqual([RENEW_EVERY_MS]);
  });

  it('is claimed without another write or timer while it is valid', async () => {
    const { share, writes, time, timers } = steered();
    await share.claim();
    time.advance(VALID_MS - 1);
    await share.claim();
    expect([writes(), timers.length]).toEqual([1, 1]);
    time.advance(1);
    expect(share.requestsPerSecond).toBe(0);
    await share.claim();
    expect([writes(), timers.length]).toEqual([2, 1]);
    expect(share.requestsPerSecond).toBe(LIMIT);
  });

  it('ends by the clock that has gone further', async () => {
    const { share, setWallAhead } = steered();
    await share.claim();
    setWallAhead(VALID_MS - 1);
    expect(share.requestsPerSecond).toBe(LIMIT);
    setWallAhead(VALID_MS);
    expect(share.requestsPerSecond).toBe(0);
    setWallAhead(-VALID_MS);
    expect(share.requestsPerSecond).toBe(LIMIT);
  });

  it('is renewed every few seconds while requests are sent, and given up after a while without requests', async () => {
    const { share, time, stored, tick, timers } = steered();
    await share.claim();
    time.advance(IDLE_AFTER_MS - 1);
    await tick();
    expect(stored().runs.run?.renewals).toBe(2);
    time.advance(1);
    await tick();
    expect(stored().runs).toEqual({});
    expect(share.requestsPerSecond).toBe(0);
    expect(timers.map(({ isOn }) => isOn)).toEqual([false]);
    await share.claim();
    expect(stored().runs.run?.renewals).toBe(3);
    expect(timers.map(({ isOn }) => isOn)).toEqual([false, true]);
  });

  it.each([
    {
      shows: 'soon after the last renewal, and nothing has changed',
      afterMs: RENEW_EVERY_MS / 2 - 1,
      count: 1,
    },
    { shows: 'later after the last renewal', afterMs: RENEW_EVERY_MS / 2, count: 2 },
  ])('is renewed with or without a write if it is $shows', async ({ afterMs, count }) => {
    const { share, time, tick, writes } = steered();
    await share.claim();
    time.advance(afterMs);
    await tick();
    expect(writes()).toBe(count);
  });

  it('is given up by a run that ends, without a write if the run has not joined', async () => {
    const store = memoryStore();
    const { share, stored, tick } = steered(store);
    await share.leave();
    expect(store.objects.size).toBe(0);
    await share.claim();
    await share.leave();
    expect(stored().runs).toEqual({});
    expect(share.requestsPerSecond).toBe(0);
    const { etag } = store.objects.get(KEY) ?? {};
    await share.leave();
    await tick();
    expect(store.objects.get(KEY)?.etag).toBe(etag);
  });

  it('is logged if it changes while several runs have shares', async () => {
    const store = memoryStore();
    const [one, other] = [steered(store, { runId: 'one' }), steered(store, { runId: 'other' })];
    await one.share.claim();
    expect(one.logged).toEqual([]);
    await other.share.claim();
    expect([other.share.requestsPerSecond, other.logged]).toEqual([0, []]);
    one.time.advance(RENEW_EVERY_MS);
    await one.tick();
    expect(one.share.requestsPerSecond).toBe(LIMIT / 2);
    await other.share.claim();
    const shared = { event: 'rate_shared', requestsPerSecond: LIMIT / 2, runs: 2 };
    expect(other.logged).toEqual([shared]);
    one.time.advance(RENEW_EVERY_MS);
    await one.tick();
    expect(one.logged).toEqual([]);
    await other.share.leave();
    one.time.advance(RENEW_EVERY_MS);
    await one.tick();
    expect([one.share.requestsPerSecond, one.logged]).toEqual([LIMIT, []]);
  });

  it('takes over the shares of ended runs, and checks only other runs for their end', async () => {
    const store = memoryStore();
    const dead = ['gone'];
    await steered(store, { runId: 'gone' }).share.claim();
    await steered(store, { runId: 'alive', wants: 1 }).share.claim();
    const { share, asked, stored } = steered(store, { runId: 'next', dead });
    await share.claim();
    expect(asked.sort()).toEqual(['alive', 'gone']);
    expect(Object.keys(stored().runs).sort()).toEqual(['alive', 'next']);
    expect(share.requestsPerSecond).toBe(LIMIT - 1);
  });

  it('is kept while renewals fail, for as long as it is valid; each outage is logged once', async () => {
    const { share, time, logged, fail, tick, stored } = steered();
    const outage = new BrandReportsError('transient', 'aws_unavailable', 'not now');
    await share.claim();
    const reported = { event: 'rate_budget_not_updated', message: 'not now' };
    for (const round of [1, 2]) {
      fail(outage);
      for (let times = 0; times < 3; times += 1) {
        time.advance(RENEW_EVERY_MS);
        await tick();
      }
      expect(share.requestsPerSecond).toBe(LIMIT);
      expect(logged).toEqual(Array.from({ length: round }, () => reported));
      fail(undefined);
      await share.claim();
      await tick();
      expect(stored().runs.run?.rate).toBe(LIMIT);
    }
  });

  it('fails with the error of a bug', async () => {
    const { share, fail } = steered();
    const mistake = new TypeError('not a function');
    fail(mistake);
    await expect(share.claim()).rejects.toBe(mistake);
  });

  it('is given up without an error if the store fails', async () => {
    const { share, fail, logged } = steered();
    await share.claim();
    fail(new BrandReportsError('transient', 'aws_unavailable', 'not now'));
    await share.leave();
    expect(share.requestsPerSecond).toBe(0);
    expect(logged.length).toBeLessThanOrEqual(1);
  });
});

/** Raises all rates together until each run has the rate that it needs or the limit is reached. */
function fairRates(wants: readonly number[], limit: number): number[] {
  let [low, high] = [0, LIMIT];
  for (let step = 0; step < 60; step += 1) {
    const level = (low + high) / 2;
    if (sum(wants.map((want) => Math.min(want, level))) <= limit) low = level;
    else high = level;
  }
  return wants.map((want) => Math.min(want, low));
}
