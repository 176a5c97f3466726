import { describe, expect, it } from '@jest/globals';
import { parseJsonc } from '../../shared/validation/jsonc.ts';

describe('settings with comments', () => {
  it.each<[string, string, unknown]>([
    ['plain JSON', '{"a": [1, 2]}', { a: [1, 2] }],
    ['comments of both kinds', '// one\n{"a": /* two */ 1 // three\n}', { a: 1 }],
    ['trailing commas, also before a comment', '{"a": [1, 2,], // last\n}', { a: [1, 2] }],
    [
      'a text that looks like a comment or a comma',
      '{"url": "https://a/*b*/,}"}',
      { url: 'https://a/*b*/,}' },
    ],
    ['escaped quotes', String.raw`{"a": "\"// no comment"}`, { a: '"// no comment' }],
    ['a byte order mark', '\ufeff{}', {}],
    ['a comment without its end', '{} /* open', {}],
  ])('reads %s', (_name, text, value) => {
    expect(parseJsonc(text)).toEqual({ value });
  });

  it.each<[string, string, number, number]>([
    ['an unquoted key', '{\n  token: "sekrit"\n}', 2, 3],
    ['an unquoted value', '{\n  "token": sekrit\n}', 2, 12],
    ['a missing comma', '{"a": 1\n "b": 2}', 2, 2],
    ['a missing value', '{"a": 1, "b": }', 1, 15],
    ['an end that is missing', '{"a": [1, 2', 1, 12],
    ['a text without its end', '{"a": "open\n}', 1, 12],
    ['an empty text', '', 1, 1],
    ['two commas', '{"a": 1,, "b": 2}', 1, 9],
    ['two values', '{} {}', 1, 4],
  ])('%s has a place', (_name, text, line, column) => {
    expect(parseJsonc(text)).toEqual({ line, column });
  });
});
