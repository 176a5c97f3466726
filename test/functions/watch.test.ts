import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { handler } from '../../functions/watch.lambda.ts';
import { openS3Store } from '../../shared/adapters/aws/s3-store.ts';
import { addDays, addMonths, dayOf, monthOf } from '../../shared/base/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { DEFAULT_BUS } from '../fakes/events-server.ts';
import { SETTINGS_FILE, settingsText } from '../../shared/settings/settings-file.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { startAwsDoubles } from './aws-doubles.ts';
import { failure } from '../watch/made-statuses.ts';
import { readDay, storeDays } from '../watch/stored-ledgers.ts';

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
const watch = (event: unknown = {}, leftMs = 300_000) =>
  handler(event, { getRemainingTimeInMillis: () => leftMs });
let task: Awaited<ReturnType<typeof temporaryFolder>>;
let callsOfGlue = 0;
let doubles: Awaited<ReturnType<typeof startAwsDoubles>>;

beforeAll(async () => {
  task = await temporaryFolder();
  writeFileSync(join(task.path, SETTINGS_FILE), settingsText(settings));
  doubles = await startAwsDoubles((_role, action) => {
    callsOfGlue += action.startsWith('glue:') ? 1 : 0;
    return true;
  });
  const { s3 } = doubles;
  const store = openS3Store({ client: s3.client, bucket: s3.bucket, prefix: 'prod' });
  const read = readDay(settings, 'order_list');
  await storeDays(
    store,
    { report: 'order_list', brand: 'acme' },
    { [LONG_AGO]: read, [YESTERDAY]: { failure: { ...failure, message: `no list: ${HOSTILE}` } } },
  );
  await storeDays(store, { report: 'order_list', brand: HOSTILE.replace('/', '') }, { [YESTERDAY]: read });
});

afterAll(() => Promise.all([doubles.closeDoubles(), task.remove()]));

beforeEach(() => {
  process.env = {
    ...environment,
    ...doubles.endpoints(),
    LAKE_URL: 's3://lake/prod',
    LAKE_OWNER: '123456789012',
    LAMBDA_TASK_ROOT: task.path,
    DATABASE: 'brand_reports',
    PROGRAM_VERSION: '1.0.0',
    STACK_ID: 'stack',
    FUNCTION_PREFIX: 'BrandReports',
    TOPIC_ARN: 'arn:aws:sns:us-east-1:123456789012:alarms',
    EVENT_BUS_ARN: DEFAULT_BUS,
  };
});

afterEach(() => {
  process.env = environment;
  jest.restoreAllMocks();
});

describe('the watcher', () => {
  it('publishes problems', async () => {
    const info = jest.spyOn(console, 'info').mockImplementation(() => {});
    const { problems } = z.parse(outcomeSchema, await watch());
    expect(problems).toContainEqual(
      expect.objectContaining({ report: 'order_list', why: expect.stringContaining('no list') }),
    );
    expect(info).toHaveBeenCalledWith(
      expect.objectContaining({ event: 'watch_ended', problems: problems.length }),
    );
    expect(doubles.sns.published).toEqual([
      {
        topic: 'arn:aws:sns:us-east-1:123456789012:alarms',
        subject: expect.stringMatching(/^BrandReports: problems: \d+ new/),
        message: expect.stringContaining('/s3/object/lake?region=us-east-1&prefix=status/coverage.html'),
      },
    ]);
    expect(doubles.events.received).toContainEqual({
      ...{ bus: DEFAULT_BUS, type: 'Problem Opened', resources: ['arn:aws:s3:::lake/prod'] },
      detail: expect.objectContaining({ report: 'order_list', why: expect.stringContaining('no list') }),
    });
  });

  it('writes a page that a browser shows', () => {
    const page = doubles.s3.objects.get('prod/status/coverage.html');
    expect(page?.contentType).toBe('text/html; charset=utf-8');
    expect(page?.body.toString()).toContain('prefix=status/coverage/acme.html');
    const own = doubles.s3.objects.get('prod/status/coverage/acme.html');
    expect(own?.body.toString()).toContain('#/functions/BrandReports-sync?tab=testing');
  });

  it('fails if it cannot read the lake, instead of reporting no problems', async () => {
    process.env.LAKE_URL = 's3://nowhere';
    await expect(watch()).rejects.toThrow('Create the bucket nowhere');
  });

  it('fails in a lake of another format, without a message or a change', async () => {
    const held = new Map(doubles.s3.objects);
    const published = doubles.sns.published.length;
    for (const [key, stored] of held) {
      const body = Buffer.from(stored.body.toString().replace(/^\{("version":2,)?/, '{"version":1,'));
      if (key.endsWith('.json')) doubles.s3.objects.set(key, { ...stored, body });
    }
    const before = new Map(doubles.s3.objects);
    await expect(watch()).rejects.toThrow('.json has format 1;');
    expect(doubles.s3.objects).toEqual(before);
    expect(doubles.sns.published.length).toBe(published);
    for (const [key, stored] of held) doubles.s3.objects.set(key, stored);
  });

  it('names the missing permission if it may not publish', async () => {
    doubles.sns.faults.deny = true;
    doubles.s3.objects.delete('prod/status/watch.json');
    await expect(watch()).rejects.toThrow('Grant sns:Publish');
  });

  it.each<[unknown, string]>([
    [{ rebuildCatalog: false }, 'rebuildCatalog is false; allowed: true'],
    [{ brand: 'acme' }, 'brand is unknown; allowed: rebuildCatalog'],
  ])('refuses the event %j', async (event, message) => {
    await expect(watch(event)).rejects.toThrow(message);
  });
});

describe('the catalog', () => {
  const requestsToGlue = async (event?: unknown, leftMs?: number) => {
    const before = callsOfGlue;
    jest.spyOn(console, 'info').mockImplementation(() => {});
    const { catalog } = await watch(event, leftMs);
    jest.restoreAllMocks();
    return { catalog, requests: callsOfGlue - before };
  };
  const complete = { status: 'complete', brandsLeft: [] };

  beforeEach(() => void doubles.s3.objects.delete('prod/status/catalog.json'));

  it('is left alone by the next run, and rebuilt for another stack, whose database is new', async () => {
    expect((await requestsToGlue()).catalog).toMatchObject(complete);
    expect(await requestsToGlue()).toMatchObject({ catalog: complete, requests: 0 });
    process.env.STACK_ID = 'another';
    expect((await requestsToGlue()).requests).toBeGreaterThan(0);
  });
});
