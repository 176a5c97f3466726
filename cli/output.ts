/** Prints the result of a command, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Moves to the start of the terminal's current line and clears it. */
export const ERASE_LINE = '\r\x1b[2K';

/** Prints everything else (notes, errors), on standard error. On a terminal it replaces the progress line. */
export function note(text: string): void {
  process.stderr.write(`${process.stderr.isTTY ? ERASE_LINE : ''}${text}\n`);
}

/** Prints the one JSON document of `--json`; a RawNumber keeps its digits. */
export function printJson(document: unknown): void {
  print(JSON.stringify(document));
}

/** A whole number with thousands separators: `12,345`. To load Intl for it would take longer than most commands. */
export function count(number: number): string {
  return String(number).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

/** A count with its noun: `1 day`, `2 days`. */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}
