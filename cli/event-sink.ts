/**
 * Receives the events of days on a laptop: `sync --json` prints each one as a line, `sync --on-published` starts a command
 * for each one, which reads the event from its standard input. Neither arguments nor the environment contain anything of
 * it: a name from the service could be code for a shell.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { BrandReportsError } from '../shared/errors.ts';
import type { EventSink, LakeEvent } from '../shared/ports.ts';
import { printJson } from './output.ts';

/**
 * @param flags `json`: print the events. `onPublished`: the command
 * @param signal ends a command that runs
 * @returns nothing if the flags ask for no events
 */
export function eventSink(
  { json, onPublished }: { json?: boolean; onPublished?: string },
  signal: AbortSignal,
): EventSink | undefined {
  if (!json && onPublished === undefined) return undefined;
  return {
    atOnce: 1,
    async send(events) {
      for (const event of events) {
        if (onPublished !== undefined) await runCommand(onPublished, event, signal);
        if (json) printJson({ event });
      }
    },
  };
}

/** Runs the command with the event on its standard input. Its output goes to our standard error. */
async function runCommand(command: string, event: LakeEvent, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw notReceived(event, 'was not started, because the run was stopped');
  // A group of its own: a signal to the shell alone would leave what the shell has started.
  const child = spawn(command, { shell: true, stdio: ['pipe', 2, 2], detached: true });
  const stop = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  };
  signal.addEventListener('abort', stop);
  process.once('exit', stop);
  // A command that does not read its input closes the pipe.
  child.stdin?.on('error', () => {});
  child.stdin?.end(`${JSON.stringify(event)}\n`);
  try {
    const [code, by] = await once(child, 'exit');
    if (code !== 0) throw notReceived(event, by ? `was ended by ${by}` : `ended with exit code ${code}`);
  } finally {
    signal.removeEventListener('abort', stop);
    process.off('exit', stop);
  }
}

function notReceived({ detail }: LakeEvent, what: string): BrandReportsError {
  return new BrandReportsError(
    'transient',
    'event_not_received',
    `the command of --on-published ${what}, so the event ${detail.sequence} stays. Correct the command; the next run with --on-published sends the event again.`,
  );
}
