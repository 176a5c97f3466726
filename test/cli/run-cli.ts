import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { COMPILE_CACHE } from '../fakes/compile-cache.ts';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));
const WARM = fileURLToPath(new URL('./warm-cli.ts', import.meta.url));

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunningCli {
  process: ChildProcess;
  says(text: string): Promise<void>;
  result: Promise<CliResult>;
}

interface CliOptions {
  env?: Record<string, string>;
  nodeFlags?: readonly string[];
  cwd?: string;
}

/** Without the credentials of this process's environment. */
function environment({ env }: CliOptions) {
  const { BRAND_REPORTS_CREDENTIALS: _credentials, NODE_OPTIONS: _options, ...inherited } = process.env;
  return { ...inherited, NO_COLOR: '1', ...env };
}

/** Starts the real launcher in its own process. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), LAUNCHER, ...args], {
    cwd: options.cwd,
    env: environment(options),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const listener of listeners) listener();
    });
  }
  const result = once(child, 'close').then(([code]) => ({ ...output, code: Number(code) }));
  const says = (text: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => (output.stderr.includes(text) ? resolve() : undefined);
    listeners.add(look);
    look();
    void result.then(({ stderr }) => reject(new Error(`exited without printing "${text}": ${stderr}`)));
    return promise;
  };
  return { process: child, says, result };
}

/** The outcome in what `sync --json` has printed: its last line, after the events. */
export function outcomeIn(stdout: string) {
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

/** Runs the commands of a suite, one after the other. */
let warm: ChildProcess | undefined;
let isRunning = false;

/**
 * Runs a command to its end, in the process of the command before, which has loaded all modules. Commands at the same
 * time, and commands with flags of Node, have their own processes.
 */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  if (options.nodeFlags || isRunning) return startCli(args, options).result;
  isRunning = true;
  const child = warm ?? warmProcess();
  const { promise, resolve, reject } = Promise.withResolvers<CliResult>();
  const died = () => reject(new Error(`the process of the command line died at: ${args.join(' ')}`));
  child.once('message', (result: CliResult) => resolve(result)).once('exit', died);
  child.ref();
  child.channel?.ref();
  child.send({ args, env: environment(options), cwd: options.cwd });
  try {
    return await promise;
  } finally {
    child.off('exit', died).unref();
    child.channel?.unref();
    isRunning = false;
  }
}

/** It ends by itself. Between commands it keeps no process waiting. */
function warmProcess(): ChildProcess {
  warm = fork(WARM, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { ...environment({}), ...COMPILE_CACHE },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return warm.once('exit', () => {
    warm = undefined;
  });
}
