import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { recordsOfList } from '../../shared/records/record-list.ts';
import { readText } from '../../shared/records/read-records.ts';
import { runs } from '../fixtures/property-runs.ts';
import { checkScan } from './check-scan.ts';
import { mutated, mutations, oddLists, plainLists } from './record-texts.ts';

const nested = (depth: number) => `[{"a":${'['.repeat(depth)}${']'.repeat(depth)}}]`;

describe('a list of records that is scanned as bytes', () => {
  it('I6: has the records of the exact parser, value by value', () => {
    fc.assert(
      fc.property(plainLists, (text) => {
        expect(checkScan(Buffer.from(text))).toBe(true);
      }),
      runs(125),
    );
  });

  it('I6: is refused or exact with any keys, values and elements', () => {
    fc.assert(
      fc.property(oddLists, (text) => {
        checkScan(Buffer.from(text));
      }),
      runs(125),
    );
  });

  it('I6: is refused or exact after random changes of its bytes', () => {
    fc.assert(
      fc.property(fc.oneof(plainLists, oddLists), mutations, (text, changes) => {
        checkScan(mutated(Buffer.from(text), changes));
      }),
      runs(250),
    );
  });

  it.each<[string, string]>([
    [
      'fields that appear and vanish',
      '[{"a":1,"b":2,"c":3},{"c":1},{"b":1,"c":2},{"d":0,"a":1,"b":2,"c":3},{}]',
    ],
    ['more fields missing than are guessed', `[{${letters()}},{"a":1,"z":2},{${letters()}}]`],
    ['every escape', '[{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\\ud83d"}]'],
    ['repeated and escaped keys below its fields', '[{"a":{"b":1,"b":2,"\\u0062":3,"__proto__":4}}]'],
    ['values nested as deeply as usual', nested(98)],
    ['more values than the first buffer holds', `[${Array(3_000).fill('{"a":1,"b":2}').join(',')}]`],
  ])('is accepted with %s', (_name, text) => {
    expect(checkScan(Buffer.from(text))).toBe(true);
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['no list', '{"a":1}'],
    ['white space before it', ' []'],
    ['a byte order mark before it', '\ufeff[]'],
    ['an element that is not an object', '[{"a":1},1]'],
    ['a list in the list', '[[{"a":1}]]'],
    ['a key with an escape', '[{"\\u0061":1}]'],
    ['a repeated key', '[{"a":1,"b":2,"a":3}]'],
    ['a repeated key in a later record', '[{"a":1},{"a":1,"a":1}]'],
    ['the key __proto__', '[{"__proto__":1}]'],
    ['the key for the values of repeated keys', '[{"_duplicates":1}]'],
    ['values nested too deeply', nested(99)],
    ['values nested beyond the exact parser’s limit', nested(2_000)],
    ['its end missing', '[{"a":1}'],
    ['a record’s end missing', '[{"a":1'],
    ['a string’s end missing', '[{"a":"b'],
    ['a key’s end missing', '[{"a'],
    ['an extra comma in the list', '[{"a":1},]'],
    ['an extra comma in a record', '[{"a":1,}]'],
    ['an extra comma in a value', '[{"a":[1,]}]'],
    ['a comma missing', '[{"a":1}{"a":2}]'],
    ['a colon missing', '[{"a" 1}]'],
    ['a value missing', '[{"a":}]'],
    ['a key without quotes', '[{a:1}]'],
    ['single quotes', "[{'a':1}]"],
    ['a control character in a string', '[{"a":"\n"}]'],
    ['a control character in a key', '[{"a\tb":1}]'],
    ['an unknown escape', '[{"a":"\\x41"}]'],
    ['an incomplete escape', '[{"a":"\\u12"}]'],
    ['white space that JSON does not allow', '[\u00a0{"a":1}]'],
    ['a comment', '[/**/{"a":1}]'],
    ['a repeated key after thousands of other keys', `[{${numbered(20_000)},"0":1}]`],
    ['more fields than a list can have', `[{${numbered(2 ** 18 + 1)}}]`],
  ])('is refused with %s', (_name, text) => {
    expect(checkScan(Buffer.from(text))).toBe(false);
  });

  it.each([
    '01',
    '-',
    '-01',
    '+1',
    '.5',
    '1.',
    '1.e2',
    '1e',
    '1e+',
    '0x1',
    'NaN',
    'Infinity',
    '1_0',
    '--1',
    'nul',
    'nulL',
    'True',
    'undefined',
    "''",
  ])('is refused with the value %s, which is not JSON', (literal) => {
    expect(checkScan(Buffer.from(`[{"a":${literal}}]`))).toBe(false);
    expect(checkScan(Buffer.from(`[{"a":[${literal}]}]`))).toBe(false);
  });

  it.each([
    ['records', '[{"a":1,"é":" b "},{},{"a":null,"c":-0.0e-0}]', true],
    ['no record', '[]', true],
    ['a space in the list', '[{"a":1} ]', false],
    ['a space in a record', '[{"a": 1}]', false],
    ['a space in an empty record', '[{ }]', false],
    ['a nested value', '[{"a":[1,2]}]', false],
    ['a key that is an integer', '[{"b":1,"2":3}]', false],
  ])('is recognized as compact or not, with %s', (_name, text, isCompact) => {
    const bytes = Buffer.from(text);
    expect(readText(bytes, (list) => list.recordsAt(0))?.isCompact).toBe(isCompact);
  });

  it('begins and ends with the brackets of the list, at any position in its buffer', () => {
    const buffer = Buffer.from('..{"list": [{"a":"é"}] , "x": 1}');
    const bytes = buffer.subarray(2);
    const list = readText(bytes, (text) => text.recordsAt(9));
    expect(list && Buffer.from(bytes.subarray(list.start, list.end)).toString()).toBe('[{"a":"é"}]');
    expect(list && recordsOfList(list)).toEqual([{ a: 'é' }]);
  });
});

/** An object's text with this many fields. */
function numbered(count: number): string {
  return Array.from({ length: count }, (_, field) => `"${field}":0`).join(',');
}

/** Twenty-six fields. */
function letters(): string {
  return 'abcdefghijklmnopqrstuvwxyz'
    .split('')
    .map((letter) => `"${letter}":1`)
    .join(',');
}
