import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../../shared/base/json.ts';
import { newColumnsOf, parseStoredSchema } from '../../shared/lake/schema.ts';
import { baseSchema, growSchema } from '../../shared/table/columns.ts';

describe('a stored schema', () => {
  const documented = [{ field: 'transid', type: 'string' }] as const;
  const { columns } = growSchema(baseSchema(documented), { amount: 2, '\uD800': 1 }, {});
  const parse = parseStoredSchema({ table: 'orders', columns: documented });
  const stored = { table: 'orders', recentWrites: ['a'], columns };

  it('I7: is read exactly as it was written', () => {
    expect(parse(parseJson(JSON.stringify(stored)))).toEqual(stored);
  });

  it('has the columns that records have added, by the day on which they were first seen', () => {
    const beside = growSchema({ columns }, { amount: 2, note: 2 }, { amount: 'double' });
    const at = '2026-03-06T10:00:00.000Z';
    const names = ['amount', 'note', 'amount_double'];
    const firstSeen = Object.fromEntries(names.map((name) => [name, { day: '2026-03-05', at }]));
    const grown = parse(parseJson(JSON.stringify({ ...stored, ...beside, firstSeen })));
    // A second column of a field is not news.
    expect([...newColumnsOf(grown)]).toEqual([
      [
        '2026-03-05',
        [
          { column: 'amount', day: '2026-03-05', at },
          { column: 'note', day: '2026-03-05', at },
        ],
      ],
    ]);
    expect([...newColumnsOf(parse(undefined))]).toEqual([]);
  });

  it('I7: keeps what a later version has added to the table and to a column', () => {
    const later = {
      ...stored,
      columns: columns.map((column) => ({ ...column, unit: 'cents' })),
      color: 'blue',
    };
    expect(parse(parseJson(JSON.stringify(later)))).toEqual(later);
  });

  it('I7: has the documented columns if no schema is stored', () => {
    expect(parse(undefined)).toEqual({
      table: 'orders',
      columns: baseSchema(documented).columns,
      recentWrites: [],
    });
  });

  it.each<[string, unknown, RegExp]>([
    ['null', null, /expected object/],
    ['a list', [], /expected object/],
    ['no columns', { ...stored, columns: undefined }, /columns/],
    ['another table', { ...stored, table: 'clicks' }, /the schema of clicks/],
    ['no recent writes', { ...stored, recentWrites: undefined }, /recentWrites/],
    [
      'an unknown type',
      { ...stored, columns: [...columns, { name: 'x', type: 'map' }] },
      /"map" is not a column type/,
    ],
    [
      'a name that is not allowed',
      { ...stored, columns: [...columns, { name: 'x"; drop', type: 'string' }] },
      /columns\.5\.name/,
    ],
    [
      'one name for two columns',
      { ...stored, columns: [...columns, { name: 'amount', type: 'string' }] },
      /one name/,
    ],
    [
      'one field in two columns of one type',
      { ...stored, columns: [...columns, { name: 'x', type: 'decimal(38,9)', field: 'amount' }] },
      /one field/,
    ],
    ['no _rescued', { ...stored, columns: columns.filter(({ name }) => name !== '_rescued') }, /_rescued/],
  ])('with %s is refused', (_name, document, message) => {
    const read = () => parse(parseJson(JSON.stringify(document)));
    expect(read).toThrow(message);
    expect(read).toThrow(/schema\/orders\.json/);
  });
});
