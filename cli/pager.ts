/** Shows a long table by the pager of the user, `$PAGER` or `less`, if standard output is a terminal. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { textOf } from '../shared/adapters/error-fields.ts';
import { joined, printPieces } from './output.ts';
import { printable } from './terminal-text.ts';

/**
 * Prints the pieces, which are whole lines. On a terminal with fewer lines the pager shows them, if there is one.
 * @returns whether all pieces were shown: a pager may end earlier
 */
export async function showPieces(pieces: AsyncGenerator<string>): Promise<boolean> {
  const { isTTY, rows } = process.stdout;
  const screen: string[] = [];
  let lines = 0;
  let isAll = !isTTY;
  while (!isAll && lines < rows) {
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

/** @returns `undefined` if there is no pager, or it cannot be started */
async function startPager(): Promise<ChildProcess | undefined> {
  const [command, ...args] = (process.env.PAGER ?? 'less').split(/\s+/).filter((word) => word !== '');
  if (command === undefined) return undefined;
  // Of git: leave on one screen, obey colours, leave the text on the terminal.
  const env = { LESS: 'FRX', ...process.env };
  const child = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'], env });
  const isStarted = await once(child, 'spawn').then(
    () => true,
    () => false,
  );
  return isStarted ? child : undefined;
}

/** Ends when the pager ends. @returns whether it read everything */
async function feed(pager: ChildProcess, pieces: AsyncIterable<string>): Promise<boolean> {
  const ended = once(pager, 'exit');
  // Ctrl-C is for the pager: without us it would be left alone with the terminal.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    if (pager.stdin) await pipeline(Readable.from(printed(pieces)), pager.stdin);
    return true;
  } catch (thrown) {
    if (CLOSED.includes(textOf(thrown, 'code'))) return false;
    throw thrown;
  } finally {
    await ended;
    process.off('SIGINT', ignore);
  }
}

/** The pager has ended before the table. */
const CLOSED: readonly unknown[] = ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET'];

async function* printed(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of joined(pieces)) yield printable(text);
}
