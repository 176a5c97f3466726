import { describe, expect, it } from '@jest/globals';
import { displayWidth, oneLine, printable } from '../../cli/terminal-text.ts';
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
  ])('of %s is the number of its columns', (_name, text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });
});

describe('oneLine', () => {
  it.each([
    ['a line break', 'a\nb', 'a\\nb'],
    ['an escape sequence', '\x1b[2J', '\\u001b[2J'],
    ['a direction override', 'a\u202Eb', 'a\\u202eb'],
    ['a line separator', 'a\u2028b', 'a\\u2028b'],
    ['a mark of direction', 'a\u200fb\u061c', 'a\\u200fb\\u061c'],
    ['a control sequence in one character', 'a\u009b2J', 'a\\u009b2J'],
    ['a carriage return', 'a\rb', 'a\\rb'],
  ])('escapes %s', (_name, text, expected) => {
    expect(oneLine(text)).toBe(expected);
  });
});

describe('printable', () => {
  it('keeps lines, and escapes control characters in each', () => {
    expect(printable('a\n\x1b]52;c;aGk=\x07\n\tb\r')).toBe('a\n\\u001b]52;c;aGk=\\u0007\n\\tb\\r');
  });

  it('keeps the meaning of JSON', () => {
    const document = { text: '\x1b[2J\u009b\u202e\u2028\n🦊\t', '\u200f': 1 };
    const printed = printable(JSON.stringify(document));
    expect(printed).toMatch(/^[^\p{Cc}\p{Zl}\p{Bidi_Control}]+$/u);
    expect(JSON.parse(printed)).toEqual(document);
  });
});

describe('table', () => {
  it('aligns columns by display width', () => {
    const [, , ...lines] = table([
      { name: '日本', rows: 1 },
      { name: 'acme', rows: 12_345 },
    ]).split('\n');
    expect(lines).toEqual(['日本       1', 'acme  12,345']);
  });

  it('keeps long cells whole, and pads no other cell to their width', () => {
    const [, , first, second] = table([
      { name: 'x'.repeat(100_000), rows: 1 },
      { name: 'short', rows: 2 },
    ]).split('\n');
    expect(first).toBe(`${'x'.repeat(100_000)}     1`);
    expect(second).toBe(`short${' '.repeat(195)}     2`);
  });

  it('has any number of rows', () => {
    expect(table(Array(200_000).fill({ name: 'a', rows: 1 })).split('\n')).toHaveLength(200_002);
  });
});
