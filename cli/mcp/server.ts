/** A second process answers: SQL can crash DuckDB or ignore an interrupt, but ends with its process. It has no access to the protocol. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import packageJson from '../../package.json' with { type: 'json' };
import { note } from '../output.ts';
import type { SqlLake } from '../sql-tables.ts';
import { oneLine } from '../terminal-text.ts';
import { ANSWER, type Answer, DATA, TOOLS, answerTo } from './tools.ts';

const INSTRUCTIONS = `Affiliate reports of brands, by day. Each answer begins with the state of its days: INCOMPLETE lists missing days, FINDINGS days with findings, RESTATED days that changed later. Report them before any number. Conditions on brand, dt (YYYY-MM-DD) and day (DATE) exclude other days. ${DATA}`;
const MAX_MS = 60_000;
/** A process that holds more after a call is ended: the limit of the next call would come on top. */
const MAX_KEPT_BYTES = 2 ** 29;

export function serve(): void {
  serveStdio(server, { onerror: ({ message }) => note(`warning: ${oneLine(message)}`) });
}

function server(): McpServer {
  const made = new McpServer(
    { name: 'brand-reports', version: packageJson.version },
    { instructions: INSTRUCTIONS },
  );
  // One call at a time, so that the limits of memory hold for all calls together.
  let last: Promise<unknown> = Promise.resolve();
  for (const [tool, { description, input: inputSchema }] of TOOLS)
    made.registerTool(
      tool,
      { description, annotations: { readOnlyHint: true }, inputSchema },
      async (input, { mcpReq: { signal } }) => {
        const turn = last.then(() => answered({ tool, input }, signal));
        last = turn.catch(() => {});
        const { text, isError } = await turn;
        return { content: [{ type: 'text', text }], ...(isError && { isError }) };
      },
    );
  return made;
}

/** The process that answers calls; missing before the first call, and after a call that ended it. */
let worker: ChildProcess | undefined;

/** @param signal the client no longer waits for the answer */
async function answered(call: object, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted();
  worker ??= startWorker();
  const child = worker;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const end = () => child.kill('SIGKILL');
  const ended = (_code: number | null, by: NodeJS.Signals | null) => {
    const tooLong = `took longer than ${MAX_MS / 1000} seconds`;
    const why = by === 'SIGKILL' ? tooLong : 'needed too much memory, or made DuckDB fail';
    const text = `The call ${why}, and was ended. Select fewer days or columns, or divide the question.`;
    resolve({ text, isError: true, bytes: 0 });
  };
  const received = (message: unknown) => resolve(ANSWER.parse(message));
  child.once('message', received).once('exit', ended).once('error', reject);
  signal.addEventListener('abort', end);
  const timer = setTimeout(end, MAX_MS);
  try {
    child.send(call);
    const answer = await promise;
    if (answer.bytes > MAX_KEPT_BYTES) {
      end();
      await once(child, 'exit');
    }
    return answer;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    child.off('message', received).off('exit', ended).off('error', reject);
  }
}

function startWorker(): ChildProcess {
  const [, program = '', ...args] = process.argv;
  // DuckDB can write to standard output, where the protocol is.
  const child = fork(program, [...args, '--answer'], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const forget = () => {
    worker = undefined;
  };
  child.once('exit', forget).on('error', forget);
  // The server ends when the client is gone.
  child.unref();
  child.channel?.unref();
  return child;
}

/** Answers the calls that the server sends to this process, until the server is gone. */
export function answer(open: () => Promise<SqlLake>): void {
  // A query may still run then.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.on('message', (call) => {
    void answerTo(call, open).then((text) => process.send?.(text));
  });
}
