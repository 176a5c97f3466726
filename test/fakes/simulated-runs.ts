/**
 * Simulates runs that share a brand's rate. Each run is a process with its own clocks, in simulated time: minutes pass
 * in milliseconds. A process may pause, die, or lose the answer of a write. A store that delays a write may deliver it
 * long after its writer has given up. `createRateShare` is the real code; everything around it is simulated.
 */
import { BrandReportsError } from '../../shared/errors.ts';
import { createLakeDocuments } from '../../shared/lake/documents/lake-documents.ts';
import { type RateShare, createRateShare } from '../../shared/run/rate-share.ts';
import type { Clock, ObjectStore } from '../../shared/ports.ts';
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
  /** Times at which the run sends nothing. */
  idle: readonly { atMs: number; forMs: number }[];
  wants: number;
  /** The brand's rate in the run's settings; missing: the rate of the simulation. */
  limit?: number;
}

export interface Simulation {
  /** The rates in use at this moment, by the number of the run. Paused and dead runs have the rate 0. */
  rates(): number[];
  readonly store: ReturnType<typeof memoryStore>;
  readonly nowMs: number;
  at(ms: number, act: () => void): void;
  /** @param afterEach is called after every event */
  runUntil(ms: number, afterEach?: () => void): Promise<void>;
}

interface Run {
  share: RateShare;
  isOver: () => boolean;
  isPaused: () => boolean;
}

/**
 * @param limit of the brand, requests per second
 * @param fateOf of the operations of all runs, counted from 0
 * @param detectsDeadRuns whether the lake detects at once which runs have ended, as a folder does
 */
export function simulateRuns(
  plans: readonly RunPlan[],
  options: { limit: number; fateOf: (operation: number, nowMs: number) => Fate; detectsDeadRuns: boolean },
): Simulation {
  const { limit, fateOf, detectsDeadRuns } = options;
  let nowMs = 0;
  let operations = 0;
  let ids = 0;
  const events: { atMs: number; act: () => void }[] = [];
  const at = (ms: number, act: () => void) => void events.push({ atMs: Math.max(ms, nowMs), act });
  const wait = (ms: number) => new Promise<void>((resolve) => at(nowMs + ms, resolve));
  const store = memoryStore();
  const runs: Run[] = plans.map((plan, number) => createRun(plan, `run-${number}`));

  function createRun(plan: RunPlan, runId: string): Run {
    const isDead = () => plan.diesMs !== undefined && nowMs >= plan.diesMs;
    const pauseAt = (ms: number) => plan.pauses.find(({ atMs, forMs }) => atMs <= ms && ms < atMs + forMs);
    const isIdle = () => plan.idle.some(({ atMs, forMs }) => atMs <= nowMs && nowMs < atMs + forMs);
    const hasEnded = () => plan.endMs !== undefined && nowMs >= plan.endMs;
    /** Continues when the process runs; a dead process never continues. */
    const whenAwake = async (): Promise<void> => {
      for (;;) {
        if (isDead()) return new Promise(() => undefined);
        const pause = pauseAt(nowMs);
        if (!pause) return undefined;
        await wait(pause.atMs + pause.forMs - nowMs);
      }
    };
    const stoppedMs = () =>
      plan.pauses
        .filter(({ monotonicStops }) => monotonicStops)
        .reduce((sum, { atMs, forMs }) => sum + Math.min(forMs, Math.max(0, nowMs - atMs)), 0);
    const steppedMs = () =>
      plan.wallSteps.filter(({ atMs }) => atMs <= nowMs).reduce((sum, { byMs }) => sum + byMs, 0);
    const sleep = async (ms: number) => {
      await wait(ms / plan.speed);
      await whenAwake();
    };
    const clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'every' | 'sleep'> = {
      monotonicMs: () => (nowMs - stoppedMs()) * plan.speed,
      wallMs: () => nowMs + plan.wallSkewMs + steppedMs(),
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
    const share = createRateShare({
      document: createLakeDocuments({
        store: storeOf(whenAwake),
        newId: () => `write-${++ids}`,
        clock,
        random: () => 0.5,
      }).rateBudget('acme'),
      runId,
      limit: plan.limit ?? limit,
      wants: plan.wants,
      clock,
      runs: { isDead: async (id) => detectsDeadRuns && (runs[Number(id.slice(4))]?.isOver() ?? true) },
      log: () => undefined,
    });

    async function live(): Promise<void> {
      await wait(plan.startMs);
      await whenAwake();
      while (!hasEnded()) {
        if (!isIdle()) await share.claim().catch(() => undefined);
        await sleep(Math.min(1000, 1000 / share.requestsPerSecond));
      }
      await share.leave();
    }
    void live();
    return {
      share,
      isOver: () => isDead() || hasEnded(),
      isPaused: () => pauseAt(nowMs) !== undefined,
    };
  }

  /** The store as a process sees it: answers reach the process only while it runs. */
  function storeOf(whenAwake: () => Promise<void>): ObjectStore {
    const slowly = async <T>(act: () => Promise<T>): Promise<T> => {
      const { beforeMs, afterMs, outcome, lateMs } = fateOf(operations++, nowMs);
      await wait(beforeMs);
      if (outcome === 'late') at(nowMs + lateMs, () => void act());
      const done = outcome === 'answered' || outcome === 'lost' ? { value: await act() } : undefined;
      await wait(afterMs);
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

  return {
    store,
    at,
    get nowMs() {
      return nowMs;
    },
    rates: () =>
      runs.map(({ share, isOver, isPaused }) => (isOver() || isPaused() ? 0 : share.requestsPerSecond)),
    async runUntil(ms, afterEach) {
      await allSettled();
      for (;;) {
        const next = events.reduce<(typeof events)[number] | undefined>(
          (first, event) => (first && first.atMs <= event.atMs ? first : event),
          undefined,
        );
        if (!next || next.atMs > ms) break;
        events.splice(events.indexOf(next), 1);
        nowMs = next.atMs;
        next.act();
        await allSettled();
        afterEach?.();
      }
      nowMs = ms;
    },
  };
}

/** A simulation waits for nothing but time, so all other work ends within one turn of the event loop. */
const allSettled = () => new Promise((resolve) => void setImmediate(resolve));
