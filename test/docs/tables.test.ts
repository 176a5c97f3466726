/** The page of the tables has a section for each table of the code, with its columns as the code describes them. */
import { describe, expect, it } from '@jest/globals';
import { fixedTables } from '../../bench/reference/fixed-tables.ts';
import { DERIVED, KEYS, NEVER_NULL, NOTES } from '../../bench/reference/table-texts.ts';
import { columnsOfShape } from '../../shared/lake/documents/described-columns.ts';
import { closedTable } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { dayTables } from '../../shared/reports/definition.ts';
import { sectionOf, textOf } from './pages.ts';

const page = textOf('docs/reference/tables.md');
const all = Object.values(reports);
const tables = [...all.map(({ table }) => table), ...fixedTables().map(({ name }) => name)];

function columnsUnder(name: string): string[][] {
  const rows = sectionOf(page, name).matchAll(
    /^\| `(\w+)` \| `[^|]+` \| `[^|]+` \| (?:yes|no) \| ([^|]+) \|/gm,
  );
  return [...rows].map(([, column = '', meaning = '']) => [column, meaning]);
}

describe('the page of the tables', () => {
  it('has a section for each table, and no other', () => {
    const named = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(named.filter((name) => name !== 'Versions')).toEqual(tables);
    for (const texts of [KEYS, NEVER_NULL, NOTES])
      expect(tables).toEqual(expect.arrayContaining(Object.keys(texts)));
  });

  it.each(fixedTables().map((shape) => [shape.name, shape] as const))(
    'describes %s as the code does',
    (name, shape) => {
      expect(columnsUnder(name)).toEqual(
        columnsOfShape(shape).map((column) => [column.name, column.description]),
      );
    },
  );

  it.each(all.map((report) => [report.table, report] as const))(
    'has the documented columns of %s',
    (name, report) => {
      const documented = columnsUnder(name).filter(([, meaning = '']) => meaning.startsWith('documented; '));
      expect(documented.map(([, meaning]) => meaning)).toEqual(
        report.columns.map(({ meaning }) => `documented; ${meaning}`),
      );
    },
  );

  it('names the tables of closed months and of versions', () => {
    const named = [...DERIVED.matchAll(/`(\w+_(?:closed|versions))`/g)].map(([, name]) => name);
    const expected = [
      ...all.flatMap(dayTables).map(closedTable),
      ...all.map(({ table }) => `${table}_versions`),
    ];
    expect(new Set(named)).toEqual(new Set(expected));
  });
});
