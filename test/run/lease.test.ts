import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MINUTE_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { parseJson } from '../../shared/base/json.ts';
import { parseBrandLease } from '../../shared/lake/brand-lease.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import { leaseKey } from '../../shared/lake/paths.ts';
import { MAX_WAIT_MS, RENEW_EVERY_MS, TAKE_AFTER_MS, VALID_MS, createLease } from '../../shared/run/lease.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { type Fate, type RunPlan, type Simulation, simulateRuns } from '../fakes/simulated-runs.ts';
import { virtualTime } from '../fakes/virtual-time.ts';
import { runs } from '../fixtures/property-runs.ts';

const RATE = 5;
const INTERVAL_MS = 1000 / RATE;
/** A timer that is a little late delays no later request. */
const LATE_MS = 20;
const MAX_SPEED = 1.25;
const KEY = leaseKey('acme');
const FAULTS_END_MS = 4 * MINUTE_MS;
const FAST: Fate = { beforeMs: 10, afterMs: 10, outcome: 'answered', lateMs: 0 };
const FAULTLESS = { requestsPerSecond: RATE, fateOf: () => FAST, detectsDeadRuns: false };
const STEADY: RunPlan = { startMs: 0, speed: 1, wallSkewMs: 0, wallSteps: [], pauses: [] };

const moment = fc.integer({ min: 0, max: FAULTS_END_MS });
const span = fc.integer({ min: 1, max: 100_000 });

/** Runs that start, pause, die and end at any time; after `FAULTS_END_MS` the other runs only send. */
const plan: fc.Arbitrary<RunPlan> = fc
  .record(
    {
      startMs: fc.integer({ min: 0, max: FAULTS_END_MS / 2 }),
      endMs: moment,
      diesMs: moment,
      speed: fc.double({ min: 0.8, max: MAX_SPEED, noNaN: true }),
      wallSkewMs: fc.integer({ min: -1e9, max: 1e9 }),
      wallSteps: fc.array(fc.record({ atMs: moment, byMs: fc.integer({ min: -1e6, max: 1e6 }) }), {
        maxLength: 2,
      }),
      pauses: fc
        .array(fc.record({ atMs: moment, forMs: span, monotonicStops: fc.boolean() }), { maxLength: 3 })
        .map(apart),
      leftMs: fc.constantFrom(0, 15_000, 10 * MINUTE_MS),
    },
    { requiredKeys: ['startMs', 'speed', 'wallSkewMs', 'wallSteps', 'pauses'] },
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

/** The shortest time between two requests of any runs, by the clock of the service. */
function shortestGapMs({ requests }: Simulation): number {
  return Math.min(...requests.slice(1).map(({ atMs }, index) => atMs - (requests[index]?.atMs ?? 0)));
}

/** The most requests in any second, by the clock of the service. */
function mostInASecond({ requests }: Simulation): number {
  return Math.max(
    0,
    ...requests.map(
      (first, from) => requests.slice(from).filter(({ atMs }) => atMs < first.atMs + 1000).length,
    ),
  );
}

function between({ requests }: Simulation, run: number, fromMs: number, toMs: number): number {
  return requests.filter((sent) => sent.run === run && sent.atMs >= fromMs && sent.atMs < toMs).length;
}

const firstOf = ({ requests }: Simulation, run: number) =>
  requests.find((sent) => sent.run === run)?.atMs ?? 0;

describe('the runs of a brand', () => {
  it('never send requests at the same time, whatever fails, and one of them goes on afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { minLength: 1, maxLength: 5 }),
        fc.array(fate, { minLength: 1, maxLength: 200 }),
        fc.boolean(),
        async (plans, fates, detectsDeadRuns) => {
          const simulation = simulateRuns(plans, {
            requestsPerSecond: RATE,
            detectsDeadRuns,
            fateOf: (operation, nowMs) =>
              (nowMs < FAULTS_END_MS ? fates[operation % fates.length] : undefined) ?? FAST,
          });
          const endMs = FAULTS_END_MS + 2 * MAX_WAIT_MS;
          await simulation.runUntil(endMs);
          expect(shortestGapMs(simulation)).toBeGreaterThanOrEqual(INTERVAL_MS / MAX_SPEED - LATE_MS);
          const gaveUp = new Set(
            simulation.refusals.flatMap(({ run, code }) => (code === 'brand_busy' ? [run] : [])),
          );
          const going = plans.flatMap((own, run) =>
            own.endMs === undefined && own.diesMs === undefined && !gaveUp.has(run) ? [run] : [],
          );
          const sending = going.filter((run) => between(simulation, run, endMs - MINUTE_MS, endMs) > 0);
          expect(sending).toHaveLength(Math.min(1, going.length));
        },
      ),
      { ...runs(50), endOnFailure: true },
    );
  });

  it('take turns if they start together: the second begins when the first has ended', async () => {
    const simulation = simulateRuns([{ ...STEADY, endMs: 30_000 }, STEADY], FAULTLESS);
    await simulation.runUntil(MINUTE_MS);
    expect(between(simulation, 1, 0, 30_000)).toBe(0);
    expect(firstOf(simulation, 1)).toBeLessThan(33_000);
    expect(mostInASecond(simulation)).toBe(RATE);
  });

  it('end as busy after two minutes, and name the run that holds the lease, and since when', async () => {
    const simulation = simulateRuns([STEADY, { ...STEADY, startMs: 1_000 }], FAULTLESS);
    await simulation.runUntil(5 * MINUTE_MS);
    expect(between(simulation, 1, 0, 5 * MINUTE_MS)).toBe(0);
    expect(simulation.refusals).toMatchObject([
      {
        run: 1,
        code: 'brand_busy',
        message: expect.stringMatching(/another run \(host\/0, since \d{4}-\S+Z\) holds/),
      },
    ]);
    expect((simulation.refusals[0]?.atMs ?? 0) - 1_000).toBeLessThan(MAX_WAIT_MS + 1_000);
    expect(simulation.refusals[0]?.atMs).toBeGreaterThanOrEqual(1_000 + MAX_WAIT_MS);
  });

  it.each([
    ['a minute after it was killed elsewhere', false, TAKE_AFTER_MS - RENEW_EVERY_MS, TAKE_AFTER_MS + 5_000],
    ['at once after it was killed on this machine', true, 0, 5_000],
  ])('replace a holder %s', async (_name, detectsDeadRuns, earliestMs, latestMs) => {
    const plans = [
      { ...STEADY, diesMs: 30_000 },
      { ...STEADY, startMs: 31_000 },
    ];
    const simulation = simulateRuns(plans, { ...FAULTLESS, detectsDeadRuns });
    await simulation.runUntil(3 * MINUTE_MS);
    const afterMs = firstOf(simulation, 1) - 31_000;
    expect(afterMs).toBeGreaterThan(earliestMs);
    expect(afterMs).toBeLessThan(latestMs);
    expect(mostInASecond(simulation)).toBe(RATE);
  });

  it.each([
    ['ten minutes with its clock', 10 * MINUTE_MS, false],
    ['ten minutes without its monotonic clock', 10 * MINUTE_MS, true],
    ['a little longer than others wait', TAKE_AFTER_MS + 20_000, false],
  ])(
    'replace a holder that sleeps for %s, which is busy when it wakes',
    async (_name, forMs, monotonicStops) => {
      const sleeps = { ...STEADY, pauses: [{ atMs: 30_000, forMs, monotonicStops }] };
      const simulation = simulateRuns([sleeps, { ...STEADY, startMs: 40_000 }], FAULTLESS);
      await simulation.runUntil(20 * MINUTE_MS);
      expect(firstOf(simulation, 1)).toBeGreaterThan(30_000 + TAKE_AFTER_MS);
      expect(between(simulation, 0, 30_001, 20 * MINUTE_MS)).toBe(0);
      expect(simulation.refusals).toMatchObject([{ run: 0, code: 'brand_busy' }]);
      expect(mostInASecond(simulation)).toBe(RATE);
    },
  );

  it.each([
    ['not JSON', 'PAR1'],
    ['of another shape', '{"version":2,"holder":{"run":"../../x","name":"a"},"recentWrites":[]}'],
    ['with text for a terminal', '{"version":2,"holder":{"run":"x","name":"\\u001b[2J"},"recentWrites":[]}'],
    ['with text for an instant', '{"version":2,"holder":{"name":"x","since":"soon"},"recentWrites":[]}'],
  ])('respect a holder whose lease became %s', async (_name, text) => {
    const plans = [STEADY, { ...STEADY, startMs: 31_000 }];
    const simulation = simulateRuns(plans, { ...FAULTLESS, detectsDeadRuns: true });
    simulation.at(30_500, () => {
      simulation.store.objects.set(KEY, { body: Buffer.from(text), etag: 'damaged', modifiedAt: new Date() });
    });
    await simulation.runUntil(4 * MINUTE_MS);
    expect(between(simulation, 1, 0, 4 * MINUTE_MS)).toBe(0);
    expect(simulation.refusals).toMatchObject([{ run: 1, message: expect.stringContaining('host/0') }]);
    expect(between(simulation, 0, 3 * MINUTE_MS, 4 * MINUTE_MS)).toBeGreaterThan(RATE * 58);
  });

  it('take a damaged lease that nobody renews after a minute', async () => {
    const simulation = simulateRuns([STEADY], { ...FAULTLESS, detectsDeadRuns: true });
    simulation.store.objects.set(KEY, { body: Buffer.from('{}'), etag: 'damaged', modifiedAt: new Date() });
    await simulation.runUntil(2 * MINUTE_MS);
    expect(firstOf(simulation, 0)).toBeGreaterThanOrEqual(TAKE_AFTER_MS);
  });
});

/** A run on a clock that a test moves. */
function steered(store = memoryStore()) {
  const time = virtualTime(1_000_000);
  const ticks = new Set<() => void>();
  const logged: unknown[] = [];
  let ids = 0;
  let failsWith: Error | undefined;
  let puts = 0;
  const failing = {
    ...store,
    get: (key: string) => (failsWith ? Promise.reject(failsWith) : store.get(key)),
    put: (...put: Parameters<typeof store.put>) => {
      puts += 1;
      return failsWith ? Promise.reject(failsWith) : store.put(...put);
    },
  };
  const lease = createLease({
    ...{ brand: 'acme', runId: 'run', name: 'host\u001b[2J/1' },
    document: createLakeDocuments({
      store: failing,
      newId: () => `w-${++ids}`,
      clock: time,
      random: () => 0,
    }).lease('acme'),
    time: { leftMs: () => 10_000, untilOverMs: () => 10_000 },
    clock: {
      ...time,
      every(_ms, tick) {
        ticks.add(tick);
        return () => void ticks.delete(tick);
      },
    },
    runs: { isDead: async () => false },
    log: (event) => logged.push(event),
  });
  return {
    ...{ lease, time, store, logged, ticks },
    puts: () => puts,
    stored: () => parseBrandLease(KEY)(parseJson(Buffer.from(store.objects.get(KEY)?.body ?? []).toString())),
    fail: (error: Error | undefined) => {
      failsWith = error;
    },
    tick: async () => {
      for (const tick of ticks) tick();
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    },
  };
}

describe('a lease', () => {
  it('costs a short run two writes, and a run that sends nothing none', async () => {
    const { lease, time, puts, stored, ticks } = steered();
    await lease.release();
    expect(puts()).toBe(0);
    const short = steered();
    await short.lease.claim();
    short.time.advance(RENEW_EVERY_MS - 1);
    await short.lease.claim();
    const since = new Date(short.time.wallMs() - RENEW_EVERY_MS + 1).toISOString();
    expect(short.stored().holder).toEqual({ run: 'run', name: 'host__2J/1', since });
    await short.lease.release();
    expect([short.puts(), short.stored().holder, short.ticks.size]).toEqual([2, undefined, 0]);
    expect([time.slept, ticks.size, stored]).toEqual([[], 0, stored]);
  });

  it('is valid for 20 seconds by the clock that has gone further, and then renewed before the next request', async () => {
    const { lease, time, puts } = steered();
    await lease.claim();
    time.advance(VALID_MS - 1);
    await lease.claim();
    expect(puts()).toBe(1);
    time.advance(1);
    await lease.claim();
    expect(puts()).toBe(2);
  });

  it('is kept while renewals fail, for as long as it is valid', async () => {
    const { lease, time, fail, tick, logged } = steered();
    const sinceMs = await lease.claim();
    fail(new BrandReportsError('transient', 'aws_unavailable', 'not now'));
    time.advance(RENEW_EVERY_MS);
    await tick();
    expect(await lease.claim()).toBe(sinceMs);
    time.advance(RENEW_EVERY_MS);
    await expect(lease.claim()).rejects.toMatchObject({ kind: 'transient', code: 'lease_unavailable' });
    fail(undefined);
    await lease.claim();
    expect(logged).toEqual([]);
  });

  it('fails with the error of a bug, and its release never fails', async () => {
    const { lease, fail } = steered();
    const mistake = new TypeError('not a function');
    await lease.claim();
    fail(mistake);
    await lease.release();
    const other = steered();
    other.fail(mistake);
    await expect(other.lease.claim()).rejects.toBe(mistake);
  });

  it('of another run is waited for no longer than the run has time, and a release ends the wait', async () => {
    const { store, lease } = steered();
    await lease.claim();
    const waiting = steered(store);
    const other = createLease({
      ...{ brand: 'acme', runId: 'other', name: 'x', log: (event) => waiting.logged.push(event) },
      document: createLakeDocuments({ store, newId: () => 'o', clock: waiting.time, random: () => 0 }).lease(
        'acme',
      ),
      time: { leftMs: () => 10_000, untilOverMs: () => 10_000 },
      clock: { ...waiting.time, every: () => () => {} },
      runs: { isDead: async () => false },
    });
    await expect(other.claim()).rejects.toMatchObject({ kind: 'conflict', code: 'brand_busy' });
    expect(waiting.time.slept).toEqual([2_000, 2_000, 2_000, 2_000, 2_000]);
    expect(waiting.logged).toEqual([{ event: 'brand_awaited', holder: 'host__2J/1' }]);
    const claimed = expect(other.claim()).rejects.toMatchObject({ code: 'stopped' });
    await other.release();
    await claimed;
  });
});
