import { describe, expect, it } from '@jest/globals';
import {
  type Json,
  isJsonObject,
  parseJson,
  stringifyJson,
  type JsonObject,
  rawNumber,
} from '../../shared/base/json.ts';
import {
  recordAt,
  recordListOf,
  recordsOfList,
  valuesOf,
  countWithoutKey,
  keysOf,
} from '../../shared/records/record-list.ts';

describe('the primary key of a record', () => {
  it.each<[string, JsonObject, string | undefined]>([
    ['text', { id: 'a' }, 'a'],
    ['text with escapes', { id: 'a"\\\n' }, 'a"\\\n'],
    ['a number', { id: 17 }, '17'],
    ['an integer past 2^53', { id: rawNumber('9007199254740993') }, '9007199254740993'],
    ['an empty text', { id: '' }, undefined],
    ['null', { id: null }, undefined],
    ['true', { id: true }, undefined],
    ['a list', { id: ['a'] }, undefined],
    ['an object', { id: { a: 1 } }, undefined],
    ['missing', { no: 'a' }, undefined],
  ])('I1: is text or a number: %s', (_name, record, primaryKey) => {
    const list = recordListOf([{ no: 1 }, record]);
    expect(keysOf(list, 'id')).toEqual([undefined, primaryKey]);
    expect(keysOf(list, undefined)).toEqual([undefined, undefined]);
  });

  it.each<[string, JsonObject, string | undefined]>([
    ['both', { a: 'a', b: 'bc' }, '["a","bc"]'],
    ['other values that join to the same text', { a: 'ab', b: 'c' }, '["ab","c"]'],
    ['other values that contain the separator', { a: 'a","b', b: 'c' }, '["a\\",\\"b","c"]'],
    ['in another order', { b: 'bc', a: 'a' }, '["a","bc"]'],
    ['a number as its text', { a: 1, b: '1' }, '["1","1"]'],
    ['only one of them', { a: 'a' }, undefined],
    ['one of them empty', { a: 'a', b: '' }, undefined],
  ])('I1: of two fields is both values, exactly: %s', (_name, record, key) => {
    expect(keysOf(recordListOf([record]), ['a', 'b'])).toEqual([key]);
    expect(countWithoutKey(recordListOf([record, record]), ['a', 'b'])).toBe(key === undefined ? 2 : 1);
  });

  it('is not read from a property that every object inherits', () => {
    expect(keysOf(recordListOf([{}]), 'constructor')).toEqual([undefined]);
    expect(keysOf(recordListOf([{}]), '__proto__')).toEqual([undefined]);
  });
});

const texts = [
  '{"a":1,"b":"x"}',
  '{}',
  '{"b":1.10,"a":9007199254740993,"a":2,"c":"\\ud83d"}',
  '{"\\"\\\\":[1,{"é":null}],"__proto__":{"a":1},"":true}',
  '{"10":1,"9":2,"_duplicates":3,"x":1,"x":2}',
];
const exact = texts.map(parseJson).filter(isJsonObject);

describe('a list of the records that the exact parser returned', () => {
  const list = recordListOf(exact);

  it('I6: has every record exactly, with its repeated and special keys', () => {
    expect(list.count).toBe(texts.length);
    expect(stringifyJson(recordsOfList(list))).toBe(stringifyJson(exact));
    expect(stringifyJson(recordAt(list, 2))).toBe(
      '{"b":1.10,"a":2,"c":"\\ud83d","_duplicates":{"a":[9007199254740993]}}',
    );
  });

  it('is the JSON of these records', () => {
    expect(Buffer.from(list.bytes.subarray(list.start, list.end)).toString()).toBe(stringifyJson(exact));
    expect(recordListOf([])).toMatchObject({ count: 0, start: 0, end: 2, fields: [] });
  });

  it.each<[string, number, string, string | undefined]>([
    ['the first field', 0, 'a', '1'],
    ['another field', 0, 'b', '"x"'],
    ['a record without fields', 1, 'a', undefined],
    ['a number that keeps its digits', 2, 'b', '1.10'],
    ['the last value of a repeated key', 2, 'a', '2'],
    ['a field of other records', 2, 'x', undefined],
    ['a field of no record', 2, 'nowhere', undefined],
    ['a key with escapes', 3, '"\\', '[1,{"é":null}]'],
    ['a key that objects treat specially', 3, '__proto__', '{"a":1}'],
    ['the last record', 4, 'x', '2'],
  ])('has the value of %s', (_name, index, field, literal) => {
    const value = valuesOf(list, field)[index];
    expect(value === undefined ? undefined : stringifyJson(value)).toBe(literal);
  });

  it('refuses bytes that are not records', () => {
    const bytes = Buffer.from('[1]');
    const wrong = { ...list, count: 1, bytes, start: 0, end: 3, records: Int32Array.of(1, 2, 0) };
    expect((): Json => recordAt(wrong, 0)).toThrow(TypeError);
  });
});
