import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Json, parseJson, stringifyJson } from '../../shared/base/json.ts';
import { formOf } from '../../shared/records/json-form.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyCharacter } from '../fixtures/texts.ts';

const form = (text: string) => formOf(Buffer.from(text));
const isJsonText = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the form of a text', () => {
  it.each<[string, number, number]>([
    ['{}', 2, 0],
    ['"{[,:"', 0, 0],
    ['{"a":1,"b":[2,{}]}', 10, 2],
    [' \t\r\n[[],{"a":1}]\n', 8, 1],
    [String.raw`{"[{,:}]":"\"[{,:}]\u00e9"}`, 3, 1],
  ])('%s has no fault, and its structural characters and keys are counted', (text, tokens, keys) => {
    expect(form(text)).toEqual({ tokens, keys });
  });

  /** The fault is at the mark. */
  it.each([
    ['a value that JSON lacks', '{"list":[{"a":1},{"a":§NaN}]}', 2],
    ['infinity', '{"list":[{"a":§-Infinity}]}', 1],
    ['a word of Python', '[§None]', 1],
    ['a number with a leading zero', '[1,§01]', 2],
    ['a plus sign', '[§+1]', 1],
    ['a trailing comma in a list', '{"list":[1,§]}', 2],
    ['a trailing comma in an object', '{"a":1,§}', undefined],
    ['a comment', '{"a":1 §// one\n}', undefined],
    ['single quotes', "{§'a':1}", undefined],
    ['a key without quotes', '{§a:1}', undefined],
    ['an unknown escape', String.raw`{"list":["C:§\dir"]}`, 1],
    ['half an escape', String.raw`["§\u12"]`, 1],
    ['a line end in a text', '["a§\nb"]', 1],
    ['a missing comma', '[{"a":1}§{"a":2}]', 1],
    ['a second document', '{"a":[1]}\n§{"a":2}', undefined],
    ['a warning after the end', '{"a":1}§<br />\n<b>Warning</b>', undefined],
    ['a warning before the beginning', '§Warning: no {"a":1}', undefined],
    ['a bracket of the wrong kind', '{"a":[1§}]', 1],
  ])('shows where it stops being JSON: %s', (_name, marked, record) => {
    const fault = { at: marked.indexOf('§'), isEnd: false, ...(record !== undefined && { record }) };
    expect(form(marked.replace('§', '')).fault).toEqual(fault);
  });

  it('I8: has no fault in exactly those texts that JSON.parse accepts', () => {
    const texts = fc
      .json()
      .chain((text) =>
        fc
          .tuple(fc.nat(text.length), fc.nat(2), fc.constantFrom(...'{}[]:,"\\019-.eEtnu \n'.split('')))
          .map(([at, removed, added]) => text.slice(0, at) + added + text.slice(at + removed)),
      );
    fc.assert(
      fc.property(texts, (text) => expect(form(text).fault === undefined).toBe(isJsonText(text))),
      runs(2_000),
    );
  });

  it('I8: ends too early in every beginning of an object', () => {
    const value = fc.json().map((text): Json => parseJson(text));
    const cut = fc.tuple(fc.dictionary(fc.string({ unit: anyCharacter }), value), fc.nat());
    fc.assert(
      fc.property(cut, ([object, at]) => {
        const bytes = Buffer.from(stringifyJson(object));
        const end = 1 + (at % (bytes.length - 1));
        expect(formOf(bytes.subarray(0, end)).fault).toMatchObject({ at: end, isEnd: true });
      }),
      runs(300),
    );
  });
});
