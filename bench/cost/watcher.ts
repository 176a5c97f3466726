/** Watcher runs: one over a given lake, and one over many brands that each have the documents of the simulated one. */
import { consoleControls, consoleTextControls } from '../../functions/console-controls.ts';
import { COVERAGE_PAGE_KEY } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { watch } from '../../shared/watcher/index.ts';
import { storeAround } from '../../test/fakes/lake-around.ts';
import { memoryStore } from '../../test/fakes/memory-store.ts';

type WatchOptions = Parameters<typeof watch>[0];

/** S3's own. */
const KEYS_PER_LIST = 1000;

/** @throws Error where the watcher finds a problem in a lake that has none */
export async function watcherRun(
  options: Pick<WatchOptions, 'settings' | 'store' | 'clock' | 'newId' | 'events' | 'log'>,
): Promise<void> {
  const { problems } = await watch({
    ...options,
    reports,
    random: () => 0.5,
    // Findings are told once: the brand's days differ from one another.
    notifier: { tell: async () => {} },
    countProblems: () => {},
    message: {
      pipeline: 'BrandReports',
      page: '',
      controls: consoleTextControls('us-east-1', 'BrandReports'),
    },
    controls: consoleControls('us-east-1', 'BrandReports'),
  });
  if (problems.length > 0) throw new Error(`the watcher: ${JSON.stringify(problems)}`);
}

/** What one watcher run requests from S3, the page included. */
export interface WatcherRun {
  gets: number;
  writesAndLists: number;
  pageMb: number;
}

/**
 * @param documents of the lake of one brand, by key
 * @param nowMs when the run starts
 */
export async function watcherRunOver(
  names: readonly string[],
  settings: WatchOptions['settings'],
  documents: ReadonlyMap<string, Uint8Array>,
  brand: string,
  nowMs: number,
): Promise<WatcherRun> {
  const counted = { gets: 0, writesAndLists: 0 };
  const written = memoryStore();
  const own = (key: string, name: string) => key.replace(`/${brand}/`, `/${name}/`);
  const keys = new Map(
    names.flatMap((name) => [...documents.keys()].map((key) => [own(key, name), { key, name }] as const)),
  );
  // Bodies are made when they are read: those of 300 brands are 800 MB.
  const many: ObjectStore = {
    ...written,
    async get(key) {
      const of = keys.get(key);
      const body = of && documents.get(of.key);
      if (!of || !body) return written.get(key);
      const text = Buffer.from(body).toString().replaceAll(`"${brand}"`, `"${of.name}"`);
      return { body: Buffer.from(text), etag: '1' };
    },
    async *list(prefix) {
      const found = [...keys.keys()].filter((key) => key.startsWith(prefix)).sort();
      counted.writesAndLists += Math.ceil(found.length / KEYS_PER_LIST);
      for (const key of found) yield { key, bytes: 0, modifiedAt: new Date(nowMs) };
    },
  };
  const store = storeAround(many, async ({ name }, act) => {
    if (name === 'get') counted.gets += 1;
    if (name === 'put' || name === 'finish') counted.writesAndLists += 1;
    return act();
  });
  const clock = { wallMs: () => nowMs, sleep: async () => {} };
  await watcherRun({
    settings,
    store,
    clock,
    newId: () => 'watcherRun',
    events: { send: async () => {} },
    log: () => {},
  });
  return { ...counted, pageMb: (written.objects.get(COVERAGE_PAGE_KEY)?.body.length ?? 0) / 1e6 };
}
