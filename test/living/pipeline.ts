/**
 * The real product, run after run in virtual time: each run is a process of its own, which shares nothing with the one
 * before but the lake. Time goes on only between runs, with each call of the service, and where the product waits.
 */
import { openLake } from '../../shared/adapters/open-lake.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { LogEvent } from '../../shared/log-events.ts';
import type { SyncOutcome } from '../../shared/outcome.ts';
import type { Clock, Lake, ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RunOptions, runSync } from '../../shared/run.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { memoryCatalog } from '../fakes/memory-catalog.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import type { Account } from '../strict-service/refuse.ts';
import type { Random } from '../torture/random.ts';

export const BRAND = 'acme';

/** How long a call of the service takes. */
const CALL_MS = 25;

/** The time of the service, the machine and the lake. */
export class VirtualTime {
  nowMs: number;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** A call has been made. */
  readonly tick = (): void => {
    this.nowMs += CALL_MS;
  };
}

/** A lake in memory takes half of the time of one in a folder. */
export type LakeKind = 'memory' | 'folder';

export interface Pipeline {
  readonly settings: Settings;
  readonly lake: Lake;
  /** Everything that a run logged. */
  readonly log: LogEvent[];
  /** One run, now. */
  run(options?: Partial<RunOptions> & { clockAheadMs?: number }): Promise<SyncOutcome>;
  /** One run whose process dies at so many operations on the lake, unless it has ended before. */
  runUntilDeath(operations: number): Promise<void>;
  remove(): Promise<void>;
}

export async function createPipeline(options: {
  time: VirtualTime;
  random: Random;
  account: Account;
  brandSettings: JsonObject;
  kind: LakeKind;
}): Promise<Pipeline> {
  const { time, random, account, brandSettings, kind } = options;
  const settings = parseSettings({ brands: { [BRAND]: brandSettings }, requestsPerSecond: 1000 }, reports);
  const { lake, remove } = kind === 'folder' ? await lakeInFolder(time) : lakeInMemory(time);
  const log: LogEvent[] = [];
  let ids = 0;

  const clock = (aheadMs = 0): Clock => {
    const machineMs = () => time.nowMs + aheadMs;
    return {
      now: () => new Date(machineMs()),
      wallMs: machineMs,
      monotonicMs: () => time.nowMs,
      async sleep(ms) {
        time.nowMs += ms;
      },
      // A run takes seconds: no lease is renewed.
      every: () => () => {},
    };
  };

  const pipeline: Pipeline = {
    settings,
    lake,
    log,
    remove,
    async runUntilDeath(operations) {
      const store = diesAtN(lake.store, operations);
      const catalog = lake.catalog && diesAtNCatalog(lake.catalog, store);
      try {
        await pipeline.run({ lake: { store, ...(catalog && { catalog }), runs: lake.runs } });
      } catch (thrown) {
        if (!(thrown instanceof ProcessDied)) throw thrown;
      }
    },
    run({ clockAheadMs, ...more } = {}) {
      return runSync({
        settings,
        reports,
        lake,
        credentials: { read: async () => account },
        clock: clock(clockAheadMs),
        log: (event) => log.push(event),
        send: sendRequest,
        random: () => random.next(),
        newId() {
          ids += 1;
          return `id-${String(ids).padStart(6, '0')}`;
        },
        scope: {},
        ...more,
      });
    },
  };
  return pipeline;
}

async function lakeInFolder(time: VirtualTime): Promise<{ lake: Lake; remove: () => Promise<void> }> {
  const folder = await temporaryFolder();
  const lake = await openLake(folder.path);
  return { lake: { ...lake, store: inTime(lake.store, time) }, remove: () => folder.remove() };
}

function lakeInMemory(time: VirtualTime): { lake: Lake; remove: () => Promise<void> } {
  const lake: Lake = {
    store: memoryStore({ now: () => new Date(time.nowMs) }),
    catalog: memoryCatalog(),
    runs: { register: async () => async () => {}, isDead: async () => false },
  };
  return { lake, remove: async () => {} };
}

/** What is written is as old as the virtual time says, so that vacuum removes what it would remove. */
function inTime(store: ObjectStore, time: VirtualTime): ObjectStore {
  const writtenAt = new Map<string, Date>();
  const note = (key: string) => writtenAt.set(key, new Date(time.nowMs));
  return {
    ...store,
    async put(key, body, precondition) {
      const outcome = await store.put(key, body, precondition);
      if (outcome !== 'conflict') note(key);
      return outcome;
    },
    create(key) {
      const writer = store.create(key);
      return {
        ...writer,
        async finish() {
          await writer.finish();
          note(key);
        },
      };
    },
    async *list(prefix) {
      for await (const object of store.list(prefix))
        yield { ...object, modifiedAt: writtenAt.get(object.key) ?? object.modifiedAt };
    },
  };
}
