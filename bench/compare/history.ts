/** Measures queries of views over a brand whose orders changed often: CPU in DuckDB on two threads, and bytes that the scans read. */
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import * as z from 'zod/mini';
import type { Comparison } from '../../cli/close-sums.ts';
import { ENTRIES_TABLE, addEntries } from '../../cli/statement.ts';
import { closesTable } from '../../shared/catalog/closes-table.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { viewOver } from '../../shared/catalog/view-roles.ts';
import { type Column, typeSpec } from '../../shared/base/column-types.ts';
import { addDays } from '../../shared/base/days.ts';
import { beforeShape } from '../../shared/history/index.ts';
import type { Close } from '../../shared/lake/close.ts';
import { baseSchema } from '../../shared/table/columns.ts';
import type { TableShape } from '../../shared/ports.ts';
import { allViews } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { withFolder } from './folder.ts';
import { printTable, spread } from './print.ts';

interface Size {
  months: number;
  ordersPerMonth: number;
  rounds: number;
}

const TEXTS = ['transid', 'status', 'publisher_id', 'publisher_name', 'currency', 'type', 'sku', 'country'];
const DISCOVERED: readonly Column[] = [
  ...TEXTS.map((name): Column => ({ name, type: 'string', field: name })),
  ...['amount', 'commission'].map((name): Column => ({ name, type: 'decimal(38,9)', field: name })),
];
const FIRST = '2024-01-01';

/** A third of the orders changed twice: at 10 to 59 days after their day, and 20 days later. */
const STATES = "(['new', 'effective', 'void', 'paid'])[1 + (hash(n + salt) % 4)::integer]";

export async function printHistory({ months, ordersPerMonth, rounds }: Size): Promise<void> {
  await withFolder(async (folder) => {
    const db = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
    await storeLake(db, folder, { months, ordersPerMonth });
    const month = addDays(FIRST, months * 15).slice(0, 7);
    const queries: Readonly<Record<string, string>> = {
      'order_states of a month': `SELECT * FROM order_states WHERE dt BETWEEN '${month}-01' AND '${month}-31'`,
      since_close: 'SELECT * FROM since_close',
      'payouts, with reversed_after_paid, over everything': 'SELECT * FROM payouts',
      'changes of a day': `SELECT * FROM changes WHERE dt = '${month}-15'`,
      'orders_daily over everything': 'SELECT * FROM orders_daily',
      'lifecycle_checks over everything': 'SELECT * FROM lifecycle_checks',
    };
    const rows: string[][] = [];
    const measure = async (what: string, run: () => Promise<string>) => {
      const seconds: number[] = [];
      let count = '';
      for (let round = 0; round < rounds; round += 1) {
        const before = process.cpuUsage();
        count = await run();
        const { user, system } = process.cpuUsage(before);
        seconds.push((user + system) / 1e6);
      }
      rows.push([what, count, spread(seconds, 2)]);
    };
    const query = async (what: string, sql: string) => {
      await measure(what, async () => {
        await db.run(`CREATE OR REPLACE TEMP TABLE result AS ${sql}`);
        return String((await db.runAndReadAll('SELECT count(*) FROM result')).getRows()[0]?.[0]);
      });
      rows.at(-1)?.push(spread([(await scannedBytes(db, folder, sql)) / 1e6], 1));
    };
    for (const [what, sql] of Object.entries(queries)) await query(what, sql);
    const comparison = comparisonOfLast({ months, ordersPerMonth });
    await db.run(ENTRIES_TABLE);
    await measure('a statement', async () => {
      await db.run('DELETE FROM entries');
      await addEntries(db, comparison, undefined, undefined);
      return String((await db.runAndReadAll('SELECT count(*) FROM entries')).getRows()[0]?.[0]);
    });
    rows.at(-1)?.push('');
    await db.run('UPDATE closes SET place = 0');
    await query('since_close, if every change came after the close', 'SELECT * FROM since_close');
    console.log(
      `### Views over ${months} months of ${ordersPerMonth} orders, a third of which changed twice`,
    );
    printTable(['', 'rows', 'seconds of CPU', 'MB that are scanned'], rows);
    db.closeSync();
  });
}

/** The statement of the last month but one, whose close follows the close of the month before by 30 days. */
function comparisonOfLast({ months }: Omit<Size, 'rounds'>): Comparison {
  const days = Array.from({ length: months * 30 }, (_, index) => addDays(FIRST, index));
  const closeOf = (end: number): Close => {
    const month = addDays(FIRST, end - 60).slice(0, 7);
    const own = days.filter((day) => day.slice(0, 7) <= month);
    const placeOf = (day: string) => Math.min(100, Math.max(0, end - 25 - days.indexOf(day)));
    return {
      ...{ brand: 'acme', month, closedAt: '2026-01-01T00:00:00.000Z', by: 'bench' },
      ...{ totals: [], exceptions: [], faults: [], erased: [], recentWrites: [] },
      sources: Object.fromEntries(own.map((day) => [day.slice(0, 7), 'orders' as const])),
      days: own.map((day) => ({ report: 'order_list', day, place: placeOf(day), snapshot: 's' })),
    };
  };
  const [before, at] = [closeOf(days.length - 30), closeOf(days.length)];
  return { brand: 'acme', month: at.month, before: [before], at, openDays: [], anew: new Map() };
}

const scanSchema = z.looseObject({ 'Filename(s)': z.string(), 'Total Files Read': z.string() });
const namesSchema = z.union([z.array(z.string()), z.string(), z.undefined()]);

/** The bytes of the column chunks that the scans of a query read, as Athena bills them. */
async function scannedBytes(db: DuckDBConnection, folder: string, sql: string): Promise<number> {
  const [[, plan] = []] = (await db.runAndReadAll(`EXPLAIN (ANALYZE, FORMAT json) ${sql}`)).getRows();
  const scans: z.infer<typeof scanSchema>[] = [];
  JSON.parse(String(plan), (key, value: unknown) => {
    const { data } = scanSchema.safeParse(value);
    if (key === 'extra_info' && data) scans.push(data);
    return value;
  });
  let bytes = 0;
  for (const { Projections, Filters, 'Filename(s)': files, 'Total Files Read': read } of scans) {
    const [table = ''] = files.slice(folder.length + 1).split('/');
    const used = [z.parse(namesSchema, Projections), z.parse(namesSchema, Filters)].flat().join(' ');
    const chunks = await db.runAndReadAll(
      `SELECT path_in_schema, sum(total_compressed_size)::double / count(DISTINCT file_name) FROM parquet_metadata('${join(folder, table)}/*/*/*.parquet') GROUP BY 1`,
    );
    const ofFile = chunks.getRows().filter(([name]) => new RegExp(`\\b${String(name)}\\b`).test(used));
    bytes += Number(read) * ofFile.reduce((sum, [, size]) => sum + Number(size), 0);
  }
  return bytes;
}

async function storeLake(
  db: DuckDBConnection,
  folder: string,
  { months, ordersPerMonth }: Omit<Size, 'rounds'>,
): Promise<void> {
  const days = months * 30;
  await db.run(`CREATE MACRO day_of(n) AS strftime(DATE '${FIRST}' + ((n % ${days})::integer), '%Y-%m-%d')`);
  const values = (salt: number) =>
    `'t' || n AS transid, ${STATES.replace('salt', String(salt))} AS status, 'p' || (n % 500) AS publisher_id, 'Publisher ' || (n % 500) AS publisher_name, 'USD' AS currency, 'trans' AS type, 'sku' || (n % 9000) AS sku, 'DE' AS country, ((n % 9000) / 100)::decimal(38,9) AS amount, ((hash(n + ${salt}) % 900) / 100)::decimal(38,9) AS commission, NULL::varchar AS _rescued`;
  const orders = `range(${months * ordersPerMonth}) AS t(n)`;
  const copy = (table: string, sql: string) =>
    db.run(
      `COPY (${sql} ORDER BY brand, dt) TO '${join(folder, table)}' (FORMAT parquet, PARTITION_BY (brand, dt), COMPRESSION zstd)`,
    );
  await copy(
    'orders',
    `SELECT ${values(2)}, NULL::timestamp AS _synced_at, 'acme' AS brand, day_of(n) AS dt FROM ${orders}`,
  );
  const changes = [10, 30].map(
    (age, place) =>
      `SELECT 't' || n AS _key, 'altered' AS _what, (n // ${days} % 50 + 1 + ${place * 50})::bigint AS _place, 'reading' AS _cause, 'b' AS _version, 'a' AS _previous, day_of(n)::timestamp + INTERVAL (n // ${days} % 50 + ${age}) DAY AS _after, day_of(n)::timestamp + INTERVAL (n // ${days} % 50 + ${age + 1}) DAY AS _by, ${values(place)}, 'acme' AS brand, day_of(n) AS dt FROM ${orders} WHERE hash(n) % 3 = 0`,
  );
  await copy('orders_before', changes.join(' UNION ALL '));
  for (const shape of [coverageTable, closesTable]) await create(db, shape);
  const day = `SELECT DISTINCT day_of(n) AS dt FROM range(${days}) AS t(n)`;
  const age = (count: number) => `dt::timestamp + INTERVAL ${count + 1} DAY AS age_${count}`;
  await db.run(
    `INSERT INTO coverage BY NAME SELECT 'acme' AS brand, 'order_list' AS report, substr(dt, 1, 7) AS month, dt, 'settled' AS committed_state, ${Math.floor(ordersPerMonth / 30)} AS "rows", 'transid' AS key, 100 AS place, dt::timestamp + INTERVAL 30 HOUR AS first_by, ${[30, 60, 90].map(age).join(', ')} FROM (${day})`,
  );
  const closed = addDays(FIRST, days - 60).slice(0, 7);
  await db.run(
    `INSERT INTO closes BY NAME SELECT 'acme' AS brand, 'order_list' AS report, '${closed}' AS month, dt, least(100, greatest(0, date_diff('day', dt::date, DATE '${addDays(FIRST, days - 25)}'))) AS place, true AS counts, now()::timestamp AS closed_at FROM (${day}) WHERE substr(dt, 1, 7) <= '${closed}'`,
  );
  const schemas = new Map(
    Object.values(reports).map(({ table, columns }) => {
      const { columns: own } = baseSchema(columns);
      return [
        table,
        { columns: table === 'orders' ? [...DISCOVERED, ...own] : own, keys: ['transid'] },
      ] as const;
    }),
  );
  for (const report of Object.values(reports)) {
    const columns = schemas.get(report.table)?.columns ?? [];
    const partitionKeys = ['brand', 'dt'];
    for (const shape of [{ name: report.table, columns, partitionKeys }, beforeShape(report, columns)]) {
      if (report.table !== 'orders') await create(db, shape);
      else
        await db.run(
          `CREATE VIEW ${shape.name} AS SELECT * FROM read_parquet('${join(folder, shape.name)}/*/*/*.parquet', hive_partitioning = true, hive_types = {'brand': VARCHAR, 'dt': VARCHAR})`,
        );
    }
  }
  for (const view of allViews(reports))
    await db.run(`CREATE VIEW ${view.name} AS ${inDuckDb(viewOver(view, schemas, new Map()).sql)}`);
}

async function create(
  db: DuckDBConnection,
  { name, columns, partitionKeys }: Pick<TableShape, 'name' | 'columns' | 'partitionKeys'>,
): Promise<void> {
  const partitions = partitionKeys.map((key): Column => ({ name: key, type: 'string' }));
  const all = [...columns, ...partitions].map((column) => `"${column.name}" ${typeSpec(column.type).duckdb}`);
  await db.run(`CREATE TABLE ${name} (${all.join(', ')})`);
}
