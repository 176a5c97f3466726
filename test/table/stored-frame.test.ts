import { zstdDecompressSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { MAX_STORED_BYTES, storedFrame } from '../../shared/table/stored-frame.ts';

it('is a frame that ZSTD reads as the same bytes, for every size up to the largest', () => {
  for (let length = 0; length <= MAX_STORED_BYTES; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 7 + length) % 256);
    expect(new Uint8Array(zstdDecompressSync(storedFrame(bytes)))).toEqual(bytes);
  }
});

it('has nine bytes more than its contents', () => {
  expect(storedFrame(new Uint8Array(200))).toHaveLength(209);
});
