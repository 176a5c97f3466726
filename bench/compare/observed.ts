import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod/mini';
import { type Command, measure } from './measure.ts';
import { withFolder } from './folder.ts';

const observer = new URL('./observe.ts', import.meta.url);
const observedSchema = z.object({
  /** Bytes by path: the files that were loaded before the first request. */
  loaded: z.record(z.string(), z.number()),
  /** The delay of timers, from the first request on. */
  delayMs: z.object({ median: z.number(), p99: z.number(), max: z.number() }),
});
export type Observed = z.infer<typeof observedSchema>;

/** Runs a program of Node and observes it from inside, which makes it slower. */
export async function observe(command: Command): Promise<Observed> {
  return withFolder(async (folder) => {
    const file = join(folder, 'observed.json');
    const options = `--disable-warning=ExperimentalWarning --import ${fileURLToPath(observer)}`;
    const env = { ...command.env, NODE_OPTIONS: options, BENCH_OBSERVED: file };
    const { code, stderr } = await measure({ ...command, env });
    if (code !== 0) throw new Error(`the observed run ended with ${code}:\n${stderr.slice(-2000)}`);
    return z.parse(observedSchema, JSON.parse(await readFile(file, 'utf8')));
  });
}
