import { describe, expect, it } from '@jest/globals';
import { fixedCredentials } from '../../shared/adapters/credentials.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { daysFrom, endOfDay, startOfDay } from '../../shared/base/days.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import { findingsOf, runCheck } from '../../shared/check/check.ts';
import { endDateOf, sampleBrand } from '../../shared/check/sample.ts';
import type { SendRequest } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { httpDate } from '../../shared/service/server-clock.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import type { LivingBrand } from '../simulation/brand.ts';
import { Random } from '../simulation/random.ts';
import {
  ADDRESS,
  type Interpretation,
  SERVICE,
  httpResponse,
  interpretationAt,
  plainInterpretation,
  settingsFor,
  simulatedService,
} from '../simulation/service.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

const ZONE = 'America/New_York';
const NOW = '2026-11-04T15:20:00Z';
const account = { bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' };

/** The time of the order in transactions, which the interface allows. */
const withOrderTime = (at: number): JsonObject => ({ Order_Time: at / 1000 });

/** A brand with more than a page in each day before NOW; two days are before the start of the settings. */
function brandWith(timesOf: (at: number) => JsonObject): LivingBrand {
  const days = daysFrom('2026-10-28', '2026-11-05');
  const instantsOf = (day: string) => {
    const startMs = startOfDay(day, ZONE);
    const lastMs = Math.min(endOfDay(day, ZONE), Date.parse(NOW)) - 1000;
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
    ...{ timeZone: ZONE, days },
    held: {
      clicks: held((id, at) => ({ id: String(id), pbtid: String(id), created_time: httpDate(at) })),
      orders: held((transid) => ({ transid, amount: 1, status: 'new' })),
      transactions: held((id, at) => ({ order_id: `o${id}`, sku: 'a', commission: 1, ...timesOf(at) })),
      attribution: held((id, _at, day) => ({ date: day.replaceAll('-', ''), asin: `B${id}`, click: 1 })),
    },
  };
}

/** The options to measure a brand of a strict service, with settings that nobody has corrected. */
function optionsFor(interpretation: Interpretation, changes = {}, timesOf = withOrderTime) {
  const brand = brandWith(timesOf);
  const simulated = simulatedService({ brand, account, interpretation, nowMs: Date.now });
  const acme = { service: SERVICE, timeZone: ZONE, startDate: '2026-10-30', baseUrl: ADDRESS, ...changes };
  const send: SendRequest = async (request, { onHeaders }) => {
    const response = httpResponse(simulated.answer(request), { dateMs: Date.now() });
    onHeaders(response.headers);
    return response;
  };
  return {
    lake: { store: memoryStore(), runs: blindRegistry },
    clock: systemClock(new Date(NOW)),
    log: () => undefined,
    random: () => 0.5,
    newId: () => 'a-run',
    settings: parseSettings({ brands: { acme }, requestsPerSecond: 1000 }, reports),
    reports,
    credentials: fixedCredentials(JSON.stringify({ acme: account }), 'the test'),
    send,
    scope: {},
  };
}

async function levels(options: Parameters<typeof runCheck>[0]) {
  const { brands } = await runCheck(options);
  const findings = brands.flatMap(findingsOf);
  const codes = (wanted: string) => [
    ...new Set(findings.flatMap(({ level, code }) => (level === wanted ? [code] : []))),
  ];
  const messages = findings.map(({ message }) => message).join('\n');
  return { errors: codes('error'), oks: codes('ok'), warnings: codes('warning'), messages };
}

describe('the measured settings fit each way to implement the interface, and then the connection test passes', () => {
  // Together they have all values of the measured points.
  it.each([1, 2, 3, 4, 5, 6])('with any service: seed %i', async (seed) => {
    // A few records prove no time zone.
    const interpretation = { ...interpretationAt(new Random(seed)), pageCap: 10 };
    const measured = await sampleBrand(optionsFor(interpretation, { timeZone: 'Asia/Tokyo' }), 'acme');
    expect(measured.reports.flatMap(({ error }) => error?.message ?? [])).toEqual([]);
    const { endTime, ...expected } = settingsFor(interpretation);
    const numbered = measured.reports.find(({ shown }) => shown.firstPage !== undefined)?.shown;
    const { timestampUnit, firstPage } = numbered ?? {};
    const { method, zone } = measured;
    expect({ method, timestampUnit, firstPage, endDate: endDateOf(measured) }).toEqual(expected);
    expect(numbered?.endTime).toBe(endTime);
    expect(zone).toMatchObject({ isProven: true, field: 'Order_Time' });
    expect(zone?.fits).toContain(ZONE);
    const { errors } = await levels(optionsFor(interpretation, settingsFor(interpretation)));
    expect(errors).toEqual([]);
  });
});

describe('the connection test', () => {
  it.each<[object, string, RegExp]>([
    [{ timeZone: 'Europe/Berlin' }, 'time_zone', /York is proven: set "timeZone": "America\/New_York"/],
    [{ timestampUnit: 'milliseconds' }, 'timestamp_unit', /set "timestampUnit": "seconds"/],
    [{ firstPage: 0 }, 'first_page_number', /set "firstPage": 1/],
    [{ method: 'GET' }, 'method', /setting method \(GET\): set "method": "POST"/],
    [{ startDate: '2999-01-01' }, 'start_date', /2999-01-01\) is in the future/],
    [{ service: 'ACMEE' }, 'service_code', /header X-ACMEE-DATE, from the setting service/],
  ])('fails with %j, and names the setting', async (changes, error, message) => {
    const found = await levels(optionsFor(plainInterpretation, changes));
    expect(found).toMatchObject({ errors: [error], messages: expect.stringMatching(message) });
    expect(found.messages).not.toContain('brand-reports check');
  });

  it.each([
    ['times without a zone', (at: number) => ({ Order_Time: new Date(at).toISOString().slice(0, 19) })],
    ['times in fields with unknown names', (at: number) => ({ seen: at / 1000 })],
  ])(
    'warns that %s do not prove the time zone, and names the first day with records',
    async (_name, fields) => {
      const changes = { timeZone: 'Europe/Berlin', startDate: '2026-01-01' };
      const found = await levels(optionsFor(plainInterpretation, changes, fields));
      expect(found).toMatchObject({ errors: [], warnings: expect.arrayContaining(['time_zone']) });
      expect(found.messages.match(/set "startDate": "2026-10-28" in reports/g)).toHaveLength(4);
    },
  );

  it('fails within two seconds if the host does not answer, and marks no finding as ok', async () => {
    const startMs = performance.now();
    const { errors, oks } = await levels({ ...optionsFor(plainInterpretation), send: sendRequest });
    expect(performance.now() - startMs).toBeLessThan(2500);
    expect({ errors, oks }).toEqual({ errors: ['network'], oks: [] });
  });
});
