/**
 * Runs one random history, which follows entirely from its seed. A storm of some days comes first: up to three runs at
 * a time meet every fault. Then plain runs follow for weeks, until every day has settled. At the end the lake is judged by
 * the records of the service.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, addDays, dayOf, daysFrom } from '../../shared/base/days.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { SyncOutcome } from '../../shared/base/outcome.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RunOptions, runSync } from '../../shared/run/run.ts';
import { withoutBugs } from '../fakes/dies-at-n-store.ts';
import { withoutLease } from '../fakes/without-lease.ts';
import { judgeLake } from './judge.ts';
import { heldTable } from '../simulation/brand.ts';
import { openSimulatedLake } from '../simulation/lake.ts';
import { Random } from '../simulation/random.ts';
import { Deadlock, Timeline } from '../simulation/timeline.ts';
import { type LakeFaults, Life, never, reachedLake } from './lake.ts';
import { type TorturedService, ageService, createService } from './service.ts';
import { type Finding, type Kind, type Watch, type Watched, readAtRandom, watched } from './watch.ts';
import { type World, change, changesEndMs, daysOf, worldOf } from './world.ts';

/** One history and its findings. */
export interface HistoryResult {
  seed: number;
  findings: Finding[];
  runs: number;
  requests: number;
  faults: number;
  deaths: number;
}

interface History extends Watched {
  random: Random;
  service: TorturedService;
  faults: LakeFaults;
  /** The output of all runs. */
  said: string[];
  trace: (line: string) => void;
  runs: number;
  deaths: number;
}

/** After the storm the lake must be right within this time, whatever happened before. */
const MAX_PLAIN_MS = 25 * DAY_MS;
/** The vacuum removes leftovers within its longest grace and a day. */
const MIN_PLAIN_MS = 10 * DAY_MS;
const PLAIN_INTERVAL_MS = 12 * HOUR_MS;

export async function runHistory(seed: number, trace: (line: string) => void): Promise<HistoryResult> {
  const random = new Random(seed);
  const world = worldOf(random.fork('world'));
  const time = new Timeline(world.stormStartMs);
  const watch = newWatch(trace);
  const lake = watched({ lake: openSimulatedLake(() => time.nowMs), world, time, watch });
  const history: History = {
    world,
    time,
    random,
    lake,
    watch,
    service: createService(world, time, random.fork('service')),
    faults: { rate: 0, injected: 0 },
    said: [],
    trace,
    runs: 0,
    deaths: 0,
  };
  try {
    await time.runUntilSettled(live(history));
  } catch (thrown) {
    if (!(thrown instanceof Deadlock)) throw thrown;
    watch.report('other', 'a run waits for something that never comes');
  }
  return {
    seed,
    findings: watch.findings,
    runs: history.runs,
    requests: history.service.requests,
    faults: history.service.faults + history.faults.injected,
    deaths: history.deaths,
  };
}

function newWatch(trace: (line: string) => void): Watch {
  const findings: Finding[] = [];
  return {
    findings,
    committedSnapshots: new Set(),
    report(kind: Kind, what: string) {
      trace(`WRONG ${kind}: ${what}`);
      findings.push({ kind, what });
    },
  };
}

async function live(history: History): Promise<void> {
  const { world, time, random, service, faults, watch } = history;
  const [ofRequests, ofCalls] = [random.pick([0, 0.01, 0.05]), random.pick([0, 0.002, 0.01])];
  service.faultRate = ofRequests;
  faults.rate = ofCalls;
  changeWhileRead(history, random.fork('changes while read'));
  await Promise.all([
    storm(history, random.fork('storm')),
    ageService(world, service, time, random.fork('age')),
    changeAtRandom(history, random.fork('changes')),
    readAtRandom(history, random.fork('reader')),
  ]);
  service.faultRate = 0;
  faults.rate = 0;
  service.onPage = () => {};
  await time.sleep(HOUR_MS);
  await runPlainWeeks(history, random.fork('calm'));
  for (const violation of new Set(service.violations))
    watch.report('other', `forbidden request: ${violation}`);
  await time.outside(() => judgeLake(history));
}

/** Runs the storm: up to three runs at a time, in turn, until it is over. */
async function storm(history: History, random: Random): Promise<void> {
  const { world, time } = history;
  const under = new Set<Promise<unknown>>();
  while (time.nowMs < world.stormEndMs) {
    await time.sleep(random.chance(0.5) ? random.between(0, 60_000) : random.between(1, 400) * MINUTE_MS);
    while (under.size >= 3) await Promise.race(under);
    const run = stormyRun(history, random.fork(`run ${history.runs}`)).finally(() => under.delete(run));
    under.add(run);
  }
  await Promise.all(under);
}

async function stormyRun(history: History, random: Random): Promise<void> {
  const { world, time } = history;
  const skewMs = skewOf(world, random);
  const lastCall = random.chance(0.25) ? random.whole(1, 300) : Number.POSITIVE_INFINITY;
  const life = new Life(lastCall, random);
  const softMs = time.nowMs + random.pick([0, 0, 1, 3, 10, 60, 600]) * 1000;
  const isShort = random.chance(0.5);
  const deadline = isShort ? { softMs, hardMs: softMs + 60_000 } : undefined;
  // A function ends when its time is over.
  if (deadline && random.chance(0.5)) void time.sleep(deadline.hardMs - time.nowMs).then(() => life.die());
  const { from, to } = random.chance(0.15) ? rangeOf(world, time.nowMs, random) : {};
  const offsetMs = random.chance(0.06)
    ? random.pick([-12 * HOUR_MS, -40 * MINUTE_MS, 2 * HOUR_MS, 60 * DAY_MS])
    : 0;
  await run(history, life, random, {
    skewMs,
    nowOffsetMs: offsetMs,
    seesLease: random.chance(0.7),
    ...(deadline && { deadline }),
    scope: {
      ...(random.chance(0.5) && { reports: [random.pick(world.reports).name] }),
      ...(from !== undefined && { from, to }),
    },
  });
}

/** Machines whose clock is sometimes wrong. Without `Date` headers nothing reveals the error, so it stays within the service's limit. */
function skewOf({ hasDates }: World, random: Random): number {
  const skewMs = hasDates
    ? random.pick([-12 * HOUR_MS, -40 * MINUTE_MS, -3000, 3000, 40 * MINUTE_MS, 2 * HOUR_MS, 60 * DAY_MS])
    : random.whole(-50_000, 50_000);
  return random.chance(0.3) ? skewMs : 0;
}

function rangeOf(world: World, nowMs: number, random: Random): { from?: string; to?: string } {
  const days = daysFrom(world.startDate, dayOf(nowMs, world.brand.timeZone));
  const [from, to] = random.sample(days, 2);
  return from === undefined || to === undefined ? {} : { from, to };
}

interface RunPlan extends Pick<RunOptions, 'deadline' | 'scope'> {
  /** If not, compare-and-swap alone makes it safe (I5). */
  seesLease: boolean;
  /** The machine's clock minus the true time. */
  skewMs: number;
  /** An event's `now` minus the true time; 0: the event has no `now`. */
  nowOffsetMs: number;
}

/** One process. Every run ends, fails with an outcome or dies; an exception is a bug. */
async function run(
  history: History,
  life: Life,
  random: Random,
  plan: RunPlan,
): Promise<SyncOutcome | undefined> {
  const { world, time, service, faults, watch } = history;
  history.runs += 1;
  const number = history.runs;
  const startedMs = time.nowMs;
  const at = new Date(startedMs).toISOString();
  history.trace(`${at} run ${number} begins ${JSON.stringify(plan)}`);
  const wallMs = () => time.nowMs + plan.skewMs;
  const log = (event: LogEvent) => {
    history.said.push(JSON.stringify(event));
    history.trace(`${new Date(time.nowMs).toISOString()} run ${number} ${JSON.stringify(event)}`);
  };
  const { skewMs: _skewMs, nowOffsetMs, seesLease, ...options } = plan;
  const reached = reachedLake(history.lake, { time, life, faults, random: random.fork('lake') });
  const fixedNow = nowOffsetMs === 0 ? undefined : new Date(startedMs + nowOffsetMs);
  const requestsBefore = service.requests;
  const running = runSync({
    ...options,
    settings: world.settings,
    reports,
    lake: seesLease ? reached : { ...reached, store: withoutLease(reached.store) },
    credentials: { read: async () => (life.dead ? never() : world.credentials) },
    send: service.send,
    clock: {
      ...(fixedNow && { fixedNow }),
      wallMs,
      monotonicMs: () => time.nowMs,
      async sleep(ms) {
        await time.sleep(ms);
        if (life.dead) await never();
      },
      every: (ms, tick) => time.every(ms, () => !life.dead && tick()),
    },
    log,
    random: () => random.next(),
    newId: () => `${number}-${random.whole(0, 1e9).toString(36)}`,
  });
  try {
    const outcome = await Promise.race([withoutBugs(running), life.died]);
    history.trace(
      `${new Date(time.nowMs).toISOString()} run ${number} ${outcome === 'died' ? outcome : JSON.stringify(outcome)}`,
    );
    if (outcome === 'died') {
      history.deaths += 1;
      return undefined;
    }
    history.said.push(JSON.stringify(outcome));
    return outcome;
  } catch (thrown) {
    watch.report(
      'other',
      `${at} run ${number} threw ${thrown instanceof Error ? thrown.stack : String(thrown)}`,
    );
    return undefined;
  } finally {
    const requests = service.requests - requestsBefore;
    if (requests > maxRequests(world))
      watch.report('other', `${at} run ${number} and those beside it made ${requests} requests`);
  }
}

/** Generous: all records of the service, several times, plus the retries of three runs at a time. */
function maxRequests(world: World): number {
  const days = Object.values(world.brand.held).flatMap((held) => [...held.values()]);
  const records = days.reduce((sum, held) => sum + held.length, 0);
  return 500 + 6 * (records + 10 * daysOf(world).length);
}

/** Plain runs, day after day. */
async function runPlainWeeks(history: History, random: Random): Promise<void> {
  const { world, time, watch } = history;
  const startMs = time.nowMs;
  let failing = '';
  while (time.nowMs - startMs < MAX_PLAIN_MS) {
    const beganMs = time.nowMs;
    const life = new Life(Number.POSITIVE_INFINITY, random);
    const outcome = await run(history, life, random.fork(`run ${history.runs}`), {
      skewMs: 0,
      nowOffsetMs: 0,
      seesLease: true,
      scope: {},
    });
    const age = time.nowMs - startMs;
    failing = outcome?.status === 'complete' ? '' : JSON.stringify(outcome);
    // Whatever the storm has left, one plain run updates everything.
    if (beganMs === startMs && failing !== '') watch.report('other', `the first plain run ended ${failing}`);
    const isSettled = failing === '' && age >= MIN_PLAIN_MS && time.nowMs >= lastChangesEndMs(world);
    if (isSettled) return;
    await time.sleep(PLAIN_INTERVAL_MS);
  }
  watch.report('other', `no end after ${MAX_PLAIN_MS / DAY_MS} days of plain runs: ${failing}`);
}

/** When every day of the storm has been due for the last time, with time for the two readings that agree, and for the vacuum. */
function lastChangesEndMs(world: World): number {
  const last = dayOf(world.stormEndMs, world.brand.timeZone);
  const ends = world.reports.map((report) => changesEndMs(world, heldTable(report), last));
  return Math.max(...ends) + 5 * DAY_MS;
}

async function changeAtRandom({ world, time }: History, random: Random): Promise<void> {
  while (time.nowMs < world.stormEndMs) {
    await time.sleep(random.between(20, 400) * MINUTE_MS);
    const day = addDays(dayOf(time.nowMs, world.brand.timeZone), -random.whole(0, 5));
    change(world, heldTable(random.pick(world.reports)), day, time.nowMs, random);
  }
}

/** A day changes after one of its pages. */
function changeWhileRead({ world, service, time }: History, random: Random): void {
  service.onPage = ({ action, day }) => {
    if (!random.chance(0.02)) return;
    const report = Object.values(reports).find((one) => one.action === action);
    if (report && report.day.by !== 'upstream') change(world, heldTable(report), day, time.nowMs, random);
  };
}
