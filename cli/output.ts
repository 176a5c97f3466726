/** What the command was asked for. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Takes away the line that the cursor is in. */
export const ERASE_LINE = '\r\x1b[2K';

/** Everything else: notes, errors. On a terminal a line of progress may stand where it goes. */
export function note(text: string): void {
  process.stderr.write(`${process.stderr.isTTY ? ERASE_LINE : ''}${text}\n`);
}

/** The one JSON document of `--json`; RawNumbers keep their digits. */
export function printJson(document: unknown): void {
  print(JSON.stringify(document));
}

/** Counts as people read them: `12,345`. */
export function count(number: number): string {
  return number.toLocaleString('en-US');
}

/** `1 day`, `2 days`. */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}
