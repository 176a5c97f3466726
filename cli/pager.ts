/** Shows a long table in the user's pager, `$PAGER` or `less`, if standard output is a terminal. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { textOf } from '../shared/adapters/error-fields.ts';
import { joined, printPieces } from './output.ts';
import { printable } from './terminal-text.ts';

/**
 * Prints the pieces, which are whole lines. If they do not fit the terminal, the pager shows them, if there is one.
 * @returns whether all pieces were shown: a pager may end earlier
 */
export async function showPieces(pieces: AsyncGenerator<string>): Promise<boolean> {
  const screen: string[] = [];
  let isAll = !process.stdout.isTTY;
  for (let lines = 0; !isAll && lines < process.stdout.rows; ) {
    const { done = false, value = '' } = await pieces.next();
    isAll = done;
    screen.push(value);
    lines += value.split('\n').length - 1;
  }
  async function* all() {
    yield* screen;
    yield* pieces;
  }
  const pager = isAll ? undefined : await startPager();
  if (pager) return feed(pager, all());
  await printPieces(all());
  return true;
}

type Pager = ChildProcessByStdio<Writable, null, null>;

/** @returns `undefined` if `$PAGER` is empty or cannot be started */
async function startPager(): Promise<Pager | undefined> {
  const [command, ...args] = (process.env.PAGER ?? 'less').split(/\s+/).filter((word) => word !== '');
  if (command === undefined) return undefined;
  // The options of git: quit if one screen is enough, obey colours, leave the text on the terminal.
  const env = { LESS: 'FRX', ...process.env };
  const pager = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'], env });
  const started = once(pager, 'spawn').then(() => pager);
  return started.catch(() => undefined);
}

/** Ends when the pager ends. @returns whether it read everything */
async function feed(pager: Pager, pieces: AsyncIterable<string>): Promise<boolean> {
  const ended = once(pager, 'exit');
  // Ctrl-C is for the pager: if this process ended, the pager would lose the terminal.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    await pipeline(Readable.from(joined(pieces)).map(printable), pager.stdin);
    return true;
  } catch (thrown) {
    if (['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(textOf(thrown, 'code'))) return false;
    throw thrown;
  } finally {
    await ended;
    process.off('SIGINT', ignore);
  }
}
