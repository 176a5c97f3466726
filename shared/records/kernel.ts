/**
 * Runs the work on every byte of a page and every value of a record in WebAssembly; the folder `kernel` describes each function.
 * It is fast from its first record on; JavaScript would have to be compiled while it runs, again for each kind of input.
 * An instance has its own memory, and serves one text, one row group, one column or the hashes of some rows at a time.
 * Places in its memory are numbers. After taking an instance, call `beginText`, `beginRows` or `releaseAll` first.
 */
import { randomBytes } from 'node:crypto';
import { BrandReportsError } from '../base/errors.ts';
import { KERNEL_CODE } from './code.ts';

export interface Kernel {
  readonly memory: WebAssembly.Memory;
  /** Sets the secret of the hashes that find literals; nobody else may know it. */
  seedHashes(first: bigint, factor: bigint): void;
  releaseAll(): void;
  allocate(bytes: number): number;
  allocateZeros(bytes: number): number;
  release(piece: number, bytes: number): void;

  /** Forgets all pieces and reserves space for a text, whose bytes belong at the returned place. */
  beginText(length: number): number;
  endOfSpace(at: number): number;
  endOfString(at: number): number;
  endOfValue(at: number, depth: number): number;
  beginOfValue(at: number): number;
  endOfRecords(open: number): number;
  /** The address of the nine numbers about the last list of records. */
  foundAt(): number;

  /** Forgets all pieces. */
  beginRows(): void;
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
  codesAt(column: number, row: number): number;

  shortNumbers(
    bytes: number,
    ends: number,
    count: number,
    precision: number,
    scale: number,
    width: number,
    isBigEndian: number,
    into: number,
    starts: number,
    valueEnds: number,
  ): number;
  plainTexts(bytes: number, ends: number, count: number, starts: number, textEnds: number): number;

  hashValues(bytes: number, starts: number, ends: number, count: number, seed: number, into: number): void;
  addHashes(sums: number, rows: number, codes: number, hashes: number, count: number): void;
  mixSums(sums: number, rows: number, totals: number): void;

  /** @param present receives two doubles and two numbers */
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

/** I12: how many unused instances are kept; an instance that has grown beyond MOST_SPARE_BYTES is not kept. */
const MOST_SPARE = 8;
const MOST_SPARE_FOR_ROWS = 2;
const MOST_SPARE_BYTES = 2 ** 25;

export interface Piece {
  readonly at: number;
  readonly bytes: number;
}

let compiled: WebAssembly.Module | undefined;
let newInstance = shippedInstance;
const spare: Kernel[] = [];
const spareForRows: Kernel[] = [];

/** The fuzz runs another build through the same code that calls the shipped build. */
export function makeKernelsBy(make: () => WebAssembly.Instance): void {
  newInstance = make;
  spare.length = 0;
  spareForRows.length = 0;
}

export function takeKernel(): Kernel {
  return spare.pop() ?? newKernel();
}

/** Returns a kernel for reuse; the caller must not read its memory afterwards. */
export function giveBackKernel(kernel: Kernel): void {
  keep(kernel, spare, MOST_SPARE);
}

/** For rows, which stay while others read pages: an instance that had space for a page never shrinks (I12). */
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
  throw new TypeError('shared/records/code.ts does not match this version: run "npm run kernel"');
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
      'This process may not reserve the addresses that WebAssembly takes: about 10 GB of addresses (not of memory) for ' +
        'each page or day in memory. Next step: raise the limit of addresses, on Linux by "ulimit -v unlimited".',
      { cause: error },
    );
  }
}

/** `test/records/kernel.test.ts` compares the code with the folder `kernel`, so only the interface above can differ. */
function isKernel(exports: object): exports is Kernel {
  return 'memory' in exports && exports.memory instanceof WebAssembly.Memory;
}
