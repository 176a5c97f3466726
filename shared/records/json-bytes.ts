/**
 * Where the values of a JSON text end, in bytes, by the strict grammar of RFC 8259. Nothing is decoded, and nothing is
 * allocated. A page is read by its bytes because making objects and strings of all its values costs ten times as much.
 * Each function takes where something begins and returns the place behind it, or NOWHERE where the grammar is violated:
 * no byte stands there, so whoever reads on from NOWHERE finds a violation again, and one check at the end is enough.
 * That the bytes are UTF-8 is for the caller to check.
 */
export const NOWHERE = 2 ** 30;

export const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
export const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** Bytes below are controls: never in a string, and between values only if they are white space. */
export const SPACE = 0x20;

/** Deeper values are left to parseJson, which has a far higher limit. */
const MAX_DEPTH = 100;
const [TAB, LINE_FEED, RETURN] = [0x09, 0x0a, 0x0d];
const [MINUS, PLUS, POINT, ZERO, NINE] = [0x2d, 0x2b, 0x2e, 0x30, 0x39];
const [UPPER_E, LOWER_E, LOWER_U] = [0x45, 0x65, 0x75];
const WORDS = ['null', 'true', 'false'];
const ESCAPED = setOf('"\\/bfnrt');
const HEX_DIGITS = setOf('0123456789abcdefABCDEF');

/** The first place that has no white space. */
export function endOfSpace(bytes: Uint8Array, at: number): number {
  let end = at;
  for (;;) {
    const byte = bytes[end];
    if (byte === undefined || byte > SPACE || !isSpace(byte)) return end;
    end += 1;
  }
}

/** @param depth how many lists and objects the value is in, which count for MAX_DEPTH */
export function endOfValue(bytes: Uint8Array, at: number, depth = 0): number {
  const byte = bytes[at];
  if (byte === undefined) return NOWHERE;
  if (byte === QUOTE) return endOfString(bytes, at);
  if (byte <= NINE) return endOfNumber(bytes, at);
  if (byte === OPEN_OBJECT) return depth < MAX_DEPTH ? endOfObject(bytes, at, depth + 1) : NOWHERE;
  if (byte === OPEN_LIST) return depth < MAX_DEPTH ? endOfList(bytes, at, depth + 1) : NOWHERE;
  return endOfWord(bytes, at);
}

export function endOfString(bytes: Uint8Array, at: number): number {
  let end = at + 1;
  for (;;) {
    const byte = bytes[end];
    if (byte === QUOTE) return end + 1;
    if (byte === undefined || byte < SPACE) return NOWHERE;
    end = byte === BACKSLASH ? endOfEscape(bytes, end) : end + 1;
  }
}

function endOfEscape(bytes: Uint8Array, at: number): number {
  const byte = bytes[at + 1];
  if (byte !== LOWER_U) return isIn(ESCAPED, byte) ? at + 2 : NOWHERE;
  for (let digit = at + 2; digit < at + 6; digit += 1) if (!isIn(HEX_DIGITS, bytes[digit])) return NOWHERE;
  return at + 6;
}

function endOfNumber(bytes: Uint8Array, at: number): number {
  const first = bytes[at] === MINUS ? at + 1 : at;
  let end = bytes[first] === ZERO ? first + 1 : endOfDigits(bytes, first);
  if (bytes[end] === POINT) end = endOfDigits(bytes, end + 1);
  if (bytes[end] === UPPER_E || bytes[end] === LOWER_E) {
    const sign = bytes[end + 1];
    end = endOfDigits(bytes, sign === PLUS || sign === MINUS ? end + 2 : end + 1);
  }
  return end;
}

/** One digit or more. */
function endOfDigits(bytes: Uint8Array, at: number): number {
  let end = at;
  while (isDigit(bytes[end])) end += 1;
  return end > at ? end : NOWHERE;
}

function endOfWord(bytes: Uint8Array, at: number): number {
  const word = WORDS.find((candidate) => candidate.charCodeAt(0) === bytes[at]) ?? '';
  for (let index = 0; index < word.length; index += 1)
    if (bytes[at + index] !== word.charCodeAt(index)) return NOWHERE;
  return word === '' ? NOWHERE : at + word.length;
}

function endOfList(bytes: Uint8Array, open: number, depth: number): number {
  let at = endOfSpace(bytes, open + 1);
  if (bytes[at] === CLOSE_LIST) return at + 1;
  for (;;) {
    at = endOfSpace(bytes, endOfValue(bytes, at, depth));
    if (bytes[at] === CLOSE_LIST) return at + 1;
    if (bytes[at] !== COMMA) return NOWHERE;
    at = endOfSpace(bytes, at + 1);
  }
}

function endOfObject(bytes: Uint8Array, open: number, depth: number): number {
  let at = endOfSpace(bytes, open + 1);
  if (bytes[at] === CLOSE_OBJECT) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) return NOWHERE;
    at = beginOfValue(bytes, endOfString(bytes, at));
    at = endOfSpace(bytes, endOfValue(bytes, at, depth));
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    if (bytes[at] !== COMMA) return NOWHERE;
    at = endOfSpace(bytes, at + 1);
  }
}

/** Where the value of a key begins that ends at `at`: behind a colon. */
export function beginOfValue(bytes: Uint8Array, at: number): number {
  const colon = endOfSpace(bytes, at);
  return bytes[colon] === COLON ? endOfSpace(bytes, colon + 1) : NOWHERE;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB;
}

/** Whether the literal that begins at `start` is a list or an object. */
export function isNested(bytes: Uint8Array, start: number): boolean {
  return bytes[start] === OPEN_OBJECT || bytes[start] === OPEN_LIST;
}

/** Whether a literal that begins with this byte is a number. */
export function beginsNumber(byte: number | undefined): boolean {
  return byte === MINUS || isDigit(byte);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

/** By byte, whether it is one of these characters. */
function setOf(characters: string): Uint8Array {
  const set = new Uint8Array(256);
  for (const character of characters) set[character.charCodeAt(0)] = 1;
  return set;
}

function isIn(set: Uint8Array, byte: number | undefined): boolean {
  return byte !== undefined && set[byte] === 1;
}
