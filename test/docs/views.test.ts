import { describe, expect, it } from '@jest/globals';
import { freshness } from '../../shared/catalog/freshness.ts';
import { changeViews } from '../../shared/history/index.ts';
import { type View, namesUsedBy } from '../../shared/reports/definition.ts';
import { ROLES } from '../../shared/roles/index.ts';
import { reports } from '../../shared/reports/index.ts';
import { sectionOf, textOf } from './pages.ts';

const page = textOf('docs/reference/views.md');
const views: View[] = [
  ...Object.values(reports).flatMap((report) => report.views),
  ...changeViews(reports),
  freshness,
];

/** The role that a column is made from, if the view's SQL uses it. */
function roleOf(view: View, column: string): string | undefined {
  const used = new Set(namesUsedBy(view).map(({ name }) => name));
  const isState = /^(order_)?status$|^orders_(new|effective|void)$/.test(column);
  const role = isState
    ? 'state'
    : column.includes('commission') || column === 'bonus'
      ? 'commission'
      : column;
  return ROLES.find((each) => each === role && used.has(each));
}

describe('the page of the views', () => {
  it.each(views.map((view) => [view.name, view] as const))('describes %s as the code does', (name, view) => {
    const columns = view.columns.map(([column, type, text]) => {
      const role = roleOf(view, column);
      return `| \`${column}\` | \`${type}\` | ${role === undefined ? '' : `\`${role}\``} | ${text} |`;
    });
    // The description comes first, the columns last.
    const section = sectionOf(page, name);
    expect(section.split('\n')[0]).toBe(`${view.description}.`);
    expect(section.split('\n').filter((line) => line.startsWith('| `'))).toEqual(columns);
  });

  it('has no section of a view that does not exist', () => {
    const named = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(views.map(({ name }) => name)));
  });
});
