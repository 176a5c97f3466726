/** A number literal that a JavaScript number would print differently (`1.10`), kept verbatim (I6). */
export interface RawNumber {
  readonly rawJSON: string;
}

/** A JSON value whose numbers keep all their digits. */
export type Json = null | boolean | string | number | RawNumber | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

declare global {
  // Node supports these from version 21 on; TypeScript's library lacks them.
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): Json;
    rawJSON(text: string): RawNumber;
    isRawJSON(value: unknown): value is RawNumber;
  }
}

/** The key under which an object keeps the earlier values of its repeated keys: lists, by key. */
export const DUPLICATES = '_duplicates';

/**
 * I6: parses JSON without losing anything. Every number keeps its digits: it is a JavaScript number if that prints the
 * same text, and a RawNumber otherwise. If an object repeats a key, the last value is the key's, and DUPLICATES has the
 * other values. The built-in `JSON.parse` reads nearly every text correctly and much faster than this program can;
 * counting keys finds the other texts.
 * @throws SyntaxError if the text is not JSON, RangeError if it is nested too deeply
 */
export function parseJson(text: string): Json {
  const parsed = parseQuickly(text);
  return parsed === undefined ? parseExactly(text) : parsed;
}

/**
 * I12: a function of its own, so that a wrong result can be freed while the text is parsed again. @returns `undefined`
 * if `JSON.parse` reads the text wrong
 */
function parseQuickly(text: string): Json | undefined {
  const parsed: Json = JSON.parse(text);
  return countPlainKeys(text) === countKeys(parsed) ? parsed : undefined;
}

export function duplicateKeys({ [DUPLICATES]: duplicates }: JsonObject): string[] {
  return isJsonObject(duplicates) ? Object.keys(duplicates) : [];
}

/** The inverse of parseJson: RawNumbers are written verbatim, lone surrogates as escapes. */
export function stringifyJson(value: Json): string {
  return JSON.stringify(value);
}

export function isRawNumber(value: unknown): value is RawNumber {
  return JSON.isRawJSON(value);
}

export function numberOf(literal: string): number | RawNumber {
  return isPlainNumber(literal) ? Number(literal) : rawNumber(literal);
}

/** The RawNumber of a JSON number literal. @throws SyntaxError if the text is not a JSON literal */
export function rawNumber(digits: string): RawNumber {
  return JSON.rawJSON(digits);
}

/** Whether a value is an object of JSON: not null, not a list, not a RawNumber. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Whether a value of unknown origin can be part of a JSON text. */
export function isJson(value: unknown): value is Json {
  if (value === null || ['boolean', 'string', 'number'].includes(typeof value) || isRawNumber(value))
    return true;
  return typeof value === 'object' && Object.values(value).every(isJson);
}

export function numberText(value: Json | undefined): string | undefined {
  if (typeof value === 'number') return String(value);
  return isRawNumber(value) ? value.rawJSON : undefined;
}

/** Whether the text is an integer in its only canonical form (no sign but `-`, no leading zero, no `-0`). */
export function isCanonicalInteger(text: string): boolean {
  return /^(0|-?[1-9]\d*)$/.test(text);
}

/** Deeper values would overflow the stack of the code that walks them. */
const MAX_DEPTH = 1_000;
const [QUOTE, BACKSLASH, COLON, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x3a, 0x2d, 0x30, 0x39];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * How many keys a JSON text has; `undefined` if `JSON.parse` may read it wrong: a number would lose digits, or a key
 * has an escape, which V8 can confuse with another key (nodejs/node#63785).
 */
function countPlainKeys(text: string): number | undefined {
  let keys = 0;
  let depth = 0;
  let isEscaped = false;
  let at = 0;
  while (at < text.length) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      const end = endOfString(text, at);
      isEscaped = end.isEscaped;
      at = end.at;
    } else if (character === MINUS || (character >= ZERO && character <= NINE)) {
      const end = endOfNumber(text, at);
      if (!isPlainNumber(text.slice(at, end))) return undefined;
      at = end;
    } else {
      if (character === COLON) {
        if (isEscaped) return undefined;
        keys += 1;
      } else if (character === OPEN_OBJECT || character === OPEN_LIST) {
        depth += 1;
        if (depth > MAX_DEPTH) throw new RangeError(`JSON is nested deeper than ${MAX_DEPTH} levels`);
      } else if (character === CLOSE_OBJECT || character === CLOSE_LIST) {
        depth -= 1;
      }
      at += 1;
    }
  }
  return keys;
}

/** I12: without lists of an object's keys or values, which would take as much memory as the object. */
function countKeys(value: Json): number {
  let keys = 0;
  if (Array.isArray(value)) for (const inner of value) keys += countKeys(inner);
  else if (isJsonObject(value)) for (const key in value) keys += 1 + countKeys(value[key] ?? null);
  return keys;
}

/** The position after a string that begins at `at`, and whether the string has an escape. */
function endOfString(text: string, at: number): { at: number; isEscaped: boolean } {
  let isEscaped = false;
  let end = at + 1;
  for (;;) {
    const character = text.charCodeAt(end);
    if (character === QUOTE) return { at: end + 1, isEscaped };
    if (character === BACKSLASH) {
      isEscaped = true;
      end += 1;
    }
    end += 1;
  }
}

function endOfNumber(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && '0123456789.eE+-'.includes(text.charAt(end))) end += 1;
  return end;
}

function isPlainNumber(literal: string): boolean {
  return String(Number(literal)) === literal;
}

/** Reads a text that `JSON.parse` has accepted as JSON. */
function parseExactly(text: string): Json {
  let at = 0;
  const skipSpace = () => {
    while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1;
  };
  const isNext = (character: string) => {
    skipSpace();
    if (text.charAt(at) !== character) return false;
    at += 1;
    return true;
  };
  const string = () => {
    skipSpace();
    const begin = at;
    const end = endOfString(text, begin);
    at = end.at;
    const literal = text.slice(begin, at);
    const decoded: string = end.isEscaped ? JSON.parse(literal) : literal.slice(1, -1);
    return decoded;
  };
  const scalar = () => {
    const begin = at;
    while (at < text.length && !',]} \t\n\r'.includes(text.charAt(at))) at += 1;
    const literal = text.slice(begin, at);
    if (!'ntf'.includes(literal.charAt(0))) return numberOf(literal);
    const word: null | boolean = JSON.parse(literal);
    return word;
  };
  const list = () => {
    const items: Json[] = [];
    if (isNext(']')) return items;
    do items.push(value());
    while (isNext(','));
    at += 1;
    return items;
  };
  const object = () => {
    const entries: [string, Json][] = [];
    if (isNext('}')) return {};
    do {
      const key = string();
      skipSpace();
      at += 1;
      entries.push([key, value()]);
    } while (isNext(','));
    at += 1;
    return objectOf(entries);
  };
  const value = (): Json => {
    skipSpace();
    switch (text.charAt(at)) {
      case '"':
        return string();
      case '{':
        at += 1;
        return object();
      case '[':
        at += 1;
        return list();
      default:
        return scalar();
    }
  };
  return value();
}

/** I6: the object of these entries; DUPLICATES has the earlier values of repeated keys. */
function objectOf(entries: readonly [string, Json][]): JsonObject {
  const object: JsonObject = Object.fromEntries(entries);
  if (Object.keys(object).length === entries.length) return object;
  const byKey = [...Map.groupBy(entries, ([key]) => key)].map(([key, held]): [string, Json[]] => [
    key,
    held.map(([, value]) => value),
  ]);
  const earlier = byKey.flatMap(([key, held]): [string, Json][] => {
    // A value that the service itself has under this name is kept as well.
    const lost = key === DUPLICATES ? held : held.slice(0, -1);
    return lost.length > 0 ? [[key, lost]] : [];
  });
  return { ...object, [DUPLICATES]: Object.fromEntries(earlier) };
}
