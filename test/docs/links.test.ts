import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { pages, root, textOf } from './pages.ts';

function proseOf(page: string): string {
  return textOf(page).replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '');
}

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

describe('the links of the pages', () => {
  it('are met at all', () => {
    expect(pages.flatMap((page) => textOf(page).match(/\]\(/g) ?? []).length).toBeGreaterThan(20);
  });

  it.each(pages)('of %s lead to a file, and to a heading of it', (page) => {
    expect(brokenLinksOf(page)).toEqual([]);
  });
});
