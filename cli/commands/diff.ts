/**
 * Shows the changes of a day after it was closed: each with its time and cause, with rows and sums before and after, and with
 * the records that were added, removed or altered. If there are too many records to list, it prints their number.
 */
import type { Json } from '@duckdb/node-api';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { configError } from '../../shared/errors.ts';
import { isJsonObject, parseJson } from '../../shared/json.ts';
import { changesTable } from '../../shared/history/index.ts';
import { COMPLETE_STATES, statesSql } from '../../shared/planning/day-state.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { type CliCommand, type SharedFlags, day } from '../options.ts';
import { count, counted, instantText, print, printJson } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { openExistingLake, reportNamed } from '../run-options.ts';
import { literal } from '../sql-files.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { oneLine, styleText } from '../terminal-text.ts';

/** The records of a change that are listed; SQL shows the others. */
const MAX_SHOWN_RECORDS = 20;

export function addDiff(program: CliCommand): void {
  program
    .command('diff')
    .description('show which records of a day changed in later readings')
    .argument('<report>', 'a report or its table, e.g. orders')
    .argument('<day>', 'the day, YYYY-MM-DD', day)
    .option('--brand <name>', 'only this brand (default: each that has the day)')
    .takes('lake')
    .option('--json', 'print the changes as one JSON document')
    .example(
      'diff orders 2026-01-31',
      `An open day grows, and that is no change: the first version that was read whole is what later ones are compared with.
The same as SQL: the table "changes" and the views "changes_daily" and "restatements".`,
    )
    .action(async (name: string, of: string, { brand, lake, json }: SharedFlags) => {
      const { store } = await openExistingLake(lake);
      const report = reportNamed(name);
      const found = await changedDays(store, report, of);
      const days = found.filter((each) => brand === undefined || each.brand === brand);
      if (days.length === 0) throw nothingOf(store, report, of, brand, found);
      if (json) printJson({ days });
      else print(days.map((each) => dayText(each, report)).join('\n\n'));
    });
}

type ChangedDay = Awaited<ReturnType<typeof changedDays>>[number];
type Change = ReturnType<typeof changeOf>;
type TableDiff = NonNullable<Change['diff']>;
type ChangedRecord = NonNullable<TableDiff['records']>[number];

type Fact = Readonly<Record<string, Json>>;

/**
 * The day of each brand, with its changes, the newest first, in the form of `--json`.
 * @throws BrandReportsError `config` if an object with changes is missing or damaged
 */
async function changedDays(store: ObjectStore, report: ReportDefinition, of: string) {
  const isOfDay = `report = ${literal(report.name)} AND dt = ${literal(of)}`;
  const daysSql = `SELECT brand, rows, committed_state IN (${statesSql(COMPLETE_STATES)}) AS closed FROM ${coverageTable.name} WHERE ${isOfDay} AND rows IS NOT NULL ORDER BY brand`;
  // DuckDB keeps the order of a file: the oldest change first, and each change begins with its row of the kind `day`.
  const at = "strftime(changed_at, '%Y-%m-%dT%H:%M:%S.%gZ')";
  const factsSql = `SELECT * REPLACE (${at} AS changed_at) FROM ${changesTable.name} WHERE ${isOfDay}`;
  const lake = { store, reports: { [report.name]: report }, settings: undefined, nowMs: Date.now(), day: of };
  const connection = await createSqlConnection({ ...lake, onUnreadable }, `${daysSql}; ${factsSql}`);
  const rowsOf = async (sql: string): Promise<Fact[]> =>
    (await connection.runAndReadAll(sql)).getRowObjectsJson();
  const [days, facts] = [await rowsOf(daysSql), await rowsOf(factsSql)];
  connection.closeSync();
  return days.map(({ brand, rows, closed }) => {
    const own = facts.filter((fact) => fact.brand === brand);
    const changes = [...Map.groupBy(own, ({ changed_at }) => changed_at).values()].map(changeOf).toReversed();
    return { brand: shown(brand), report: report.name, day: of, rows: Number(rows), closed, changes };
  });
}

function onUnreadable(what: string, why: string): never {
  throw configError(
    'changes_unreadable',
    `The ${what} cannot be read: ${why}. "${printedCommand('verify')}" shows what to do.`,
  );
}

function changeOf(facts: readonly Fact[]) {
  const [day = {}] = facts;
  const { added, removed, altered } = day;
  return {
    ...{ id: day.change_id, previousId: day.previous_id, at: shown(day.changed_at), cause: shown(day.cause) },
    ...{ rowsBefore: Number(day.rows_before), rowsAfter: Number(day.rows_after) },
    sumsBefore: sumsOf(facts, 'old_value'),
    sumsAfter: sumsOf(facts, 'new_value'),
    ...(added !== null && {
      diff: {
        ...{ added: Number(added), removed: Number(removed), altered: Number(altered) },
        ...(day.listed === true && { records: recordsOf(facts) }),
      },
    }),
  };
}

function sumsOf(facts: readonly Fact[], value: 'old_value' | 'new_value'): Fact {
  const sums = facts.filter(({ what, [value]: sum }) => isSum(what) && sum !== null);
  return Object.fromEntries(sums.map((sum) => [sumName(sum), sum[value] ?? null]));
}

function isSum(what: Json | undefined): boolean {
  return what === 'sum' || what === 'total';
}

function sumName({ what, column_name: name, key }: Fact): string {
  return what === 'sum'
    ? shown(name)
    : `${shown(name)} ${typeof key === 'string' && key !== '' ? key : 'without currency'}`;
}

/** One record for each fact; all altered values of a record count as one. */
function recordsOf(facts: readonly Fact[]) {
  const records = facts.filter(({ what }) => what !== 'day' && !isSum(what));
  const byRecord = Map.groupBy(records, ({ what, key }, index) => (what === 'altered' ? shown(key) : index));
  return [...byRecord.values()].map((own) => {
    const [{ what, key, copies, record } = {}] = own;
    if (what !== 'altered') {
      const values = parseJson(shown(record));
      return {
        what,
        key: key ?? undefined,
        copies: Number(copies),
        record: isJsonObject(values) ? values : {},
      };
    }
    const columns = own.map(({ column_name, old_value, new_value }) => {
      return { name: shown(column_name), before: old_value, after: new_value };
    });
    return { what, key, columns };
  });
}

function nothingOf(
  { url }: ObjectStore,
  report: ReportDefinition,
  of: string,
  brand: string | undefined,
  others: readonly ChangedDay[],
) {
  const whose = brand === undefined ? '' : ` of the brand "${brand}"`;
  const hint = others.length > 0 ? ` It has the day of: ${others.map((each) => each.brand).join(', ')}.` : '';
  return configError(
    'day_not_committed',
    `${url} has nothing of ${report.name} ${of}${whose}.${hint} Compare the day, --brand and --lake with what "${printedCommand('status')}" shows.`,
  );
}

function dayText({ brand, day: of, rows, closed, changes }: ChangedDay, report: ReportDefinition): string {
  const times = changes.length === 1 ? 'once' : `${count(changes.length)} times`;
  const changed = changes.length === 0 ? 'not changed' : `changed ${times}`;
  const when = closed ? 'since it was closed first' : 'since it was read';
  const head = `${brand} ${report.table} ${of}: ${counted(rows, 'row')}, ${changed} ${when}`;
  return [styleText('bold', head), ...changes.map(changeText)].join('\n\n');
}

function changeText(change: Change): string {
  const { at, cause, rowsBefore, rowsAfter, diff } = change;
  const size = `${count(rowsBefore)} → ${counted(rowsAfter, 'row')}`;
  return [
    `${styleText('cyan', instantText(at))}  ${cause}  ${size}  ${diff ? countsText(diff) : 'the version before cannot be read'}`,
    ...sumLines(change),
    ...(diff ? recordLines(diff) : []),
  ].join('\n');
}

function countsText({ added, removed, altered }: TableDiff): string {
  return [
    styleText('green', `+${count(added)}`),
    styleText('red', `−${count(removed)}`),
    styleText('yellow', `~${count(altered)}`),
  ].join(' ');
}

function sumLines({ sumsBefore, sumsAfter }: Change): string[] {
  const names = [...new Set([...Object.keys(sumsBefore), ...Object.keys(sumsAfter)])];
  // The sum of a column may add several currencies.
  return names
    .filter((name) => !names.some((other) => other.startsWith(`${name} `)))
    .filter((name) => sumsBefore[name] !== sumsAfter[name])
    .map((name) => `  sum of ${name}: ${shown(sumsBefore[name])} → ${shown(sumsAfter[name])}`);
}

function recordLines({ records, added, removed, altered }: TableDiff): string[] {
  const all = added + removed + altered;
  if (!records) return all === 0 ? [] : [`  ${counted(all, 'record')}: too many or too large to be listed`];
  const left = records.length - MAX_SHOWN_RECORDS;
  return [
    ...records.slice(0, MAX_SHOWN_RECORDS).flatMap(recordText),
    ...(left > 0 ? [`  and ${count(left)} more: --json, or SELECT * FROM changes`] : []),
  ];
}

function recordText(record: ChangedRecord): string[] {
  if (record.columns) {
    const altered = record.columns.map(({ name, before, after }) =>
      oneLine(`    ${name}: ${shown(before)} → ${shown(after)}`),
    );
    return [`  ${styleText('yellow', '~')} ${oneLine(shown(record.key))}`, ...altered];
  }
  const [sign, color] = record.what === 'added' ? (['+', 'green'] as const) : (['−', 'red'] as const);
  const times = record.copies > 1 ? `${count(record.copies)} × ` : '';
  const key = record.key === undefined ? '' : `${shown(record.key)}  `;
  const values = Object.entries(record.record).map(([name, value]) => `${name}=${shown(value)}`);
  return [`  ${styleText(color, sign)} ${oneLine(`${times}${key}${values.join(' ')}`)}`];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : 'none';
}
