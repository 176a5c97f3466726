/**
 * Compares every outlet that lists complete days, after one run whose clock is weeks ahead (one scenario a row). No
 * outlet ever lists a day as complete before it is over. After a few right runs all outlets list every day that is over
 * as complete. The lake's time is the real time, because views compare with the time of their engine.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSqlConnection, literal } from '../../cli/sql-tables.ts';
import { consoleTextControls } from '../../functions/console-controls.ts';
import type { ReportName } from '../../sample/brand.ts';
import { openLake } from '../../shared/adapters/open-lake.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { coverageTable } from '../../shared/catalog/coverage.ts';
import { freshness } from '../../shared/catalog/freshness.ts';
import { typeSpec } from '../../shared/column-types.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, addDays, dayOf, daysFrom } from '../../shared/days.ts';
import { readLedgers } from '../../shared/lake/documents/read.ts';
import { COVERAGE_PAGE_KEY } from '../../shared/lake/paths.ts';
import type { Row } from '../../shared/lake/table/columns.ts';
import type { Message, SendRequest } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { commandControls } from '../../shared/status/remedies.ts';
import { tableStatuses } from '../../shared/status/table-statuses.ts';
import { watch } from '../../shared/watcher/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { ledgerEntries, ledgerTableRows, publishedDays, serviceDays } from './lake-contents.ts';
import { BRAND, type SampleLake, type SyncOptions, ZONE, sampleLake } from './sample-lake.ts';

const REPORTS: ReportName[] = ['clicks_list', 'clicks_detail', 'order_list'];
const RIGHT_RUNS = 3;
/** The days span the end of a month. */
const WEEKS_MS = 32 * DAY_MS;

let sample: SampleLake;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let yesterday: string;
beforeAll(async () => {
  const nowMs = Date.now() - RIGHT_RUNS * HOUR_MS - MINUTE_MS;
  yesterday = addDays(dayOf(nowMs, ZONE), -1);
  folder = await temporaryFolder();
  sample = await sampleLake({
    now: new Date(nowMs).toISOString(),
    recordsTo: new Date(nowMs + DAY_MS).toISOString(),
    startDate: addDays(yesterday, -3),
    clicksPerDay: 6,
    reports: REPORTS,
    brandSettings: {
      lateMinutes: 0,
      reports: {
        clicks_detail: { enabled: true },
        transaction_list: { enabled: false },
        amazon_attribution_report: { enabled: false },
      },
    },
  });
});
afterAll(async () => {
  await sample.close();
  await folder.remove();
});

/** One run with a wrong clock. */
type WrongRun = (lake: SampleLake) => Promise<unknown>;

/** Responses of the run, counted from 1, whose `Date` is ahead. */
function datesAhead(isWrong: (response: number) => boolean, options: SyncOptions = {}): WrongRun {
  return (lake) => {
    let responses = 0;
    const send: SendRequest = (request, given) =>
      sendRequest(request, {
        ...given,
        onHeaders(headers) {
          responses += 1;
          const date = httpDate(Date.parse(headers.date ?? '') + WEEKS_MS);
          given.onHeaders(isWrong(responses) ? { ...headers, date } : headers);
        },
      });
    return lake.sync({ send, ...options });
  };
}

/** The responses of the run have no `Date`, so the run has only the machine's clock. */
const withoutDates: SendRequest = (request, given) =>
  sendRequest(request, {
    ...given,
    onHeaders: ({ date: _date, ...headers }) => given.onHeaders(headers),
  });

function bothAhead(aheadMs: number): WrongRun {
  return async (lake) => {
    lake.nowMs += aheadMs;
    await lake.sync();
    lake.nowMs -= aheadMs;
  };
}

const first = (response: number) => response === 1;
const SCENARIOS: [string, WrongRun, { isFirst?: true }][] = [
  ['the first Date', datesAhead(first), {}],
  ['two Dates that agree', datesAhead((response) => response === 2 || response === 3), {}],
  ['every Date', datesAhead(() => true), {}],
  ['the machine', (lake) => lake.sync({ clockAheadMs: WEEKS_MS }), {}],
  [
    'the machine, of a service without Dates',
    (lake) => lake.sync({ clockAheadMs: WEEKS_MS, send: withoutDates }),
    {},
  ],
  ['both', bothAhead(WEEKS_MS), {}],
  ['both, in an empty lake', bothAhead(WEEKS_MS), { isFirst: true }],
];

/** The contents of an outlet. */
interface Shown {
  /** `order_list 2026-11-20`: days that it lists as complete. */
  complete: string[];
  /** All days that it lists. */
  named: string[];
  /** Other faults, in words. */
  wrong: string[];
}

const shownByRows = (rows: readonly Row[]): Shown => {
  const isComplete = ({ committed_state: state }: Row) => state === 'complete' || state === 'settled';
  return {
    complete: rows.filter(isComplete).map(nameOf),
    named: rows.map(nameOf),
    wrong: rows.flatMap(({ read_from: at, dt }) =>
      at instanceof Date && at.getTime() > Date.now() ? [`${dt} was read at ${at.toISOString()}`] : [],
    ),
  };
};

function nameOf({ report, dt }: Row): string {
  return `${report} ${dt}`;
}

const FRESHNESS = `SELECT report, newest_complete_day AS dt, hours_since_read,
  days_failed + days_missing + days_unverified + days_in_progress AS problems FROM freshness`;

/** The view has only the newest complete day of each report. */
const shownByFreshness = (rows: readonly Record<string, unknown>[]): Shown => {
  const newest = rows.flatMap(({ report, dt }) => (dt === null ? [] : [`${report} ${dt}`]));
  return {
    complete: newest,
    named: newest,
    wrong: rows.flatMap(({ report, hours_since_read: hours, problems }) => [
      ...(Number(hours) < 0 ? [`${report} was read in ${hours} hours`] : []),
      ...(Number(problems) > 0 ? [`${problems} days of ${report} have problems`] : []),
    ]),
  };
};

async function publishedCoverage(lake: SampleLake): Promise<Row[]> {
  const ofReports = REPORTS.map(async (report) =>
    (await ledgerTableRows(lake, 'coverage', report)).map(
      (row): Row => ({ ...row, brand: BRAND, report, month: '' }),
    ),
  );
  return (await Promise.all(ofReports)).flat();
}

/** As in Athena: over the table that the last run wrote. */
async function publishedFreshness(lake: SampleLake) {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run("SET TimeZone = 'UTC'");
  const columns = [
    ...coverageTable.columns,
    ...coverageTable.partitionKeys.map((name) => ({ name, type: 'string' as const })),
  ];
  const definition = columns.map(({ name, type }) => `"${name}" ${typeSpec(type).duckdb}`);
  await connection.run(`CREATE TABLE coverage (${definition.join(', ')})`);
  for (const row of await publishedCoverage(lake)) {
    const values = columns.map(({ name }) => literal(row[name]));
    await connection.run(`INSERT INTO coverage VALUES (${values.join(', ')})`);
  }
  await connection.run(`CREATE VIEW freshness AS ${freshness.sql}`);
  const rows = (await connection.runAndReadAll(FRESHNESS)).getRowObjectsJson();
  connection.closeSync();
  return rows;
}

let copies = 0;
async function query(lake: SampleLake, sql: string) {
  copies += 1;
  const path = `${folder.path}/${copies}`;
  await writeLake(lake.store, path);
  const { store } = await openLake(path);
  const sqlLake = { store, reports, settings: lake.settings(), nowMs: lake.nowMs };
  const connection = await createSqlConnection(sqlLake, sql);
  const result = await connection.runAndReadAll(sql);
  connection.closeSync();
  return result;
}

async function queryCoverage(lake: SampleLake): Promise<Row[]> {
  const sql = 'SELECT report, dt, committed_state FROM coverage ORDER BY report, dt';
  return (await query(lake, sql)).getRowObjectsJson().map(
    ({ report, dt, committed_state }): Row => ({
      report: String(report),
      dt: String(dt),
      committed_state: String(committed_state),
    }),
  );
}

async function statusOf(lake: SampleLake): Promise<Shown> {
  const ledgers = await readLedgers(lake.store, reports, {}, lake.nowMs);
  const tables = tableStatuses(lake.settings(), reports, ledgers, lake.nowMs);
  const days = tables.flatMap((table) =>
    table.days.map((day) => ({ ...day, name: `${table.report} ${day.dt}` })),
  );
  const isComplete = ({ committedState: state }: (typeof days)[number]) =>
    state === 'complete' || state === 'settled';
  const newest = tables.flatMap(({ report, newestComplete: dt }) => (dt === null ? [] : [`${report} ${dt}`]));
  return {
    complete: [...new Set([...days.filter(isComplete).map(({ name }) => name), ...newest])],
    named: days.map(({ name }) => name),
    wrong: days.flatMap(({ name, readFrom }) =>
      Date.parse(readFrom ?? '') > lake.nowMs + MINUTE_MS ? [`${name} was read at ${readFrom}`] : [],
    ),
  };
}

/** The page that a watcher run draws, and its messages. */
async function watcherRun(lake: SampleLake): Promise<{ page: Shown; message: Shown }> {
  const messages: Message[] = [];
  const { store } = lake.fork();
  const outcome = await watch({
    settings: lake.settings(),
    reports,
    store,
    clock: { wallMs: () => lake.nowMs, sleep: async () => {} },
    random: () => 0,
    newId: () => 'run',
    log: () => {},
    notifier: { tell: async (message) => void messages.push(message) },
    events: { send: async () => {} },
    countProblems: () => {},
    message: {
      pipeline: 'P',
      page: 'https://s3.example/page',
      controls: consoleTextControls('us-east-1', 'P'),
    },
    controls: commandControls({ lake: 'l', settings: 's' }),
  });
  const markup = Buffer.from((await store.get(COVERAGE_PAGE_KEY))?.body ?? '').toString();
  const cells = [...markup.matchAll(/<i class="(\w+)" title="(\w+) ([\d-]+)\n/g)].map(
    ([, look = '', table = '', dt = '']) => {
      const report = Object.values(reports).find((each) => each.table === table)?.name ?? table;
      return { look, name: `${report} ${dt}` };
    },
  );
  const ofHeadline = [...(/<p class="headline.*?<\/p>/s.exec(markup)?.[0].matchAll(/<time>(.*?)</g) ?? [])];
  return {
    page: {
      complete: cells.filter(({ look }) => ['complete', 'settled'].includes(look)).map(({ name }) => name),
      named: [...cells.map(({ name }) => name), ...ofHeadline.map(([, dt]) => `headline ${dt}`)],
      wrong: [],
    },
    message: {
      complete: [],
      named: outcome.problems.flatMap(({ report, what }) =>
        [...what.matchAll(/\d{4}-\d\d-\d\d/g)].map(([dt]) => `${report} ${dt}`),
      ),
      wrong: outcome.problems.map(({ report, what }) => `${report}: ${what}`),
    },
  };
}

/** The contents of each outlet for the lake as it is. */
async function outletsOf(lake: SampleLake): Promise<Record<Outlet, Shown>> {
  const { page, message } = await watcherRun(lake);
  return {
    'coverage in the lake': shownByRows(await publishedCoverage(lake)),
    'freshness in the lake': shownByFreshness(await publishedFreshness(lake)),
    'coverage of query': shownByRows(await queryCoverage(lake)),
    'freshness of query': shownByFreshness((await query(lake, FRESHNESS)).getRowObjectsJson()),
    status: await statusOf(lake),
    'the calendar page': page,
    'the watcher': message,
  };
}

const OUTLETS = [
  'coverage in the lake',
  'freshness in the lake',
  'coverage of query',
  'freshness of query',
  'status',
  'the calendar page',
  'the watcher',
] as const;
type Outlet = (typeof OUTLETS)[number];

function days(shown: readonly string[]): string[] {
  return [...new Set(shown.map((name) => name.split(' ')[1] ?? ''))].sort();
}

describe.each(SCENARIOS)('after a run for which a clock was ahead: %s', (_name, wrongRun, { isFirst }) => {
  let lake: SampleLake;
  const statuses: string[] = [];
  const afterWrong: Partial<Record<Outlet, Shown>> = {};
  const afterRight: Partial<Record<Outlet, Shown>> = {};
  /** The last day that is over, after the wrong run and after the right runs. */
  const over = { afterWrong: '', afterRight: '' };
  beforeAll(async () => {
    lake = sample.emptyLake();
    if (!isFirst) await lake.sync();
    await wrongRun(lake);
    over.afterWrong = addDays(dayOf(lake.nowMs, ZONE), -1);
    Object.assign(afterWrong, await outletsOf(lake));
    for (let run = 0; run < RIGHT_RUNS; run += 1) {
      lake.nowMs += HOUR_MS;
      statuses.push((await lake.sync()).status);
    }
    over.afterRight = addDays(dayOf(lake.nowMs, ZONE), -1);
    Object.assign(afterRight, await outletsOf(lake));
  });

  // `coverage` in the lake is as old as its last run; `freshness`, which reads it, has to be right.
  it.each(OUTLETS.filter((outlet) => outlet !== 'coverage in the lake'))(
    '%s has no unfinished day as complete, and no future day at all',
    (outlet) => {
      const { complete = [], named = [] } = afterWrong[outlet] ?? {};
      const today = addDays(over.afterWrong, 1);
      expect(days(complete).filter((day) => day > over.afterWrong)).toEqual([]);
      expect(days(named).filter((day) => day > today)).toEqual([]);
    },
  );

  it.each(OUTLETS)('%s is right after right runs', (outlet) => {
    const { complete = [], named = [], wrong } = afterRight[outlet] ?? {};
    const isOfNewest = outlet.startsWith('freshness');
    const expected = isOfNewest ? [over.afterRight] : daysFrom(sample.startDate, over.afterRight);
    expect(wrong).toEqual([]);
    expect(days(named).filter((day) => day > addDays(over.afterRight, 1))).toEqual([]);
    if (outlet === 'the watcher') return;
    for (const report of REPORTS)
      expect([report, days(complete.filter((name) => name.startsWith(report)))]).toEqual([report, expected]);
  });

  it('right runs are complete, read each day of the wrong run again, and lose nothing', async () => {
    expect(statuses).toEqual(Array.from({ length: RIGHT_RUNS }, () => 'complete'));
    for (const report of REPORTS.filter((name) => name !== 'clicks_detail')) {
      const published = await publishedDays(lake, report);
      const past = [...published].filter(([day]) => day <= over.afterRight);
      expect(new Map(past)).toEqual(await serviceDays(lake, report, over.afterRight));
      const entries = await ledgerEntries(lake, report);
      const ahead = entries.filter(
        ([, entry]) => Date.parse(entry.committed?.readFrom ?? '') > lake.nowMs + MINUTE_MS,
      );
      expect(ahead.filter(([day]) => day <= addDays(over.afterRight, 1))).toEqual([]);
    }
  });
});
