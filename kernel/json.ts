/**
 * Finds the ends of the values in a JSON text, by the strict grammar of RFC 8259. It decodes and allocates nothing.
 * Each function takes the place where something begins, and returns the place after it, or NOWHERE if the grammar is
 * violated. Zeros follow the text and stand at NOWHERE, and a zero violates the grammar everywhere. Code that reads on
 * therefore finds another violation, one check at the end is enough, and no code reads past the text.
 * The caller checks that the bytes are UTF-8.
 */
export const NOWHERE: usize = memory.data(16, 8);
/** At least this many zeros follow a text: the most bytes that are read at once. */
export const ZEROS: u32 = 16;

export const QUOTE: u32 = 0x22;
export const BACKSLASH: u32 = 0x5c;
export const COMMA: u32 = 0x2c;
export const OPEN_LIST: u32 = 0x5b;
export const CLOSE_LIST: u32 = 0x5d;
export const OPEN_OBJECT: u32 = 0x7b;
export const CLOSE_OBJECT: u32 = 0x7d;
/** Bytes below it are controls: never allowed in a string, and between values only if they are white space. */
export const SPACE: u32 = 0x20;

/** Values that are nested deeper are left to the exact parser, which has a far higher limit. */
const MAX_DEPTH: u32 = 100;
const COLON: u32 = 0x3a;
const TAB: u32 = 0x09;
const LINE_FEED: u32 = 0x0a;
const RETURN: u32 = 0x0d;
const SLASH: u32 = 0x2f;
export const MINUS: u32 = 0x2d;
const PLUS: u32 = 0x2b;
export const POINT: u32 = 0x2e;
export const ZERO: u32 = 0x30;
const NINE: u32 = 0x39;
const LOWER_A: u32 = 0x61;
const LOWER_B: u32 = 0x62;
const LOWER_E: u32 = 0x65;
export const LOWER_F: u32 = 0x66;
export const LOWER_N: u32 = 0x6e;
const LOWER_R: u32 = 0x72;
export const LOWER_T: u32 = 0x74;
const LOWER_U: u32 = 0x75;
/** The bit that a small letter has and its capital lacks. */
const SMALL: u32 = 0x20;
/** Words as numbers, the first letter in the lowest byte. */
const NULL: u32 = 0x6c6c756e;
const TRUE: u32 = 0x65757274;
const FALS: u32 = 0x736c6166;

export function byteAt(at: usize): u32 {
  return load<u8>(at);
}

export function endOfSpace(at: usize): usize {
  let end = at;
  while (isSpace(byteAt(end))) end += 1;
  return end;
}

/** @param depth how many lists and objects contain the value; MAX_DEPTH limits it */
export function endOfValue(at: usize, depth: u32): usize {
  const byte = byteAt(at);
  if (byte === QUOTE) return endOfString(at);
  if (byte <= NINE) return endOfNumber(at);
  if (byte === OPEN_OBJECT) return depth < MAX_DEPTH ? endOfObject(at, depth + 1) : NOWHERE;
  if (byte === OPEN_LIST) return depth < MAX_DEPTH ? endOfList(at, depth + 1) : NOWHERE;
  return endOfWord(at);
}

export function endOfString(at: usize): usize {
  let end = at + 1;
  while (true) {
    // Sixteen bytes at once: finds a byte that ends the string or is no plain part of it.
    const bytes = v128.load(end);
    const ends = i8x16.eq(bytes, i8x16.splat(<i8>QUOTE));
    const escapes = i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH));
    const controls = i8x16.lt_u(bytes, i8x16.splat(<i8>SPACE));
    const found = i8x16.bitmask(v128.or(v128.or(ends, escapes), controls));
    if (found === 0) {
      end += 16;
      continue;
    }
    end += ctz(found);
    const byte = byteAt(end);
    if (byte === QUOTE) return end + 1;
    if (byte < SPACE) return NOWHERE;
    end = endOfEscape(end);
  }
}

function endOfEscape(at: usize): usize {
  const byte = byteAt(at + 1);
  if (byte !== LOWER_U) return isEscaped(byte) ? at + 2 : NOWHERE;
  for (let digit = at + 2; digit < at + 6; digit += 1) if (!isHexDigit(byteAt(digit))) return NOWHERE;
  return at + 6;
}

function endOfNumber(at: usize): usize {
  const first = byteAt(at) === MINUS ? at + 1 : at;
  let end = byteAt(first) === ZERO ? first + 1 : endOfDigits(first);
  if (byteAt(end) === POINT) end = endOfDigits(end + 1);
  if ((byteAt(end) | SMALL) === LOWER_E) {
    const sign = byteAt(end + 1);
    end = endOfDigits(sign === PLUS || sign === MINUS ? end + 2 : end + 1);
  }
  return end;
}

function endOfDigits(at: usize): usize {
  let end = at;
  while (isDigit(byteAt(end))) end += 1;
  return end > at ? end : NOWHERE;
}

function endOfWord(at: usize): usize {
  const word = load<u32>(at);
  if (word === NULL || word === TRUE) return at + 4;
  return word === FALS && byteAt(at + 4) === LOWER_E ? at + 5 : NOWHERE;
}

function endOfList(open: usize, depth: u32): usize {
  let at = endOfSpace(open + 1);
  if (byteAt(at) === CLOSE_LIST) return at + 1;
  while (true) {
    at = endOfSpace(endOfValue(at, depth));
    if (byteAt(at) === CLOSE_LIST) return at + 1;
    if (byteAt(at) !== COMMA) return NOWHERE;
    at = endOfSpace(at + 1);
  }
}

function endOfObject(open: usize, depth: u32): usize {
  let at = endOfSpace(open + 1);
  if (byteAt(at) === CLOSE_OBJECT) return at + 1;
  while (true) {
    if (byteAt(at) !== QUOTE) return NOWHERE;
    at = endOfSpace(endOfValue(beginOfValue(endOfString(at)), depth));
    if (byteAt(at) === CLOSE_OBJECT) return at + 1;
    if (byteAt(at) !== COMMA) return NOWHERE;
    at = endOfSpace(at + 1);
  }
}

/** The place where the value of a key begins: after the colon. The key ends at `at`. */
export function beginOfValue(at: usize): usize {
  const colon = endOfSpace(at);
  return byteAt(colon) === COLON ? endOfSpace(colon + 1) : NOWHERE;
}

function isSpace(byte: u32): bool {
  return byte <= SPACE && (byte === SPACE || byte === LINE_FEED || byte === RETURN || byte === TAB);
}

export function isDigit(byte: u32): bool {
  return byte - ZERO < 10;
}

export function beginsNumber(byte: u32): bool {
  return byte === MINUS || isDigit(byte);
}

function isHexDigit(byte: u32): bool {
  return isDigit(byte) || (byte | SMALL) - LOWER_A < 6;
}

function isEscaped(byte: u32): bool {
  return (
    byte === QUOTE ||
    byte === BACKSLASH ||
    byte === SLASH ||
    byte === LOWER_B ||
    byte === LOWER_F ||
    byte === LOWER_N ||
    byte === LOWER_R ||
    byte === LOWER_T
  );
}
