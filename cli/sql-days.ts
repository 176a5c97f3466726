import { type Column, DERIVED_COLUMNS, SYNCED_AT } from '../shared/base/column-types.ts';
import { beforeShape, rowsAt } from '../shared/history/index.ts';
import type { CommittedDay } from '../shared/lake/read.ts';
import { beforeTable, versionKey } from '../shared/lake/paths.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { keySql } from '../shared/reports/views/key-sql.ts';
import { inDuckDb } from '../shared/reports/views/view-sql.ts';
import type { SnapshotFiles } from './snapshot-cache.ts';
import {
  type EmptySession,
  PARTITION_COLUMNS,
  type Paths,
  type TableFile,
  createRelation,
  identifier,
  literal,
  rowsOfFiles,
  typedRows,
} from './sql-files.ts';
import type { DayAt } from './sql-past.ts';

export interface DaysTable {
  report: ReportDefinition;
  /** Of the report's table. */
  columns: readonly Column[];
  days: readonly DayAt[];
  isPast: boolean;
}

/** The object of a day in the table of what was before; no object if the day has not changed. */
export function beforeFiles({ brand, report, day, committed: { history } }: CommittedDay): TableFile[] {
  const name = beforeTable(report.table);
  const { snapshot } = history?.object ?? {};
  return snapshot === undefined
    ? []
    : [{ key: versionKey(name, brand, day, snapshot), what: `${name} of ${brand}, ${day}` }];
}

function versionFile({ brand, report: { table }, day, committed }: CommittedDay): TableFile {
  return { key: versionKey(table, brand, day, committed.snapshot), what: `${table} of ${brand}, ${day}` };
}

/** Whether the day had other records at its place. */
function isMoved({ place, committed: { history } }: DayAt): boolean {
  return place !== undefined && place < (history?.place ?? 0);
}

/** I3: the keys come from the ledger, and the files of a version never change. */
export async function addTable(
  connection: EmptySession,
  files: SnapshotFiles,
  { report, columns, days, isPast }: DaysTable,
): Promise<void> {
  const shown = withDerivedLast(columns);
  const filesOf = (day: DayAt) => [versionFile(day), ...(isMoved(day) ? beforeFiles(day) : [])];
  await createRelation(
    connection,
    { name: report.table, columns: shown },
    files,
    days.flatMap(filesOf),
    (paths) => {
      const [same, moved] = [days.filter((day) => !isMoved(day)), days.filter(isMoved)];
      const versions = (own: readonly DayAt[]) => rowsOf(paths, own.map(versionFile));
      const placed = () =>
        rowsAt({
          columns: shown.flatMap(({ name }) => (name === SYNCED_AT ? [] : [identifier(name)])),
          current: typedRows(shown, versions(moved)),
          before: typedRows(beforeColumns(report, columns), rowsOf(paths, moved.flatMap(beforeFiles))),
          at: placesSql(moved),
          key: keyOf(moved, columns),
        });
      if (!isPast) return versions(same);
      // In the past, no reading had brought the rows as they are stored now.
      const unread = `SELECT * EXCLUDE (${SYNCED_AT}) FROM (${versions(same)})`;
      return [
        ...(same.length > 0 ? [unread] : []),
        ...(moved.length > 0 ? [`SELECT * FROM (${placed()})`] : []),
      ].join(' UNION ALL BY NAME ');
    },
  );
}

/** The changes up to the places of the days. */
export async function addBefore(
  connection: EmptySession,
  files: SnapshotFiles,
  { report, columns, days, isPast }: DaysTable,
): Promise<void> {
  const shape = { name: beforeTable(report.table), columns: beforeColumns(report, columns) };
  const changed = days.filter(
    ({ place, committed: { history } }) => place === undefined || place > (history?.anewPlace ?? 0),
  );
  await createRelation(connection, shape, files, changed.flatMap(beforeFiles), (paths) => {
    const rows = rowsOf(paths, changed.flatMap(beforeFiles));
    return isPast
      ? `SELECT b.* FROM (${rows}) AS b JOIN ${placesSql(changed)} AS a ON a.brand = b.brand AND a.dt = b.dt WHERE b._place <= a._at`
      : rows;
  });
}

function beforeColumns(report: ReportDefinition, columns: readonly Column[]) {
  return [...beforeShape(report, columns).columns, ...PARTITION_COLUMNS];
}

function rowsOf(paths: Paths, own: readonly TableFile[]): string {
  return rowsOfFiles(own.flatMap(({ key }) => paths.get(key) ?? []));
}

function placesSql(days: readonly DayAt[]): string {
  const rows = days.map(
    ({ brand, day, place, committed }) =>
      `(${[brand, day].map(literal).join(', ')}, ${place}, ${literal(committed.history?.key)})`,
  );
  return `(SELECT * FROM (VALUES ${rows.join(', ')}) AS places(brand, dt, _at, _chain))`;
}

/** SQL of the key of a current row: a day keeps the key that it had when it was first closed. */
function keyOf(days: readonly DayAt[], columns: readonly Column[]): string {
  const names = [...new Set(days.flatMap(({ committed: { history } }) => history?.key ?? []))];
  const cases = names.map((name) => `WHEN ${literal(name)} THEN ${inDuckDb(keySql(name, columns))}`);
  return cases.length === 0 ? 'CAST(NULL AS varchar)' : `CASE _chain ${cases.join(' ')} END`;
}

/** The order of `SELECT *`: `dt` comes before `_rescued` and `_synced_at`, which interest fewer people. */
function withDerivedLast(columns: readonly Column[]) {
  const isDerived = ({ name }: Column) => DERIVED_COLUMNS.includes(name);
  const fields = columns.filter((column) => !isDerived(column));
  return [...fields, ...PARTITION_COLUMNS, ...columns.filter(isDerived)];
}
