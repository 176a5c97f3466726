import { describe, expect, it } from '@jest/globals';
import { murmur } from '../../shared/records/murmur.ts';

function hashOf(bytes: Uint8Array, seed: number): Buffer {
  const padded = Buffer.alloc(bytes.length + 20);
  padded.set(bytes);
  const words = Int32Array.from({ length: Math.floor(padded.length / 4) }, (_, index) =>
    padded.readInt32LE(index * 4),
  );
  const lanes = new Int32Array(6);
  murmur(words, bytes.length, Int32Array.of(seed, seed, seed, seed), lanes, 1);
  expect([lanes[0], lanes[5]]).toEqual([0, 0]);
  return Buffer.from(lanes.buffer, 4, 16);
}

describe('MurmurHash3_x86_128', () => {
  it('has the check value of its author’s test suite: a hash of the hashes of every length from 0 to 255', () => {
    const key = Uint8Array.from({ length: 256 }, (_, index) => index);
    const hashes = Array.from(key, (length) => hashOf(key.subarray(0, length), 256 - length));
    expect(hashOf(Buffer.concat(hashes), 0).readUInt32LE(0)).toBe(0xb3ece62a);
  });
});
