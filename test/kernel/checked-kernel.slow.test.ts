import { beforeAll, describe, expect, it } from '@jest/globals';
import { allocated, type Kernel, makeKernelsBy, release, takeKernel } from '../../shared/kernel/kernel.ts';
import { readRecords } from '../../shared/records/read-records.ts';
import { splitEnvelope } from '../../shared/records/split-envelope.ts';
import { type CheckedKernels, checkedKernels, OutsideError } from './checked-kernel.ts';

describe('the checked kernel', () => {
  let kernels: CheckedKernels;

  beforeAll(async () => {
    kernels = await checkedKernels();
    makeKernelsBy(kernels.make);
  });

  it('reads records like the shipped kernel, and counts its loads and stores', () => {
    const { count, fields } = readRecords(Buffer.from('[{"id":1,"name":"a"},{"id":2,"name":"b"}]'));
    expect({ count, fields }).toEqual({ count: 2, fields: ['id', 'name'] });
    expect(kernels.counts.loads).toBeGreaterThan(40);
    expect(kernels.counts.stores).toBeGreaterThan(12);
  });

  it.each(['[]', '', '{"data":[]}', '{"data":{"list":1'])(
    'never loads before the response %j',
    (response) => {
      expect(splitEnvelope(Buffer.from(response))).toBeUndefined();
    },
  );

  it.each<[title: string, what: 'load' | 'store', act: (kernel: Kernel, text: number) => void]>([
    ['a load before the text', 'load', (kernel, text) => kernel.endOfSpace(text - 1)],
    ['a load after the zeros of the text', 'load', (kernel, text) => kernel.endOfSpace(text + 4 + 16 + 8)],
    ['a load below the static data', 'load', (kernel) => kernel.endOfSpace(1023)],
    ['a load after the static data', 'load', (kernel) => kernel.endOfSpace(1024 + 217)],
    ['a load of 4 bytes that ends 9 bytes after its piece', 'load', (kernel) => hashed(kernel, 9)],
    [
      'a load from a released piece',
      'load',
      (kernel) => {
        const piece = allocated(kernel, 64);
        release(kernel, piece);
        kernel.endOfSpace(piece.at);
      },
    ],
    ['a store into the text', 'store', (kernel, text) => kernel.mixSums(0, 0, text)],
    ['a store after its piece', 'store', (kernel) => kernel.mixSums(0, 0, allocated(kernel, 20).at + 20)],
    [
      'a store into the next piece',
      'store',
      (kernel) => {
        const [one] = [allocated(kernel, 16), allocated(kernel, 16)];
        kernel.mixSums(0, 0, one.at + 8);
      },
    ],
    [
      'a fill that is longer than its piece',
      'store',
      (kernel) => kernel.mixSums(0, 0, allocated(kernel, 31).at),
    ],
  ])('traps at %s', (_title, what, act) => {
    const kernel = takeKernel();
    const text = kernel.beginText(4);
    const outside = expect.objectContaining({ message: expect.stringContaining(`a ${what} of `) });
    expect(() => act(kernel, text)).toThrow(OutsideError);
    expect(() => act(kernel, text)).toThrow(outside);
  });

  it('lets an empty piece be released', () => {
    const kernel = takeKernel();
    kernel.releaseAll();
    expect(() => release(kernel, allocated(kernel, 0))).not.toThrow();
  });

  it.each([8, 0])('lets a load pass the end of a piece by %d bytes', (bytes) => {
    const kernel = takeKernel();
    kernel.releaseAll();
    expect(() => hashed(kernel, bytes)).not.toThrow();
  });
});

/** Loads words up to this many bytes after a piece of 20 bytes, through the hash of a misplaced text of 16 bytes. */
function hashed(kernel: Kernel, after: number): void {
  const [seed, into, starts, ends] = [16, 16, 4, 4].map((bytes) => kernel.allocateZeros(bytes));
  const piece = kernel.allocateZeros(20);
  new Uint32Array(kernel.memory.buffer, ends, 1)[0] = 16;
  kernel.hashTexts(piece + 4 + after, starts ?? 0, ends ?? 0, 1, seed ?? 0, into ?? 0);
}
