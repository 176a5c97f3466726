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
