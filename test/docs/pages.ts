import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every page of the repository, by its path from the root: those at the top level and all below `docs`. */
export const pages: readonly string[] = [
  ...readdirSync(root),
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md'));

/** The text of a page or of an example in the docs, by its path from the root. */
export function textOf(path: string): string {
  return readFileSync(root + path, 'utf8');
}

/** The schemas of `--json` and of events as text, by name. */
export const schemas: ReadonlyMap<string, string> = new Map(
  readdirSync(`${root}docs/reference/schemas`).map((file) => [
    file.replace('.json', ''),
    textOf(`docs/reference/schemas/${file}`),
  ]),
);

/** The text below a heading of the second level, up to the next one; empty if the page has no such heading. */
export function sectionOf(page: string, heading: string): string {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  return section.split('\n## ')[0]?.trim() ?? '';
}

export interface Block {
  /** What follows the three backticks: `sql iceberg`. */
  mark: string;
  text: string;
  /** Of its first line in the page. */
  line: number;
}

/** The blocks of a page in a language, without the indentation of the list that they are in. */
export function blocksOf(page: string, language: string): Block[] {
  const text = textOf(page);
  return [...text.matchAll(/^( *)```([^\n]+)\n([\s\S]*?)^\1```$/gm)].flatMap((match) => {
    const [, indentation = '', mark = '', code = ''] = match;
    if (mark.split(' ')[0] !== language) return [];
    const line = text.slice(0, match.index).split('\n').length + 1;
    return [{ mark, text: code.replaceAll(new RegExp(`^${indentation}`, 'gm'), ''), line }];
  });
}

/** The page without its blocks of code. */
export function proseOf(page: string): string {
  return textOf(page).replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
}

/** What stands in backticks in the sentences of a page. */
export function inlineCodeOf(page: string): string[] {
  return [...proseOf(page).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
}
