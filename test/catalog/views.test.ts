import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ColumnType } from '../../shared/column-types.ts';
import { baseSchema } from '../../shared/lake/table/columns.ts';
import { changeViews } from '../../shared/history/change-views.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { viewOver } from '../../shared/catalog/view-roles.ts';
import { closedTable } from '../../shared/lake/paths.ts';
import { lifecycleTables } from '../../shared/lifecycle/index.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { changesTable } from '../../shared/history/change-views.ts';
import { type ReportView, type View, namesUsedBy } from '../../shared/reports/definition.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { reports } from '../../shared/reports/index.ts';

type Columns = readonly (readonly [name: string, type: ColumnType])[];

interface ViewOver {
  view: View;
  /** By table. */
  tables: Readonly<Record<string, Columns>>;
  /** By table: the columns that the service decides. */
  discovered: Readonly<Record<string, readonly string[]>>;
}

/** Types that a column may have from its first value or from a setting, with a value of each. */
const DISCOVERED: readonly (readonly [type: ColumnType, value: string])[] = [
  ['string', "'n/a'"],
  ['string', "'12.5'"],
  ['string', "' 12.5 '"],
  ['decimal(38,9)', '12.5'],
  ['decimal(18,2)', '12.5'],
  ['bigint', '12'],
  ['double', '12.5'],
  ['boolean', 'true'],
  ['date', "'2026-01-31'"],
  ['timestamp', "'2026-01-31 09:15:00'"],
];

const PARTITION: Columns = [
  ['brand', 'string'],
  ['dt', 'string'],
];

const COVERAGE: Columns = [
  ...coverageTable.columns.map(({ name, type }) => [name, type] as const),
  ...coverageTable.partitionKeys.map((name) => [name, 'string'] as const),
];

/** The name of a role's field in the tests. */
const KNOWN_NAMES: Readonly<Record<string, string>> = { state: 'status', line_state: 'sku_status' };

/** @param without the columns that views use */
function viewsOver(type: ColumnType, without: { uses: boolean } = { uses: false }): ViewOver[] {
  const ofReports = Object.values(reports).flatMap(({ views }) =>
    views.map((view) => over(view, type, without)),
  );
  const changes: Columns = [
    ...changesTable.columns.map(({ name, type }) => [name, type] as const),
    ...changesTable.partitionKeys.map((name) => [name, 'string'] as const),
  ];
  return [
    ...ofReports,
    { view: freshness, tables: { coverage: COVERAGE }, discovered: {} },
    ...changeViews(reports).map((view) => ({ view, tables: { changes }, discovered: {} })),
  ];
}

function over(view: ReportView, type: ColumnType, without: { uses: boolean }): ViewOver {
  const discovered: Record<string, string[]> = {};
  const tables = view.tables.map((table) => {
    const report = Object.values(reports).find((other) => other.table === table);
    const shape = lifecycleTables(reports).find(({ name }) => [name, closedTable(name)].includes(table));
    const documented = [
      ...(shape?.columns ?? baseSchema(report?.columns ?? []).columns),
      ...(shape && shape.name !== table ? [{ name: 'close', type: 'string' as const }] : []),
    ].map((column) => [column.name, column.type] as const);
    const known = new Set(documented.map(([name]) => name));
    const used = namesUsedBy(view).filter((each) => each.table === table && !without.uses);
    const names = [...new Set(used.map(({ name }) => KNOWN_NAMES[name] ?? name))].filter(
      (name) => !known.has(name),
    );
    discovered[table] = names;
    return [table, [...documented, ...names.map((name) => [name, type] as const)]] as const;
  });
  const columns = new Map(
    tables.map(([table, own]) => [table, own.map(([name, of]) => ({ name, type: of }))]),
  );
  return {
    view: viewOver(view, columns, new Map()),
    tables: Object.fromEntries(
      tables.map(([table, own]) => [table, table === coverageTable.name ? COVERAGE : [...own, ...PARTITION]]),
    ),
    discovered,
  };
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

async function create({ view, tables }: ViewOver): Promise<void> {
  for (const [table, columns] of Object.entries(tables)) {
    const defined = columns.map(([name, type]) => `"${name}" ${type}`).join(', ');
    await connection.run(`CREATE TABLE ${table} (${defined})`);
  }
  await connection.run(`CREATE VIEW ${view.name} AS ${inDuckDb(view.sql)}`);
}

async function rows(sql: string) {
  return (await connection.runAndReadAll(sql)).getRowObjectsJson();
}

const VALUES: Partial<Record<ColumnType, string>> = {
  string: "'2026-01-31'",
  bigint: '7',
  'decimal(38,9)': '12.5',
  boolean: 'true',
  date: "'2026-01-31'",
  timestamp: "'2026-01-31 09:15:00'",
};

describe.each(DISCOVERED)('over discovered columns of type %s with the value %s', (type, value) => {
  it.each(viewsOver(type).map((over) => [over.view.name, over] as const))(
    '%s has its declared columns and types, empty and filled',
    async (_name, over) => {
      const { view, tables, discovered } = over;
      await create(over);
      const declared = view.columns.map(([name, declaredType]) => [name, declaredType]);
      expect(await described(view)).toEqual(declared);
      for (const [table, columns] of Object.entries(tables)) {
        const values = columns.map(([name, of]) =>
          discovered[table]?.includes(name) ? value : name === 'what' ? "'day'" : VALUES[of],
        );
        await connection.run(`INSERT INTO ${table} VALUES (${values.join(', ')})`);
      }
      if (tables.coverage)
        for (const report of ['clicks_list', 'order_list'])
          await connection.run(
            `INSERT INTO coverage (brand, report, dt, committed_state, "rows") VALUES ('2026-01-31', '${report}', '2026-01-31', 'complete', 1)`,
          );
      expect((await rows(`SELECT * FROM ${view.name}`)).length).toBeGreaterThan(0);
      expect(await described(view)).toEqual(declared);
    },
  );
});

async function described({ name }: View): Promise<string[][]> {
  const found = await rows(`DESCRIBE ${name}`);
  return found.map(({ column_name, column_type }) => [
    String(column_name),
    String(column_type).toLowerCase().replace('varchar', 'string'),
  ]);
}

describe('a view over tables without fields for its roles', () => {
  it.each(viewsOver('string', { uses: true }).map((over) => [over.view.name, over] as const))(
    '%s still has its declared columns and types',
    async (_name, over) => {
      await create(over);
      expect(await described(over.view)).toEqual(over.view.columns.map(([name, type]) => [name, type]));
    },
  );
});

describe('the columns of views', () => {
  it.each(viewsOver('string').map(({ view }) => [view.name, view] as const))(
    'of %s are described in one line that Glue accepts as a comment',
    (_name, { description, columns }) => {
      for (const [, , text] of [['', '', description] as const, ...columns])
        expect(text).toMatch(/^\S.{2,253}[^\s.]$/);
    },
  );
});

describe('the text of views', () => {
  it.each(viewsOver('string').map(({ view }) => [view.name, view.sql] as const))(
    'of %s uses nothing that DuckDB and Trino interpret differently, or that only one of them accepts',
    (_name, sql) => {
      const outsideTexts = sql.replaceAll(/'[^']*'/g, "''");
      expect(outsideTexts).not.toMatch(/%|::|\bGROUP BY ALL\b|\bQUALIFY\b|\bFILTER\b|\bEXCLUDE\b|[[{;]/i);
      // DuckDB divides whole numbers with a fraction, and Trino without.
      expect(sql).not.toMatch(/(?<! AS double\) )\/|\/(?! CAST\((\w+|sum\(\w+\) OVER \w+) AS double\))/i);
      // Trino refuses a view with a cast between types that have no cast, even with TRY_CAST.
      // Text with spaces around a number is NULL in Trino and the number in DuckDB, unless it is trimmed.
      expect(sql).not.toMatch(
        /TRY_CAST\((?!trim\(regexp_replace\(CAST\(|\w+ AS decimal|CASE WHEN track_url)/i,
      );
      expect(sql).not.toMatch(/\b(text|int|integer|numeric|real|hugeint)\b/i);
    },
  );
});

describe('an amount that is text', () => {
  it.each<[string, string, string | null]>([
    ['as it is', '12.5', '12.500000000'],
    ['with leading spaces', '  12.5', '12.500000000'],
    ['with trailing spaces', '12.5  ', '12.500000000'],
    ['with a comma', '12,5', null],
    ['of only spaces', '   ', null],
    ['with a tab before it', '\t12.5', null],
    ['with a separator of DuckDB', '12_500', null],
    ['in digits of another script, which Trino accepts', '١٢', null],
  ])('is read as Trino reads it after trimming: %s', async (_name, text, expected) => {
    for (const over of viewsOver('string')) {
      const { view, tables } = over;
      const table = Object.keys(tables).find((name) => ['orders', 'transactions'].includes(name));
      const column = view.columns.map(([name]) => name).find((name) => name.endsWith('commission'));
      if (table === undefined || column === undefined) continue;
      await create(over);
      await connection.run(
        `INSERT INTO ${table} (brand, dt, commission) VALUES ('a', '2026-01-31', '${text}')`,
      );
      expect(await rows(`SELECT ${column} FROM ${view.name}`)).toEqual([{ [column]: expected }]);
      await connection.run(
        Object.keys(tables)
          .map((name) => `DROP TABLE ${name}`)
          .join('; '),
      );
    }
  });
});

describe('changes', () => {
  const day = (id: string, at: string, before: number, after: number, added: number | null, removed = 0) =>
    `('acme', 'order_list', '2026-03', '2026-03-03', '${id}', '${at}', 'reading', 'day', ${before}, ${after}, ${added}, ${removed}, 1, NULL, NULL, NULL, NULL)`;
  const total = (id: string, at: string, key: string, role: string, before: string, after: string) =>
    `('acme', 'order_list', '2026-03', '2026-03-03', '${id}', '${at}', 'reading', 'total', NULL, NULL, NULL, NULL, NULL, '${key}', '${role}', ${before}, ${after})`;
  const [FIRST, SECOND] = ['2026-03-05 06:00:00', '2026-04-02 06:00:00'];

  beforeEach(async () => {
    const over = viewsOver('string').filter(({ tables }) => changesTable.name in tables);
    const defined = (over[0]?.tables[changesTable.name] ?? [])
      .map(([name, type]) => `"${name}" ${type}`)
      .join(', ');
    await connection.run(`CREATE TABLE ${changesTable.name} (${defined})`);
    for (const { view } of over) await connection.run(`CREATE VIEW ${view.name} AS ${inDuckDb(view.sql)}`);
    await connection.run(
      `INSERT INTO changes (brand, report, month, dt, change_id, changed_at, cause, what, rows_before, rows_after, added, removed, altered, key, column_name, old_value, new_value)
       VALUES ${[
         day('b', FIRST, 10, 12, 3),
         total('b', FIRST, 'USD', 'commission', "'1.500000000'", "'2.000000000'"),
         total('b', FIRST, 'EUR', 'commission', "'7'", "'8'"),
         total('b', FIRST, 'USD', 'amount', "'99'", "'98'"),
         day('c', SECOND, 12, 9, 0, 3),
         total('c', SECOND, '', 'commission', 'NULL', "'1.25'"),
       ].join(', ')}`,
    );
  });

  it('are one row for each currency, with the sums of the report’s main measure', async () => {
    expect(
      await rows(
        'SELECT change_id, currency, rows_before, rows_after, added, removed, altered, measure, measure_before, measure_after FROM changes_daily ORDER BY changed_at, currency',
      ),
    ).toEqual([
      {
        ...{ change_id: 'b', currency: 'EUR' },
        ...{ rows_before: '10', rows_after: '12', added: '3', removed: '0', altered: '1' },
        ...{ measure: 'commission', measure_before: '7.000000000', measure_after: '8.000000000' },
      },
      {
        ...{ change_id: 'b', currency: 'USD' },
        ...{ rows_before: '10', rows_after: '12', added: '3', removed: '0', altered: '1' },
        ...{ measure: 'commission', measure_before: '1.500000000', measure_after: '2.000000000' },
      },
      {
        ...{ change_id: 'c', currency: null },
        ...{ rows_before: '12', rows_after: '9', added: '0', removed: '3', altered: '1' },
        ...{ measure: 'commission', measure_before: null, measure_after: '1.250000000' },
      },
    ]);
  });

  it('leave out a change to equal content', async () => {
    const before = await rows('SELECT * FROM restatements');
    await connection.run(
      `INSERT INTO changes (brand, report, month, dt, change_id, changed_at, cause, what, rows_before, rows_after, added, removed, altered)
       VALUES ('acme', 'order_list', '2026-03', '2026-03-03', 'e', '2026-04-04 06:00:00', 'rebuild', 'day', 9, 9, 0, 0, 0)`,
    );
    expect(await rows('SELECT DISTINCT change_id FROM changes_daily ORDER BY change_id')).toEqual([
      { change_id: 'b' },
      { change_id: 'c' },
    ]);
    expect(await rows('SELECT * FROM restatements')).toEqual(before);
  });

  it.each(['changes_daily', 'restatements'])(
    'are read from one month alone if %s is queried with its month',
    async (name) => {
      const folder = await temporaryFolder();
      for (const month of ['2026-02', '2026-03'])
        await connection.run(
          `COPY (SELECT * EXCLUDE month, '${month}' AS month FROM changes) TO '${folder.path}' (FORMAT parquet, PARTITION_BY (brand, report, month), OVERWRITE_OR_IGNORE)`,
        );
      const types = changesTable.partitionKeys.map((key) => `'${key}': VARCHAR`).join(', ');
      await connection.run(
        `DROP TABLE changes; CREATE VIEW changes AS SELECT * FROM read_parquet('${folder.path}/**/*.parquet', hive_types = {${types}})`,
      );
      const filesRead = async (condition: string) => {
        const [plan] = await rows(`EXPLAIN ANALYZE SELECT * FROM ${name} WHERE ${condition}`);
        return /Total Files Read: (\d+)/.exec(String(plan?.explain_value))?.[1];
      };
      expect([await filesRead('true'), await filesRead("month = '2026-03'")]).toEqual(['2', '1']);
      await folder.remove();
    },
  );

  it('are summed up by day, from the first version to the current version', async () => {
    await connection.run(
      `INSERT INTO changes (brand, report, month, dt, change_id, changed_at, cause, what, rows_before, rows_after)
       VALUES ('acme', 'order_list', '2026-03', '2026-03-03', 'd', '2026-04-03 06:00:00', 'reading', 'day', 9, 8)`,
    );
    expect(await rows('SELECT * FROM restatements')).toEqual([
      {
        ...{
          brand: 'acme',
          report: 'order_list',
          month: '2026-03',
          dt: '2026-03-03',
          first_rows: '10',
          rows_now: '8',
        },
        ...{ changes: '3', first_changed_at: FIRST, last_changed_at: '2026-04-03 06:00:00' },
        ...{ added: '3', removed: '3', altered: '2', unknown_changes: '1' },
      },
    ]);
  });
});

describe('freshness', () => {
  beforeEach(async () => {
    const over = viewsOver('string').find(({ view }) => view === freshness);
    if (!over) throw new Error('freshness is not among the views');
    await create(over);
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
