import { describe, expect, it } from '@jest/globals';
import { freshness } from '../../shared/catalog/freshness.ts';
import { type ReportView, allViews, rolesUsedBy } from '../../shared/reports/definition.ts';
import { ROLES } from '../../shared/reports/roles.ts';
import { reports } from '../../shared/reports/index.ts';
import { sectionOf, textOf } from './pages.ts';

const page = textOf('docs/reference/views.md');
const views: ReportView[] = [...allViews(reports), { ...freshness, tables: ['coverage'] }];

/** The role that a column is made from, if the view's SQL uses it. */
function roleOf(view: ReportView, column: string): string | undefined {
  const used = new Set(rolesUsedBy(views, view).map(({ name }) => name));
  const isState = /^(order_)?stat(us|e)$|^orders_(new|effective|void)$/.test(column);
  const role = isState
    ? 'state'
    : column.includes('commission') || ['bonus', 'counted'].includes(column)
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
