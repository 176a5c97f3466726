import { describe, expect, it } from '@jest/globals';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { daysFrom, endOfDay, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { runCheck } from '../../shared/check/check.ts';
import { endDateOf, sampleBrand } from '../../shared/check/sample.ts';
import { reports } from '../../shared/reports/index.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { startHttpServer } from '../fakes/http-server.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import type { LivingBrand } from '../simulation/brand.ts';
import { Random } from '../simulation/random.ts';
import {
  ADDRESS,
  type Interpretation,
  SERVICE,
  interpretationAt,
  plainInterpretation,
  settingsFor,
  simulatedService,
} from '../simulation/service.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

const ZONE = 'America/New_York';
const NOW = '2026-11-04T15:20:00Z';
const account = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };

/** The options to measure the one brand of a service, with settings that nobody has corrected. */
function optionsFor(target: { baseUrl: string; service: string }, changes = {}, now = NOW) {
  const acme = { ...target, timeZone: ZONE, startDate: '2026-10-30', secretName: 'acme', ...changes };
  return {
    lake: { store: memoryStore(), runs: blindRegistry },
    clock: systemClock(new Date(now)),
    log: () => undefined,
    random: () => 0.5,
    newId: () => 'a-run',
    settings: parseSettings({ brands: { acme }, requestsPerSecond: 1000 }, reports),
    reports,
    credentials: fixedCredentials(JSON.stringify({ acme: account }), 'the test'),
    send: sendRequest,
    scope: {},
  };
}

/** The time of the order in transactions, which the interface allows. */
const withOrderTime = (at: number): JsonObject => ({ Order_Time: at / 1000 });

/** A brand with more than a page in each day before NOW; two days are before the start of the settings. */
function brandWith(timeZone: string, timesOf: (at: number) => JsonObject): LivingBrand {
  const days = daysFrom('2026-10-28', '2026-11-05');
  const instantsOf = (day: string) => {
    const startMs = startOfDay(day, timeZone);
    const lastMs = Math.min(endOfDay(day, timeZone), Date.parse(NOW)) - 1000;
    return Array.from(
      { length: 25 },
      (_, index) => startMs + Math.floor((lastMs - startMs) / 24_000) * 1000 * index,
    );
  };
  const held = (record: (index: number, at: number, day: string) => JsonObject) =>
    new Map(
      days.slice(0, -1).map((day, order) => [
        day,
        instantsOf(day).map((atMs, index) => ({
          atMs,
          versions: [{ fromMs: 0, record: record(100 * order + index, atMs, day) }],
          detail: { id: 100 * order + index, pbtid: 100 * order + index },
        })),
      ]),
    );
  return {
    timeZone,
    days,
    held: {
      clicks: held((id, at) => ({ id: String(id), pbtid: String(id), created_time: httpDate(at) })),
      orders: held((transid) => ({ transid, amount: 1, status: 'new' })),
      transactions: held((id, at) => ({ order_id: `o${id}`, sku: 'a', commission: 1, ...timesOf(at) })),
      attribution: held((id, _at, day) => ({ date: day.replaceAll('-', ''), asin: `B${id}`, click: 1 })),
    },
  };
}

async function startService(interpretation: Interpretation, timeZone = ZONE, timesOf = withOrderTime) {
  const brand = brandWith(timeZone, timesOf);
  const simulated = simulatedService({ brand, account, interpretation, nowMs: Date.now });
  const server = await startHttpServer(({ url = '', method, headers }, body, response) => {
    const sent = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    const { status, text } = simulated.answer({
      url,
      method: method === 'GET' ? 'GET' : 'POST',
      headers: Object.fromEntries(sent),
      body: body.toString(),
    });
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
  const baseUrl = new URL(new URL(ADDRESS).pathname, server.url).href;
  return { service: server, target: { baseUrl, service: SERVICE } };
}

async function levels(options: Parameters<typeof runCheck>[0]) {
  const { brands } = await runCheck(options);
  const findings = brands.flatMap((brand) => [
    ...brand.findings,
    ...brand.reports.flatMap((one) => one.findings),
  ]);
  const codes = (level: string) => [
    ...new Set(findings.filter((one) => one.level === level).map(({ code }) => code)),
  ];
  const undecided = codes('undecided');
  const messages = findings.map(({ message }) => message).join('\n');
  return { errors: codes('error'), oks: codes('ok'), warnings: codes('warning'), undecided, messages };
}

describe('the measured settings fit each way to implement the interface, and then the connection test passes', () => {
  // Together they have all values of the measured points.
  it.each([1, 2, 3, 4, 5, 6])('with any service: seed %i', async (seed) => {
    // A few records prove no time zone.
    const interpretation = { ...interpretationAt(new Random(seed)), pageCap: 10 };
    const { service, target } = await startService(interpretation);
    try {
      const measured = await sampleBrand(optionsFor(target, { timeZone: 'Asia/Tokyo' }), 'acme');
      expect(measured.reports.flatMap(({ error }) => error?.message ?? [])).toEqual([]);
      const { endTime, ...expected } = settingsFor(interpretation);
      const numbered = measured.reports.find(({ shown }) => shown.firstPage !== undefined)?.shown;
      expect({
        method: measured.method,
        timestampUnit: numbered?.timestampUnit,
        firstPage: numbered?.firstPage,
        endDate: endDateOf(measured),
      }).toEqual(expected);
      expect(numbered?.endTime).toBe(endTime);
      expect(measured.zone).toMatchObject({ isProven: true, field: 'Order_Time' });
      expect(measured.zone?.fits).toContain(ZONE);
      const { errors } = await levels(optionsFor(target, settingsFor(interpretation)));
      expect(errors).toEqual([]);
    } finally {
      await service.close();
    }
  });
});

describe('the connection test', () => {
  it.each([
    [
      'a wrong zone',
      { timeZone: 'Europe/Berlin' },
      ['time_zone'],
      /"timeZone": "America\/New_York", which is proven/,
    ],
    [
      'a wrong timestamp unit',
      { timestampUnit: 'milliseconds' },
      ['timestamp_unit'],
      /set "timestampUnit": "seconds"/,
    ],
    ['a wrong first page', { firstPage: 0 }, ['first_page_number'], /set "firstPage": 1/],
    ['a wrong method', { method: 'GET' }, ['method'], /setting method \(GET\): set "method": "POST"/],
    [
      'a start date in the future',
      { startDate: '2999-01-01' },
      ['start_date'],
      /2999-01-01, which is in the future/,
    ],
    [
      'a wrong service',
      { service: 'ACMEE' },
      ['service_code'],
      /had the headers X-ACMEE-DATE and X-ACMEE-AUTHENTICATION, from the setting service/,
    ],
  ])('fails with %s, and names the setting', async (_name, changes, errors, message) => {
    const { service, target } = await startService(plainInterpretation);
    try {
      const found = await levels(optionsFor(target, changes));
      expect(found).toMatchObject({ errors, messages: expect.stringMatching(message) });
      expect(found.messages).not.toContain('brand-reports check');
    } finally {
      await service.close();
    }
  });

  it.each([
    ['times without a zone', (at: number) => ({ Order_Time: new Date(at).toISOString().slice(0, 19) })],
    ['times in fields with unknown names', (at: number) => ({ seen: at / 1000 })],
  ])('warns that %s do not prove the time zone', async (_name, fields) => {
    const { service, target } = await startService(plainInterpretation, ZONE, fields);
    try {
      const found = await levels(optionsFor(target, { timeZone: 'Europe/Berlin' }));
      expect(found).toMatchObject({ errors: [], warnings: expect.arrayContaining(['time_zone']) });
    } finally {
      await service.close();
    }
  });

  it('names the first day with records, from which a report may begin', async () => {
    const { service, target } = await startService(plainInterpretation);
    try {
      const { errors, messages } = await levels(optionsFor(target, { startDate: '2026-01-01' }));
      expect(errors).toEqual([]);
      expect(messages.match(/set "startDate": "2026-10-28" in reports/g)).toHaveLength(4);
    } finally {
      await service.close();
    }
  });

  it('fails within two seconds if the host does not answer, and marks no finding as ok', async () => {
    const { service, target } = await startService(plainInterpretation);
    await service.close();
    const startMs = performance.now();
    const { errors, oks } = await levels(optionsFor(target));
    expect(performance.now() - startMs).toBeLessThan(2500);
    expect({ errors, oks }).toEqual({ errors: ['network'], oks: ['credentials'] });
  });
});
