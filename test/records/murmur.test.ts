import { describe, expect, it } from '@jest/globals';
import { allocated, copied, takeKernel } from '../../shared/records/kernel.ts';

function hashOf(bytes: Uint8Array, seed: number): Buffer {
  const kernel = takeKernel();
  kernel.releaseAll();
  const [text, lanes] = [copied(kernel, bytes), copied(kernel, new Int32Array(4).fill(seed))];
  const [start, end] = [copied(kernel, Uint32Array.of(0)), copied(kernel, Uint32Array.of(bytes.length))];
  const into = allocated(kernel, 16);
  kernel.hashValues(text.at, start.at, end.at, 1, lanes.at, into.at);
  return Buffer.from(kernel.memory.buffer.slice(into.at, into.at + 16));
}

describe('MurmurHash3_x86_128', () => {
  it('has the check value of its author’s test suite: a hash of the hashes of every length from 0 to 255', () => {
    const key = Uint8Array.from({ length: 256 }, (_, index) => index);
    const hashes = Array.from(key, (length) => hashOf(key.subarray(0, length), 256 - length));
    expect(hashOf(Buffer.concat(hashes), 0).readUInt32LE(0)).toBe(0xb3ece62a);
  });
});
