import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freshness } from '../../shared/catalog/freshness.ts';
import { viewOver } from '../../shared/catalog/view-roles.ts';
import type { Column, ColumnType } from '../../shared/base/column-types.ts';
import { baseSchema } from '../../shared/table/columns.ts';
import type { View } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { createViews, insert, tablesOf, views } from '../views/lake-views.ts';

/** Types that a column may have from its first value or from a setting, with a value of each. */
const DISCOVERED: readonly (readonly [type: ColumnType, value: string | number | boolean])[] = [
  ['string', 'n/a'],
  ['string', '12.5'],
  ['string', ' 12.5 '],
  ['decimal(38,9)', 12.5],
  ['decimal(18,2)', 12.5],
  ['bigint', 12],
  ['double', 12.5],
  ['boolean', true],
  ['date', '2026-01-31'],
  ['timestamp', '2026-01-31 09:15:00'],
];

const ROLES = [
  ...['transid', 'status', 'sku_status', 'amount', 'commission', 'currency', 'type', 'publisher_id'],
  ...['publisher_name', 'channel_id', 'sku'],
];

/** Tables whose columns have the well-known names of roles. */
function schemasOf(type: ColumnType, names: readonly string[] = ROLES) {
  return new Map(
    Object.values(reports).map(({ table, columns }) => {
      const base = baseSchema(columns).columns;
      const known = new Set(base.map(({ name }) => name));
      const discovered = names
        .filter((name) => !known.has(name))
        .map((name): Column => ({ name, type, field: name }));
      return [
        table,
        { columns: [...discovered, ...base], keys: discovered.slice(0, 1).map(({ name }) => name) },
      ] as const;
    }),
  );
}

let instance: DuckDBInstance;
let connection: DuckDBConnection;
let schemas = 0;
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:');
});
beforeEach(async () => {
  connection = await instance.connect();
  schemas += 1;
  await connection.run(`CREATE SCHEMA test_${schemas}; SET schema = 'test_${schemas}'`);
});
afterEach(() => connection.closeSync());

async function rows(sql: string) {
  return (await connection.runAndReadAll(sql)).getRowObjectsJson();
}

async function described({ name }: View): Promise<string[][]> {
  const found = await rows(`DESCRIBE ${name}`);
  return found.map(({ column_name, column_type }) => [
    String(column_name),
    String(column_type).toLowerCase().replace('varchar', 'string'),
  ]);
}

/** The views whose SQL depends on the types of columns, and a view that reads them. */
const OF_TYPES = ['order_history', 'transaction_history', 'click_channels', 'changes', 'orders_daily'];

async function expectDeclared(only?: readonly string[]): Promise<void> {
  for (const view of views.filter(({ name }) => only?.includes(name) ?? true))
    expect([view.name, await described(view)]).toEqual([
      view.name,
      view.columns.map(([name, type]) => [name, type]),
    ]);
}

const DAY = { brand: 'acme', dt: '2026-01-31' };

describe.each(DISCOVERED)('over discovered columns of type %s with the value %s', (type, value) => {
  it('views have their declared columns and types, empty and filled', async () => {
    const all = schemasOf(type);
    await createViews(connection, all, { only: OF_TYPES });
    await expectDeclared(OF_TYPES);
    const values: Partial<Record<ColumnType, string | number>> = { string: '2026-01-31', bigint: 7 };
    for (const [table, columns] of tablesOf(all)) {
      const of = columns.map((column) => [
        column.name,
        ROLES.includes(column.name) ? value : values[column.type],
      ]);
      const change = {
        _what: 'altered',
        _key: String(value),
        _place: 1,
        _after: '2026-02-01',
        _by: '2026-02-02',
      };
      const ofChange = table.endsWith('_before') ? change : {};
      const isOfDays = columns.some(({ name }) => name === 'dt') && !['coverage', 'closes'].includes(table);
      if (isOfDays) await insert(connection, table, [{ ...Object.fromEntries(of), ...ofChange, ...DAY }]);
    }
    for (const report of Object.keys(reports))
      await insert(connection, 'coverage', [
        { ...DAY, report, committed_state: 'complete', rows: 1, place: 1, first_by: '2026-02-01' },
      ]);
    await expectDeclared(OF_TYPES);
    for (const name of OF_TYPES) expect(await rows(`SELECT * FROM ${name}`)).not.toEqual([]);
    expect(await rows('SELECT * FROM order_history')).toHaveLength(2);
  });
});

it('views over tables without fields for their roles have their declared columns and types', async () => {
  await createViews(connection, schemasOf('string', []));
  await expectDeclared();
});

const TEXTS = [...views.map((view) => viewOver(view, schemasOf('decimal(38,9)'), new Map())), freshness];

describe.each(TEXTS.map((view) => [view.name, view] as const))(
  'the view %s',
  (_name, { sql, description, columns }) => {
    it('is described in lines that Glue accepts as comments', () => {
      for (const [, , text] of [['', '', description] as const, ...columns])
        expect(text).toMatch(/^\S.{2,253}[^\s.]$/);
    });

    it('uses nothing that DuckDB and Trino interpret differently, or that only one of them accepts', () => {
      const outsideTexts = sql.replaceAll(/'[^']*'/g, "''");
      expect(outsideTexts).not.toMatch(
        /%|::|\bGROUP BY ALL\b|\bQUALIFY\b|\bFILTER\b|\bEXCLUDE\b|(?<!ARRAY)\[|[{;]/i,
      );
      // DuckDB divides whole numbers with a fraction, and Trino without.
      expect(sql).not.toMatch(/(?<! AS double\) )\/|\/(?! CAST\((\w+|sum\(\w+\) OVER \w+) AS double\))/i);
      // Trino refuses a view with a cast between types that have no cast, even with TRY_CAST.
      // Text with spaces around a number is NULL in Trino and the number in DuckDB, unless it is trimmed.
      expect(sql).not.toMatch(
        /TRY_CAST\((?!(?:TRY_CAST\()?trim\(regexp_replace\(|"?\w+"? AS (decimal|date)|CASE WHEN track_url)/i,
      );
      expect(sql).not.toMatch(/\b(text|int|integer|numeric|real|hugeint)\b/i);
    });
  },
);

describe('a value of a role', () => {
  const columns: Column[] = [
    { name: 'status', type: 'bigint', field: 'status' },
    { name: 'due', type: 'string', field: 'due' },
    { name: 'due_2', type: 'decimal(38,9)', field: 'due' },
    { name: 'money', type: 'string', field: 'money' },
    { name: '_rescued', type: 'string' },
  ];
  const fields = { commission: ['due', 'money.due'], currency: 'money.currency', state: 'status' };
  const roles = new Map([['orders', { acme: { fields, words: { '4': 'effective', gone: 'void' } } }]]);

  it.each([
    ['is in the first column of the field', { due: ' 1.5 ', due_2: null }, '1.500000000', null, null],
    ['is in its column of another type', { due_2: 2.5 }, '2.500000000', null, null],
    [
      'is at a path of the next field',
      { money: '{"due": 3, "currency": "eur"}' },
      '3.000000000',
      'EUR',
      null,
    ],
    ['is unreadable, although another field has one', { due: 'n/a', due_2: 2.5 }, null, null, null],
    ['is in _rescued', { _rescued: '{"due":"1.00000000040","status":"GONE"}' }, '1.000000000', null, 'void'],
    ['is at no path of a text that is no JSON', { money: 'no object', status: 4 }, null, null, 'effective'],
    ['is at no path of half a surrogate pair', { money: '{"due":"\\ud800"}' }, null, null, null],
    ['is at no path of a list', { money: '{"due":[1],"currency":{}}' }, null, null, null],
  ])('%s', async (_name, record, commission, currency, state) => {
    await createViews(connection, new Map([['orders', { columns, keys: [] }]]), {
      roles,
      only: ['order_history'],
    });
    await insert(connection, 'orders', [{ ...DAY, ...record }]);
    await insert(connection, 'orders_before', [{ ...DAY, ...record, _what: 'removed', _place: 1 }]);
    const found = { commission, currency, state };
    expect(await rows('SELECT commission, currency, state FROM order_history')).toEqual([found, found]);
  });
});

describe('changes', () => {
  const place = (_place: number, _what: string, values: object = {}) => ({
    ...{ ...DAY, _key: 'o1', _place, _what, _cause: 'reading', _version: `v${_place}`, _previous: 'v' },
    ...{ _after: `2026-02-0${_place}`, _by: `2026-02-0${_place + 1}`, ...values },
  });
  const columns: Column[] = [
    ...['transid', 'note'].map((name): Column => ({ name, type: 'string', field: name })),
    { name: 'commission', type: 'decimal(38,9)', field: 'commission' },
    { name: 'at', type: 'timestamp', field: 'at' },
    { name: '_rescued', type: 'string' },
    { name: '_synced_at', type: 'timestamp' },
  ];
  const shown = 'place, key, what, columns, "before", "after"';

  beforeEach(async () => {
    const schema = { columns, keys: ['transid'] };
    await createViews(connection, new Map([['orders', schema]]), { only: ['changes', 'restatements'] });
  });

  it('show the record before, the record after, and the columns that differ', async () => {
    await insert(connection, 'orders_before', [
      place(1, 'added'),
      place(2, 'altered', { transid: 'o1', note: 'a "b"\n', commission: 1.5 }),
      place(3, 'removed', { transid: 'o1', at: '2026-01-31 09:15:00.25', commission: 2 }),
      place(4, 'added'),
      place(4, 'removed', { _key: null, note: 'x' }),
      place(5, 'added', { _key: null, note: 'y' }),
    ]);
    await insert(connection, 'orders', [
      { ...DAY, transid: 'o1' },
      { ...DAY, transid: 'o2' },
      { ...DAY, note: 'y' },
    ]);
    const first = '{"transid":"o1","note":"a \\"b\\"\\n","commission":"1.500000000"}';
    const second = '{"transid":"o1","commission":"2.000000000","at":"2026-01-31 09:15:00.250000"}';
    expect(await rows(`SELECT ${shown} FROM changes ORDER BY place, key`)).toEqual([
      { place: '1', key: 'o1', what: 'added', columns: null, before: null, after: first },
      {
        place: '2',
        key: 'o1',
        what: 'altered',
        columns: 'note, commission, at',
        before: first,
        after: second,
      },
      { place: '3', key: 'o1', what: 'removed', columns: null, before: second, after: null },
      { place: '4', key: 'o1', what: 'added', columns: null, before: null, after: '{"transid":"o1"}' },
      { place: '4', key: null, what: 'removed', columns: null, before: '{"note":"x"}', after: null },
      { place: '5', key: null, what: 'added', columns: null, before: null, after: '{"note":"y"}' },
    ]);
  });

  it('pair the records of a group by their order, so that an equal copy has no columns that differ', async () => {
    const record = { transid: 'o1', note: 'same' };
    await insert(connection, 'orders_before', [place(1, 'altered', record), place(1, 'altered', record)]);
    await insert(connection, 'orders', [{ ...DAY, ...record }]);
    const text = '{"transid":"o1","note":"same"}';
    expect(await rows(`SELECT ${shown} FROM changes ORDER BY "after"`)).toEqual([
      { place: '1', key: 'o1', what: 'altered', columns: null, before: text, after: text },
      { place: '1', key: 'o1', what: 'altered', columns: null, before: text, after: null },
    ]);
  });

  it('of a table with 500 columns name the last of them', async () => {
    const many = Array.from(
      { length: 500 },
      (_, index): Column => ({ name: `c${index}`, type: 'string', field: `c${index}` }),
    );
    const schema = { columns: [...columns, ...many], keys: ['transid'] };
    await createViews(connection, new Map([['orders', schema]]), { only: ['changes'] });
    await insert(connection, 'orders_before', [place(1, 'altered', { transid: 'o1', c0: 'a', c499: 'a' })]);
    await insert(connection, 'orders', [{ ...DAY, transid: 'o1', c0: 'a', c499: 'b' }]);
    expect(await rows(`SELECT columns, "after" FROM changes`)).toEqual([
      { columns: 'c499', after: '{"transid":"o1","c0":"a","c499":"b"}' },
    ]);
  });

  it('are counted by day', async () => {
    await insert(connection, 'orders_before', [
      place(1, 'added'),
      place(3, 'altered', { transid: 'o1' }),
      place(3, 'removed', { _key: null }),
    ]);
    const day = { ...DAY, rows: 9, committed_state: 'settled' };
    await insert(connection, 'coverage', [
      { ...day, report: 'order_list', place: 3 },
      { ...day, report: 'transaction_list', place: 0 },
    ]);
    expect(await rows('SELECT * FROM restatements')).toEqual([
      {
        ...{ ...DAY, report: 'order_list', month: '2026-01', rows_now: '9', changes: '3' },
        ...{ first_changed_at: '2026-02-02 00:00:00', last_changed_at: '2026-02-04 00:00:00' },
        ...{ added: '1', removed: '1', altered: '1' },
      },
    ]);
  });
});

describe('freshness', () => {
  beforeEach(async () => {
    await createViews(connection, new Map(), { only: [] });
    await connection.run(`CREATE VIEW freshness AS ${inDuckDb(freshness.sql)}`);
  });

  /** A row of coverage: its day counted from today in UTC; when it was read and when it becomes overdue, in hours from now. */
  interface CoverageRow {
    day: number;
    state: string;
    committed?: string;
    read?: number;
    overdue?: number;
    failed?: number;
    start?: number;
  }

  const HEALTHY = {
    days_failed: '0',
    failing_since: null,
    days_overdue: '0',
    days_missing: '0',
    days_in_progress: '0',
    days_unverified: '0',
  };
  const complete = (day: number): CoverageRow => ({
    day,
    state: 'complete',
    committed: 'complete',
    read: -1,
    overdue: 22,
  });
  const open = (day: number): CoverageRow => ({
    day,
    state: 'open',
    committed: 'open',
    read: -1,
    overdue: 1,
  });

  it.each<[string, CoverageRow[], object]>([
    [
      'has the newest complete day if every day up to today was read',
      [complete(-2), complete(-1), open(0)],
      { newest_complete_day: -1, hours_since_read: '1' },
    ],
    [
      'shows a dead pipeline: hours pass, days become overdue, and days that no run began are missing',
      [{ ...complete(-5), read: -100, overdue: -76 }],
      { newest_complete_day: -5, hours_since_read: '100', days_overdue: '1', days_missing: '4' },
    ],
    [
      'counts a day as overdue from the instant in coverage on',
      [{ ...open(0), overdue: 0 }],
      { newest_complete_day: null, hours_since_read: '1', days_overdue: '1' },
    ],
    [
      'counts a day that was overdue when its coverage was written',
      [{ ...complete(-1), state: 'overdue', overdue: -3 }],
      { newest_complete_day: -1, hours_since_read: '1', days_overdue: '1' },
    ],
    [
      'counts days without a row or a committed version as missing, and days that were begun as in progress',
      [
        complete(-6),
        complete(-4),
        { day: -3, state: 'missing' },
        { day: -2, state: 'in_progress' },
        complete(-1),
        complete(0),
      ],
      {
        newest_complete_day: 0,
        complete_until: -6,
        hours_since_read: '1',
        days_missing: '2',
        days_in_progress: '1',
      },
    ],
    [
      'counts failed days, and shows since when they fail',
      [
        { day: -3, state: 'failed', failed: -50 },
        { day: -2, state: 'failed', committed: 'complete', read: -49, failed: -20 },
        complete(-1),
      ],
      {
        newest_complete_day: -1,
        complete_until: null,
        hours_since_read: '1',
        days_failed: '2',
        failing_since: -50,
      },
    ],
    [
      'counts a day as complete even if its refresh failed',
      [{ day: -1, state: 'failed', committed: 'settled', read: -49, failed: -20 }],
      { newest_complete_day: -1, hours_since_read: '49', days_failed: '1', failing_since: -20 },
    ],
    [
      'counts a settled day as complete, and never as overdue',
      [{ day: -1, state: 'settled', committed: 'settled', read: -900 }],
      { newest_complete_day: -1, hours_since_read: '900' },
    ],
    [
      'does not count a day as overdue if it is read in every run but cannot be closed yet',
      [open(-1)],
      { newest_complete_day: null, hours_since_read: '1' },
    ],
    [
      'does not count an unverified day as complete',
      [{ day: -1, state: 'unverified', committed: 'unverified', read: -2 }],
      { newest_complete_day: null, hours_since_read: '2', days_unverified: '1' },
    ],
    [
      'misses nothing in a zone that is ahead',
      [open(1)],
      { newest_complete_day: null, hours_since_read: '1' },
    ],
    [
      'has no time of the last read if nothing was read',
      [{ day: -1, state: 'failed', failed: -3 }],
      { newest_complete_day: null, hours_since_read: null, days_failed: '1', failing_since: -3 },
    ],
    [
      'is complete up to a gap, whatever was read after the gap',
      [complete(-4), complete(-3), complete(-1), open(0)],
      { newest_complete_day: -1, complete_until: -3, hours_since_read: '1', days_missing: '1' },
    ],
    [
      'is not complete up to any day if days from the start date on are missing',
      [{ ...complete(-2), start: -3 }, complete(-1)],
      { newest_complete_day: -1, complete_until: null, hours_since_read: '1' },
    ],
    [
      'leaves out days before the start date, and the gap after them',
      [complete(-5), { ...complete(-2), start: -2 }, complete(-1)],
      { newest_complete_day: -1, hours_since_read: '1' },
    ],
  ])('of a report %s', async (_name, coverage, expected) => {
    await connection.run("SET TimeZone = 'Pacific/Kiritimati'; BEGIN TRANSACTION");
    const hours = (n: number | undefined) => (n === undefined ? 'NULL' : `${NOW} + INTERVAL (${n}) HOUR`);
    const day = (n: unknown) =>
      typeof n === 'number' ? `strftime(CAST(${NOW} AS date) + ${n}, '%Y-%m-%d')` : 'NULL';
    const text = (value: string | undefined) => (value === undefined ? 'NULL' : `'${value}'`);
    for (const { day: n, state, committed, read, overdue, failed, start } of coverage)
      await connection.run(
        `INSERT INTO coverage (brand, report, dt, state, committed_state, read_from, overdue_at, failed_since, start_date)
         SELECT 'acme', 'order_list', ${day(n)}, ${text(state)}, ${text(committed)}, ${hours(read)}, ${hours(overdue)}, ${hours(failed)}, ${day(start)}`,
      );
    const { newest_complete_day, complete_until, failing_since, ...rest } = {
      ...HEALTHY,
      ...expected,
    } as Record<string, unknown>;
    const until = complete_until === undefined ? newest_complete_day : complete_until;
    const since = hours(typeof failing_since === 'number' ? failing_since : undefined);
    const [found] = await rows(
      `SELECT hours_since_read, days_failed, days_overdue, days_missing, days_in_progress, days_unverified,
        newest_complete_day IS NOT DISTINCT FROM ${day(newest_complete_day)} AS newest,
        complete_until IS NOT DISTINCT FROM ${day(until)} AS until,
        failing_since IS NOT DISTINCT FROM ${since} AS since
      FROM freshness WHERE brand = 'acme' AND report = 'order_list'`,
    );
    expect(found).toEqual({ ...rest, newest: true, until: true, since: true });
  });
});

const NOW = "(current_timestamp AT TIME ZONE 'UTC')";
