/**
 * Simulates runs of one brand. Each run is a process with its own clocks, in simulated time: minutes pass in
 * milliseconds. A process may pause, die, or lose the answer of a write. A store that delays a write may deliver it long
 * after its writer has given up. The lease and the rate limit are the real code; everything around them is simulated.
 */
import { BrandReportsError, asBrandReportsError } from '../../shared/base/errors.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import type { Clock, ObjectStore } from '../../shared/ports.ts';
import { createLease } from '../../shared/run/lease.ts';
import { createRateLimiter } from '../../shared/service/rate-limit.ts';
import { NO_TURN } from '../../shared/service/request-queue.ts';
import { Timeline } from '../simulation/timeline.ts';
import { memoryStore } from './memory-store.ts';

/** The fate of one operation on the store. */
export interface Fate {
  /** Times until the operation takes effect, and from then until its answer arrives. */
  beforeMs: number;
  afterMs: number;
  /** `late`: the error comes at once, and a write takes effect `lateMs` after it. */
  outcome: 'answered' | 'refused' | 'lost' | 'late';
  lateMs: number;
}

export interface RunPlan {
  startMs: number;
  /** Missing: the process never dies. */
  endMs?: number;
  diesMs?: number;
  /** The speed of its monotonic clock. */
  speed: number;
  wallSkewMs: number;
  /** The offset by which the wall clock is set. */
  wallSteps: readonly { atMs: number; byMs: number }[];
  pauses: readonly { atMs: number; forMs: number; monotonicStops: boolean }[];
  /** How long the run may wait; missing: as long as any run. */
  leftMs?: number;
}

export interface Simulation {
  /** What the service has received, by its clock. */
  readonly requests: { run: number; atMs: number }[];
  /** Why a run gave up: the code of its error and how long it had waited. */
  readonly refusals: { run: number; code: string; message: string; atMs: number }[];
  readonly store: ReturnType<typeof memoryStore>;
  at(ms: number, act: () => void): void;
  runUntil(ms: number): Promise<void>;
}

/**
 * @param requestsPerSecond of the brand
 * @param fateOf of the operations of all runs, counted from 0
 * @param detectsDeadRuns whether the lake detects at once which runs have ended, as a folder does
 */
export function simulateRuns(
  plans: readonly RunPlan[],
  options: {
    requestsPerSecond: number;
    fateOf: (operation: number, nowMs: number) => Fate;
    detectsDeadRuns: boolean;
  },
): Simulation {
  const { requestsPerSecond, fateOf, detectsDeadRuns } = options;
  const time = new Timeline(0);
  let operations = 0;
  let ids = 0;
  const store = memoryStore();
  const requests: Simulation['requests'] = [];
  const refusals: Simulation['refusals'] = [];
  const areOver: (() => boolean)[] = plans.map(createRun);

  function createRun(plan: RunPlan, run: number): () => boolean {
    const isDead = () => plan.diesMs !== undefined && time.nowMs >= plan.diesMs;
    const pauseAt = (ms: number) => plan.pauses.find(({ atMs, forMs }) => atMs <= ms && ms < atMs + forMs);
    const hasEnded = () => plan.endMs !== undefined && time.nowMs >= plan.endMs;
    /** Continues when the process runs; a dead process never continues. */
    const whenAwake = async (): Promise<void> => {
      for (;;) {
        if (isDead()) return new Promise(() => undefined);
        const pause = pauseAt(time.nowMs);
        if (!pause) return undefined;
        await time.sleep(pause.atMs + pause.forMs - time.nowMs);
      }
    };
    const stoppedMs = () =>
      plan.pauses
        .filter(({ monotonicStops }) => monotonicStops)
        .reduce((sum, { atMs, forMs }) => sum + Math.min(forMs, Math.max(0, time.nowMs - atMs)), 0);
    const steppedMs = () =>
      plan.wallSteps.filter(({ atMs }) => atMs <= time.nowMs).reduce((sum, { byMs }) => sum + byMs, 0);
    const sleep = async (ms: number) => {
      // As a timer: never shorter than 1 ms, so that rounding stops no time.
      await time.sleep(Math.max(1, ms / plan.speed));
      await whenAwake();
    };
    const clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'every' | 'sleep'> = {
      monotonicMs: () => (time.nowMs - stoppedMs()) * plan.speed,
      wallMs: () => time.nowMs + plan.wallSkewMs + steppedMs(),
      sleep,
      every(ms, tick) {
        let isOn = true;
        const next = async () => {
          await sleep(ms);
          if (!isOn) return;
          tick();
          void next();
        };
        void next();
        return () => {
          isOn = false;
        };
      },
    };
    const lease = createLease({
      brand: 'acme',
      document: createLakeDocuments({
        store: storeOf(whenAwake),
        newId: () => `write-${++ids}`,
        clock,
        random: () => 0.5,
      }).lease('acme'),
      runId: `run-${run}`,
      name: `host/${run}`,
      time: {
        leftMs: () => plan.leftMs ?? Number.POSITIVE_INFINITY,
        untilOverMs: () => Number.POSITIVE_INFINITY,
      },
      clock,
      runs: { isDead: async (id) => detectsDeadRuns && (areOver[Number(id.slice(4))]?.() ?? true) },
      log: () => undefined,
    });
    const limiter = createRateLimiter({
      ...{ requestsPerSecond, claim: lease.claim, refusePause: () => undefined },
      ...{ monotonicMs: clock.monotonicMs, sleep },
    });

    /** @returns how long the next request waits at least; `undefined` if the run gives up */
    const send = async (): Promise<number | undefined> => {
      try {
        await limiter.take(NO_TURN);
        requests.push({ run, atMs: time.nowMs });
        return 5;
      } catch (error) {
        const { code, message } = asBrandReportsError(error);
        refusals.push({ run, code, message, atMs: time.nowMs });
        return code === 'brand_busy' ? undefined : 1_000;
      }
    };

    async function live(): Promise<void> {
      await time.sleep(plan.startMs);
      await whenAwake();
      while (!hasEnded()) {
        const waitMs = await send();
        if (waitMs === undefined) break;
        await sleep(waitMs);
      }
      await lease.release();
    }
    void live();
    return () => isDead() || hasEnded();
  }

  /** The store as a process sees it: answers reach the process only while it runs. */
  function storeOf(whenAwake: () => Promise<void>): ObjectStore {
    const slowly = async <T>(act: () => Promise<T>): Promise<T> => {
      const { beforeMs, afterMs, outcome, lateMs } = fateOf(operations++, time.nowMs);
      await time.sleep(beforeMs);
      if (outcome === 'late') void time.sleep(lateMs).then(act);
      const done = outcome === 'answered' || outcome === 'lost' ? { value: await act() } : undefined;
      await time.sleep(afterMs);
      await whenAwake();
      if (done && outcome === 'answered') return done.value;
      throw new BrandReportsError('transient', 'aws_unavailable', 'the store gave no answer');
    };
    return {
      ...store,
      get: (key) => slowly(async () => store.get(key)),
      put: (key, body, precondition) => slowly(() => store.put(key, body, precondition)),
    };
  }

  const at = (ms: number, act: () => void) => void time.sleep(ms - time.nowMs).then(act);
  return { store, at, requests, refusals, runUntil: (ms) => time.runUntil(ms) };
}
