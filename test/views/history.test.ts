import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { monthSources } from '../../cli/close-sums.ts';
import { runs } from '../fixtures/property-runs.ts';
import { COLUMNS, DAYS, type Life, NOW, ROLES, lifeOf, storedRows, timeOf } from './life.ts';
import { createViews, insert } from './lake-views.ts';
import * as oracle from './oracle.ts';

const LIVES = Array.from({ length: runs(8).numRuns }, (_, seed) => seed);

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(':memory:', { threads: '1' })).connect();
  await viewsWith('transid', 'transid,line', 'note|transid', 'publisher.id,transid');
});
afterAll(() => connection.closeSync());

async function viewsWith(...keys: string[]): Promise<void> {
  await createViews(connection, new Map([['orders', { columns: COLUMNS, keys }]]), {
    roles: new Map([['orders', { acme: ROLES }]]),
    now: `TIMESTAMP '${timeOf(NOW)}'`,
    only: ['payouts', 'order_states', 'changes'],
  });
}

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  return (await connection.runAndReadAll(sql)).getRowObjectsJson();
}

async function store(life: Life): Promise<void> {
  const { current, before, coverage } = storedRows('acme', 'order_list', life);
  for (const [table, own] of Object.entries({ orders: current, orders_before: before, coverage })) {
    await connection.run(`DELETE FROM ${table}`);
    await insert(connection, table, own);
  }
}

const units = (amount: unknown) =>
  typeof amount === 'bigint' ? `${amount < 0n ? '-' : ''}${digits(amount < 0n ? -amount : amount)}` : null;
const digits = (amount: bigint) => `${amount / 10n ** 9n}.${String(amount % 10n ** 9n).padStart(9, '0')}`;

/** Values as DuckDB returns them as JSON. */
function asRows(expected: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return expected.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'bigint'
          ? units(value)
          : typeof value === 'number' && !name.startsWith('changed_after')
            ? String(value)
            : (value ?? null),
      ]),
    ),
  );
}

const sorted = (all: readonly Record<string, unknown>[]) =>
  all
    .map((row) =>
      JSON.stringify(row, (_, value) =>
        value && typeof value === 'object' && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
          : value,
      ),
    )
    .sort();
const withTimes = (all: readonly Record<string, unknown>[]) =>
  all.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'string' && /_(after|by)$/.test(name)
          ? value
              .padEnd(19)
              .slice(0, 23)
              .replace(/^(.{19})$/, '$1.000')
              .padEnd(23, '0')
          : value,
      ]),
    ),
  );

describe.each(LIVES)('over what is stored of life %i', (seed) => {
  const life = lifeOf(seed);
  beforeAll(() => store(life));

  it('order_states has what the readings had', async () => {
    const columns = Object.keys(oracle.orderStates(life)[0] ?? { dt: '' });
    const found = await rows(`SELECT ${columns.join(', ')} FROM order_states`);
    expect(sorted(withTimes(found))).toEqual(sorted(asRows(oracle.orderStates(life))));
  });

  it('payouts has what counts now, and what was paid and no longer counts', async () => {
    const expected = oracle.payouts(life);
    const columns = Object.keys(expected[0] ?? { month: '' });
    const found = await rows(`SELECT ${columns.join(', ')} FROM payouts`);
    const rounded = (all: readonly Record<string, unknown>[]) =>
      all.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            typeof value === 'number' ? value.toPrecision(9) : value,
          ]),
        ),
      );
    expect(sorted(rounded(found))).toEqual(sorted(rounded(asRows(expected))));
  });
});

describe('the key of a current row', () => {
  const dt = DAYS[0] ?? '';

  it.each([
    ['the key of its chain', ['transid', 'transid,line'], 'transid,line', 't\u001f1'],
    ['the first key of the table before the first close', ['transid'], null, 't'],
    ['none if no record had a key at the first close', ['transid'], '', null],
  ])('is %s', async (_what, keys, key, expected) => {
    await viewsWith(...keys);
    await insert(connection, 'orders', [{ brand: 'acme', dt, transid: 't', line: '1' }]);
    await insert(connection, 'coverage', [{ brand: 'acme', report: 'order_list', dt, key }]);
    expect(await rows('SELECT key FROM order_history')).toEqual([{ key: expected }]);
    expect(await rows('SELECT key FROM order_states')).toEqual(expected === null ? [] : [{ key: expected }]);
  });
});

describe('the report that counts in a month', () => {
  const [dt = '', other = ''] = DAYS;

  it('is transactions while a day is not read again after its erasure was undone, in payouts and in a close', async () => {
    await viewsWith('transid');
    const days = [
      { table: 'orders', day: dt, isPresent: true, isErased: false, rows: 1 },
      { table: 'orders', day: other, isPresent: true, isErased: false, rows: 1 },
      { table: 'transactions', day: dt, isPresent: true, isErased: false, rows: 1 },
      { table: 'transactions', day: other, isPresent: false, isErased: true, rows: 0 },
    ];
    expect([...(await monthSources(days))]).toEqual([['2024-01', 'transactions']]);
    expect([...(await monthSources(days.slice(0, 3)))]).toEqual([['2024-01', 'orders']]);
    for (const { table, day, isPresent } of days)
      await insert(connection, isPresent ? 'coverage' : 'closes', [
        {
          ...{ brand: 'acme', report: `${table.slice(0, -1)}_list`, dt: day },
          ...(isPresent ? { committed_state: 'closed', rows: 1 } : { month: '2024-01', counts: false }),
        },
      ]);
    await insert(connection, 'transactions', [{ brand: 'acme', dt }]);
    await insert(connection, 'orders', [{ brand: 'acme', dt }]);
    expect(await rows('SELECT report, orders_days, transactions_days FROM payouts')).toEqual([
      { report: 'transactions', orders_days: '2', transactions_days: '1' },
    ]);
    await connection.run('DELETE FROM closes');
    expect(await rows('SELECT report FROM payouts')).toEqual([{ report: 'orders' }]);
  });
});
