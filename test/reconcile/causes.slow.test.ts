import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Measure, loadFile } from '../../cli/reconcile/file.ts';
import { compare, rowsOf } from '../../cli/reconcile/match.ts';
import { literal } from '../../cli/sql-tables.ts';
import { typeSpec } from '../../shared/column-types.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';

type Row = Readonly<Record<string, string>>;
const FIRST = { seen_by: '2026-10-11 06:00:00', seen_commission: '5' };
const SECOND = '2026-10-18 06:00:00';
const BASE = {
  order_id: '0012',
  records: '1',
  state: 'new',
  commission: '5',
  currency: 'USD',
  seen_currency: 'USD',
  brand: 'acme',
  dt: '2026-10-10',
  ...FIRST,
};

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(() => folder.remove());

/** A line with all five cells. */
function padded(line: string): string {
  return line + ','.repeat(5 - line.split(',').length);
}

/** The causes for the lines of a file, the rows of the lake and the rows of a close. */
async function causesOf(lines: readonly string[], lake: readonly Row[], closed: readonly Row[] = []) {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const names = ['brand', 'dt', 'close'].map((name) => ({ name, type: 'string' as const }));
  const columns = [...(lifecycleShape(orders)?.columns ?? []), ...names];
  for (const [table, rows] of [
    ['now', lake],
    ['then', closed],
  ] as const) {
    const types = columns.map(({ name, type }) => `${name} ${typeSpec(type).duckdb}`);
    await connection.run(`CREATE TABLE "${table}" (${types.join(', ')})`);
    for (const row of rows) {
      const given: Row = { ...BASE, ...row };
      const counted = given.records === '0' || given.state === 'void' ? '0' : given.commission;
      const cells = columns.map(({ name }) => literal({ counted_commission: counted, ...given }[name]));
      await connection.run(`INSERT INTO "${table}" VALUES (${cells.join(', ')})`);
    }
  }
  const file = join(folder.path, 'file.csv');
  await writeFile(file, ['Order ID,Commission,Currency,SKU,Date', ...lines.map(padded)].join('\n'));
  await loadFile(connection, file, {});
  const measures: Measure[] = ['commission'];
  const span = { from: '2026-10-01', to: '2026-10-31', brand: 'acme', measures, timeZone: 'UTC' };
  await compare(connection, { table: '"now"', closed: '"then"', ...span });
  const found = await rowsOf(connection, 'SELECT cause, explained FROM differences ORDER BY ALL');
  connection.closeSync();
  return found.map(([cause, explained]) => `${cause} ${explained ? 'explained' : 'open'}`);
}

it.each<[string, string[], Row[], Row[], string[]]>([
  ['the same', ['="0012",5.00'], [{}], [], []],
  ['an id without its zeros', ['12,5.00'], [{}], [], ['missing_here open', 'missing_there open']],
  ['void since', ['0012,5.00'], [{ state: 'void', void_by: SECOND }], [], ['voided_since explained']],
  [
    'void when it was first seen',
    ['0012,5.00'],
    [{ state: 'void', void_by: FIRST.seen_by }],
    [],
    ['unexplained open'],
  ],
  ['void here and not in the file', [], [{ state: 'void', void_by: SECOND }], [], []],
  [
    'removed by the service',
    ['0012,5.00'],
    [{ records: '0', gone_by: SECOND }],
    [],
    ['voided_since explained'],
  ],
  ['restored', ['0012,0.00'], [{ void_by: SECOND }], [], ['repriced_since explained']],
  ['an amount of the first reading', ['0012,5.00'], [{ commission: '3' }], [], ['repriced_since explained']],
  [
    'an amount after 30 days',
    ['0012,4.00'],
    [{ commission: '3', commission_30: '4' }],
    [],
    ['repriced_since explained'],
  ],
  [
    'an amount of a close',
    ['0012,4.50'],
    [{ commission: '3' }],
    [{ commission: '4.5' }],
    ['repriced_since explained'],
  ],
  ['an amount that never existed', ['0012,4.50'], [{ commission: '3' }], [], ['unexplained open']],
  ['less places', ['0012,5.0'], [{ commission: '4.96' }], [], ['rounding explained']],
  [
    'omitted trailing zeros',
    ['0012,5.1', '13,1.25'],
    [{ commission: '5.06' }, { order_id: '13', commission: '1.25' }],
    [],
    ['unexplained open'],
  ],
  ['a line that occurs twice', ['0012,5.00', '0012,5.00'], [{}], [], ['duplicate open']],
  [
    'two equal lines here',
    ['0012,5.00'],
    [{ records: '2', commission: '10', seen_commission: '10' }],
    [],
    ['duplicate open'],
  ],
  ['another currency', ['0012,5.00,EUR'], [{}], [], ['other_currency open', 'other_currency open']],
  [
    'the currency of the first reading',
    ['0012,5.00,EUR'],
    [{ seen_currency: 'EUR' }],
    [],
    ['other_currency explained', 'other_currency explained'],
  ],
  ['the day before the month', ['0012,5.00'], [{ dt: '2026-09-30' }], [], ['other_day explained']],
  ['a day of another month', ['0012,5.00'], [{ dt: '2026-08-30' }], [], ['other_day open']],
  ['one day off', ['0012,5.00,,,2026-10-11'], [{}], [], ['other_day explained']],
  [
    'a line of another month',
    ['0012,5.00,,,2026-10-10', '13,5.00,,,2026-09-10'],
    [{}, { order_id: '13', dt: '2026-09-10' }],
    [],
    [],
  ],
  [
    'products of an order',
    ['0012,2.00,,A', '0012,3.00,,B'],
    [
      { product: 'A', commission: '2' },
      { product: 'B', commission: '3' },
    ],
    [],
    [],
  ],
  [
    'a product that is missing',
    ['0012,2.00,,A'],
    [
      { product: 'A', commission: '2' },
      { product: 'B', commission: '3' },
    ],
    [],
    ['missing_there open'],
  ],
  [
    'products with other names',
    ['0012,2.00,,X', '0012,3.00,,Y'],
    [
      { product: 'A', commission: '2' },
      { product: 'B', commission: '3' },
    ],
    [],
    [],
  ],
  [
    'one void line of two with the same key',
    ['0012,2.00'],
    [{ records: '2', state: 'mixed', commission: '5', counted_commission: '2', product: 'A' }],
    [],
    [],
  ],
  [
    'one of two lines voided later',
    ['0012,5.00'],
    [
      { product: 'A', commission: '2', seen_commission: '2' },
      { product: 'B', commission: '3', seen_commission: '3', state: 'void', void_by: SECOND },
    ],
    [],
    ['voided_since explained'],
  ],
])('finds the cause: %s', async (_name, lines, lake, closed, causes) => {
  const unused = { order_id: '99', commission: '1' };
  expect(await causesOf([...lines, '99,1,USD,,2026-10-10'], [...lake, unused], closed)).toEqual(causes);
});
