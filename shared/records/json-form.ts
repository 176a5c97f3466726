import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from './json-bytes.ts';

/** Where a text violates the grammar of JSON (RFC 8259). */
export interface Fault {
  /** The first byte that is wrong; the length of the text if the text only ends too early. */
  at: number;
  isEnd: boolean;
  /** The element of the outermost open list, counted from 1. */
  record?: number;
}

export interface JsonForm {
  tokens: number;
  keys: number;
  fault?: Fault;
}

/** I12: limits for a text that is parsed whole. A value takes up to 200 bytes, a key with its value up to 1,500. */
const MAX_TOKENS = 2_000_000;
const MAX_KEYS = 250_000;
const SPACE: readonly (number | undefined)[] = [0x20, 0x09, 0x0a, 0x0d];
const ESCAPE = /^\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/;
const CUT_ESCAPE = /^\\(?:u[\da-fA-F]{0,3})?$/;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;
const CUT_SCALAR = /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-?\d*\.?\d*(?:[eE][+-]?)?)$/;

/**
 * Reads a text without decoding it: its fault, and before the fault its structural characters (RFC 8259, section 2) and
 * keys. A text without a fault is one that `JSON.parse` accepts. Stops at the limit of structural characters.
 */
export function formOf(bytes: Buffer): JsonForm {
  let [tokens, keys, at, firstList, record] = [0, 0, 0, 0, 0];
  const open: number[] = [];
  let next: 'value' | 'item' | 'key' | 'entry' | 'colon' | 'rest' = 'value';
  while (tokens <= MAX_TOKENS) {
    while (SPACE.includes(bytes[at])) at += 1;
    const byte = bytes[at];
    const close = open.at(-1);
    if (byte === undefined || (next === 'rest' && close === undefined)) break;
    if (byte === close && (next === 'rest' || next === 'item' || next === 'entry')) {
      if (open.length === firstList) firstList = 0;
      open.pop();
      next = 'rest';
    } else if (next === 'rest') {
      if (byte !== COMMA) break;
      if (open.length === firstList) record += 1;
      next = close === CLOSE_OBJECT ? 'key' : 'value';
    } else if (next === 'colon') {
      if (byte !== COLON) break;
      keys += 1;
      next = 'value';
    } else if (next !== 'key' && next !== 'entry' && (byte === OPEN_OBJECT || byte === OPEN_LIST)) {
      open.push(byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST);
      next = byte === OPEN_OBJECT ? 'entry' : 'item';
      if (byte === OPEN_LIST && firstList === 0) [firstList, record] = [open.length, 1];
    } else {
      const isKey: boolean = next === 'key' || next === 'entry';
      if (isKey && byte !== QUOTE) break;
      const end = byte === QUOTE ? endOfString(bytes, at) : endOfScalar(bytes, at);
      at = end < 0 ? ~end : end;
      if (end < 0) break;
      next = isKey ? 'colon' : 'rest';
      continue;
    }
    tokens += 1;
    at += 1;
  }
  const isWhole = next === 'rest' && open.length === 0 && at === bytes.length;
  if (isWhole || tokens > MAX_TOKENS) return { tokens, keys };
  return { tokens, keys, fault: { at, isEnd: at === bytes.length, ...(firstList > 0 && { record }) } };
}

/** The position after the string; the complement of the position of its fault. */
function endOfString(bytes: Buffer, begin: number): number {
  for (let at = begin + 1; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at + 1;
    if (byte < 0x20) return ~at;
    if (byte !== BACKSLASH) continue;
    const text = bytes.toString('latin1', at, at + 6);
    const [escaped] = ESCAPE.exec(text) ?? [];
    if (escaped === undefined) return CUT_ESCAPE.test(text) ? ~bytes.length : ~at;
    at += escaped.length - 1;
  }
  return ~bytes.length;
}

/** The same for a number, `true`, `false` or `null`. */
function endOfScalar(bytes: Buffer, begin: number): number {
  let end = begin;
  while (isInScalar(bytes[end])) end += 1;
  const scalar = bytes.toString('latin1', begin, end);
  if (SCALAR.test(scalar)) return end;
  return end > begin && end === bytes.length && CUT_SCALAR.test(scalar) ? ~end : ~begin;
}

/** A letter, a digit, `+`, `-` or `.` */
function isInScalar(byte = 0): boolean {
  const letter = byte | 0x20;
  return (
    (letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || [0x2b, 0x2d, 0x2e].includes(byte)
  );
}

/** I12: the reason why a text is too large to be parsed whole; `undefined` if it may be parsed. */
export function excessOf({ tokens, keys }: JsonForm): string | undefined {
  if (tokens > MAX_TOKENS) return `more than ${MAX_TOKENS} structural characters of JSON`;
  return keys > MAX_KEYS ? `${keys} keys, ${MAX_KEYS} are allowed` : undefined;
}
