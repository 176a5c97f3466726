import { expect, it } from '@jest/globals';
import { ByteWriter } from 'hyparquet-writer';
import { writeColumnChunk } from '../../shared/table/column-chunk.ts';
import { coded } from '../../shared/table/coded-rows.ts';

it.each<[string, string, string, number | undefined]>([
  ['has the bounds of short texts', 'a', 'b'.repeat(1_024), 1_024],
  ['I12: holds only the beginning of a huge text until the file ends', 'a', 'b'.repeat(100_000), 1_024],
  [
    'has no bound for a huge text if every beginning is too small',
    'a',
    '\u{10ffff}'.repeat(1_000),
    undefined,
  ],
])('the statistics of a column %s', async (_name, first, last, maxBytes) => {
  const cells = coded('string', Uint32Array.of(0, 1, 2), [undefined, first, last]);
  const column = { name: 'a', type: 'string' } as const;
  const { meta_data } = await writeColumnChunk(new ByteWriter(), column, 3, cells, (page) => page);
  const { max_value, null_count } = meta_data?.statistics ?? {};
  expect(null_count).toBe(1n);
  expect(max_value instanceof Uint8Array ? max_value.length : max_value).toBe(maxBytes);
});
