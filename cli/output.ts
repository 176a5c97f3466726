/** Writes to the terminal; no other file does. Every text passes `printable`, because names and messages come from outside. */
import { once } from 'node:events';
import { oneLine, printable } from './terminal-text.ts';

export function print(text: string): void {
  process.stdout.write(`${printable(text)}\n`);
}

/** Pieces are joined up to this size (64 kB): a system call for each row would take most of the time. */
const WRITE_UNITS = 65_536;

/**
 * Waits for a slow reader, so that little of the result is in memory. If the pieces fail, the last line that was written ends.
 * @param asWritten leaves the text exact; only for a standard output that no terminal reads
 */
export async function printPieces(pieces: AsyncIterable<string>, asWritten = printable): Promise<void> {
  for await (const text of joined(pieces))
    if (!process.stdout.write(asWritten(text))) await once(process.stdout, 'drain');
}

/** The pieces in portions of about 64 kB. If they fail after a portion, the last portion ends its line. */
export async function* joined(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let waiting = '';
  let isBegun = false;
  try {
    for await (const piece of pieces) {
      waiting += piece;
      if (waiting.length < WRITE_UNITS) continue;
      isBegun = true;
      yield waiting;
      waiting = '';
    }
  } catch (thrown) {
    if (isBegun) yield `${waiting}\n`;
    throw thrown;
  }
  yield waiting;
}

const ERASE_LINE = '\r\x1b[2K';

/** Prints everything else (notes, errors), on standard error. On a terminal it replaces the progress line. */
export function note(text: string): void {
  process.stderr.write(`${process.stderr.isTTY ? ERASE_LINE : ''}${printable(text)}\n`);
}

/** Without wrapping, the terminal cuts a line at its edge. */
const [NO_WRAP, WRAP] = ['\x1b[?7l', '\x1b[?7h'];
/** More than any terminal shows: a message may have a megabyte. */
const MAX_REDRAWN_UNITS = 4_096;

/** Replaces the progress line by the text; does nothing if standard error is not a terminal. */
export function showLine(text: string): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`${ERASE_LINE}${NO_WRAP}${oneLine(text.slice(0, MAX_REDRAWN_UNITS))}${WRAP}`);
}

/** Echoes typed text on standard error, unescaped, so that a person can edit it. */
export function echo(typed: string): void {
  process.stderr.write(typed);
}

export function printJson(document: unknown): void {
  print(JSON.stringify(document));
}
