import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '../../shared/base/json.ts';
import { readRecords } from '../../shared/records/read-records.ts';
import { writtenList, writtenRecord } from '../../shared/records/written-bytes.ts';
import { plainLists } from './record-texts.ts';

function written(text: string): string {
  return writtenList(readRecords(Buffer.from(text))).toString();
}

function escaped(text: string): string {
  const code = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
  return text.replaceAll('/', '\\/').replaceAll(/[^\0-\x7f]/g, code);
}

describe('the written bytes of a list', () => {
  it('I1: are the same however the service formats JSON', () => {
    fc.assert(
      fc.property(plainLists, (list) => {
        const records = parseJson(list);
        const text = stringifyJson(records);
        expect(written(text)).toBe(text);
        expect(written(JSON.stringify(records, null, '\t'))).toBe(text);
        expect(written(escaped(text))).toBe(text);
      }),
    );
  });

  it.each([
    ['repeated keys further down', '[{"a":[{"b":1,"b":2}]}]'],
    ['keys that are integers', '[{"b":1,"2":3,"1":[{"b":1,"0":2}]}]'],
  ])('I1: equal the bytes of records that were parsed whole, with %s', (_name, text) => {
    expect(written(text)).toBe(stringifyJson(parseJson(text)));
  });

  it('equal the bytes of the service if nothing has to change', () => {
    const list = readRecords(Buffer.from('[{"a b":" c , d ","e":[" f "]},{},{"é":-0}]'));
    expect(writtenList(list).buffer).toBe(list.bytes.buffer);
  });

  it('are also written for one record', () => {
    const list = readRecords(Buffer.from('[{"a":1},\n{ "b" : "\\/", "c":[ ] }]'));
    expect([0, 1].map((index) => writtenRecord(list, index).toString())).toEqual([
      '{"a":1}',
      '{"b":"/","c":[]}',
    ]);
  });
});
