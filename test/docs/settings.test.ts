import { describe, expect, it } from '@jest/globals';
import type { RefreshTier } from '../../shared/reports/definition.ts';
import { documented as reports } from '../fixtures/documented-reports.ts';
import { type SettingReference, settingsReference } from '../settings/settings-reference.ts';
import { loadSettings } from '../../shared/settings/settings.ts';
import { sectionOf, textOf } from './pages.ts';

const page = textOf('docs/reference/settings.md');
const reference = settingsReference(reports);
const A_REPORT = 'A report: `brands.<brand>.reports.<report>`';
const OF_A_REPORT = /^brands\.\*\.reports\.(\w+)\.(.+)$/;

/** The cells of the tables under a heading; without the heads, and without the marks of Markdown. */
function rowsUnder(heading: string): string[][] {
  return sectionOf(page, heading)
    .split('\n')
    .filter((line, index, lines) => line.startsWith('|') && !lines[index + 1]?.startsWith('| --'))
    .filter((line) => !line.startsWith('| --'))
    .map((line) => line.split('|').slice(1, -1).map(plain));
}

function plain(cell: string): string {
  return cell.trim().replaceAll(/[`\\]/g, '');
}

/** Setting, allowed values and default, as a row of the page has them. */
function rowOf({ allowed, required, ...setting }: SettingReference, key: string): string[] {
  const missing = required ? 'required' : 'none';
  return [key, allowed, setting.default === undefined ? missing : String(setting.default)];
}

function expectRows(found: readonly string[][], expected: readonly string[][]) {
  const inOrder = (rows: readonly string[][]) => rows.map((cells) => cells.join(' | ')).sort();
  expect(inOrder(found)).toEqual(inOrder(expected));
}

function withoutMeaning(rows: readonly string[][]): string[][] {
  for (const [setting, , , meaning] of rows) expect([setting, meaning]).not.toEqual([setting, '']);
  return rows.map((cells) => cells.slice(0, 3));
}

describe('docs/reference/settings.md lists exactly the settings of the schema, with allowed values and defaults', () => {
  it.each([
    ['All brands', /^(\w+)$/],
    ['A brand: `brands.<brand>`', /^brands\.\*\.(\w+)$/],
    ['A deployment: `deployment`', /^deployment\.([\w.*]+)$/],
  ])('under "%s"', (heading, pattern) => {
    const expected = reference.flatMap((setting) => {
      const [, key] = pattern.exec(setting.path) ?? [];
      const shown = key?.replace('tags.*', 'tags.<key>');
      return shown === undefined ? [] : [rowOf(setting, shown)];
    });
    expect(expected).not.toEqual([]);
    for (const [key, allowed] of expected)
      expect([key, allowed]).not.toEqual([key, expect.stringMatching(/^anything$|^Invalid/)]);
    expectRows(withoutMeaning(rowsUnder(heading)), expected);
  });

  it('for every report', () => {
    const byKey = Map.groupBy(
      reference.filter(({ path }) => OF_A_REPORT.test(path) && !path.includes('.filters.')),
      ({ path }) =>
        OF_A_REPORT.exec(path)?.[2]
          ?.replace('fields.*', 'fields.<role>')
          .replace('words.*', 'words.<word>')
          .replace('*', '<column>') ?? '',
    );
    const expected = [...byKey].map(([key, settings]) => {
      const [row = []] = settings.map((setting) => rowOf(setting, key));
      const same = settings.every((setting) => rowOf(setting, key).join() === row.join());
      const everywhere = settings.length === Object.keys(reports).length || row[2] === 'none';
      return same && everywhere ? row : [...row.slice(0, 2), 'by report'];
    });
    const rows = rowsUnder(A_REPORT).filter(([first = '']) => !(first in reports));
    expectRows(withoutMeaning(rows), expected);
  });

  it('for each report, what differs', () => {
    const rows = rowsUnder(A_REPORT).filter((cells) => (cells[0] ?? '') in reports && cells.length === 4);
    const expected = Object.values(reports).map(({ name, enabledByDefault, paging, refresh }) => [
      name,
      String(enabledByDefault),
      paging.style === 'lookup' ? '' : `${paging.pageSize.field} ${paging.pageSize.default}`,
      refresh.map(inWords).join(', '),
    ]);
    expectRows(rows, expected);
  });

  it('for each report, the filters', () => {
    const rows = rowsUnder(A_REPORT).filter((cells) => (cells[0] ?? '') in reports && cells.length === 3);
    const expected = reference.flatMap(({ path, allowed }) => {
      const [, report = '', filter = ''] = /^brands\.\*\.reports\.(\w+)\.filters\.(\w+)$/.exec(path) ?? [];
      return filter === '' ? [] : [[report, filter, allowed]];
    });
    expectRows(rows, expected);
  });

  it('has an example that is accepted', () => {
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    expect(loadSettings(json, 'docs/reference/settings.md', reports).deployment.schedules).toBe(true);
  });
});

function inWords({ untilAgeDays, every }: RefreshTier): string {
  return `every ${every} until ${untilAgeDays} days old`;
}
