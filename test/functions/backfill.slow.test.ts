import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { recordsOfDay } from '../../sample/brand.ts';
import { type SampleService, startSampleService } from '../../sample/server.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { shortened } from '../../shared/operations/backfill-months.ts';
import { addDays, dayOf, daysFrom, startOfDay } from '../../shared/days.ts';
import { isJsonObject, parseJson } from '../../shared/json.ts';
import { claimDay, parseLedger, releaseDay } from '../../shared/lake/documents/ledger.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { type Settings, parseSettings } from '../../shared/settings/settings.ts';
import { type AwsDoubles, VARIABLES, WITH_EVENTS, startAwsDoubles } from './aws-doubles.ts';
import { putSettings } from './settings-in-lake.ts';
import { backfillTemplate } from '../infra/backfill-stack.ts';
import { type Doubles, type Ended, execute } from '../infra/execute.ts';

const ZONE = 'America/New_York';
const MINUTES_15 = 900_000;
/** A name of the maximum length. */
const OLD_BRAND = 'a'.repeat(41);
/** The newest month first, with days before and after it that a backfill may read. */
const FIRST = `${addDays(dayOf(Date.now(), ZONE), -6).slice(0, 7)}-01`;
const RANGE = { from: addDays(FIRST, -2), to: addDays(FIRST, 2) };
const NEWER = { from: FIRST, to: RANGE.to };
const OLDER = { from: RANGE.from, to: addDays(FIRST, -1) };

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
  const acme = isJsonObject(brands) && isJsonObject(brands.acme) ? brands.acme : {};
  const named = {
    acme: { ...acme, startDate: addDays(FIRST, -20) },
    [OLD_BRAND]: { ...acme, startDate: '2000-01-01' },
  };
  return { ...rest, brands: named };
}

function fillSecrets(): void {
  for (const [brand, credentials] of Object.entries(sampleCredentials(sample)))
    secrets.secrets.set(`brand-reports/${brand}`, JSON.stringify(credentials));
}

/** An execution whose tasks call the handler itself. */
function backfill(
  input: object,
  options: {
    remainingMs?: () => number;
    before?: (payload: unknown) => Promise<void>;
    running?: Doubles['running'];
  } = {},
): Promise<Ended> {
  const { remainingMs = () => MINUTES_15, before, running } = options;
  return execute(
    template,
    { brand: 'acme', ...input },
    {
      ...(running && { running }),
      async invoke(payload) {
        await before?.(payload);
        return handler(payload, { getRemainingTimeInMillis: remainingMs });
      },
    },
  );
}

function rowsOf(
  report: 'order_list' | 'clicks_list' | 'clicks_detail',
  { from, to }: { from: string; to: string },
): number {
  const { acme } = sample.brands;
  if (!acme) throw new Error('the sample has no brand acme');
  return daysFrom(from, to).reduce((sum, day) => sum + recordsOfDay(acme, report, day).length, 0);
}

function complete(report: Parameters<typeof rowsOf>[0], range: { from: string; to: string }) {
  return { ...range, status: 'complete', rows: rowsOf(report, range), left: 0 };
}

/** Removes the list from the responses for orders of the day. @returns a function that removes the fault */
function failOrdersOf(day: string, times = Number.POSITIVE_INFINITY): () => void {
  const startsAt = startOfDay(day, ZONE) / 1000;
  return sample.addFault({
    on: {
      action: 'report/order_list',
      when: ({ fields }) => Number(fields.start_time) === startsAt && Number(fields.end_time) > startsAt,
      nth: 1,
      times,
    },
    fault: { kind: 'missing_list' },
  });
}

function daysPublished(table: string): string[] {
  return [...(glue.tables.get(table)?.partitions.keys() ?? [])].map((path) => path.slice(-10)).sort();
}

describe('a backfill', () => {
  it('reads a range of two months, and nothing else', async () => {
    const { output } = await backfill({ report: 'order_list', ...RANGE });
    expect(output).toEqual([complete('order_list', NEWER), complete('order_list', OLDER)]);
    expect(rowsOf('order_list', RANGE)).toBeGreaterThan(0);
    expect(daysPublished('orders')).toEqual(daysFrom(RANGE.from, RANGE.to));
  });

  it('resumes a month that a run did not finish in time', async () => {
    const remaining = [MINUTES_15, 1];
    const { output, entered } = await backfill(
      { report: 'order_list', ...RANGE },
      { remainingMs: () => remaining.shift() ?? MINUTES_15 },
    );
    expect(output).toEqual([complete('order_list', NEWER), complete('order_list', OLDER)]);
    expect(entered.filter(({ name }) => name === 'Wait')).toHaveLength(1);
  });

  it('fails with the incomplete months, and lists the complete months', async () => {
    const removeFault = failOrdersOf(FIRST);
    const { error, entered } = await backfill({ report: 'order_list', ...RANGE });
    removeFault();
    expect(error).toEqual({
      name: 'BackfillIncomplete',
      cause: expect.stringMatching(
        new RegExp(`^1 of 2 months .*\n${FIRST}\\.\\.${NEWER.to} failed: .*list[^\n]*$`),
      ),
    });
    expect(entered.at(-1)?.input).toMatchObject({
      months: [{ ...NEWER, status: 'failed', left: 1 }, complete('order_list', OLDER)],
    });
    expect(daysPublished('orders')).toEqual(daysFrom(RANGE.from, RANGE.to).filter((day) => day !== FIRST));
  });

  it('waits for days that another run holds', async () => {
    const held = claimElsewhere(FIRST);
    const payloads: unknown[] = [];
    const { output, entered } = await backfill(
      { report: 'order_list', from: FIRST, to: FIRST },
      {
        async before(payload) {
          payloads.push(payload);
          if (payloads.length === 3) held.release();
        },
      },
    );
    expect(entered.filter(({ name }) => name === 'Wait')).toEqual([
      { name: 'Wait', input: expect.objectContaining({ waitSeconds: 60 }) },
    ]);
    expect(output).toEqual([complete('order_list', { from: FIRST, to: FIRST })]);
  });

  it('reports that click details need their clicks, and reads them after the clicks were read', async () => {
    const details = { report: 'clicks_detail', from: FIRST, to: addDays(FIRST, 1) };
    const { error } = await backfill(details);
    expect(error?.cause).toMatch(
      /clicks_list has not been read yet for 2 days.*start a backfill of clicks_list/,
    );
    await backfill({ ...details, report: 'clicks_list' });
    const { output } = await backfill(details);
    expect(output).toEqual([complete('clicks_detail', { from: details.from, to: details.to })]);
  });

  it.each<[string, object, Doubles['running'] & object, RegExp]>([
    ['of an unknown report', { report: 'orders' }, {}, /report is "orders"; allowed: clicks_list, /],
    ['of the console’s suggestion', { Comment: 'Insert your JSON here' }, {}, /Comment is unknown/],
    [
      'another backfill of the brand is running',
      { report: 'order_list' },
      {
        mine: { brand: 'acme' },
        other: { brand: OLD_BRAND },
        first: { brand: 'acme', report: 'clicks_list' },
      },
      /"first" of acme is running.*only one backfill of a brand may run at a time/,
    ],
  ])('is refused without a request to the service: %s', async (_name, input, running, cause) => {
    const { error } = await backfill(input, { running });
    expect(error).toEqual({ name: 'BackfillRefused', cause: expect.stringMatching(cause) });
    expect(sample.requests).toHaveLength(0);
  });

  it('runs beside the backfill of another brand', async () => {
    const { output } = await backfill(
      { report: 'order_list', from: FIRST, to: FIRST },
      { running: { mine: { brand: 'acme' }, first: { brand: OLD_BRAND } } },
    );
    expect(output).toEqual([complete('order_list', { from: FIRST, to: FIRST })]);
  });

  it('of 27 years fits into the state of an execution, even if every month fails', async () => {
    const why = shortened('界'.repeat(1_000));
    const { error, entered } = await execute(
      template,
      { report: 'amazon_attribution_report', brand: OLD_BRAND },
      {
        async invoke(payload) {
          const month = z.safeParse(
            z.object({ read: z.object({ from: z.string(), to: z.string() }) }),
            payload,
          );
          if (!month.success) return handler(payload, { getRemainingTimeInMillis: () => MINUTES_15 });
          const { from, to } = month.data.read;
          return {
            next: 'end',
            outcome: { from, to, status: 'incomplete', rows: 123_456_789, left: 31, why },
          };
        },
      },
    );
    expect(entered.filter(({ name }) => name === 'ReadMonth').length).toBeGreaterThan(320);
    expect(error?.cause).toMatch(/^\d+ of \d+ months are not complete/);
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
