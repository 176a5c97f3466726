import { describe, expect, it } from '@jest/globals';
import { contentHashes } from '../../shared/records/content-hash.ts';
import { readRecords } from '../../shared/records/read-records.ts';

function hashOf(record: string): number | undefined {
  return contentHashes(readRecords(Buffer.from(`[${record}]`)))[0];
}

const record = '{"id":"a-1","amount":12.50,"path":"x/ä","items":[{"n":1}],"none":null}';

describe('the hash of a record’s content', () => {
  it.each([
    ['other fields before it', '{"amount":12.50,"items":[{"n":1}],"id":"a-1","none":null,"path":"x/ä"}'],
    ['more space', '{ "id" : "a-1" , "amount": 12.50, "path":"x/ä", "items": [ {"n" : 1} ], "none":null }'],
    [
      'escaped letters',
      '{"id":"a\\u002d1","amount":12.50,"path":"x\\/\\u00e4","items":[{"n":1}],"none":null}',
    ],
  ])('is the same with %s', (_name, same) => {
    expect(hashOf(same)).toBe(hashOf(record));
  });

  it.each([
    ['another letter', record.replace('a-1', 'a-2')],
    ['another digit', record.replace('12.50', '12.51')],
    ['a number in another form', record.replace('12.50', '12.5')],
    ['a text for a number', record.replace('12.50', '"12.50"')],
    ['another value further down', record.replace('"n":1', '"n":2')],
    ['values of two fields swapped', record.replace('"a-1"', 'null').replace('"none":null', '"none":"a-1"')],
    ['one field less', record.replace(',"none":null', '')],
    ['one field more', record.replace('}', ',"more":null}')],
  ])('differs with %s', (_name, other) => {
    expect(hashOf(other)).not.toBe(hashOf(record));
  });

  it('is not 0, which means a forgotten content', () => {
    expect(hashOf('{}')).not.toBe(0);
  });
});
