import { describe, expect, it } from '@jest/globals';
import { type JsonObject, rawNumber } from '../../shared/json.ts';
import { keysOf } from '../../shared/records/record-keys.ts';
import { recordListOf } from '../../shared/records/record-list.ts';

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
    ['not there', { no: 'a' }, undefined],
  ])('I1: is text or a number: %s', (_name, record, primaryKey) => {
    const list = recordListOf([{ no: 1 }, record]);
    expect(keysOf(list, 'id')).toEqual([undefined, primaryKey]);
    expect(keysOf(list, undefined)).toEqual([undefined, undefined]);
  });

  it('is not read from a property that every object inherits', () => {
    expect(keysOf(recordListOf([{}]), 'constructor')).toEqual([undefined]);
    expect(keysOf(recordListOf([{}]), '__proto__')).toEqual([undefined]);
  });
});
