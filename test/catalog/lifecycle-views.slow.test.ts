import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { typeSpec } from '../../shared/column-types.ts';
import { viewOver } from '../../shared/catalog/view-roles.ts';
import { lifecycleShape } from '../../shared/lifecycle/index.ts';
import type { ReportView } from '../../shared/reports/definition.ts';
import { orders } from '../../shared/reports/orders.ts';
import { payouts } from '../../shared/reports/views/payouts.ts';
import { NOW_SQL } from '../../shared/reports/views/view-sql.ts';
import { sinceClose } from '../../shared/reports/views/since-close.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runs } from '../fixtures/property-runs.ts';

type Cell = string | number | null;
type Row = Readonly<Record<string, Cell>>;
/** Rows by table, of brand acme and 15 October unless they have other values. */
type Tables = Readonly<Record<string, readonly Row[]>>;

const COLUMNS = lifecycleShape(orders)?.columns ?? [];
const TABLES = ['order_states', 'order_states_closed', 'transaction_states', 'transaction_states_closed'];
/** Of `coverage`, the columns that the views read. */
const COVERAGE = 'brand varchar, report varchar, month varchar, dt varchar, left_close boolean';
const DEFAULTS: Row = {
  ...{ brand: 'acme', dt: '2026-10-15', close: '2026-10', records: 1, kind: 'sale', state: 'new' },
  ...{ publisher_id: '1', publisher_name: null, currency: 'USD', amount: 100, commission: 10 },
  ...{ seen_after: null, seen_by: '2026-10-15 12:00:00' },
};

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (const table of TABLES) {
    const columns = COLUMNS.map(({ name, type }) => `${name} ${typeSpec(type).duckdb}`).join(', ');
    const close = table.endsWith('_closed') ? ', close varchar' : '';
    await connection.run(`CREATE TABLE ${table} (${columns}${close}, brand varchar, dt varchar)`);
  }
  await connection.run(`CREATE TABLE coverage (${COVERAGE})`);
  for (const view of [sinceClose, payouts]) {
    await connection.run(`CREATE VIEW ${view.name} AS ${sqlOf(view, 'status')}`);
    await connection.run(`CREATE VIEW stateless_${view.name} AS ${sqlOf(view, 'other')}`);
  }
});
afterAll(() => connection.closeSync());

/** The view on 20 November, over reports with a commission and another field. */
function sqlOf(view: ReportView, field: string): string {
  const fields = ['commission', field].map((name) => ({ name, type: 'string' as const }));
  const columns = new Map(['orders', 'transactions'].map((table) => [table, fields]));
  const { sql } = viewOver(view, columns, new Map());
  return sql.replaceAll(NOW_SQL, "TIMESTAMP '2026-11-20 10:00:00'");
}

async function rowsOf(
  { name }: Pick<ReportView, 'name'>,
  tables: Tables,
  columns: string,
): Promise<unknown[][]> {
  for (const table of TABLES) {
    await connection.run(`DELETE FROM ${table}`);
    const { close, ...open } = DEFAULTS;
    for (const row of tables[table] ?? []) {
      const given: Row = { ...open, ...(table.endsWith('_closed') && { close }), ...row };
      const { records, state, commission } = given;
      const full = {
        counted_commission: records === 0 || state === 'void' ? 0 : (commission ?? 0),
        ...given,
      };
      const values = Object.values(full).map((value) => (value === null ? 'NULL' : `'${value}'`));
      await connection.run(`INSERT INTO ${table} (${Object.keys(full).join()}) VALUES (${values.join()})`);
    }
  }
  return (await connection.runAndReadAll(`SELECT ${columns} FROM ${name} ORDER BY ALL`)).getRowsJson();
}

const GONE = { records: 0, gone_by: '2026-11-10 00:00:00' };

describe('since_close', () => {
  const columns = `publisher_id, currency, state, what, records, CAST(commission_then AS double),
    CAST(commission_now AS double), CAST(correction AS double)`;
  const before = { key: 'a' };

  it.each<[string, then: Row[], now: Row[], unknown[][]]>([
    ['no row if nothing changed', [before], [before], []],
    ['an added record', [before], [before, { key: 'b' }], [['1', 'USD', 'new', 'added', '1', 0, 10, 10]]],
    [
      'a removed record',
      [before],
      [{ ...before, ...GONE }],
      [['1', 'USD', null, 'removed', '1', 10, 0, -10]],
    ],
    [
      'a removed record that was void',
      [{ ...before, state: 'void' }],
      [{ ...before, ...GONE }],
      [['1', 'USD', null, 'removed', '1', 10, 0, 0]],
    ],
    [
      'a voided record',
      [before],
      [{ ...before, state: 'void' }],
      [['1', 'USD', 'void', 'voided', '1', 10, 10, -10]],
    ],
    [
      'a voided record that is worth nothing now',
      [before],
      [{ ...before, state: 'void', commission: 0 }],
      [['1', 'USD', 'void', 'voided', '1', 10, 0, -10]],
    ],
    [
      'a record that was void',
      [{ ...before, state: 'void' }],
      [before],
      [['1', 'USD', 'new', 'restored', '1', 10, 10, 10]],
    ],
    [
      'one of two records with the same key that is void now',
      [{ ...before, records: 2, state: 'mixed', commission: 30, counted_commission: 30 }],
      [{ ...before, records: 2, state: 'mixed', commission: 30, counted_commission: 10 }],
      [['1', 'USD', 'mixed', 'state_changed', '2', 30, 30, -20]],
    ],
    [
      'a record that was gone',
      [before, { key: 'b', ...GONE }],
      [before, { key: 'b' }],
      [['1', 'USD', 'new', 'restored', '1', 0, 10, 10]],
    ],
    [
      'no row for a record that was gone and still is',
      [before, { key: 'b', ...GONE }],
      [before, { key: 'b', ...GONE }],
      [],
    ],
    [
      'another commission',
      [before],
      [{ ...before, commission: 12.5 }],
      [['1', 'USD', 'new', 'repriced', '1', 10, 12.5, 2.5]],
    ],
    [
      'a new amount with the same commission',
      [before],
      [{ ...before, amount: 50 }],
      [['1', 'USD', 'new', 'repriced', '1', 10, 10, 0]],
    ],
    [
      'a new commission for a record without a commission',
      [{ ...before, commission: null }],
      [before],
      [['1', 'USD', 'new', 'repriced', '1', null, 10, null]],
    ],
    [
      'another state',
      [before, { key: 'b' }],
      [before, { key: 'b', state: 'locked' }],
      [['1', 'USD', 'locked', 'state_changed', '1', 10, 10, 0]],
    ],
    [
      'another publisher, without a remaining row at the old publisher',
      [before],
      [{ ...before, publisher_id: '2' }],
      [
        ['1', 'USD', null, 'moved', '1', 10, 0, -10],
        ['2', 'USD', 'new', 'moved', '1', 0, 10, 10],
      ],
    ],
    [
      'another currency, with the row that is gone',
      [before],
      [
        { ...before, ...GONE },
        { ...before, currency: 'EUR', commission: 9 },
      ],
      [
        ['1', 'EUR', 'new', 'moved', '1', 0, 9, 9],
        ['1', 'USD', null, 'moved', '1', 10, 0, -10],
      ],
    ],
    [
      'a key of two publishers that loses one of its publishers',
      [before, { ...before, publisher_id: '2' }],
      [before],
      [['2', 'USD', null, 'removed', '1', 10, 0, -10]],
    ],
    [
      'a second record with the key',
      [before],
      [{ ...before, records: 3, commission: 30 }],
      [['1', 'USD', 'new', 'added', '2', 10, 30, 20]],
    ],
    [
      'records without a key, a publisher and a currency, as their sums',
      [{ key: null, publisher_id: null, currency: null, records: 5, commission: 50 }],
      [{ key: null, publisher_id: null, currency: null, records: 3, commission: 30, state: 'mixed' }],
      [[null, null, 'mixed', 'removed', '2', 50, 30, -20]],
    ],
    [
      'bonuses without a key separate from sales without a key, which do not move',
      [{ key: null, kind: 'bonus' }],
      [{ key: null, kind: 'sale', publisher_id: '2' }],
      [
        ['1', 'USD', null, 'removed', '1', 10, 0, -10],
        ['2', 'USD', 'new', 'added', '1', 0, 10, 10],
      ],
    ],
    [
      'a day that was missing at the close',
      [before],
      [before, { key: 'a', dt: '2026-10-31' }],
      [['1', 'USD', 'new', 'added', '1', 0, 10, 10]],
    ],
    ['no row for a month without a close', [before], [before, { key: 'a', dt: '2026-11-01' }], []],
    ['no row for a brand without a close', [before], [before, { key: 'a', brand: 'globex' }], []],
  ])('has %s', async (_name, then, now, expected) => {
    const tables = { order_states_closed: then, order_states: now };
    expect(await rowsOf(sinceClose, tables, columns)).toEqual(expected);
  });

  it('leaves out days that were erased, then and now, and no other day, report, month or brand', async () => {
    const rows = (more: Row) => [
      { key: 'a', ...more },
      { key: 'b', dt: '2026-10-16', ...more },
    ];
    const [then, now] = [rows({}), rows({ state: 'void' })];
    const tables = {
      ...{ order_states_closed: then, order_states: now },
      ...{ transaction_states_closed: [], transaction_states: rows({}) },
    };
    const erased = (values: string) => connection.run(`INSERT INTO coverage VALUES ${values}`);
    const found = () => rowsOf(sinceClose, tables, 'report, what, records, CAST(correction AS double)');
    const all = [
      ['orders', 'voided', '2', -20],
      ['transactions', 'added', '2', 20],
    ];
    try {
      await erased(`('acme', 'order_list', '2026-10', '2026-10-15', NULL), ('acme', 'click_list', '2026-10', '2026-10-15', true),
        ('acme-eu', 'order_list', '2026-10', '2026-10-15', true), ('acme', 'order_list', '2026-11', '2026-11-15', true)`);
      expect(await found()).toEqual(all);
      await erased(`('acme', 'order_list', '2026-10', '2026-10-15', true)`);
      expect(await found()).toEqual([['orders', 'voided', '1', -10], all[1]]);
      await erased(
        `('acme', 'transaction_list', '2026-10', '2026-10-16', true), ('acme', 'order_list', '2026-10', '2026-10-16', true)`,
      );
      expect(await found()).toEqual([['transactions', 'added', '1', 10]]);
    } finally {
      await connection.run('DELETE FROM coverage');
    }
  });

  it('separates orders and transactions, even if one of them had no record at the close', async () => {
    const tables = { order_states_closed: [before], transaction_states: [before] };
    expect(await rowsOf(sinceClose, tables, `report, what, CAST(correction AS double)`)).toEqual([
      ['orders', 'removed', -10],
      ['transactions', 'added', 10],
    ]);
  });

  it.each<[string, then: Row, now: Row, unknown[]]>([
    ['0 if all are known', {}, { amount: 5, commission: 4 }, [100, 5, 10, 4, -6, '0']],
    [
      'the number of those of then and now',
      { amount: null },
      { commission: null },
      [null, 100, 10, null, null, '2'],
    ],
    [
      '0 for records that are gone',
      {},
      { ...GONE, amount: null, commission: null },
      [100, 0, 10, 0, -10, '0'],
    ],
    [
      'a void commission, which counts 0',
      {},
      { state: 'void', commission: null },
      [100, 100, 10, null, -10, '1'],
    ],
    [
      'nothing of a bonus without an amount',
      { kind: 'bonus', amount: null },
      { kind: 'bonus', amount: null, commission: 4 },
      [0, 0, 10, 4, -6, '0'],
    ],
    ['an amount of 10^21', {}, { commission: '1e21' }, [100, 100, 10, null, null, '1']],
    [
      'amounts near the limit of decimals',
      { amount: '9'.repeat(29), commission: '9'.repeat(29) },
      { amount: `-${'9'.repeat(29)}` },
      [null, null, null, 10, null, '3'],
    ],
  ])('has as unknown amounts %s', async (_name, then, now, expected) => {
    const tables = { order_states_closed: [{ ...before, ...then }], order_states: [{ ...before, ...now }] };
    const amounts = ['amount_then', 'amount_now', 'commission_then', 'commission_now', 'correction'];
    const columns = amounts.map((amount) => `CAST(${amount} AS double)`).join(', ');
    expect(await rowsOf(sinceClose, tables, `${columns}, unknown_amounts`)).toEqual([expected]);
  });

  it('has no correction if the role state has no field', async () => {
    const tables = { order_states_closed: [before], order_states: [{ ...before, commission: 4 }] };
    const columns = 'what, CAST(commission_now AS double), correction, unknown_amounts';
    const stateless = { name: `stateless_${sinceClose.name}` };
    expect(await rowsOf(stateless, tables, columns)).toEqual([['repriced', 4, null, '2']]);
  });

  it('has, by publisher and currency, corrections that equal the differences of a month’s sums', async () => {
    const row = fc.record({
      key: fc.constantFrom('a', 'b', null),
      dt: fc.constantFrom('2026-10-01', '2026-10-31'),
      publisher_id: fc.constantFrom('1', '2', null),
      currency: fc.constantFrom('USD', 'EUR', null),
      state: fc.constantFrom('new', 'void', 'paid', null),
      records: fc.constantFrom(0, 1, 2),
      amount: fc.constantFrom('1.5', null),
      commission: fc.constantFrom('0.1', '99999999999999999999.000000001', '-3'),
    });
    const identity = (each: Row) => JSON.stringify([each.key, each.dt, each.publisher_id, each.currency]);
    const side = fc.uniqueArray(row, { selector: identity, maxLength: 8 });
    const counted = (each: Row) =>
      each.records === 0 || each.state === 'void' ? 0n : units(each.commission);
    await fc.assert(
      fc.asyncProperty(side, side, async (then, now) => {
        const sums = new Map<string, bigint>();
        for (const [rows, sign] of [
          [then, -1n],
          [now, 1n],
        ] as const)
          for (const each of then.length === 0 ? [] : rows) {
            const place = JSON.stringify([each.publisher_id, each.currency]);
            sums.set(place, (sums.get(place) ?? 0n) + sign * counted(each));
          }
        const tables = { transaction_states_closed: then, transaction_states: now };
        const found = await rowsOf(sinceClose, tables, 'publisher_id, currency, correction, what');
        const corrections = new Map<string, bigint>();
        for (const [publisher, currency, correction] of found) {
          const place = JSON.stringify([publisher, currency]);
          corrections.set(place, (corrections.get(place) ?? 0n) + units(String(correction)));
        }
        const isChanged = ([, sum]: [string, bigint]) => sum !== 0n;
        expect(new Map([...corrections].filter(isChanged))).toEqual(new Map([...sums].filter(isChanged)));
        const same = (each: Row) =>
          JSON.stringify([identity(each), each.records, each.records === 0 ? 0 : each]);
        const isEqual = JSON.stringify(then.map(same).sort()) === JSON.stringify(now.map(same).sort());
        if (isEqual) expect(found).toEqual([]);
      }),
      runs(60),
    );
  });
});

describe('conditions', () => {
  it.each([
    [sinceClose.name, "close = '2026-10'", 4],
    [sinceClose.name, "brand = 'acme'", 4],
    [payouts.name, "brand = 'acme'", 2],
  ])('on %s reach the files: %s', async (name, condition, wanted) => {
    const folder = await temporaryFolder();
    const other = await (await DuckDBInstance.create(':memory:')).connect();
    const definition = COLUMNS.map(({ name: column, type }) => `NULL::${typeSpec(type).duckdb} AS ${column}`);
    for (const table of TABLES) {
      const keys = table.endsWith('_closed') ? 'close, brand, dt' : 'brand, dt';
      const rows =
        "(VALUES ('2026-10', 'acme', '2026-10-01'), ('2026-11', 'globex', '2026-11-01')) AS days(close, brand, dt)";
      await other.run(
        `COPY (SELECT ${definition}, ${keys} FROM ${rows}) TO '${folder.path}/${table}' (FORMAT parquet, PARTITION_BY (${keys}))`,
      );
      await other.run(
        `CREATE VIEW ${table} AS SELECT * FROM read_parquet('${folder.path}/${table}/**/*.parquet', hive_types = {'brand': VARCHAR, 'dt': VARCHAR${keys.startsWith('close') ? ", 'close': VARCHAR" : ''}})`,
      );
    }
    await other.run(`CREATE TABLE coverage (${COVERAGE})`);
    const view = name === payouts.name ? payouts : sinceClose;
    await other.run(`CREATE VIEW ${name} AS ${sqlOf(view, 'status')}`);
    const filesRead = async (where: string) => {
      const read = await other.runAndReadAll(`EXPLAIN ANALYZE SELECT * FROM ${name} WHERE ${where}`);
      const [plan] = read.getRowObjectsJson();
      const counts = [...String(plan?.explain_value).matchAll(/Total Files Read: (\d+)/g)].map(([, count]) =>
        Number(count),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    };
    expect([await filesRead('true'), await filesRead(condition)]).toEqual([2 * wanted, wanted]);
    other.closeSync();
    await folder.remove();
  });
});

describe('payouts', () => {
  const row = (key: string, more: Row = {}) => ({ key, ...more });
  const sums =
    'month, report, publisher_id, currency, ' +
    ['commission', 'final', 'may_change', 'void', 'reversed_after_paid']
      .map((sum) => `CAST(${sum} AS double)`)
      .join(', ');
  const shares = 'month, currency, changed_after_30, changed_after_60, changed_after_90';
  const moves = 'month, publisher_id, CAST(may_move_low AS double), CAST(may_move_high AS double)';
  /** A record of the day. Its commission was the given amount at all ages, and is 10 now. */
  const changed = (dt: string, then: number, more: Row = {}) =>
    row(`${dt} ${then}`, {
      dt,
      seen_by: `${dt} 12:00:00`,
      commission_0: then,
      commission_30: then,
      commission_60: then,
      commission_90: then,
      ...more,
    });
  const paid = { paid_by: '2026-10-20 00:00:00', paid_commission: 9 };

  it.each<[string, Tables, columns: string, unknown[][]]>([
    [
      'final, changeable and void commission',
      {
        transaction_states: [
          row('a', { state: 'paid' }),
          row('b', { state: 'effective' }),
          row('c', { state: 'locked' }),
          row('d', { state: null, commission: 1 }),
          row('e', { state: 'void' }),
          row('f', GONE),
          row('g', { records: 2, state: 'mixed', commission: 30, counted_commission: 10 }),
        ],
      },
      sums,
      [['2026-10', 'transactions', '1', 'USD', 41, 20, 21, 30, 0]],
    ],
    [
      'paid commission of records that are void or gone now',
      {
        transaction_states: [
          row('a', { state: 'void', ...paid }),
          row('b', { ...GONE, state: 'paid', ...paid }),
          row('c', { state: 'paid', ...paid }),
        ],
      },
      sums,
      [['2026-10', 'transactions', '1', 'USD', 10, 10, 0, 10, 18]],
    ],
    [
      'the transactions of a month, or its orders if it has no transactions, by publisher and currency',
      {
        order_states: [
          row('a'),
          row('a', { dt: '2026-09-30', publisher_id: null }),
          row('b', { dt: '2026-09-30', currency: null }),
        ],
        transaction_states: [row('a', { commission: 7 })],
      },
      sums,
      [
        ['2026-09', 'orders', '1', null, 10, 0, 10, 0, 0],
        ['2026-09', 'orders', null, 'USD', 10, 0, 10, 0, 0],
        ['2026-10', 'transactions', '1', 'USD', 7, 0, 7, 0, 0],
      ],
    ],
    [
      'the shares of the ages that a month has reached',
      { order_states: ['2026-07-31', '2026-08-31', '2026-09-30', '2026-10-31'].map((dt) => changed(dt, 8)) },
      shares,
      [
        ['2026-07', 'USD', 0.25, 0.25, 0.25],
        ['2026-08', 'USD', 0.25, 0.25, null],
        ['2026-09', 'USD', 0.25, null, null],
        ['2026-10', 'USD', null, null, null],
      ],
    ],
    [
      'absolute differences, including new, removed and voided records',
      {
        order_states: [
          changed('2026-09-30', 10),
          changed('2026-09-30', 0),
          changed('2026-09-30', 9, GONE),
          changed('2026-09-30', 21, { state: 'void' }),
          row('e', { dt: '2026-09-30', seen_by: '2026-09-30 00:00:00' }),
        ],
      },
      shares,
      [['2026-09', 'USD', 40 / 50, null, null]],
    ],
    [
      'no share for days that were read too late',
      {
        order_states: [
          changed('2026-07-01', 8, { seen_by: '2026-09-10 00:00:00' }),
          changed('2026-07-02', 5, { seen_by: '2026-10-20 00:00:00' }),
        ],
      },
      shares,
      [['2026-07', 'USD', null, null, 0.25]],
    ],
    [
      'the smallest and the largest share of earlier months at the age of each month, in its currency',
      {
        order_states: [
          changed('2026-06-30', 8),
          changed('2026-07-31', 5),
          changed('2026-08-31', 20, { commission_0: 40 }),
          changed('2026-10-31', 10, { publisher_id: '2', commission: 100 }),
          changed('2026-06-30', 1, { currency: 'EUR', publisher_id: '3' }),
        ],
      },
      moves,
      [
        ['2026-06', '1', null, null],
        ['2026-06', '3', null, null],
        ['2026-07', '1', 2.5, 2.5],
        ['2026-08', '1', 2.5, 10],
        ['2026-10', '2', 25, 100],
      ],
    ],
  ])('has %s', async (_name, tables, columns, expected) => {
    expect(await rowsOf(payouts, tables, columns)).toEqual(expected);
  });

  const withUnknown = `${sums}, unknown_amounts`;
  it.each<[string, Row[], unknown[]]>([
    ['a commission that is missing', [row('a', { commission: null }), row('b')], [null, 0, null, 0, 0, '1']],
    [
      'commissions of merged records',
      [row('a', { commission: null, records: 3 })],
      [null, 0, null, 0, 0, '3'],
    ],
    [
      'a void commission that is missing, beside known parts',
      [row('a', { state: 'void', commission: null }), row('b', { state: 'paid' })],
      [10, 10, 0, null, 0, '1'],
    ],
    [
      'a paid commission that is missing',
      [row('a', { ...GONE, paid_by: '2026-10-20 00:00:00' }), row('b')],
      [10, 0, 10, 0, null, '1'],
    ],
    [
      'nothing of records that are gone',
      [row('a', { ...GONE, commission: null }), row('b')],
      [10, 0, 10, 0, 0, '0'],
    ],
    [
      'amounts near the limit of decimals',
      ['a', 'b'].map((key) => row(key, { commission: '9'.repeat(29) })),
      [null, 0, null, 0, 0, '2'],
    ],
  ])('counts as unknown %s', async (_name, records, expected) => {
    const place = ['2026-10', 'transactions', '1', 'USD'];
    const found = await rowsOf(payouts, { transaction_states: records }, withUnknown);
    expect(found).toEqual([[...place, ...expected]]);
  });

  it('has no sum if the role state has no field, also of nothing', async () => {
    const records = [row('a', { state: null }), row('b', { ...GONE, state: null })];
    const tables = { order_states: records };
    const stateless = { name: `stateless_${payouts.name}` };
    expect(await rowsOf(stateless, tables, withUnknown)).toEqual([
      ['2026-10', 'orders', '1', 'USD', null, null, null, null, null, '2'],
    ]);
  });

  it.each<[string, seenBy: (dt: string) => string, expected: unknown[]]>([
    ['on the day after each day', (dt) => `${dt} 12:00:00`, [2.5, 2.5]],
    ['when all of them were older than the age', () => '2026-11-20 09:00:00', [null, null]],
    ['within a month, but not on the day after', (dt) => `${dt.slice(0, 8)}31 23:00:00`, [null, null]],
  ])('has a range of changes only from days that were first read %s', async (_name, seenBy, expected) => {
    const days = ['2026-08-15', '2026-10-15'];
    const records = days.map((dt) => ({ ...changed(dt, 8), seen_by: seenBy(dt) }));
    const found = await rowsOf(payouts, { order_states: records }, moves);
    expect(found.at(-1)).toEqual(['2026-10', '1', ...expected]);
  });
});

/** The decimal in units of its ninth decimal place. */
function units(text: Cell | undefined): bigint {
  const [, sign = '', whole = '0', places = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(String(text ?? 0)) ?? [];
  return BigInt(sign + whole + places.padEnd(9, '0'));
}
