/** Functions that the commands of simulations share: whole numbers as options, and a table at the end. */

export function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`--${option} ${text} is not a whole number`);
  return number;
}

/** A table in Markdown, for docs/explanation/reliability.md. */
export function tableOf(heads: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [heads, ['---', ...heads.slice(1).map(() => '--:')], ...rows];
  const textOf = (cell: unknown) => (cell === '' ? ' ' : ` ${cell} `);
  return lines.map((cells) => `|${cells.map(textOf).join('|')}|`).join('\n');
}
