import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { inlineCodeOf, pages, proseOf, root } from './pages.ts';

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function brokenLinksOf(page: string): string[] {
  const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(page, link));
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(root, join(root, dirname(page), path));
  return existsSync(join(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
}

const SOURCE = /^(?:shared|cli|functions|infra|kernel|sample|test|bench|docs|\.ci|\.github)\/[\w./-]*$/;

/** Files and folders of the repository that a page names in backticks; descriptions of the code leave out `shared/`. */
function namedPathsOf(page: string): string[] {
  return inlineCodeOf(page)
    .filter((code) => SOURCE.test(code) || /^[\w-]+(\/[\w-]+)+\.(ts|js|mjs)$/.test(code))
    .filter((path) => !path.includes('.venv'));
}

function isThere(path: string): boolean {
  return existsSync(join(root, path)) || existsSync(join(root, 'shared', path));
}

describe('the links of the pages', () => {
  it.each(pages)('of %s lead to a file, and to a heading of it', (page) => {
    expect(brokenLinksOf(page)).toEqual([]);
  });
});

describe('the files that the pages name in backticks', () => {
  it.each(pages)('exist: %s', (page) => {
    expect(namedPathsOf(page).filter((path) => !isThere(path))).toEqual([]);
  });
});
