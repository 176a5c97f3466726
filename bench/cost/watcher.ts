/**
 * Simulates watcher runs: one over a given lake, and one over many brands that each have the documents of the simulated
 * brand.
 */
import { consoleControls } from '../../functions/console-controls.ts';
import { brandPageKey } from '../../shared/lake/paths.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { watch } from '../../shared/watch/watcher/index.ts';
import { storeAround } from '../../test/fakes/lake-around.ts';
import { memoryStore } from '../../test/fakes/memory-store.ts';

type WatchOptions = Parameters<typeof watch>[0];

/** The limit of S3. */
const KEYS_PER_LIST = 1000;

/** @throws Error if the watcher finds a problem, because the lake has no problem */
export async function watcherRun(
  options: Pick<WatchOptions, 'settings' | 'store' | 'clock' | 'newId' | 'events' | 'log'>,
): Promise<void> {
  const { problems } = await watch({
    ...options,
    reports,
    random: () => 0.5,
    // Each finding is reported once, and the simulated days have different findings.
    notifier: { tell: async () => {} },
    pipeline: 'BrandReports',
    controls: consoleControls('us-east-1', 'BrandReports'),
    pageAt: (key) => key,
  });
  if (problems.length > 0) throw new Error(`the watcher: ${JSON.stringify(problems)}`);
}

/** The requests of one watcher run to S3, the pages included, and the size of the page of a brand. */
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
  // Bodies are created when they are read: the bodies of 300 brands take 800 MB.
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
  return { ...counted, pageMb: (written.objects.get(brandPageKey(names[0] ?? ''))?.body.length ?? 0) / 1e6 };
}
