/**
 * Runs the real product in virtual time: each run is a separate process that shares only the lake with the run before.
 * Time passes only between runs, with each call of the service, and while the product waits.
 */
import type { JsonObject } from '../../shared/json.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';
import type { Clock, SendRequest } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { runSync } from '../../shared/run/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { withoutBugs } from '../fakes/dies-at-n-store.ts';
import { BRAND } from '../simulation/contents.ts';
import { openSimulatedLake } from '../simulation/lake.ts';
import type { Random } from '../simulation/random.ts';
import type { Account } from '../strict-service/refuse.ts';

/** The time of the service, the machine and the lake. */
export interface LifeTime {
  nowMs: number;
}

export interface Pipeline {
  /** Everything that the runs logged. */
  readonly log: LogEvent[];
  /** One run, now. */
  run(): Promise<SyncOutcome>;
}

export async function createPipeline(options: {
  time: LifeTime;
  random: Random;
  account: Account;
  send: SendRequest;
  brandSettings: JsonObject;
}): Promise<Pipeline> {
  const { time, random, account, send, brandSettings } = options;
  const settings = parseSettings({ brands: { [BRAND]: brandSettings }, requestsPerSecond: 1000 }, reports);
  const lake = await openSimulatedLake('memory', () => time.nowMs);
  const log: LogEvent[] = [];
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `id-${String(ids).padStart(6, '0')}`;
  };

  const clock: Clock = {
    wallMs: () => time.nowMs,
    monotonicMs: () => time.nowMs,
    async sleep(ms) {
      time.nowMs += ms;
    },
    // A run takes seconds: no lease is renewed.
    every: () => () => {},
  };

  return {
    log,
    run: () =>
      withoutBugs(
        runSync({
          ...{ settings, reports, lake, clock, send, newId, scope: {} },
          credentials: { read: async () => account },
          log: (event) => log.push(event),
          random: () => random.next(),
        }),
      ),
  };
}
