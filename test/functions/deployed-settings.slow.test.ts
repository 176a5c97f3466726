import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as z from 'zod/mini';
import { reports } from '../../shared/reports/index.ts';
import { packSettings } from '../../shared/settings/packed-settings.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { type HttpServer, startHttpServer } from '../fakes/http-server.ts';
import { type AwsDoubles, VARIABLES, WITH_EVENTS, startAwsDoubles } from './aws-doubles.ts';

const POINTER = 'settings/current.json';
const BASE_URL = 'https://service.example/api';
/** Settings that differ in one brand. */
const settingsOf = (lateMinutes: number, brand: object = {}) =>
  parseSettings(
    {
      brands: {
        acme: {
          ...{ baseUrl: BASE_URL, service: 'ACME', timeZone: 'UTC', startDate: '2026-01-01' },
          lateMinutes,
          ...brand,
        },
      },
    },
    reports,
  );
const versions = new Map([1, 2, 3].map((late) => [String(late), packSettings(settingsOf(late))]));
const packed = (name: string) => versions.get(name) ?? { hash: '', packed: '' };
const answerSchema = z.object({ Status: z.string(), Reason: z.optional(z.string()) });

type Handler = (event: unknown, context: { getRemainingTimeInMillis: () => number }) => Promise<unknown>;
let deploy: Handler;
let sync: Handler;
let doubles: AwsDoubles;
let s3: AwsDoubles['s3'];
let secrets: AwsDoubles['secrets'];
let cloudFormation: HttpServer;
let answers: z.infer<typeof answerSchema>[];
const printed: string[] = [];

beforeAll(async () => {
  doubles = await startAwsDoubles();
  ({ s3, secrets } = doubles);
  cloudFormation = await startHttpServer((_request, body, response) => {
    answers.push(z.parse(answerSchema, JSON.parse(body.toString())));
    response.end();
  });
  Object.assign(process.env, {
    ...VARIABLES,
    ...WITH_EVENTS,
    ...doubles.endpoints(),
    REPORT: 'order_list',
    AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url,
  });
  for (const level of ['info', 'warn', 'error', 'debug'] as const)
    jest.spyOn(console, level).mockImplementation((entry) => void printed.push(JSON.stringify(entry)));
  ({ handler: deploy } = await import('../../functions/rebuild-catalog.lambda.ts'));
  ({ handler: sync } = await import('../../functions/sync-report.lambda.ts'));
});
beforeEach(() => {
  answers = [];
  printed.length = 0;
  s3.objects.clear();
  secrets.secrets.clear();
});
afterEach(() => {
  process.env.DATABASE = 'brand_reports';
});
afterAll(async () => {
  jest.restoreAllMocks();
  await Promise.all([doubles.closeDoubles(), cloudFormation.close()]);
});

const lambda = { getRemainingTimeInMillis: () => 900_000 };

/**
 * A request of CloudFormation.
 * @param step `Create 1`, `Update 1 2`, `Delete 2`, by the names of settings; with `!` the rebuild fails
 */
async function perform(step: string): Promise<void> {
  const [RequestType, ...names] = step.replace('!', '').split(' ');
  const [before, after] = names.length === 2 ? names : [undefined, ...names];
  const properties = (name = '') => ({ nonce: name, settings: packed(name) });
  process.env.DATABASE = step.endsWith('!') ? 'nowhere' : 'brand_reports';
  await deploy(
    {
      ...{ RequestType, ResponseURL: `${cloudFormation.url}/answer`, StackId: 'stack' },
      ...{ RequestId: 'request', LogicalResourceId: 'resource' },
      ResourceProperties: properties(after),
      ...(before !== undefined && { OldResourceProperties: properties(before) }),
    },
    lambda,
  );
}

const put = (key: string, text: string) =>
  s3.objects.set(key, { body: Buffer.from(text), etag: '"x"', modifiedAt: new Date() });
/** The name of the current settings. */
const pointedAt = () => {
  const { settings = '' } = JSON.parse(s3.objects.get(POINTER)?.body.toString() ?? '{}');
  return [...versions].find(([, { hash }]) => hash === settings)?.[0];
};

describe('the current settings after deployments', () => {
  it.each<[what: string, steps: string[], counting: string | undefined, statuses: string]>([
    ['the first one', ['Create 1'], '1', 'S'],
    ['two updates', ['Create 1', 'Update 1 2', 'Update 2 3'], '3', 'SSS'],
    ['an older assembly, deployed again', ['Create 1', 'Update 1 2', 'Update 2 1'], '1', 'SSS'],
    ['an update whose rebuild fails, until it is rolled back', ['Create 1', 'Update 1 2!'], '2', 'SF'],
    ['its rollback', ['Create 1', 'Update 1 2!', 'Update 2 1'], '1', 'SFS'],
    ['a rollback whose rebuild fails too', ['Create 1', 'Update 1 2!', 'Update 2 1!'], '1', 'SFS'],
    [
      'a repeated rollback, and the same update again',
      ['Create 1', 'Update 1 2!', 'Update 2 1!', 'Update 2 1', 'Update 1 2'],
      '2',
      'SFSSS',
    ],
    [
      'the rollback of an update that succeeded before another resource failed',
      ['Create 1', 'Update 1 2', 'Update 2 1!'],
      '1',
      'SSF',
    ],
    [
      'a rollback to another version than the one before',
      ['Create 1', 'Update 1 2!', 'Update 2 3!'],
      '3',
      'SFF',
    ],
    ['an update in a lake that remembers no update', ['Update 2 1!'], '1', 'F'],
    [
      'a failed update that is deployed again, before and after its rollback',
      ['Create 1', 'Update 1 2!', 'Update 1 2!', 'Update 2 1!', 'Update 1 2!'],
      '2',
      'SFFSF',
    ],
    [
      'an update of the adopted bucket alone that is deployed again after its rollback',
      ['Create 1', 'Update 1 1!', 'Update 1 1!', 'Update 1 1!', 'Update 1 1!'],
      '1',
      'SFSFS',
    ],
  ])('follow %s', async (_what, steps, counting, statuses) => {
    for (const step of steps) await perform(step);
    expect([pointedAt(), answers.map(({ Status }) => Status[0]).join('')]).toEqual([counting, statuses]);
    expect(s3.objects.get(`settings/${packed(counting ?? '').hash}.json`)).toBeDefined();
  });

  it.each<[what: string, steps: string[]]>([
    ['a first deployment that failed', ['Create 1!', 'Delete 1']],
    ['a stack that is deleted', ['Create 1', 'Update 1 2', 'Delete 2']],
  ])('are removed with all versions, so that the bucket can be deleted: %s', async (_what, steps) => {
    for (const step of steps) await perform(step);
    expect([...s3.objects.keys()]).toEqual([]);
    expect(s3.requests).toContain('GET ?prefix&versions');
  });

  it('stay if another stack has adopted the lake', async () => {
    for (const step of ['Create 1', 'Create 2', 'Delete 1']) await perform(step);
    expect(pointedAt()).toBe('2');
  });

  it.each<[what: string, key: string]>([
    ['the pointer', POINTER],
    ['the settings', `settings/${packed('1').hash}.json`],
  ])('are repaired by the next deployment if somebody has damaged %s', async (_what, key) => {
    await perform('Create 1');
    const before = s3.objects.get(key)?.body.toString();
    put(key, 'damaged');
    await perform('Update 1 1');
    expect(s3.objects.get(key)?.body.toString()).toBe(before);
  });

  it('stay if the settings of a deployment do not match their hash', async () => {
    await perform('Create 1');
    versions.set('false', { hash: packed('2').hash, packed: packed('3').packed });
    await perform('Update 1 false');
    versions.delete('false');
    expect(pointedAt()).toBe('1');
    expect(answers[1]).toMatchObject({
      ...{ Status: 'FAILED', Reason: expect.stringContaining('do not match their hash') },
    });
  });

  it('stay if another deployment wins the race', async () => {
    await perform('Create 1');
    s3.faults.conflicts = 12;
    await perform('Update 1 2');
    s3.faults.conflicts = 0;
    expect(pointedAt()).toBe('1');
    expect(answers[1]?.Reason).toMatch(/Another deployment changed s3:\/\/lake\/settings\/.*Deploy again/);
  });
});

describe('a function', () => {
  const check = async () => JSON.stringify(await sync({ check: true }, lambda));

  it.each<[what: string, damage: () => void, message: RegExp]>([
    ['no deployment has ended', () => s3.objects.clear(), /current\.json does not exist or is damaged/],
    ['the pointer is not JSON', () => put(POINTER, '{'), /current\.json does not exist or is damaged/],
    [
      'the pointer names other settings',
      () => put(POINTER, '{"settings":"../x"}'),
      /current\.json does not exist or is damaged/,
    ],
    [
      'the settings are deleted',
      () => void s3.objects.delete(`settings/${packed('1').hash}.json`),
      /[0-9a-f]{64}\.json does not exist or is damaged/,
    ],
    [
      'the settings were changed',
      () => put(`settings/${packed('1').hash}.json`, JSON.stringify(settingsOf(2))),
      /[0-9a-f]{64}\.json does not exist or is damaged/,
    ],
  ])('fails with the next step if %s', async (_what, damage, message) => {
    await perform('Create 2');
    await check();
    await perform('Update 2 1');
    damage();
    await expect(check()).rejects.toThrow(message);
    await expect(check()).rejects.toThrow(/npx cdk deploy --context again=\d+$/);
  });

  it('reads the pointer at each start, and the settings only when it has changed', async () => {
    await perform('Create 1');
    await check();
    const reads: string[][] = [];
    for (const step of ['Update 1 2', 'Update 2 2', 'Update 2 1']) {
      await perform(step);
      s3.requests.length = 0;
      await check();
      reads.push(s3.requests.filter((request) => request.startsWith('GET settings/')));
    }
    const [first, object] = [
      'GET settings/current.json',
      (name: string) => `GET settings/${packed(name).hash}.json`,
    ];
    expect(reads).toEqual([[first, object('2')], [first], [first, object('1')]]);
  });

  it('uses changed settings in a warm start, and with them the secrets', async () => {
    await perform('Create 1');
    expect(await check()).toContain("create-secret --name 'brand-reports/acme'");
    versions.set('moved', packSettings(settingsOf(1, { secretName: 'brand-reports/moved' })));
    await perform('Update 1 moved');
    versions.delete('moved');
    expect(await check()).toContain("create-secret --name 'brand-reports/moved'");
  });

  it.each<[what: string, baseUrl: string | undefined, code: string]>([
    [
      'for another address',
      'https://elsewhere.example',
      'are for https://elsewhere.example/ only, so no request was sent',
    ],
    ['without an address', undefined, 'a deployment sends credentials only to the address beside them'],
  ])('I9: sends no credentials that are %s', async (_what, baseUrl, message) => {
    await perform('Create 1');
    const text = JSON.stringify({ bid: 1, token: 't', secret: 's', baseUrl });
    secrets.secrets.set('brand-reports/acme', text);
    expect(await check()).toContain(message);
  });
});
