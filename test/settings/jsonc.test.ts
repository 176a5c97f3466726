import { describe, expect, it } from '@jest/globals';
import { parseJsonc } from '../../shared/settings/jsonc.ts';

describe('settings with comments', () => {
  it.each<[string, string, unknown]>([
    ['plain JSON', '{"a": [1, 2]}', { a: [1, 2] }],
    ['comments of both kinds', '// one\n{"a": /* two */ 1 // three\n}', { a: 1 }],
    ['trailing commas, even before a comment', '{"a": [1, 2,], // last\n}', { a: [1, 2] }],
    ['a comment or a comma inside a text', '{"url": "https://a/*b*/,}"}', { url: 'https://a/*b*/,}' }],
    ['escaped quotes', String.raw`{"a": "\"// no comment"}`, { a: '"// no comment' }],
    ['a byte order mark', '\ufeff{}', {}],
    ['a comment without its end', '{} /* open', {}],
  ])('reads %s', (_name, text, value) => {
    expect(parseJsonc(text, JSON.parse)).toEqual({ value });
  });

  it.each<[string, string, number, number]>([
    ['an unquoted key', '{\n  token: "sekrit"\n}', 2, 3],
    ['an unquoted value', '{\n  "token": sekrit\n}', 2, 12],
    ['a missing comma', '{"a": 1\n "b": 2}', 2, 2],
    ['a missing value', '{"a": 1, "b": }', 1, 15],
    ['a missing end', '{"a": [1, 2', 1, 12],
    ['a text without its end', '{"a": "open\n}', 1, 12],
    ['two commas', '{"a": 1,, "b": 2}', 1, 9],
    ['two values', '{} {}', 1, 4],
  ])('refuses %s and returns its line and column', (_name, text, line, column) => {
    const problem = expect.stringMatching(`^is not JSON \\(line ${line} column ${column}\\)`);
    expect(parseJsonc(text, JSON.parse)).toEqual({ problem });
  });

  it.each<[string, string, string, number, number]>([
    ['with an object as value', '{"brands": {\n"acme": {},\n"acme": {}}}', 'brands.acme', 2, 3],
    ['deep inside', '{"a": {"b": {"c": 1,\n"c": 2}}, "c": 3}', 'a.b.c', 1, 2],
    ['in a list of objects', '{"a": [{"b": 1}, "x,{", [], {"b": 1,\n\n"b": 2}]}', 'a.3.b', 1, 3],
    ['that differ by an escape', '{"brand": 1,\n"\\u0062rand": 2}', 'brand', 1, 2],
    ['with comments', '{"a": 1, // "a": 2\n/* "a": 3,\n*/ "a" /* x */ : 4,}', 'a', 1, 3],
    ['named __proto__', '{"__proto__": 1,\n"__proto__": 2}', '__proto__', 1, 2],
    ['with an empty name', '{"": 1, "": 2}', '', 1, 1],
  ])('refuses two keys %s and returns their path and lines', (_name, text, path, first, second) => {
    const problem = `has ${path} twice (lines ${first} and ${second}): remove one of them`;
    expect(parseJsonc(text, JSON.parse)).toEqual({ problem });
  });

  it.each([
    '{"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}',
    '{"a": {"a": {"a": 1}}, "A": "b", "b": "a", "c": ["a", "a"]}',
    String.raw`{"a": "\"a\": 1, \"a\": 2"}`,
  ])('accepts keys that no object has twice: %s', (text) => {
    expect(parseJsonc(text, JSON.parse)).toEqual({ value: JSON.parse(text) });
  });

  it.each<[string, Buffer, string]>([
    ['UTF-16 of Windows', Buffer.from('\ufeff{"a": 1}', 'utf16le'), 'is UTF-16'],
    ['UTF-16 without a mark', Buffer.from('{"a": 1}', 'utf16le'), 'is UTF-16'],
    ['Latin-1', Buffer.from('{\n"a": "ü"}', 'latin1'), 'is not UTF-8 (line 2)'],
  ])('names the encoding %s', (_name, bytes, problem) => {
    expect(parseJsonc(bytes.toString(), JSON.parse)).toEqual({ problem: `${problem}: save it as UTF-8` });
  });
});
