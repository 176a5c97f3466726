import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { freshness } from '../../shared/catalog/freshness.ts';
import type { View } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';

const page = readFileSync(new URL('../../docs/views.md', import.meta.url), 'utf8');
const views: View[] = [...Object.values(reports).flatMap((report) => report.views), freshness];

/** The section of a view: its description first, its columns last. */
function sectionOf(name: string): string {
  const [, section = ''] = page.split(`\n## ${name}\n`);
  return section.split('\n## ')[0]?.trim() ?? '';
}

describe('the page of the views', () => {
  it.each(views.map((view) => [view.name, view] as const))('describes %s as the code does', (name, view) => {
    const columns = view.columns.map(([column, type, text]) => `| \`${column}\` | \`${type}\` | ${text} |`);
    const section = sectionOf(name);
    expect(section.split('\n')[0]).toBe(`${view.description}.`);
    expect(section.split('\n').filter((line) => line.startsWith('| `'))).toEqual(columns);
  });

  it('has no section of a view that does not exist', () => {
    const named = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(views.map(({ name }) => name)));
  });
});
