import { describe, expect, it } from '@jest/globals';
import { textOf } from '../docs/pages.ts';
import { exceptions } from './exceptions.ts';
import { faultsOf } from './faults.ts';
import { phrases, riddles } from './phrases.ts';
import { textsOfCode, textsOfPage, textsOfScript } from './texts.ts';

const rows = [...phrases, ...riddles];
const bad = rows.flatMap(({ fault, bad }) => bad.map((sentence) => [sentence, fault] as const));
const good = rows.flatMap(({ fault, good }) => good.map((sentence) => [sentence, fault] as const));
const patterns = new Map(rows.map(({ fault, pattern }) => [fault, pattern]));
const long = `The ${'word '.repeat(35)}end.`;

describe('the table of phrases', () => {
  it.each(bad)('finds a fault in "%s": %s', (sentence, fault) => {
    expect(sentence).toMatch(patterns.get(fault) ?? '');
  });

  it.each(good)('finds no fault in "%s": %s', (sentence, fault) => {
    expect(sentence).not.toMatch(patterns.get(fault) ?? '');
  });
});

describe('the texts of a file', () => {
  const read = (texts: ReturnType<typeof textsOfPage>) => texts.map((text) => [text.lineAt(0), text.text]);

  it('are paragraphs, headings, list items and cells of a page, without its code', () => {
    const page =
      '# A *head*\n\nOne `code`\ntwo [link](to.md).\n\n```sh\nnot this\n```\n- item\n  goes on\n\n| a | b `c` |\n';
    expect(read(textsOfPage(page))).toEqual([
      [1, 'A *head*'],
      [3, 'One `_` two link.'],
      [9, 'item goes on'],
      [12, 'a'],
      [12, 'b `_`'],
    ]);
  });

  it('are comments and sentences of code, without directives, identifiers and other languages', () => {
    const code = [
      '// biome-ignore lint/some: a directive is none',
      '// One comment',
      '// of two lines.',
      "import { a } from './a-file.ts';",
      '/** Returns `a`. */',
      "const b = 'a sentence that ' + `joins ` + a + 'other-text';",
      "const c = 'SELECT one two three FROM days';",
    ].join('\n');
    expect(read(textsOfCode('code.ts', code))).toEqual([
      [2, 'One comment of two lines.'],
      [5, 'Returns `_`.'],
      [6, 'a sentence that joins `_`other-text'],
    ]);
  });

  it('are the comments of a script', () => {
    expect(read(textsOfScript('#!/bin/sh\n# One.\nrun # two\n'))).toEqual([[2, 'One.']]);
  });
});

describe('the faults of a file', () => {
  it('have the line on which they begin', () => {
    expect(faultsOf('docs/page.md', 'Fine.\n\nThe count is\nwritten behind the page.\n')).toMatchObject([
      { line: 4, found: 'behind' },
    ]);
  });

  it('are also sentences of more than 35 words', () => {
    expect(faultsOf('docs/page.md', `Short. ${long} Short.`)).toMatchObject([
      { line: 1, fault: 'a sentence of 37 words' },
    ]);
  });

  it('are those of the newest version only in the changelog', () => {
    const changelog = `# Changelog\n\n## 2.0.0\n\nNews.\n\n## 1.0.0\n\n${long}\n`;
    expect(faultsOf('CHANGELOG.md', changelog)).toEqual([]);
    expect(faultsOf('docs/page.md', changelog)).toHaveLength(1);
  });
});

it('every exception names a phrase that its file has', () => {
  expect(exceptions.filter(({ file, found }) => !textOf(file).includes(found))).toEqual([]);
});
