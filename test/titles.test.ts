import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const folder = fileURLToPath(new URL('.', import.meta.url));
/** The title of a test: after `it(`, or after the table of `it.each`. */
const TITLE = /(?:\b(?:it|test|describe)\(|\]\)\(|\)\)\(|\b\w+\)\()\s*(['"`])((?:(?!\1)[^\\]|\\.)*)\1,/g;
const PROMISE = /^I\d+: /;
const PLACEHOLDER = /%[a-zA-Z#%]|\$\{?[\w.]+\}?/g;

/** Whether a title lacks words: a list of failures must be readable without the table that the title comes from. */
function isBare(title: string): boolean {
  return !/\p{L}/u.test(title.replace(PROMISE, '').replaceAll(PLACEHOLDER, ''));
}

it('every title of a test has words beside its placeholders', async () => {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.test.ts'));
  const titles: { file: string; title: string }[] = [];
  for (const file of files) {
    const source = await readFile(`${folder}/${file}`, 'utf8');
    for (const [, , title = ''] of source.matchAll(TITLE)) titles.push({ file, title });
  }
  expect(titles.length).toBeGreaterThan(500);
  expect(titles.filter(({ title }) => isBare(title))).toEqual([]);
});
