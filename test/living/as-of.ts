/** Compares queries of an earlier time with the lake's state when a run had ended, or when a month was closed. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { type SqlLake, createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import type { Column } from '../../shared/column-types.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RowTexts, textOfTexts, unlike } from '../simulation/forms.ts';
import type { ClosedMonth, LivedLife } from './months.ts';

/** The earlier time of a query, and how many versions of each day had been seen then, by table and day. */
interface Past {
  asOf: Pick<SqlLake, 'asOf'>;
  versions: ReadonlyMap<string, number>;
}

/** @param folder the whole lake, as files */
export async function wrongAsOf(life: LivedLife, folder: string, atMs: number): Promise<string[]> {
  const moment = life.judge.moments.find((one) => one.atMs === atMs);
  if (!moment) throw new Error(`no run ended at ${atMs}`);
  return wrongRows(life, folder, { asOf: { asOf: atMs }, versions: moment.versions });
}

/** Compares the rows of a closed month with those of its close. */
export async function wrongClose(
  life: LivedLife,
  folder: string,
  { month, versions }: ClosedMonth,
): Promise<string[]> {
  const isOfMonth = ([name]: readonly [string, number]) => name.includes(` ${month}-`);
  const closed = new Map([...versions].filter(isOfMonth));
  return wrongRows(life, folder, { asOf: { asOf: month }, versions: closed }, month);
}

async function wrongRows(
  { judge, pipeline, time }: LivedLife,
  folder: string,
  { asOf, versions: all }: Past,
  month = '',
): Promise<string[]> {
  const wrong: string[] = [];
  // What an open day was is not known, even if its content was the same when it was closed later.
  const atMs = typeof asOf.asOf === 'number' ? asOf.asOf : time.nowMs;
  const isOpen = ([name, count]: readonly [string, number]) => {
    const { by } = judge.seen.get(name)?.[count - 1]?.committed.history ?? {};
    return by === undefined || Date.parse(by) > atMs;
  };
  const [firstOpen = '9999'] = [...all]
    .filter(isOpen)
    .map(([name]) => name.split(' ')[1] ?? '')
    .sort();
  const versions = new Map([...all].filter(([name]) => (name.split(' ')[1] ?? '') < firstOpen));
  const read = [...versions.keys()];
  for (const report of Object.values(reports)) {
    // Before the first version of a table, a query fails.
    if (!read.some((name) => name.startsWith(`${report.table} `))) continue;
    const columns = await judge.columnsOf(report);
    const from = `${report.table} WHERE dt < '${firstOpen}'${month === '' ? '' : ` AND dt >= '${month}'`}`;
    const connection = await createSqlConnection(
      {
        ...{ store: openLocalStore(folder), reports, settings: pipeline.settings, nowMs: time.nowMs },
        ...asOf,
      },
      `SELECT * FROM ${from}`,
    );
    const found = await rowsByDay(connection, from, columns);
    connection.closeSync();
    for (const [name, count] of versions) {
      if (!name.startsWith(`${report.table} `)) continue;
      const expected = (judge.seen.get(name)?.[count - 1]?.texts ?? []).map(textOfTexts);
      const rows = (found.get(name.slice(report.table.length + 1)) ?? []).map(textOfTexts);
      const { missing, surplus } = unlike(expected, rows);
      if (missing.length > 0) wrong.push(`${from}: ${name} lacks ${missing.join('; ')}`);
      if (surplus.length > 0) wrong.push(`${from}: ${name} has too much: ${surplus.join('; ')}`);
    }
    for (const day of found.keys())
      if (!versions.has(`${report.table} ${day}`)) wrong.push(`${from}: ${day} did not exist then`);
  }
  return wrong;
}

async function rowsByDay(
  connection: DuckDBConnection,
  from: string,
  columns: readonly Column[],
): Promise<Map<string, RowTexts[]>> {
  const description = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`);
  const there = new Set(description.getRows().map(([name]) => name));
  const read = columns.filter(({ name }) => name !== '_synced_at' && there.has(name));
  const texts = read.map(({ name, type }) =>
    type === 'timestamp' ? `strftime("${name}", '%Y-%m-%dT%H:%M:%S.%gZ')` : `CAST("${name}" AS VARCHAR)`,
  );
  const result = await connection.runAndReadAll(`SELECT dt, ${texts.join(', ')} FROM ${from}`);
  const rows = result.getRows().map(([dt, ...cells]) => {
    const row = new Map(
      read.flatMap(({ name }, index) =>
        cells[index] === null ? [] : [[name, String(cells[index])] as const],
      ),
    );
    return { dt: String(dt), row };
  });
  return new Map([...Map.groupBy(rows, ({ dt }) => dt)].map(([dt, all]) => [dt, all.map(({ row }) => row)]));
}
