import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { MAX_STALLED_RUNS } from '../../shared/operations/backfill.ts';
import { addDays, dayOf, daysFrom, startOfDay } from '../../shared/days.ts';
import { isJsonObject, parseJson } from '../../shared/json.ts';
import { claimDay, parseLedger, releaseDay } from '../../shared/lake/documents/ledger.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { type AwsDoubles, VARIABLES, WITH_EVENTS, startAwsDoubles } from './aws-doubles.ts';
import { putSettings } from './settings-in-lake.ts';
import { backfillTemplate } from '../infra/backfill-stack.ts';
import { type Ended, execute } from '../infra/execute.ts';

const ZONE = 'America/New_York';
const MINUTES_15 = 900_000;
/** The first day of the newest month that has days after it which are closed. */
const FIRST = `${addDays(dayOf(Date.now(), ZONE), -6).slice(0, 7)}-01`;
const START = addDays(FIRST, -20);
const LAST = addDays(FIRST, 3);
/** Two days of the month before, and three of this month. */
const RANGE = { from: addDays(FIRST, -2), to: addDays(FIRST, 2) };

let requestsInRun = Number.POSITIVE_INFINITY;
let sample: SampleService;
let doubles: AwsDoubles;
let s3: AwsDoubles['s3'];
let glue: AwsDoubles['glue'];
let secrets: AwsDoubles['secrets'];
let handler: (event: unknown, context: { getRemainingTimeInMillis: () => number }) => Promise<unknown>;
let template: ReturnType<typeof backfillTemplate>;
let deployed: Settings;
const printed: string[] = [];

beforeAll(async () => {
  sample = await startSampleService();
  doubles = await startAwsDoubles();
  ({ s3, glue, secrets } = doubles);
  const settings = settingsOf(sample);
  deployed = parseSettings(settings, reports);
  putSettings(s3.objects, deployed);
  Object.assign(process.env, { ...VARIABLES, ...WITH_EVENTS, ...doubles.endpoints() });
  for (const level of ['info', 'warn', 'error', 'debug'] as const)
    jest.spyOn(console, level).mockImplementation((entry) => void printed.push(JSON.stringify(entry)));
  jest.unstable_mockModule('../../functions/time-limits.ts', () => ({ timeLimits: limitByRequests }));
  ({ handler } = await import('../../functions/backfill.lambda.ts'));
  template = backfillTemplate(settings);
  fillSecrets();
});

afterEach(() => {
  s3.objects.clear();
  putSettings(s3.objects, deployed);
  glue.tables.clear();
  sample.requests.length = 0;
  fillSecrets();
});

afterAll(async () => {
  jest.restoreAllMocks();
  await Promise.all([sample.close(), doubles.closeDoubles()]);
});

function settingsOf(service: SampleService): object {
  const { brands, ...rest } = sampleSettings(service);
  const { acme, globex } = isJsonObject(brands) ? brands : {};
  const since = (brand: unknown) => ({ ...(isJsonObject(brand) && brand), startDate: START });
  // One after the other, so that a short run reads some days to their end.
  return { ...rest, pagesInFlight: 1, brands: { acme: since(acme), globex: since(globex) } };
}

function fillSecrets(): void {
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    secrets.secrets.set(`brand-reports/${brand}`, JSON.stringify(credentials));
}

/** The time of a run is up after so many requests, so that the speed of the machine does not matter. */
function limitByRequests() {
  const begun = sample.requests.length;
  const deadline = {
    get softMs() {
      return sample.requests.length - begun >= requestsInRun ? 0 : Number.POSITIVE_INFINITY;
    },
    hardMs: Number.POSITIVE_INFINITY,
  };
  return { deadline, signal: new AbortController().signal };
}

/** An execution whose tasks call the handler itself. */
function backfill(input: object, before?: (payload: unknown) => void): Promise<Ended> {
  return execute(template, input, {
    async invoke(payload) {
      before?.(payload);
      return handler(payload, { getRemainingTimeInMillis: () => MINUTES_15 });
    },
  });
}

/** Removes the list from the responses for orders of the day. @returns a function that removes the fault */
function failOrdersOf(day: string): () => void {
  const startsAt = startOfDay(day, ZONE) / 1000;
  return sample.addFault({
    on: {
      action: 'report/order_list',
      when: ({ fields }) => Number(fields.start_time) === startsAt && Number(fields.end_time) > startsAt,
      nth: 1,
      times: Number.POSITIVE_INFINITY,
    },
    fault: { kind: 'missing_list' },
  });
}

function daysPublished(table: string, brand: string): string[] {
  const paths = [...(glue.tables.get(table)?.partitions.keys() ?? [])];
  return paths.flatMap((path) => (path.includes(brand) ? [path.slice(-10)] : [])).sort();
}

const ordersRequested = () => sample.requests.filter(({ action }) => action === 'report/order_list').length;

const runsIn = ({ entered }: Ended, name: string) => entered.filter((state) => state.name === name).length;

describe('a backfill', () => {
  it('reads the range of all reports of two brands, and nothing else', async () => {
    const { output } = await backfill(RANGE);
    expect(output).toEqual([
      { brand: 'acme', status: 'complete' },
      { brand: 'globex', status: 'complete' },
    ]);
    for (const brand of ['acme', 'globex'])
      for (const table of ['orders', 'clicks'])
        expect(daysPublished(table, brand)).toEqual(daysFrom(RANGE.from, RANGE.to));
  });

  it('completes over several short runs, and reads every day', async () => {
    requestsInRun = 5;
    const ended = await backfill({ brands: ['acme'], reports: ['order_list'], from: FIRST, to: LAST });
    requestsInRun = Number.POSITIVE_INFINITY;
    expect(ended.error).toBeUndefined();
    expect(ended.output).toEqual([{ brand: 'acme', status: 'complete' }]);
    expect(runsIn(ended, 'ReadBrand')).toBeGreaterThan(2);
    expect(daysPublished('orders', 'acme')).toEqual(daysFrom(FIRST, LAST));
  });

  it('ends with what is left if a day fails in every run, and reads the other days once', async () => {
    const removeFault = failOrdersOf(FIRST);
    const ended = await backfill({ ...RANGE, reports: ['order_list', 'clicks_list'] });
    removeFault();
    expect(ended.error).toEqual({
      name: 'BackfillIncomplete',
      cause: expect.stringMatching(
        new RegExp(`^1 of 2 brands .*\nacme: order_list failed, 1 left: ${FIRST}\\. .*list[^\n]*$`),
      ),
    });
    expect(runsIn(ended, 'Wait')).toBe(MAX_STALLED_RUNS - 1);
    expect(daysPublished('orders', 'acme')).toEqual(
      daysFrom(RANGE.from, RANGE.to).filter((day) => day !== FIRST),
    );
    const before = ordersRequested();
    const { output } = await backfill({
      ...{ brands: ['acme'], reports: ['order_list', 'clicks_list'], ...RANGE },
    });
    expect(output).toEqual([{ brand: 'acme', status: 'complete' }]);
    // The pages of one day, with a margin.
    expect(ordersRequested() - before).toBeLessThan(before / 5);
  });

  it('ends with what is left, without reading days again, if a report cannot be planned', async () => {
    s3.objects.set(ledgerKey('clicks_list', 'acme', FIRST.slice(0, 7)), {
      ...{ body: Buffer.from('{'), etag: '"damaged"', modifiedAt: new Date() },
    });
    const requested: number[] = [];
    const { error } = await backfill(
      { brands: ['acme'], reports: ['order_list', 'clicks_list'], from: FIRST, to: LAST },
      () => void requested.push(ordersRequested()),
    );
    expect(error?.cause).toMatch(/\nacme: clicks_list failed.*ledger/);
    // The steps are the list of brands and the runs, of which the second may check orders once more.
    expect(new Set(requested.slice(3))).toEqual(new Set([ordersRequested()]));
  });

  it('waits for days that another run holds', async () => {
    const held = claimElsewhere(FIRST);
    let runs = 0;
    const ended = await backfill(
      { brands: ['acme'], reports: ['order_list'], from: FIRST, to: FIRST },
      () => {
        runs += 1;
        if (runs === 3) held.release();
      },
    );
    expect(runsIn(ended, 'Wait')).toBe(1);
    expect(ended.output).toEqual([{ brand: 'acme', status: 'complete' }]);
  });

  it('reads click details after their clicks', async () => {
    const reportsOfClicks = ['clicks_detail', 'clicks_list'];
    const { output } = await backfill({ brands: ['acme'], reports: reportsOfClicks, from: FIRST, to: LAST });
    expect(output).toEqual([{ brand: 'acme', status: 'complete' }]);
    expect(daysPublished('click_details', 'acme')).toEqual(daysFrom(FIRST, LAST));
  });

  it('is refused without a request to the service if the input has a fault', async () => {
    const { error } = await backfill({ brands: ['acme', 'acne'] });
    expect(error).toEqual({
      name: 'BackfillRefused',
      cause: expect.stringMatching(/brands\.1 is "acne"; allowed: acme, globex/),
    });
    expect(sample.requests).toHaveLength(0);
  });
});

/** The claim of another run on a day of orders, renewed just now. */
function claimElsewhere(day: string): { release: () => void } {
  const key = ledgerKey('order_list', 'acme', day.slice(0, 7));
  const parse = parseLedger(key, { report: 'order_list', brand: 'acme', month: day.slice(0, 7) });
  const write = (ledger: object) => {
    s3.objects.set(key, {
      body: Buffer.from(JSON.stringify(ledger)),
      etag: `"${s3.requests.length}"`,
      modifiedAt: new Date(),
    });
  };
  const claim = {
    attempt: 'theirs',
    runId: 'them',
    at: new Date(Date.now() + 60_000).toISOString(),
    restarts: 0,
  };
  write(claimDay(parse(undefined), day, undefined, claim));
  return {
    release() {
      write(releaseDay(parse(parseJson(s3.objects.get(key)?.body.toString() ?? '')), day, 'them'));
    },
  };
}
