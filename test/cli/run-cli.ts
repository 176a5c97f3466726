import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const LAUNCHER = fileURLToPath(new URL('../../cli/brand-reports.js', import.meta.url));

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunningCli {
  process: ChildProcess;
  /** Resolves as soon as standard error contains the text. */
  says(text: string): Promise<void>;
  result: Promise<CliResult>;
}

/** Starts the real launcher in its own process, without the credentials of this process's environment. */
export function startCli(
  args: readonly string[],
  options: { env?: Record<string, string>; nodeFlags?: readonly string[]; cwd?: string } = {},
): RunningCli {
  const { BRAND_REPORTS_CREDENTIALS: _credentials, NODE_OPTIONS: _options, ...inherited } = process.env;
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), LAUNCHER, ...args], {
    cwd: options.cwd,
    env: { ...inherited, NO_COLOR: '1', ...options.env },
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

export function runCli(
  args: readonly string[],
  options?: Parameters<typeof startCli>[1],
): Promise<CliResult> {
  return startCli(args, options).result;
}
