import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  duplicateKeys,
  type Json,
  type JsonObject,
  isCanonicalInteger,
  isJsonObject,
  isRawNumber,
  numberText,
  parseJson,
  rawNumber,
  stringifyJson,
} from '../../shared/base/json.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyCharacter } from '../fixtures/texts.ts';

const literals = [
  '0',
  '-0',
  '1',
  '-1',
  '1.5',
  '1.10',
  '0.1',
  '100',
  '1e2',
  '1E2',
  '1e+2',
  '1e400',
  '-1e-400',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '123456789012345678901234567890.123456789',
  '0.30000000000000004',
  '0.300000000000000004',
  '1e21',
  '1000000000000000000000',
];

describe('JSON that keeps its digits', () => {
  it.each(literals)('I6: keeps %s exactly, in any position', (literal) => {
    const text = `{"a":${literal},"b":[${literal},{"c":${literal}}]}`;
    expect(stringifyJson(parseJson(text))).toBe(text);
    expect(numberText(parseJson(literal))).toBe(literal);
  });

  it.each(['1', '1.5', '-7', '9007199254740991'])('has %s as a plain number', (literal) => {
    expect(parseJson(literal)).toBe(Number(literal));
  });

  it.each(['-0', '1.10', '1e2', '9007199254740993', '1e400'])('has %s as a raw number', (literal) => {
    expect(isRawNumber(parseJson(literal))).toBe(true);
  });

  it('I6: reproduces every JSON text exactly', () => {
    const number = fc.oneof(
      fc.constantFrom(...literals),
      fc.tuple(fc.bigInt(), fc.nat()).map(([whole, cents]) => `${whole}.${cents}`),
    );
    const { json } = fc.letrec<{ json: string }>((tie) => ({
      json: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.oneof(
          number,
          fc.constantFrom('null', 'true', 'false'),
          fc.string({ unit: anyCharacter }).map(quoted),
        ),
        fc.array(tie('json'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
        fc
          .uniqueArray(fc.tuple(fc.string({ minLength: 1 }).filter(notAnIndex), tie('json')), {
            selector: ([key]) => key,
            maxLength: 4,
          })
          .map((entries) => `{${entries.map(([key, value]) => `${quoted(key)}:${value}`).join(',')}}`),
      ),
    }));
    fc.assert(
      fc.property(json, (text) => {
        expect(stringifyJson(parseJson(text))).toBe(text);
      }),
      runs(500),
    );
  });

  it.each<[string, string]>([
    ['a name that objects have already', '{"__proto__":{"a":1},"constructor":1,"toJSON":2}'],
    ['half an emoji', '{"a":"\\ud83d"}'],
    ['line separators', '"\u2028\u2029"'],
    ['a raw number’s own shape', '{"rawJSON":"1"}'],
  ])('does not mistake text for numbers: %s', (_name, text) => {
    expect(stringifyJson(parseJson(text))).toBe(text);
  });

  it.each<[string, string, string]>([
    ['twice', '{"a":1,"b":2,"a":3}', '{"a":3,"b":2,"_duplicates":{"a":[1]}}'],
    ['three times', '{"a":1,"a":"x","a":1.10}', '{"a":1.10,"_duplicates":{"a":[1,"x"]}}'],
    ['with equal values', '{"a":1,"a":1}', '{"a":1,"_duplicates":{"a":[1]}}'],
    ['in a nested object', '[{"a":{"b":1,"b":2}}]', '[{"a":{"b":2,"_duplicates":{"b":[1]}}}]'],
    ['once written with an escape', '{"a":1,"\\u0061":2}', '{"a":2,"_duplicates":{"a":[1]}}'],
    ['as __proto__', '{"__proto__":1,"__proto__":2}', '{"__proto__":2,"_duplicates":{"__proto__":[1]}}'],
    [
      'beside a key of that name',
      '{"_duplicates":5,"a":1,"a":2}',
      '{"_duplicates":{"_duplicates":[5],"a":[1]},"a":2}',
    ],
    ['between spaces', '{ "a" : [ ] , \n "a" :\t{ } }', '{"a":{},"_duplicates":{"a":[[]]}}'],
  ])('I6: keeps every value of a key that an object has %s', (_name, text, kept) => {
    expect(stringifyJson(parseJson(text))).toBe(kept);
    expect(stringifyJson(parseJson(kept))).toBe(kept);
  });

  it('names the keys that an object had several times', () => {
    const keysOf = (text: string) => [parseJson(text)].filter(isJsonObject).flatMap(duplicateKeys);
    expect(keysOf('{"a":1,"b":2,"a":3,"b":4}')).toEqual(['a', 'b']);
    expect(keysOf('{"a":1}')).toEqual([]);
  });

  // nodejs/node#63785: V8 takes an escaped key for a different key that it has seen in an object with the same start.
  it('I6: reads an escaped key as itself, even if V8 has seen another key in its place', () => {
    JSON.parse('{"h":[],"\\\\":0}');
    expect(Object.entries(parseJson('{"h":1,"\\"":2}') ?? {})).toEqual([
      ['h', 1],
      ['"', 2],
    ]);
  });

  it('I6: loses no key and no value of any object, escaped and repeated keys included', () => {
    const key = fc.constantFrom('a', 'b', '\\n', '\\\\', '\\"', '\\u0061', '\\u005c', '__proto__');
    const entries = fc.array(fc.tuple(key, fc.integer()), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(entries, { maxLength: 4 }), (objects) => {
        const text = objects.map((object) => `{${object.map(([name, n]) => `"${name}":${n}`).join(',')}}`);
        const parsed = parseJson(`[${text.join(',')}]`);
        const found = Array.isArray(parsed) ? parsed.filter(isJsonObject) : [];
        expect(found.map(allValues)).toEqual(
          objects.map((object) => object.map(([name, n]) => `${JSON.parse(`"${name}"`)} ${n}`).sort()),
        );
      }),
      runs(500),
    );
  });

  it('refuses a text that is nested too deep for its readers', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(stringifyJson(parseJson(nested(1_000)))).toBe(nested(1_000));
    expect(() => parseJson(nested(1_001))).toThrow(RangeError);
  });

  it.each(['', '{"a":1,}', '[1]]', '<html>'])('refuses %j, which is not JSON', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  it('creates raw numbers only from number literals', () => {
    expect(stringifyJson([rawNumber('1.10')])).toBe('[1.10]');
    for (const text of ['', ' 1', '01', '{}', '1,2']) expect(() => rawNumber(text)).toThrow(SyntaxError);
  });

  it.each<[string, Json | undefined, string | undefined, boolean]>([
    ['an object', { a: 1 }, undefined, true],
    ['an empty object', {}, undefined, true],
    ['a list', [1], undefined, false],
    ['null', null, undefined, false],
    ['nothing', undefined, undefined, false],
    ['text', '1', undefined, false],
    ['a number', 1, '1', false],
    ['a raw number', rawNumber('1.10'), '1.10', false],
    ['true', true, undefined, false],
  ])('recognises objects and numbers: %s', (_name, value, text, isObject) => {
    expect([numberText(value), isJsonObject(value)]).toEqual([text, isObject]);
  });

  it.each([
    ['0', true],
    ['-7', true],
    ['9007199254740993', true],
    ['-0', false],
    ['07', false],
    ['+7', false],
    [' 7', false],
    ['7\n', false],
    ['', false],
    ['٧', false],
  ])('%j is a canonical integer: %s', (text, canonical) => {
    expect(isCanonicalInteger(text)).toBe(canonical);
  });
});

/** Objects have such keys in the order of numbers, whatever the order of the text. */
function notAnIndex(key: string): boolean {
  return !/^\d+$/.test(key);
}

/** `key value` of all entries of a flat object, repeated ones included. */
function allValues(object: JsonObject): string[] {
  return Object.entries(object)
    .flatMap(([key, value]) => {
      if (key !== '_duplicates') return `${key} ${stringifyJson(value)}`;
      return isJsonObject(value)
        ? Object.entries(value).flatMap(([name, list]) =>
            Array.isArray(list) ? list.map((item) => `${name} ${stringifyJson(item)}`) : [],
          )
        : [];
    })
    .sort();
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
