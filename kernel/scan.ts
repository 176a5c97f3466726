/**
 * Reads a list of records in one run over its bytes. It accepts only lists that it certainly reads like the exact parser
 * (I6): objects by the strict grammar, without anything unusual (escaped or repeated keys, deep nesting).
 * Records of a list mostly have the same fields in the same order. So the next key is guessed from the order of the keys
 * so far, and only its bytes are compared.
 */
import {
  BACKSLASH,
  beginOfValue,
  byteAt,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  endOfSpace,
  endOfValue,
  isDigit,
  LOWER_F,
  LOWER_N,
  LOWER_T,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  ZEROS,
} from './json';
import { Literals } from './literals';
import { allocate, releaseAll } from './memory';
import { Numbers } from './numbers';

/** A value lies in a list and a record. */
const DEPTH: u32 = 2;
/** How many fields of the usual order may be missing before the next key is looked up. */
const GUESSES: u32 = 8;
const NO_RECORD: i32 = -1;
/** Kinds of values as bits, and the number that each record with a value adds. */
const TEXT: i32 = 1;
const NUMBER: i32 = 2;
const BOOLEAN: i32 = 4;
const NESTED: i32 = 8;
const ONE_RECORD: i32 = 16;
const NO_KIND: i32 = 0;
/** I12: limits above the keys, records and nested values of any page; the exact parser reads longer lists. */
const MOST_KEYS: u32 = 1 << 16;
const MOST_RECORDS: i32 = 1 << 19;
const MOST_NESTED_BYTES: usize = 1 << 20;

/** Places count from the beginning of the text. */
@unmanaged
class Found {
  /** Three numbers for each value: its field, counted from 0, and the beginning and the end of its literal. */
  values: usize;
  valuesLength: u32;
  /** Three numbers for each record: its beginning, its end, and the place in `values` after its last value. */
  records: usize;
  recordCount: u32;
  /** The keys of the fields without gaps, and where each key ends. */
  keys: usize;
  keyEnds: usize;
  keyCount: u32;
  /** By field: the same as `observed` in `shared/records/record-list.ts`. */
  observed: usize;
  /** 1 or 0: the same as `isCompact` there. */
  isCompact: u32;
}

const found = changetype<Found>(memory.data(offsetof<Found>(), 8));
let values = changetype<Numbers>(0);
let records = changetype<Numbers>(0);
/** By field: the field that followed when the order was last learned. At 0: the first field. */
let following = changetype<Numbers>(0);
let lastIn = changetype<Numbers>(0);
let observed = changetype<Numbers>(0);
/** A field is the code of its key. */
let keys = changetype<Literals>(0);
let text: usize = 0;
/** How many bytes the list takes without space between its tokens, up to the current place. */
let compactBytes: u32 = 0;
/** Whether the list has a value of several tokens, or a key that JavaScript objects move before other keys. */
let isIrregular: bool = false;

/** Only in the checked build: from here on no code may store into the text. */
declare function sealedText(text: usize, bytes: u32): void;

export function beginText(length: u32): usize {
  releaseAll();
  text = allocate(length + ZEROS);
  memory.fill(text + length, 0, ZEROS);
  if (!ASC_NO_ASSERT) sealedText(text, length + ZEROS);
  return text;
}

export function foundAt(): usize {
  return changetype<usize>(found);
}

/** @returns the place after the list of objects that begins at `open`; 0 if it is unusual in any way, or not JSON */
export function endOfRecords(open: usize): usize {
  if (byteAt(open) !== OPEN_LIST) return 0;
  values = Numbers.create();
  records = Numbers.create();
  following = Numbers.create();
  following.push(0);
  lastIn = Numbers.create();
  lastIn.push(NO_RECORD);
  observed = Numbers.create();
  observed.push(0);
  keys = Literals.create(true);
  compactBytes = 2;
  isIrregular = false;
  let count: i32 = 0;
  let at = endOfSpace(open + 1);
  if (byteAt(at) !== CLOSE_LIST) {
    while (true) {
      const begin = at;
      at = endOfRecord(begin, count);
      if (at === 0 || count === MOST_RECORDS) return 0;
      records.push3(<i32>(begin - text), <i32>(at - text), values.length);
      count += 1;
      at = endOfSpace(at);
      if (byteAt(at) !== COMMA) break;
      compactBytes += 1;
      at = endOfSpace(at + 1);
    }
    if (byteAt(at) !== CLOSE_LIST) return 0;
  }
  found.values = values.at;
  found.valuesLength = values.length;
  found.records = records.at;
  found.recordCount = count;
  found.keys = keys.bytes;
  found.keyEnds = keys.ends;
  found.keyCount = keys.count;
  // Callers count fields from 0.
  found.observed = observed.at + sizeof<u32>();
  found.isCompact = u32(!isIrregular && compactBytes === <u32>(at + 1 - open));
  return at + 1;
}

function endOfRecord(open: usize, record: i32): usize {
  if (byteAt(open) !== OPEN_OBJECT) return 0;
  let at = endOfSpace(open + 1);
  compactBytes += 1;
  if (byteAt(at) === CLOSE_OBJECT) {
    compactBytes += 1;
    return at + 1;
  }
  let field: u32 = 0;
  while (true) {
    if (byteAt(at) !== QUOTE) return 0;
    field = fieldAt(at + 1, field);
    if (field === 0 || lastIn.get(field) === record) return 0;
    lastIn.set(field, record);
    const keyBytes = keys.lengthOf(field) + 2;
    const begin = beginOfValue(at + keyBytes);
    const end = endOfValue(begin, DEPTH);
    const kind = kindOf(byteAt(begin));
    if (kind !== NO_KIND) observed.set(field, (observed.get(field) + ONE_RECORD) | kind);
    if (kind === NESTED) {
      if (end - begin > MOST_NESTED_BYTES) return 0;
      isIrregular = true;
    }
    values.push3(field - 1, <i32>(begin - text), <i32>(end - text));
    // The colon, and the comma or the brace.
    compactBytes += keyBytes + <u32>(end - begin) + 2;
    at = endOfSpace(end);
    if (byteAt(at) !== COMMA) return byteAt(at) === CLOSE_OBJECT ? at + 1 : 0;
    at = endOfSpace(at + 1);
  }
}

/** The field whose key begins at `at`, after its quote; 0 if the key is unusual or does not end. */
function fieldAt(at: usize, previous: u32): u32 {
  let guess: u32 = following.get(previous);
  for (let guesses: u32 = 0; guess !== 0 && guesses < GUESSES; guesses += 1) {
    const length = keys.lengthOf(guess);
    // A key contains no zeros, so a key that would reach past the text is never equal.
    if (byteAt(at + length) === QUOTE && keys.holds(guess, at, length)) return guess;
    guess = following.get(guess);
  }
  const field = lookUp(at);
  if (field !== 0) following.set(previous, field);
  return field;
}

function lookUp(at: usize): u32 {
  let end = at;
  for (let byte = byteAt(end); byte !== QUOTE; byte = byteAt(end)) {
    if (byte < SPACE || byte === BACKSLASH) return 0;
    end += 1;
  }
  if (keys.count === MOST_KEYS) return 0;
  const field = keys.codeOf(at, <u32>(end - at));
  if (field === lastIn.length) {
    if (isDigit(byteAt(at))) isIrregular = true;
    following.push(0);
    lastIn.push(NO_RECORD);
    observed.push(0);
  }
  return field;
}

function kindOf(first: u32): i32 {
  if (first === QUOTE) return TEXT;
  if (first === LOWER_T || first === LOWER_F) return BOOLEAN;
  if (first === OPEN_OBJECT || first === OPEN_LIST) return NESTED;
  return first === LOWER_N ? NO_KIND : NUMBER;
}
