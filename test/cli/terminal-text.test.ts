import { describe, expect, it } from '@jest/globals';
import { displayWidth, oneLine, truncate } from '../../cli/terminal-text.ts';
import { table } from '../../cli/text-table.ts';

describe('displayWidth', () => {
  it.each([
    ['ASCII', 'orders', 6],
    ['a combining accent', 'Zoe\u0308', 3],
    ['Japanese', '日本', 4],
    ['half-width kana', 'ｱ', 1],
    ['an emoji', '🦊', 2],
    ['an emoji of several code points', '👩‍👩‍👧', 2],
    ['a flag', '🇩🇪', 2],
    ['a character of the second CJK plane', '𠀀', 2],
  ])('of %s is the columns it takes', (_name, text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });
});

describe('truncate', () => {
  it.each([
    ['text that fits', 'orders', 6, 'orders'],
    ['text that is too long', 'orders', 5, 'orde…'],
    ['a wide character that would not fit whole', '日本', 3, '日…'],
    ['an emoji, which is kept whole or dropped', 'a👩‍👩‍👧b', 3, 'a…'],
  ])('of %s takes at most the given columns', (_name, text, columns, expected) => {
    expect(truncate(text, columns)).toBe(expected);
    expect(displayWidth(truncate(text, columns))).toBeLessThanOrEqual(columns);
  });
});

describe('oneLine', () => {
  it.each([
    ['a line break', 'a\nb', 'a\\nb'],
    ['an escape sequence', '\x1b[2J', '\\u001b[2J'],
    ['a direction override', 'a\u202Eb', 'a\\u202eb'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
  ])('escapes %s', (_name, text, expected) => {
    expect(oneLine(text)).toBe(expected);
  });
});

describe('table', () => {
  const columns = [{ name: 'name' }, { name: 'rows', align: 'right' }] as const;

  it('aligns columns by display width', () => {
    const [, , ...lines] = table(columns, [
      ['日本', '1'],
      ['acme', '12,345'],
    ]).split('\n');
    expect(lines).toEqual(['日本       1', 'acme  12,345']);
  });

  it('shortens its widest column to fit the given width', () => {
    const lines = table(columns, [['a very long name indeed', '1']], 20).split('\n');
    expect(lines.at(-1)).toBe('a very long n…     1');
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(20);
  });
});
