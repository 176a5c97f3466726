/** Comments and trailing commas become spaces, so positions stay. Errors show a position alone: the text may be a credential (I9). */

const COMMENTS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;
const TRAILING_COMMAS = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;

/** @returns the value, or the position at which the text stops being JSON: line and column, both from 1 */
export function parseJsonc(text: string): { value: unknown } | { line: number; column: number } {
  const json = blanked(blanked(text.replace(/^\ufeff/, ' '), COMMENTS), TRAILING_COMMAS);
  try {
    return { value: JSON.parse(json) };
  } catch {
    const before = json.slice(0, badStart(json) - 1).split('\n');
    return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  }
}

function blanked(text: string, noise: RegExp): string {
  return text.replace(noise, (found) => (found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' ')));
}

/** The length of the shortest start of the text that cannot be continued to JSON. */
function badStart(json: string): number {
  let [good, bad] = [0, json.length + 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (isBad(json.slice(0, middle))) bad = middle;
    else good = middle;
  }
  return bad;
}

/** Whether the error of V8 concerns a character of the text, and not its end. */
function isBad(start: string): boolean {
  try {
    JSON.parse(start);
    return false;
  } catch (error) {
    const message = String(error);
    const [, position] = /at position (\d+)/.exec(message) ?? [];
    return position === undefined ? !message.includes('end of JSON') : Number(position) < start.length;
  }
}
