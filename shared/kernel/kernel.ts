/**
 * What is done with every byte of a page and every value of a record, in WebAssembly (the folder `kernel`): it is quick
 * from its first record on, where JavaScript would have to be compiled while it runs, again for each kind of input.
 * An instance has memory of its own, and serves one text, one row group, one column or the hashes of some rows at a time.
 * Places in its memory are numbers. Whoever took an instance begins with `beginText`, `beginRows` or `releaseAll`.
 */
import { randomBytes } from 'node:crypto';
import { BrandReportsError } from '../errors.ts';
import { KERNEL_CODE } from './code.ts';

export interface Kernel {
  readonly memory: WebAssembly.Memory;
  /** Of the hashes by which literals are found; nobody else may know it. */
  seedHashes(first: bigint, factor: bigint): void;
  /** Forgets all. */
  releaseAll(): void;
  /** A piece of memory. */
  allocate(bytes: number): number;
  allocateZeros(bytes: number): number;
  /** @param bytes as many as it was allocated for */
  release(piece: number, bytes: number): void;

  /** Forgets all and makes room for a text, whose bytes belong to the place that is returned. */
  beginText(length: number): number;
  endOfSpace(at: number): number;
  endOfString(at: number): number;
  endOfValue(at: number, depth: number): number;
  beginOfValue(at: number): number;
  /** @returns the place behind the list of records; 0 where it is anything unusual */
  endOfRecords(open: number): number;
  /** Where it says what the last list of records has: nine numbers. */
  foundAt(): number;

  /** Forgets all. */
  beginRows(): void;
  /** @returns how many records are done */
  appendRecords(
    text: number,
    values: number,
    firstValue: number,
    records: number,
    columns: number,
    kept: number,
    count: number,
    maxRows: number,
    maxBytes: number,
  ): number;
  rowCount(): number;
  rowBytes(): number;
  /** Where the codes are of 256 rows, `row` among them; 0 where none of these rows has the field. */
  codesAt(column: number, row: number): number;

  /** @param units gets a double for each and one before them @returns how many are left */
  shortNumbers(
    bytes: number,
    ends: number,
    count: number,
    precision: number,
    scale: number,
    units: number,
  ): number;
  /** @returns how many are left */
  plainTexts(bytes: number, ends: number, count: number, starts: number, textEnds: number): number;

  /** @param into 16 bytes a text; 0 for one that ends before it begins */
  hashTexts(bytes: number, starts: number, ends: number, count: number, seed: number, into: number): void;
  /** @param into 16 bytes a number; 0 for NaN */
  hashUnits(units: number, count: number, kind: number, seed: number, into: number): void;
  addHashes(sums: number, rows: number, codes: number, hashes: number, count: number): void;
  /** @param totals gets four numbers of 64 bits */
  mixSums(sums: number, rows: number, totals: number): void;

  /** @returns the first code whose number does not fit; `count` where there is none */
  storeUnits(
    units: number,
    count: number,
    width: number,
    order: number,
    bytes: number,
    starts: number,
    ends: number,
  ): number;
  /** @param present gets two doubles and two numbers */
  presentValues(
    starts: number,
    ends: number,
    count: number,
    codes: number,
    rows: number,
    distinct: number,
    filled: number,
    places: number,
    levels: number,
    placeOf: number,
    present: number,
  ): void;
  encodeValues(
    bytes: number,
    starts: number,
    ends: number,
    codes: number,
    count: number,
    lengthBytes: number,
    into: number,
  ): void;
  /** @param extremes gets two codes */
  extremesOf(
    bytes: number,
    starts: number,
    ends: number,
    codes: number,
    count: number,
    order: number,
    extremes: number,
  ): void;
}

const FUNCTIONS = [
  'seedHashes',
  'releaseAll',
  'allocate',
  'allocateZeros',
  'release',
  'beginText',
  'endOfSpace',
  'endOfString',
  'endOfValue',
  'beginOfValue',
  'endOfRecords',
  'foundAt',
  'beginRows',
  'appendRecords',
  'rowCount',
  'rowBytes',
  'codesAt',
  'shortNumbers',
  'plainTexts',
  'hashTexts',
  'hashUnits',
  'addHashes',
  'mixSums',
  'storeUnits',
  'presentValues',
  'encodeValues',
  'extremesOf',
];
/** I12: so many instances are kept for whoever comes next, and none that has grown further. */
const MOST_SPARE = 8;
const MOST_SPARE_FOR_ROWS = 2;
const MOST_SPARE_BYTES = 2 ** 25;

/** A piece of an instance's memory. */
export interface Piece {
  readonly at: number;
  readonly bytes: number;
}

let compiled: WebAssembly.Module | undefined;
let newInstance = shippedInstance;
const spare: Kernel[] = [];
const spareForRows: Kernel[] = [];

/** Every kernel from now on is one of these: the fuzz checks another build by the same code that calls the shipped one. */
export function makeKernelsBy(make: () => WebAssembly.Instance): void {
  newInstance = make;
  spare.length = 0;
  spareForRows.length = 0;
}

export function takeKernel(): Kernel {
  return spare.pop() ?? newKernel();
}

/** Whoever gives it back does not look at its memory any more. */
export function giveBackKernel(kernel: Kernel): void {
  keep(kernel, spare, MOST_SPARE);
}

/** One for rows, which stay while much else is read: an instance with room for a page never gets smaller (I12). */
export function takeRowsKernel(): Kernel {
  return spareForRows.pop() ?? newKernel();
}

export function giveBackRowsKernel(kernel: Kernel): void {
  keep(kernel, spareForRows, MOST_SPARE_FOR_ROWS);
}

function keep(kernel: Kernel, among: Kernel[], most: number): void {
  if (among.length < most && kernel.memory.buffer.byteLength <= MOST_SPARE_BYTES) among.push(kernel);
}

export function allocated(kernel: Kernel, bytes: number): Piece {
  return { at: kernel.allocate(bytes), bytes };
}

/** A copy of the values in the kernel's memory. */
export function copied(kernel: Kernel, values: Uint8Array | Int32Array | Uint32Array | Float64Array): Piece {
  const piece = allocated(kernel, values.byteLength);
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  new Uint8Array(kernel.memory.buffer, piece.at, piece.bytes).set(bytes);
  return piece;
}

export function release(kernel: Kernel, ...pieces: readonly Piece[]): void {
  for (const { at, bytes } of pieces) kernel.release(at, bytes);
}

function newKernel(): Kernel {
  const { exports } = newInstance();
  if (isKernel(exports)) {
    const secret = randomBytes(16);
    exports.seedHashes(secret.readBigUInt64LE(), secret.readBigUInt64LE(8));
    return exports;
  }
  throw new TypeError('shared/kernel/code.ts is not what this version calls: run "npm run kernel"');
}

function shippedInstance(): WebAssembly.Instance {
  compiled ??= new WebAssembly.Module(Buffer.from(KERNEL_CODE, 'base64'));
  try {
    return new WebAssembly.Instance(compiled);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new BrandReportsError(
      'config',
      'address_space',
      'This process may not reserve the addresses that WebAssembly takes: about 10 GB for each page or day in memory, of ' +
        'addresses, not of memory. Next step: raise their limit, on Linux by "ulimit -v unlimited".',
      { cause: error },
    );
  }
}

function isKernel(exports: object): exports is Kernel {
  const entries = new Map(Object.entries(exports));
  return (
    entries.get('memory') instanceof WebAssembly.Memory &&
    FUNCTIONS.every((name) => typeof entries.get(name) === 'function')
  );
}
