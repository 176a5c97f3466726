/** Whether `query --as-of` answers what the lake was when a run had ended. */
import type { DuckDBConnection } from '@duckdb/node-api';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import type { Column } from '../../shared/column-types.ts';
import { reports } from '../../shared/reports/index.ts';
import { type RowTexts, textOfTexts, unlike } from '../simulation/forms.ts';
import type { LivedLife } from './months.ts';

/** @param folder the whole lake, as files */
export async function wrongAsOf(
  { judge, pipeline, time }: LivedLife,
  folder: string,
  atMs: number,
): Promise<string[]> {
  const moment = judge.moments.find((one) => one.atMs === atMs);
  if (!moment) throw new Error(`no run ended at ${atMs}`);
  const wrong: string[] = [];
  const read = [...moment.versions.keys()];
  for (const report of Object.values(reports)) {
    // Before the first version of a table, a query ends with an error.
    if (!read.some((name) => name.startsWith(`${report.table} `))) continue;
    const columns = await judge.columnsOf(report);
    const connection = await createSqlConnection(
      {
        store: openLocalStore(folder),
        reports,
        settings: pipeline.settings,
        nowMs: time.nowMs,
        asOfMs: atMs,
      },
      report.table,
    );
    const found = await rowsByDay(connection, report.table, columns);
    connection.closeSync();
    for (const [name, count] of moment.versions) {
      if (!name.startsWith(`${report.table} `)) continue;
      const expected = (judge.seen.get(name)?.[count - 1]?.texts ?? []).map(textOfTexts);
      const rows = (found.get(name.slice(report.table.length + 1)) ?? []).map(textOfTexts);
      const { missing, surplus } = unlike(expected, rows);
      if (missing.length > 0) wrong.push(`${name} lacks ${missing.join('; ')}`);
      if (surplus.length > 0) wrong.push(`${name} has too much: ${surplus.join('; ')}`);
    }
    for (const day of found.keys())
      if (!moment.versions.has(`${report.table} ${day}`))
        wrong.push(`${report.table} ${day} was not there then`);
  }
  return wrong;
}

async function rowsByDay(
  connection: DuckDBConnection,
  table: string,
  columns: readonly Column[],
): Promise<Map<string, RowTexts[]>> {
  const read = columns.filter(({ name }) => name !== '_synced_at');
  const texts = read.map(({ name, type }) =>
    type === 'timestamp' ? `strftime("${name}", '%Y-%m-%dT%H:%M:%S.%gZ')` : `CAST("${name}" AS VARCHAR)`,
  );
  const result = await connection.runAndReadAll(`SELECT dt, ${texts.join(', ')} FROM ${table}`);
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
