import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { handler as calendar } from '../../functions/calendar.lambda.ts';
import { openS3Store } from '../../shared/adapters/aws/s3-store.ts';
import { addDays, addMonths, dayOf, monthOf } from '../../shared/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { startSnsServer } from '../fakes/sns-server.ts';
import { failure } from '../status/made-statuses.ts';
import { readDay, storeDays } from '../status/stored-ledgers.ts';

const TODAY = dayOf(Date.now(), 'UTC');
const YESTERDAY = addDays(TODAY, -1);
const LONG_AGO = `${addMonths(monthOf(TODAY), -5)}-15`;
const HOSTILE = '<script>alert(1)</script>';

const input = {
  brands: {
    acme: {
      baseUrl: 'https://service.example/api/brand',
      service: 'ACME',
      timeZone: 'UTC',
      startDate: LONG_AGO,
      secretName: 'brand-reports/acme',
    },
  },
};
const settings = parseSettings(input, reports);
const outcomeSchema = z.object({ problems: z.array(z.object({ report: z.string(), why: z.string() })) });
const environment = process.env;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let sns: Awaited<ReturnType<typeof startSnsServer>>;

beforeAll(async () => {
  s3 = await startS3Server({ pageSize: 1000 });
  sns = await startSnsServer();
  const store = openS3Store({ client: s3.client, bucket: s3.bucket, prefix: 'prod' });
  const read = readDay(settings, 'order_list');
  await storeDays(
    store,
    { report: 'order_list', brand: 'acme' },
    { [LONG_AGO]: read, [YESTERDAY]: { failure: { ...failure, message: `no list: ${HOSTILE}` } } },
  );
  await storeDays(store, { report: 'order_list', brand: HOSTILE.replace('/', '') }, { [YESTERDAY]: read });
});

afterAll(() => Promise.all([s3.close(), sns.close()]));

beforeEach(() => {
  process.env = {
    ...environment,
    LAKE_URL: 's3://lake/prod',
    FUNCTION_PREFIX: 'BrandReports',
    TOPIC_ARN: 'arn:aws:sns:us-east-1:123456789012:alarms',
    PAGE_URL: 'https://page.example',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL_S3: s3.url,
    AWS_ENDPOINT_URL_SNS: sns.url,
  };
  Object.assign(globalThis, { BRAND_REPORTS_SETTINGS: settings });
  s3.requests.length = 0;
});

afterEach(() => {
  process.env = environment;
  jest.restoreAllMocks();
});

/** What the widget shows. */
const handler = async (event: unknown) => String(await calendar(event));

const EVENT = { widgetContext: { theme: 'light', width: 1200, height: 400, params: {} } };

describe('the coverage widget', () => {
  it('draws the calendar of all brands, with the test event that fixes a failed day', async () => {
    const answer = await handler(EVENT);
    expect(answer).toMatch(/^<div class="coverage cwdb-no-default-styles">/);
    expect(answer).toMatch(/<b>orders<\/b>: 1 day failed/);
    expect(answer).toContain('#/functions/BrandReports-order_list?tab=testing');
    expect(answer).toContain('aria-label="orders in ');
  });

  it('shows what comes from the lake as text', async () => {
    const answer = await handler(EVENT);
    expect(answer).not.toContain('<script');
    expect(answer).toContain('no list: &lt;script&gt;alert(1)&lt;/script&gt;');
    expect(answer).toContain('<h2>&lt;script&gt;alert(1)&lt;script&gt;');
  });

  it('reads the ledgers of the months that it shows', async () => {
    await handler(EVENT);
    const read = s3.requests.filter((request) => /\/\d{4}-\d\d\.json$/.test(request));
    expect(read.length).toBeGreaterThan(0);
    expect(read.filter((request) => request.includes(monthOf(LONG_AGO)))).toEqual([]);
    expect(await handler({ ...EVENT, months: 6 })).toContain(`orders ${LONG_AGO}`);
  });

  it('names earlier months with missing or overdue days', async () => {
    expect(await handler({ ...EVENT, brand: 'acme' })).toMatch(
      new RegExp(
        `Earlier months, not shown here, with missing or overdue days: .*orders: 3 months from ${monthOf(LONG_AGO)}`,
      ),
    );
  });

  it('shows the brand that the widget is for', async () => {
    expect((await handler({ ...EVENT, brand: 'acme' })).match(/<h2>/g)).toHaveLength(1);
    expect((await handler(EVENT)).match(/<h2>/g)).toHaveLength(2);
  });

  it('takes on the theme of the dashboard', async () => {
    const [light, dark] = await Promise.all([handler(EVENT), handler({ widgetContext: { theme: 'dark' } })]);
    expect([light.includes('color-scheme:dark'), dark.includes('color-scheme:dark')]).toEqual([false, true]);
  });

  it('describes its parameters in Markdown', async () => {
    const answer = await handler({ describe: true });
    expect(answer).toMatch(/^\n## .*\*\*brand\*\*.*\*\*months\*\*/s);
    expect(s3.requests).toEqual([]);
  });

  it.each<[string, unknown, NodeJS.ProcessEnv, RegExp]>([
    ['an unknown brand', { brand: '<b>' }, {}, /brand is &quot;&lt;b&gt;&quot;; allowed: acme/],
    [
      'months that are not a number',
      { months: '6' },
      {},
      /months is &quot;6&quot;; allowed: a whole number from 1/,
    ],
    ['no event', null, {}, /the top level is null/],
    ['no lake', {}, { LAKE_URL: '' }, /LAKE_URL is not set/],
    ['a lake that is not an address', {}, { LAKE_URL: 'nowhere' }, /&quot;nowhere&quot; is not a lake/],
    ['an unforeseen error', {}, { AWS_ENDPOINT_URL_S3: 'nowhere' }, /\(bug, aws_unexpected\)/],
    ['a lake that does not exist', {}, { LAKE_URL: 's3://nowhere' }, /Create the bucket nowhere/],
  ])('says what is wrong instead: %s', async (_name, event, changes, message) => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => {});
    Object.assign(process.env, changes);
    const answer = await handler(event);
    expect(answer).toMatch(/^<p><b>The calendar cannot be drawn<\/b>/);
    expect(answer).toMatch(message);
    expect(answer).not.toMatch(/\n\s+at |node_modules/);
    expect(logged).toHaveBeenCalledTimes(1);
  });
});

describe('the watcher', () => {
  it('publishes what is wrong, and the metric as one line of its own', async () => {
    const info = jest.spyOn(console, 'info').mockImplementation(() => {});
    const stdout = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    const { problems } = z.parse(outcomeSchema, await calendar({ watch: true }));
    const printed = stdout.mock.calls.map(([text]) => String(text));
    stdout.mockRestore();
    expect(problems).toContainEqual(
      expect.objectContaining({ report: 'order_list', why: expect.stringContaining('no list') }),
    );
    expect(printed.map((line): unknown => JSON.parse(line))).toEqual([
      {
        _aws: {
          Timestamp: expect.any(Number),
          CloudWatchMetrics: [
            {
              Namespace: 'BrandReports',
              Dimensions: [[]],
              Metrics: [{ Name: 'Problems', Unit: 'Count' }],
            },
          ],
        },
        Problems: problems.length,
      },
    ]);
    expect(info).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'look_ended', problems: problems.length }),
    );
    expect(sns.published).toEqual([
      {
        topic: 'arn:aws:sns:us-east-1:123456789012:alarms',
        subject: expect.stringMatching(/^BrandReports: problems: \d+ new/),
        message: expect.stringContaining('https://page.example'),
      },
    ]);
  });

  it('writes a page that a browser shows', () => {
    const page = s3.objects.get('prod/status/coverage.html');
    expect(page?.contentType).toBe('text/html; charset=utf-8');
    expect(page?.body.toString()).toContain('#/functions/BrandReports-order_list?tab=testing');
  });

  it('fails where it cannot look, so that the failure is not taken for an answer', async () => {
    process.env.LAKE_URL = 's3://nowhere';
    await expect(calendar({ watch: true })).rejects.toThrow('Create the bucket nowhere');
  });

  it('names the permission where it may not publish', async () => {
    sns.faults.deny = true;
    s3.objects.delete('prod/status/watch.json');
    jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    await expect(calendar({ watch: true })).rejects.toThrow('Grant sns:Publish');
  });
});
