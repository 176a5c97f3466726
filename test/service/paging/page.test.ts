import { describe, expect, it } from '@jest/globals';
import { NO_RECORDS, recordListOf } from '../../../shared/records/record-list.ts';
import { type Json, parseJson, rawNumber, stringifyJson } from '../../../shared/json.ts';
import {
  hashOf,
  isCursor,
  shortHash,
  shortHashOf,
  storedCursor,
} from '../../../shared/service/paging/page.ts';

const cursors: [string, Json][] = [
  ['text', 'c-1'],
  ['empty text', ''],
  ['a number', 0],
  ['a number of many digits', rawNumber('9007199254740993')],
];
const others: [string, Json][] = [
  ['true', true],
  ['an object', { after: 1 }],
  ['a list', ['c-1']],
];

describe('a cursor', () => {
  it.each(cursors)('may be %s, and is stored and read as it is', (_name, cursor) => {
    expect(isCursor(cursor)).toBe(true);
    expect(stringifyJson(storedCursor(parseJson(stringifyJson(cursor))))).toBe(stringifyJson(cursor));
  });

  it.each([...others, ['null', null], ['missing', undefined]] satisfies [string, Json | undefined][])(
    'is none where it is %s',
    (_name, value) => {
      expect(isCursor(value)).toBe(false);
    },
  );

  it('that is stored as null is none', () => {
    expect(storedCursor(null)).toBeNull();
  });

  it.each(others)('that is stored is a bug where it is %s', (_name, value) => {
    expect(() => storedCursor(value)).toThrow(
      expect.objectContaining({
        kind: 'bug',
        code: 'bad_cursor',
        message: `a stored cursor is text or a number, not ${stringifyJson(value)}`,
      }),
    );
  });
});

describe('the hash of records', () => {
  it('is the same for the same records, and depends on their order, their values and every digit', () => {
    const [a, b] = [{ id: 'a' }, { id: 'b' }];
    const hashes = [
      hashOf(recordListOf([])),
      hashOf(recordListOf([a])),
      hashOf(recordListOf([a, b])),
      hashOf(recordListOf([b, a])),
      hashOf(recordListOf([{ id: rawNumber('1.10') }])),
      hashOf(recordListOf([{ id: rawNumber('1.1') }])),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashOf(recordListOf([{ id: 'a' }, { id: 'b' }]))).toBe(hashOf(recordListOf([a, b])));
    // What progress documents hold of earlier runs has to be recognised.
    expect(hashOf(NO_RECORDS)).toBe('T1PNoYwrqgwDVLtfmj7L5e');
  });

  it('in short is eleven characters, and differs where the value does', () => {
    expect(shortHash(0)).toMatch(/^[\w-]{11}$/);
    expect(shortHash('0')).not.toBe(shortHash(0));
    expect(shortHash('c-1')).toBe(shortHash('c-1'));
    expect(hashOf(NO_RECORDS).startsWith(shortHash([]))).toBe(true);
    expect(shortHashOf(recordListOf([{ id: 'a' }]), 0)).toBe(shortHash({ id: 'a' }));
  });
});
