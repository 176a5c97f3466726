/**
 * Runs commands one after the other in one process, which loads the modules of the command line once: `run-cli.ts`
 * starts it, and sends each command as a message. Every command runs `cli/main.ts` anew, with its own arguments,
 * environment, folder and output. A start of the real launcher takes about half a second of CPU.
 */
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import * as z from 'zod/mini';
import { rememberFlags } from '../../cli/printed-command.ts';

const MAIN = new URL('../../cli/main.ts', import.meta.url);
const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
const FOLDER = process.cwd();
/** A suite that has ended sends no more commands. */
const IDLE_MS = 10_000;
/** What a command listens to. */
const OF_COMMAND = ['SIGINT', 'SIGTERM', 'uncaughtException', 'exit'] as const;

const commandSchema = z.object({
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  cwd: z.optional(z.string()),
});

const exit = process.exit.bind(process);
const off = process.off.bind(process);
let commands = 0;
let output = { stdout: '', stderr: '' };
let idle: NodeJS.Timeout | undefined;
process.on('disconnect', () => exit());
process.on('message', (message) => void run(z.parse(commandSchema, message)));
for (const name of ['stdout', 'stderr'] as const)
  process[name].write = (text: string | Uint8Array) => {
    output[name] += typeof text === 'string' ? text : Buffer.from(text).toString();
    return true;
  };

async function run({ args, env, cwd = FOLDER }: z.infer<typeof commandSchema>): Promise<void> {
  clearTimeout(idle);
  commands += 1;
  output = { stdout: '', stderr: '' };
  process.argv = [process.execPath, LAUNCHER, ...args];
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  process.chdir(cwd);
  Object.defineProperty(process, 'stdin', { value: Readable.from([]), configurable: true });
  // A command begins without the flags of the command before.
  rememberFlags(new Command());
  const code = await ended(() => import(`${MAIN.href}?${commands}`));
  for (const listener of process.listeners('exit')) listener.call(process, code);
  for (const name of OF_COMMAND) process.removeAllListeners(name);
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners('error');
  process.chdir(FOLDER);
  process.send?.({ ...output, code });
  idle = setTimeout(() => exit(), IDLE_MS);
}

/** @returns the exit code, once the command is over: it then stops expecting the end of the process, or exits */
async function ended(start: () => Promise<unknown>): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  process.off = (...event: Parameters<typeof off>) => {
    if (event[0] === 'beforeExit') resolve(Number(process.exitCode ?? 0));
    return off(...event);
  };
  process.exit = (code) => {
    resolve(Number(code ?? process.exitCode ?? 0));
    throw new Error('the command has exited');
  };
  await start();
  return promise;
}
