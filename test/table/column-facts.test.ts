import { describe, expect, it } from '@jest/globals';
import type { Column } from '../../shared/base/column-types.ts';
import { CodedRows } from '../../shared/table/coded-rows.ts';
import { ColumnFacts } from '../../shared/table/column-facts.ts';
import type { Row } from '../../shared/table/columns.ts';

const columns: Column[] = [
  { name: 'status', type: 'string' },
  { name: 'weight', type: 'decimal(38,9)' },
  { name: 'amount', type: 'decimal(38,9)' },
  { name: 'clicks', type: 'bigint' },
  { name: 'made', type: 'timestamp' },
];

describe('rescued values', () => {
  const factsWith = (rescued: readonly [string, number][]) => {
    const facts = new ColumnFacts(columns);
    for (const [column, rows] of rescued) facts.addRescued(column, rows);
    return facts.rescued;
  };

  it('are counted by column over all row groups', () => {
    expect(
      factsWith([
        ['amount', 3],
        ['rate', 1],
        ['amount', 4],
      ]),
    ).toEqual({ amount: 7, rate: 1 });
  });

  it('are missing if no value is rescued', () => {
    expect(factsWith([])).toBeUndefined();
  });

  it('are listed for the twenty columns with the most', () => {
    const all = Array.from({ length: 30 }, (_, index): [string, number] => [`column_${index}`, 30 + index]);
    expect(factsWith(all)).toEqual(Object.fromEntries(all.slice(10)));
  });
});

describe('words', () => {
  const text = (name: string): Column => ({ name, type: 'string', field: name });
  const wordsOf = (of: readonly Column[], groups: readonly (readonly Row[])[]) => {
    const facts = new ColumnFacts(of);
    for (const rows of groups) {
      const coded = new CodedRows(of);
      for (const row of rows) coded.append(row);
      for (const _column of facts.count(rows.length, coded.columns()));
    }
    return facts.words;
  };
  const many = Array.from({ length: 21 }, (_, index) => ({ st: `s${index}`, other: `s${index}` }));

  it.each<[string, Column[], Row[][], object | undefined]>([
    [
      'a column with the name of a state, over row groups, without spaces around a word',
      [text('st')],
      [
        [{ st: 'A' }, { st: 'A ' }, { st: null }, { st: ' ' }],
        [{ st: 'A' }, { st: 'B' }],
      ],
      { st: { rows: { A: 3, B: 1, '': 1 } } },
    ],
    [
      'a column that has a state of the interface',
      [text('other')],
      [[{ other: 'A' }], [{ other: 'VOID' }]],
      { other: { rows: { A: 1, VOID: 1 } } },
    ],
    ['no other column', [text('other')], [[{ other: 'A' }]], undefined],
    ['a column without a value', [text('order_state')], [[{}]], { order_state: { rows: {} } }],
    [
      'no word of a column with more than twenty',
      [text('st'), text('other')],
      [many, [{ other: 'paid' }]],
      { st: {} },
    ],
    ['no word of a column with a long one', [text('st')], [[{ st: 'x'.repeat(201) }]], { st: {} }],
    [
      'numbers by their shortest text, and the name of the field',
      [{ name: 'order_state', type: 'decimal(38,9)', field: 'orderState' }],
      [[{ order_state: 4_000_000_000n }]],
      { order_state: { field: 'orderState', rows: { '4': 1 } } },
    ],
  ])('are counted of %s', (_name, of, groups, expected) => {
    expect(wordsOf(of, groups)).toEqual(expected);
  });
});
