import { compiledCheckedKernel } from '../../kernel/compile.ts';

/*
 * Runs the kernel with a check before each load and store. WebAssembly itself checks only the end of the memory: a load or a
 * store that misses its piece would reach another piece unnoticed.
 */

/** The address where AssemblyScript's static data begins. */
const STATICS = 1024;
/** Each piece begins at a multiple of this. */
const GRAIN_BITS = 4;
/** This many bytes after a piece may be loaded, because short values are compared as words of 8 bytes. */
const SPARE = 8;
/** A released piece contains the address of the next released piece, even if it was allocated for fewer bytes. */
const LINK = 4;
const FIRST_GRAINS = 2 ** 16;

/** A load or a store outside the memory that the kernel owns. */
export class OutsideError extends WebAssembly.RuntimeError {}

export interface CheckedKernels {
  readonly make: () => WebAssembly.Instance;
  readonly counts: Record<'loads' | 'stores', number>;
}

export async function checkedKernels(): Promise<CheckedKernels> {
  const module = new WebAssembly.Module(await compiledCheckedKernel());
  const counts = { loads: 0, stores: 0 };
  return { make: () => new WebAssembly.Instance(module, importsOf(module, new Regions(counts))), counts };
}

function importsOf(module: WebAssembly.Module, regions: Regions): object {
  const judges = new Map<string, unknown>([
    ['forgotPieces', (end: number) => regions.forget(end >>> 0)],
    ['tookPiece', (piece: number, bytes: number) => regions.take(piece >>> 0, bytes >>> 0)],
    ['releasedPiece', (piece: number, bytes: number) => regions.release(piece >>> 0, bytes >>> 0)],
    ['sealedText', (text: number, bytes: number) => regions.seal(text >>> 0, bytes >>> 0)],
    ['load_ptr', (_id: number, bytes: number, offset: number, at: number) => regions.load(bytes, offset, at)],
    [
      'store_ptr',
      (_id: number, bytes: number, offset: number, at: number) => regions.store(bytes, offset, at),
    ],
  ]);
  const imports: Record<string, Record<string, unknown>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    imports[from] = { ...imports[from], [name]: judges.get(name) ?? lastOf };
  return imports;
}

/** The compiler instruments values too; they pass unchanged. */
function lastOf(...values: readonly unknown[]): unknown {
  return values.at(-1);
}

/**
 * The memory of one instance: its static data, the pieces that are not released, and a text that nothing may change.
 */
class Regions {
  private endOfStatics = STATICS;
  /** By grain of 16 bytes: the end of the piece that has the grain; 0 if no piece has it. */
  private ends = new Uint32Array(FIRST_GRAINS);
  private grains = 0;
  private text = 0;
  private endOfText = 0;

  private readonly counts: CheckedKernels['counts'];

  constructor(counts: CheckedKernels['counts']) {
    this.counts = counts;
  }

  forget(endOfStatics: number): void {
    this.ends.fill(0, 0, this.grains);
    this.grains = 0;
    this.endOfStatics = endOfStatics;
    this.text = 0;
    this.endOfText = 0;
  }

  take(piece: number, bytes: number): void {
    const [first, behind] = grainsOf(piece, bytes);
    if (behind > this.ends.length) {
      const longer = new Uint32Array(behind * 2);
      longer.set(this.ends);
      this.ends = longer;
    }
    this.grains = Math.max(this.grains, behind);
    this.ends.fill(piece + Math.max(bytes, LINK), first, behind);
  }

  release(piece: number, bytes: number): void {
    this.ends.fill(0, ...grainsOf(piece, bytes));
  }

  seal(text: number, bytes: number): void {
    this.text = text;
    this.endOfText = text + bytes;
  }

  load(bytes: number, offset: number, from: number): number {
    this.counts.loads += 1;
    const at = (from >>> 0) + offset;
    const grain = at >>> GRAIN_BITS;
    // Short values are loaded as whole words, so a load may begin at the end of a piece, which may be in the next
    // grain.
    const end = this.ends[grain] || this.ends[grain - 1] || 0;
    if (at + bytes > end + SPARE && !this.isStatic(at, bytes)) throw outside('load', bytes, at);
    return from;
  }

  store(bytes: number, offset: number, from: number): number {
    this.counts.stores += 1;
    const at = (from >>> 0) + offset;
    const end = this.ends[at >>> GRAIN_BITS] ?? 0;
    const isText = at < this.endOfText && at + bytes > this.text;
    if (isText || (at + bytes > end && !this.isStatic(at, bytes))) throw outside('store', bytes, at);
    return from;
  }

  private isStatic(at: number, bytes: number): boolean {
    return at >= STATICS && at + bytes <= this.endOfStatics;
  }
}

function grainsOf(piece: number, bytes: number): [first: number, behind: number] {
  const first = piece >>> GRAIN_BITS;
  return [first, first + Math.max(1, Math.ceil(bytes / 2 ** GRAIN_BITS))];
}

function outside(what: string, bytes: number, at: number): OutsideError {
  return new OutsideError(`a ${what} of ${bytes} bytes at ${at} is outside what the kernel owns`);
}
