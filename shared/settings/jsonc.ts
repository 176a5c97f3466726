/** JSON of people. Comments become spaces, so positions stay. Problems contain no value, which may be a credential (I9). */
import { formOf } from '../records/json-form.ts';

const COMMENTS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;
const TRAILING_COMMAS = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;

const TOKENS = /("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[[\]{},]/g;

/** @param parse reads strict JSON @param shown a key for messages @returns the value, or what is wrong, to follow the name of the file */
export function parseJsonc<Value>(
  text: string,
  parse: (json: string) => Value,
  shown: (key: string | number) => string = String,
): { value: Value } | { problem: string } {
  // Node decodes bytes that are not UTF-8 to this character. In UTF-16, each ASCII character has a NUL beside it.
  const foreign = /\ufffd|\0/.exec(text);
  if (foreign) {
    const encoding = foreign.index < 2 ? 'UTF-16' : `not UTF-8 (line ${lineOf(text, foreign.index)})`;
    return { problem: `is ${encoding}: save it as UTF-8` };
  }
  const json = blanked(blanked(text.replace(/^\ufeff/, ' '), COMMENTS), TRAILING_COMMAS);
  try {
    const value = parse(json);
    const problem = repeatedKey(json, shown);
    return problem === undefined ? { value } : { problem };
  } catch {
    const bytes = Buffer.from(json);
    const before = bytes.toString('utf8', 0, formOf(bytes).fault?.at);
    const place = `line ${lineOf(before, before.length)} column ${before.length - before.lastIndexOf('\n')}`;
    return { problem: `is not JSON (${place}); comments and trailing commas are allowed` };
  }
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}

/** The first key that an object has twice: a parser would drop its first value. */
function repeatedKey(json: string, shown: (key: string | number) => string): string | undefined {
  const open: { isList: boolean; at: string | number; places: Map<string, number> }[] = [];
  for (const { 0: token, 1: literal, index } of json.matchAll(TOKENS)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') open.push({ isList: token === '[', at: 0, places: new Map() });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && inner?.isList) inner.at = Number(inner.at) + 1;
    else if (literal !== undefined && inner) {
      const key: string = JSON.parse(literal);
      inner.at = key;
      const earlier = inner.places.get(key);
      inner.places.set(key, index);
      if (earlier !== undefined)
        return `has ${open.map(({ at }) => shown(at)).join('.')} twice (lines ${lineOf(json, earlier)} and ${lineOf(json, index)}): remove one of them`;
    }
  }
}

function blanked(text: string, noise: RegExp): string {
  return text.replace(noise, (found) => (found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' ')));
}
