import { expect } from '@jest/globals';
import { CodedRows, type NamedColumn } from '../../shared/table/coded-rows.ts';
import type { Column } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';

interface Counter {
  count(rows: number, columns: Iterable<NamedColumn>): Iterable<NamedColumn>;
}

/** Counts rows as several row groups. Each column has to be passed on. */
export function counted<T extends Counter>(
  facts: T,
  columns: readonly Column[],
  groups: readonly (readonly Row[])[],
): T {
  for (const rows of groups) {
    const coded = new CodedRows(columns);
    for (const row of rows) coded.append(row);
    const passed = [...facts.count(rows.length, coded.columns())];
    expect(passed.map(([name]) => name)).toEqual([...coded.columns().keys()]);
  }
  return facts;
}
