/*
 * Draws the pictures of the docs: docs/images/calendar.png and statement.png (`npm run picture`). It serves a sample
 * brand, syncs it into temporary lakes and photographs the pages with a headless Chromium. Everything in the pictures
 * is real. In the calendar, orders fail around one day, because the service omits the list there. Attribution is
 * overdue, because the last run leaves that report out, as if its schedule were off. The statement carries over records
 * that the service voided after a month was closed. Time is fixed, so the pictures stay the same.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { sendRequest } from '../shared/adapters/send-request.ts';
import { fixedCredentials } from '../shared/adapters/credentials.ts';
import { newId, systemClock } from '../shared/adapters/system-clock.ts';
import { openLake } from '../shared/adapters/open-lake.ts';
import { addMonths, monthOf } from '../shared/days.ts';
import { readLedgers } from '../shared/lake/documents/read.ts';
import type { Lake } from '../shared/ports.ts';
import { closeMonth } from '../shared/operations/close-month.ts';
import { closeSums } from '../cli/close-sums.ts';
import { reports } from '../shared/reports/index.ts';
import { runSync } from '../shared/run/run.ts';
import { parseSettings } from '../shared/settings/settings.ts';
import { calendarPage } from '../shared/status/calendar.ts';
import { commandControls } from '../shared/status/remedies.ts';
import { tableStatuses } from '../shared/status/table-statuses.ts';
import { restate } from '../sample/brand.ts';
import { seedBrand } from '../sample/seed.ts';
import { type SampleService, startSampleService } from '../sample/server.ts';

/** The name of the lake on the page: runs of a lake in S3 have a schedule. */
const LAKE = 's3://sample-lake';
const ZONE = 'America/New_York';
const FIRST_DAY = '2026-05-22';
/** The days with a run: two in a row settle old orders, and the last run does not read attribution. */
const RUNS = ['2026-06-17', '2026-06-18', '2026-06-24'];
const TODAY = '2026-06-24';
const FAILING_DAY = '2026-06-11';
const SECRETS = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };

/** The days on which a month is closed; the picture shows this publisher's statement of the second month. */
const CLOSINGS = ['2026-06-02', '2026-07-02'];
const PUBLISHER = '1402';

const COMMAND_LINE = fileURLToPath(new URL('../cli/brand-reports.js', import.meta.url));
const images = fileURLToPath(new URL('../docs/images', import.meta.url));
const sizes = { calendar: '1400,1030', statement: '800,620' };

const folder = await mkdtemp(join(tmpdir(), 'brand-reports-picture-'));
try {
  await mkdir(images, { recursive: true });
  const pages = {
    calendar: await drawnCalendar(join(folder, 'lake')),
    statement: await drawnStatement(join(folder, 'orders')),
  };
  for (const name of ['calendar', 'statement'] as const) {
    const page = join(folder, `${name}.html`);
    await writeFile(page, pages[name]);
    const picture = join(images, `${name}.png`);
    await photograph(page, picture, sizes[name], join(folder, 'profile'));
    console.log(`The picture is in ${picture}.`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Runs at noon UTC, then draws the status page as of the last run. */
async function drawnCalendar(lakeFolder: string): Promise<string> {
  const present = { ms: noon(TODAY) };
  const service = await startSampleService({
    brands: {
      acme: {
        timeZone: ZONE,
        ...SECRETS,
        records: seedBrand({
          seed: 7,
          timeZone: ZONE,
          from: new Date(`${FIRST_DAY}T12:00:00Z`),
          to: new Date(noon(TODAY)),
          clicksPerDay: 6,
        }),
      },
    },
    now: () => new Date(present.ms),
    faults: [
      {
        on: {
          action: 'report/order_list',
          when: ({ fields }) => dayAsked(fields.start_time) === FAILING_DAY,
        },
        fault: { kind: 'missing_list' },
      },
    ],
  });
  try {
    const settings = settingsFor(service);
    const lake = await openLake(lakeFolder);
    for (const day of RUNS) {
      present.ms = noon(day);
      await syncOnce(lake, settings, present.ms, day === TODAY);
    }
    const ledgers = await readLedgers(lake.store, reports);
    const tables = tableStatuses(settings, reports, ledgers, present.ms);
    const controls = commandControls({ lake: LAKE, settings: 'cdk.json' });
    return calendarPage(tables, LAKE, { settings, nowMs: present.ms, controls }).markup;
  } finally {
    await service.close();
  }
}

/**
 * Reads orders of two months and closes each month after its end; in between, the service voids some orders of the
 * first.
 */
async function drawnStatement(lakeFolder: string): Promise<string> {
  const present = { ms: 0 };
  const from = new Date(`${FIRST_DAY}T12:00:00Z`);
  const to = new Date('2026-07-01T00:00:00Z');
  const records = seedBrand({ seed: 7, timeZone: ZONE, from, to, clicksPerDay: 9 });
  const service = await startSampleService({
    brands: { acme: { timeZone: ZONE, ...SECRETS, records } },
    now: () => new Date(present.ms),
  });
  try {
    const settings = settingsFor(service, ['order_list']);
    const lake = await openLake(lakeFolder);
    let month = '';
    for (const day of CLOSINGS) {
      present.ms = noon(day);
      await syncOnce(lake, settings, present.ms, false);
      const clock = { ...systemClock(new Date(present.ms)), wallMs: () => present.ms };
      month = addMonths(monthOf(day), -1);
      await closeMonth({
        ...{ lake, settings, reports, month, clock, log: () => {}, random: Math.random, newId },
        ...{ by: 'ann', sums: closeSums(lake.store) },
      });
      const { acme } = service.brands;
      if (acme)
        restate(acme, 'order_list', '2026-05-30', (held) =>
          held.map(({ at, record }) => ({ at, record: { ...record, status: 'void' } })),
        );
    }
    const page = join(lakeFolder, '..', 'statement.html');
    const flags = ['--month', month, '--publisher', PUBLISHER, '--lake', lakeFolder, '--output', page];
    await promisify(execFile)(process.execPath, [COMMAND_LINE, 'statement', ...flags]);
    return await readFile(page, 'utf8');
  } finally {
    await service.close();
  }
}

function noon(day: string): number {
  return Date.parse(`${day}T12:00:00Z`);
}

/** The day that a request for orders selects, by its start in seconds. */
function dayAsked(startTime: unknown): string {
  // The day begins at 04:00 UTC in New York's summer.
  return typeof startTime === 'number' ? new Date(startTime * 1000).toISOString().slice(0, 10) : '';
}

function settingsFor(service: SampleService, wanted = Object.keys(reports)) {
  const refresh = [
    { untilAgeDays: 2, every: 'run' },
    { untilAgeDays: wanted.length > 1 ? 12 : 60, every: '1 day' },
  ];
  const names = Object.keys(reports);
  return parseSettings(
    {
      brands: {
        acme: {
          baseUrl: service.brands.acme?.baseUrl ?? '',
          service: service.serviceName,
          timeZone: ZONE,
          startDate: FIRST_DAY,
          secretName: 'brand-reports/acme',
          reports: Object.fromEntries(
            names.map((name) => [name, wanted.includes(name) ? { refresh } : { enabled: false }]),
          ),
        },
      },
      requestsPerSecond: 1000,
    },
    reports,
  );
}

async function syncOnce(
  lake: Lake,
  settings: ReturnType<typeof settingsFor>,
  nowMs: number,
  isAttributionOff: boolean,
): Promise<void> {
  const enabled = Object.entries(settings.brands.acme?.reports ?? {}).filter(([, report]) => report.enabled);
  const names = enabled.map(([name]) => name);
  const startedMs = Date.now();
  await runSync({
    settings,
    reports,
    lake,
    credentials: fixedCredentials(JSON.stringify({ acme: SECRETS }), 'the sample service'),
    scope: {
      reports: isAttributionOff ? names.filter((name) => name !== 'amazon_attribution_report') : names,
    },
    clock: { ...systemClock(new Date(nowMs)), wallMs: () => nowMs + Date.now() - startedMs },
    log: () => {},
    send: sendRequest,
    random: Math.random,
    newId,
  });
}

async function photograph(page: string, picture: string, size: string, profile: string): Promise<void> {
  const browser = process.env.CHROMIUM ?? 'chromium';
  try {
    await promisify(execFile)(browser, [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--hide-scrollbars',
      `--user-data-dir=${profile}`,
      `--window-size=${size}`,
      '--force-device-scale-factor=1',
      `--screenshot=${picture}`,
      pathToFileURL(page).href,
    ]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    console.error(
      `Browser "${browser}" not found. Install Chromium, or name its program: CHROMIUM=/path/to/chromium npm run picture`,
    );
    process.exitCode = 1;
  }
}
