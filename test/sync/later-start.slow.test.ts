import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { consoleControls } from '../../functions/console-controls.ts';
import { DAY_MS, HOUR_MS, daysFrom } from '../../shared/days.ts';
import { readLedgers } from '../../shared/lake/documents/read.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings, type Settings } from '../../shared/settings/settings.ts';
import { tableStatuses } from '../../shared/status/table-statuses.ts';
import { watch } from '../../shared/watcher/watch.ts';
import { numberText } from '../../shared/json.ts';
import { coverageOf, ledgerEntry } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

/*
 * The service refuses a day of February at every request. The days before and after it are read. Then the settings
 * begin in March.
 */
const FIRST = '2026-02-25';
const REFUSED = '2026-02-27';
const LATER = '2026-03-04';
const TODAY = '2026-03-10';
const REPORT = 'order_list';
const off = { enabled: false };
const only = {
  clicks_list: off,
  clicks_detail: off,
  transaction_list: off,
  amazon_attribution_report: off,
};

let lake: SampleLake;
beforeAll(async () => {
  lake = await sampleLake({
    now: `${TODAY}T15:00:00Z`,
    startDate: FIRST,
    clicksPerDay: 6,
    brandSettings: { reports: only },
  });
  lake.service.addFault({
    on: { when: ({ fields }) => isOfRefusedDay(numberText(fields.start_time), numberText(fields.end_time)) },
    fault: { kind: 'code', code: 17, msg: 'no longer kept' },
  });
  for (let days = 0; days < 3; days += 1) {
    await lake.sync();
    lake.nowMs += DAY_MS;
  }
  lake.nowMs -= DAY_MS;
  expect((await ledgerEntry(lake, REPORT, REFUSED)).failure).toMatchObject({ code: 'service_code' });
});
afterAll(() => lake.close());

/** Whether a query covers the refused day, and not only the second after the day before. */
function isOfRefusedDay(from: string | undefined, to: string | undefined): boolean {
  const ms = Number(from) * 1000;
  const midnightMs = Date.parse(`${REFUSED}T05:00:00Z`);
  return from !== to && ms >= midnightMs && ms < midnightMs + DAY_MS;
}

const begin = (startDate: string) => ({ brandSettings: { startDate } });

function settingsOf(startDate: string): Settings {
  return parseSettings(
    {
      brands: {
        acme: {
          baseUrl: lake.brand.baseUrl,
          service: lake.service.serviceName,
          timeZone: 'America/New_York',
          startDate,
          secretName: 'none',
          reports: only,
        },
      },
    },
    reports,
  );
}

async function shownDays(startDate: string): Promise<Record<string, string>> {
  const ledgers = await readLedgers(lake.store, reports, {}, lake.nowMs);
  const [orders] = tableStatuses(settingsOf(startDate), reports, ledgers, lake.nowMs).filter(
    ({ report }) => report === REPORT,
  );
  return Object.fromEntries(orders?.days.map(({ dt, state }) => [dt, state]) ?? []);
}

async function publishedDays(): Promise<Record<string, unknown>> {
  const rows = Object.entries(await coverageOf(lake, REPORT));
  return Object.fromEntries(rows.map(([dt, { state }]) => [dt, state]));
}

const messages: string[] = [];
let watcherRuns = 0;

async function problems(startDate: string): Promise<string[]> {
  const found = await watch({
    settings: settingsOf(startDate),
    reports,
    store: lake.store,
    clock: { wallMs: () => lake.nowMs, sleep: async () => {} },
    random: () => 0,
    newId: () => `watch-${++watcherRuns}`,
    log: () => {},
    notifier: { tell: async ({ subject }) => void messages.push(subject) },
    events: { send: async () => {} },
    pipeline: 'Pipeline',
    controls: consoleControls('us-east-1', 'Pipeline'),
    pageAt: (key) => key,
  });
  return found.problems.map(({ what }) => what);
}

describe('a day that was never read', () => {
  it('is failed while the settings include it', async () => {
    expect((await shownDays(FIRST))[REFUSED]).toBe('failed');
    expect((await publishedDays())[REFUSED]).toBe('failed');
    expect(await problems(FIRST)).toEqual([`1 day failed: ${REFUSED}`]);
    expect(messages).toEqual([expect.stringContaining('1 new')]);
  });

  it('is no longer expected by status and watcher once the settings begin later', async () => {
    const days = await shownDays(LATER);
    expect(Object.keys(days)).toEqual(daysFrom(FIRST, '2026-03-12').filter((day) => day !== REFUSED));
    expect(Object.values(days)).not.toContain('failed');
    // A problem counts as solved after two watcher runs without it.
    for (let run = 0; run < 2; run += 1) {
      lake.nowMs += HOUR_MS;
      expect(await problems(LATER)).toEqual([]);
    }
    expect(messages.at(-1)).toContain('all is well again');
  });

  it('has no row in coverage after the next run, although no run reads its month any longer', async () => {
    expect((await lake.sync(begin(LATER))).status).toBe('complete');
    const days = await publishedDays();
    expect(Object.keys(days)).toEqual(daysFrom(FIRST, '2026-03-12').filter((day) => day !== REFUSED));
    expect(Object.values(days)).not.toContain('failed');
  });

  it('is expected and requested again once the settings begin earlier', async () => {
    lake.nowMs += DAY_MS;
    await lake.sync(begin(FIRST));
    expect((await publishedDays())[REFUSED]).toBe('failed');
    expect((await shownDays(FIRST))[REFUSED]).toBe('failed');
  });
});
