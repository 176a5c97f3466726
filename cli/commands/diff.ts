import { coverageTable } from '../../shared/catalog/coverage.ts';
import { configError } from '../../shared/base/errors.ts';
import { type Json, isJsonObject, parseJson } from '../../shared/base/json.ts';
import { COMPLETE_STATES, statesSql } from '../../shared/planning/day-state.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import type { ReportDefinition } from '../../shared/reports/definition.ts';
import { type CliCommand, type SharedFlags, day } from '../options.ts';
import { instantText } from '../../shared/base/days.ts';
import { counted, exactNumber } from '../../shared/base/exact-number.ts';
import { print, printJson } from '../output.ts';
import { printedCommand } from '../printed-command.ts';
import { brandNamed, openExistingLake, readSettings, reportNamed } from '../run-options.ts';
import { reviewSettings, reviewText } from '../settings-review.ts';
import { literal } from '../sql-files.ts';
import { createSqlConnection } from '../sql-tables.ts';
import { oneLine, styleText } from '../terminal-text.ts';

/** The records of a change that are listed; SQL shows the others. */
const MAX_SHOWN_RECORDS = 20;
const MAX_JSON_RECORDS = 10_000;

type DiffFlags = Omit<SharedFlags, 'settings'> & { settings?: string };

export function addDiff(program: CliCommand): void {
  program
    .command('diff')
    .description('show what changed on a day, or what new settings would change')
    .argument('[report]', 'a report or its table, e.g. orders')
    .argument('[day]', 'the day, YYYY-MM-DD', day)
    .option('--brand <name>', 'only this brand (default: each that has the day)')
    .option('--settings <file>', 'list the payouts that these settings would change, and the days to read')
    .takes('lake')
    .option('--json', 'print the changes as one JSON document')
    .example(
      ['diff orders 2026-01-31', 'diff --settings new-settings.jsonc'],
      `An open day grows, and that is no change: the first version that was read whole is what later ones are compared with.
The same as SQL: the views "changes" (each record) and "restatements" (each day).`,
    )
    .action(async (name: string | undefined, of: string | undefined, flags: DiffFlags) => {
      const { brand, lake, json, settings } = flags;
      const { store } = await openExistingLake(lake);
      if (settings !== undefined && name === undefined) {
        const given = await readSettings({ settings });
        if (brand !== undefined) brandNamed(brand, given);
        const review = await reviewSettings(store, given, brand);
        return json ? printJson({ settings, ...review }) : print(reviewText(review, settings));
      }
      if (name === undefined || of === undefined || settings !== undefined)
        throw configError('bad_source', 'Name a report and a day, or new settings alone: --settings FILE.');
      const report = reportNamed(name);
      const all = await changedDays(store, report, of, json ? MAX_JSON_RECORDS : MAX_SHOWN_RECORDS);
      const days = all.filter((each) => brand === undefined || each.brand === brand);
      if (days.length === 0) {
        const others = all.map((each) => each.brand).join(', ') || 'none';
        const whose = brand === undefined ? '' : ` of the brand "${brand}"`;
        const found = `${store.url} has nothing of ${report.name} ${of}${whose}. Brands that have the day: ${others}`;
        const next = `Compare the flags with what "${printedCommand('status')}" shows`;
        throw configError('day_not_committed', `${found}. ${next}.`);
      }
      if (json) printJson({ days });
      else print(days.map((each) => dayText(each, report)).join('\n\n'));
    });
}

type ChangedDay = Awaited<ReturnType<typeof changedDays>>[number];
type Change = ReturnType<typeof changeOf>;
type Fact = Readonly<Record<string, Json>>;

interface ChangedRecord {
  what: Json;
  key?: Json;
  copies?: number;
  record?: Fact;
  columns?: { name: string; before: Json; after: Json }[];
}

/** The changes are the newest first. @throws BrandReportsError `config` if an object of the day is missing or damaged */
async function changedDays(store: ObjectStore, report: ReportDefinition, of: string, most: number) {
  const { name } = report;
  const isOfDay = `report = ${literal(name)} AND dt = ${literal(of)}`;
  const daysSql = `SELECT brand, rows, committed_state IN (${statesSql(COMPLETE_STATES)}) AS closed,
    strftime(anew_by, ${TIME}) AS anew FROM ${coverageTable.name} WHERE ${isOfDay} AND rows IS NOT NULL ORDER BY brand`;
  const ofWhat = ['added', 'removed', 'altered'].map(
    (what) => `count(*) FILTER (what = '${what}') AS ${what}`,
  );
  const changesSql = `SELECT brand, place, any_value(version) AS version, any_value(previous_version) AS previous,
    any_value(cause) AS cause, strftime(any_value(changed_by), ${TIME}) AS changed_at, ${ofWhat.join(', ')}
    FROM changes WHERE ${isOfDay} GROUP BY brand, place ORDER BY place DESC`;
  const recordsSql = `SELECT * FROM (
      SELECT brand, place, what, key, columns, before, after, count(*) AS copies FROM changes
      WHERE ${isOfDay} AND (what <> 'altered' OR columns IS NOT NULL OR after IS NULL) GROUP BY ALL
    ) QUALIFY row_number() OVER (PARTITION BY brand, place ORDER BY what DESC, key) <= ${most} ORDER BY what DESC, key`;
  const lake = { store, reports: { [name]: report }, settings: undefined, nowMs: Date.now(), day: of };
  const connection = await createSqlConnection({ ...lake, onGap: () => {} }, `${daysSql}; ${changesSql}`);
  const rowsOf = async (sql: string): Promise<Fact[]> =>
    (await connection.runAndReadAll(sql)).getRowObjectsJson();
  try {
    const [changes, records] = [await rowsOf(changesSql), await rowsOf(recordsSql)];
    return (await rowsOf(daysSql)).map(({ brand, rows: stored, closed, anew }) => {
      const isOwn = (fact: Fact) => fact.brand === brand;
      const recordsOf = ({ place }: Fact) => records.filter((each) => isOwn(each) && each.place === place);
      const own = changes.filter(isOwn).map((fact) => changeOf(fact, recordsOf(fact)));
      const head = { brand: shown(brand), report: name, day: of, rows: Number(stored), closed };
      return { ...head, ...(anew !== null && { anew }), changes: own };
    });
  } finally {
    connection.closeSync();
  }
}

const TIME = "'%Y-%m-%dT%H:%M:%S.%gZ'";

function changeOf(fact: Fact, records: readonly Fact[]) {
  return {
    ...{ id: fact.version, previousId: fact.previous, at: shown(fact.changed_at), cause: shown(fact.cause) },
    diff: {
      ...{ added: Number(fact.added), removed: Number(fact.removed), altered: Number(fact.altered) },
      records: records.map(recordOf),
    },
  };
}

function recordOf({ what = null, key = null, columns, before, after, copies }: Fact): ChangedRecord {
  const [old, now] = [before, after].map((text) => {
    const values = typeof text === 'string' ? parseJson(text) : null;
    return isJsonObject(values) ? values : {};
  });
  if (typeof columns !== 'string') {
    const record = (what === 'added' ? now : old) ?? {};
    return { what, ...(key !== null && { key }), copies: Number(copies), record };
  }
  const valuesOf = (name: string) => ({ name, before: old?.[name] ?? null, after: now?.[name] ?? null });
  return { what, key, columns: columns.split(', ').map(valuesOf) };
}

function dayText(
  { brand, day: of, rows, closed, changes, anew }: ChangedDay,
  report: ReportDefinition,
): string {
  const times = changes.length === 1 ? 'once' : `${exactNumber(changes.length)} times`;
  const changed = changes.length === 0 ? 'not changed' : `changed ${times}`;
  const first = closed ? 'since it was closed first' : 'since it was read';
  const when = anew === undefined ? first : `since its history began anew at ${instantText(shown(anew))}`;
  const head = `${brand} ${report.table} ${of}: ${counted(rows, 'row')}, ${changed} ${when}`;
  return [styleText('bold', head), ...changes.map(changeText)].join('\n\n');
}

function changeText({ at, cause, diff }: Change): string {
  const { records, added, removed, altered } = diff;
  const left = added + removed + altered - records.reduce((sum, { copies = 1 }) => sum + copies, 0);
  return [
    `${styleText('cyan', instantText(at))}  ${cause}  ${SIGNS.added}${exactNumber(added)} ${SIGNS.removed}${exactNumber(removed)} ${SIGNS.altered}${exactNumber(altered)}`,
    ...records.map(recordText),
    ...(left > 0 ? [`  and ${exactNumber(left)} more: --json, or SELECT * FROM changes`] : []),
  ].join('\n');
}

const SIGNS = {
  added: styleText('green', '+'),
  removed: styleText('red', '−'),
  altered: styleText('yellow', '~'),
};

function recordText({ what, key, copies = 1, record = {}, columns }: ChangedRecord): string {
  const values =
    columns?.map(({ name, before, after }) => `${name}: ${shown(before)} → ${shown(after)}`) ??
    Object.entries(record).map(([name, value]) => `${name}=${shown(value)}`);
  const whose = [
    ...(copies > 1 ? [`${exactNumber(copies)} ×`] : []),
    ...(key === undefined ? [] : [shown(key)]),
  ];
  const sign = columns ? SIGNS.altered : what === 'added' ? SIGNS.added : SIGNS.removed;
  return `  ${sign} ${oneLine([...whose, values.join(' ')].join('  '))}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : 'none';
}
