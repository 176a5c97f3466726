/** `sync --on-published` gives the event to standard input: in arguments, a shell could run a name in the event as code. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { withoutCredentials } from '../shared/adapters/credentials.ts';
import { textOf } from '../shared/adapters/error-fields.ts';
import type { ErrorCode } from '../shared/base/error-codes.ts';
import { BrandReportsError } from '../shared/base/errors.ts';
import type { EventSink, LakeEvent } from '../shared/ports.ts';
import { printJson } from './output.ts';

/** @param onFailure gets each event that the command has not received @returns `undefined` if the flags request no events */
export function eventSink(
  { json, onPublished }: { json?: boolean; onPublished?: string },
  signal: AbortSignal,
  onFailure: () => void,
): EventSink | undefined {
  if (!json && onPublished === undefined) return undefined;
  return {
    atOnce: 1,
    async send(events) {
      for (const event of events) {
        if (onPublished !== undefined)
          await runCommand(onPublished, event, signal).catch((thrown: unknown) => {
            onFailure();
            throw thrown;
          });
        if (json) printJson({ event });
      }
    },
  };
}

/** The command writes to our standard error. @throws BrandReportsError unless it ends with exit code 0 */
async function runCommand(command: string, event: LakeEvent, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw notReceived('stopped', 'was not started, because the run was stopped');
  const child = start(command);
  const stop = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The command has already ended.
    }
  };
  signal.addEventListener('abort', stop);
  process.once('exit', stop);
  // A command that does not read its input closes the pipe.
  child.stdin?.on('error', () => {}).end(`${JSON.stringify(event)}\n`);
  try {
    const [code, by] = await once(child, 'exit').catch(notStarted);
    const how = by ? `was ended by ${by}` : `ended with exit code ${code}`;
    if (code !== 0) throw notReceived('event_not_received', how);
  } finally {
    signal.removeEventListener('abort', stop);
    process.off('exit', stop);
  }
}

function start(command: string): ChildProcess {
  const env = withoutCredentials(process.env);
  try {
    // In its own process group: a signal to the shell alone would leave the shell's children running.
    return spawn(command, { shell: true, stdio: ['pipe', 2, 2], detached: true, env });
  } catch (thrown) {
    return notStarted(thrown);
  }
}

function notStarted(thrown: unknown): never {
  throw notReceived('event_not_received', `could not be started (${textOf(thrown, 'code')})`);
}

function notReceived(code: ErrorCode, how: string): BrandReportsError {
  const message = `the command of --on-published ${how}, so the event waits. Next step: correct the command; the next run with --on-published sends the event again.`;
  return new BrandReportsError('transient', code, message);
}
