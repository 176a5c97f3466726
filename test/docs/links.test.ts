import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = [...markdownIn(''), ...markdownIn('docs')];

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8').replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function brokenLinksOf(page: string): string[] {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(page, link));
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : relative(root, join(root, dirname(page), path));
  return existsSync(join(root, target)) && (anchor === undefined || anchorsOf(target).includes(anchor));
}

describe('the links of the pages', () => {
  it('are met at all', () => {
    expect(pages.flatMap((page) => textOf(page).match(/\]\(/g) ?? []).length).toBeGreaterThan(20);
  });

  it.each(pages)('of %s lead to a file, and to a heading of it', (page) => {
    expect(brokenLinksOf(page)).toEqual([]);
  });
});
