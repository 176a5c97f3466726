/** What the command was asked for. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Everything else: progress, notes, errors. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
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
