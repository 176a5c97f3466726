import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseRebuildEvent } from '../../functions/rebuild-catalog-event.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../shared/json.ts';
import { CURRENT_SETTINGS_KEY } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { packSettings } from '../../shared/settings/packed-settings.ts';
import { type BrandSettings, parseSettings } from '../../shared/settings/settings.ts';
import { COMPILE_CACHE } from '../fakes/compile-cache.ts';
import { type HttpServer, startHttpServer } from '../fakes/http-server.ts';
import { type AwsDoubles, VARIABLES, startAwsDoubles } from './aws-doubles.ts';
import { othersIn, putSettings } from './settings-in-lake.ts';

const execute = promisify(execFile);
const SIGNATURE = 'X-Amz-Signature=5ec2e7';
const SETTINGS = parseSettings(
  {
    brands: {
      acme: {
        baseUrl: 'https://service.example/api',
        service: 'ACME',
        timeZone: 'America/New_York',
        startDate: '2026-01-01',
        secretName: 'brand-reports/acme',
      },
    },
  },
  reports,
);

const REPORTS = ['clicks_list', 'order_list', 'transaction_list', 'amazon_attribution_report'];
const withoutOrders = (brand: BrandSettings): BrandSettings => ({
  ...brand,
  reports: Object.fromEntries(
    Object.entries(brand.reports).map(([name, own]) => [
      name,
      { ...own, enabled: own.enabled && name !== 'order_list' },
    ]),
  ),
});

let doubles: AwsDoubles;
let s3: AwsDoubles['s3'];
let glue: AwsDoubles['glue'];
let scheduler: AwsDoubles['scheduler'];
let cloudFormation: HttpServer & {
  responses: { contentType: string | undefined; body: JsonObject }[];
  /** The number of responses that are refused. */
  refusals: number;
};

beforeEach(async () => {
  doubles = await startAwsDoubles();
  ({ s3, glue, scheduler } = doubles);
  const server = await startHttpServer((request, body, response) => {
    const refused = cloudFormation.refusals > 0;
    cloudFormation.refusals -= refused ? 1 : 0;
    const received = parseJson(body.toString());
    const isExpected = request.method === 'PUT' && request.url?.endsWith(SIGNATURE) && isJsonObject(received);
    if (!refused && isExpected)
      cloudFormation.responses.push({ contentType: request.headers['content-type'], body: received });
    response.writeHead(refused ? 500 : 200).end();
  });
  cloudFormation = Object.assign(server, { responses: [], refusals: 0 });
});
afterEach(() => Promise.all([doubles.closeDoubles(), cloudFormation.close()]));

const REQUEST = {
  RequestType: 'Create',
  ResponseURL: `https://cloudformation-custom-resource-response-useast1.s3.amazonaws.com/answer?${SIGNATURE}`,
  StackId: 'arn:aws:cloudformation:us-east-1:123456789012:stack/BrandReports/1',
  RequestId: 'request-1',
  LogicalResourceId: 'RebuildCatalog',
};

function request(RequestType: string, change: object = {}) {
  return {
    ...REQUEST,
    RequestType,
    ResponseURL: `${cloudFormation.url}/answer?${SIGNATURE}`,
    ResourceType: 'Custom::BrandReportsCatalog',
    ResourceProperties: {
      ServiceToken: 'arn:aws:lambda:us-east-1:123456789012:function:BrandReports-rebuild-catalog',
      nonce: '1',
      settings: packSettings(SETTINGS),
    },
    ...change,
  };
}

/** Runs the handler in its own process, with the local servers for AWS. */
async function invoke(
  event: unknown,
  { remainingMs = 900_000, database = 'brand_reports', endpoint = cloudFormation.url } = {},
) {
  const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
  const { stdout, stderr } = await execute(
    process.execPath,
    [
      path('./lambda-runtime.ts'),
      path('../../functions/rebuild-catalog.lambda.ts'),
      JSON.stringify(event),
      String(remainingMs),
    ],
    {
      env: {
        ...COMPILE_CACHE,
        PATH: process.env.PATH,
        ...VARIABLES,
        ...doubles.endpoints(),
        DATABASE: database,
        AWS_ENDPOINT_URL_CLOUDFORMATION: endpoint,
      },
    },
  );
  return { printed: stdout + stderr, last: parseJson(stdout.trimEnd().split('\n').at(-1) ?? '') };
}

/** During the work the server accepts requests and never responds. */
async function whileSilent(server: HttpServer, act: () => Promise<unknown>): Promise<void> {
  const silent = await startHttpServer(() => {});
  const { url } = server;
  server.url = silent.url;
  await act().finally(() => {
    server.url = url;
    return silent.close();
  });
}

/** The reports that have a schedule, with its brand and state. */
const scheduled = () =>
  [...scheduler.held].flatMap(([group, schedules]) =>
    [...schedules].map(
      ([name, { schedule }]) =>
        `${group.replace('BrandReports-', '')} ${name.replace(/-\w+$/, '')} ${String(schedule.State)}`,
    ),
  );

const responded = () => cloudFormation.responses.map(({ body }) => body);

describe('rebuild-catalog for CloudFormation', () => {
  it.each([
    ['Create', {}, 'brand-reports-catalog'],
    ['Update', { PhysicalResourceId: 'as-it-was' }, 'as-it-was'],
  ])('at %s rebuilds the catalog and responds', async (type, change, PhysicalResourceId) => {
    await invoke(request(type, change));
    expect(cloudFormation.responses).toEqual([
      {
        contentType: undefined,
        body: {
          Status: 'SUCCESS',
          PhysicalResourceId,
          StackId: REQUEST.StackId,
          RequestId: REQUEST.RequestId,
          LogicalResourceId: REQUEST.LogicalResourceId,
        },
      },
    ]);
    expect([...glue.tables.keys()]).toEqual(expect.arrayContaining(['orders', 'coverage', 'freshness']));
  });

  it('writes the schedules after the tables, and writes no schedule if the rebuild fails', async () => {
    await invoke(request('Create'), { database: 'nowhere' });
    expect(scheduled()).toEqual([]);
    await invoke(request('Create'));
    expect(scheduled()).toEqual(REPORTS.map((report) => `${report} acme ENABLED`));
  });

  it('writes the schedules of the new settings at an update, and of the old settings at its rollback', async () => {
    const acme = SETTINGS.brands.acme;
    const changed = {
      ...SETTINGS,
      brands: { ...(acme && { acme: withoutOrders(acme), globex: acme }) },
      deployment: { ...SETTINGS.deployment, schedules: false },
    };
    await invoke(request('Create'));
    await invoke(
      request('Update', {
        ResourceProperties: { nonce: '2', settings: packSettings(changed) },
      }),
    );
    expect(scheduled().sort()).toEqual(
      [
        ...REPORTS.filter((report) => report !== 'order_list').map((report) => `${report} acme DISABLED`),
        ...REPORTS.map((report) => `${report} globex DISABLED`),
      ].sort(),
    );
    await invoke(request('Update'));
    expect(scheduled().sort()).toEqual(REPORTS.map((report) => `${report} acme ENABLED`).sort());
  });

  it('fails if Scheduler refuses, because without schedules nothing would run', async () => {
    scheduler.held.delete('BrandReports-order_list');
    // Less than the minute for which the function waits for new permissions.
    const { printed } = await invoke(request('Create'), { remainingMs: 12_000 });
    expect(responded()).toMatchObject([
      { Status: 'FAILED', Reason: expect.stringContaining('deploy again') },
    ]);
    expect(printed).toContain('catalog_rebuilt');
  });

  it('removes the schedules at Delete, and nothing else', async () => {
    await invoke(request('Create'));
    const tables = [...glue.tables.keys()];
    expect(scheduled()).toHaveLength(REPORTS.length);
    await invoke(request('Delete', { PhysicalResourceId: 'as-it-was' }), { database: '' });
    expect(responded()[1]).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'as-it-was' });
    expect(scheduled()).toEqual([]);
    expect([...glue.tables.keys()]).toEqual(tables);
  });

  it.each([
    ['after a Create with wrong properties', { ResourceProperties: { settings: 'none' } }],
    ['without properties', { ResourceProperties: undefined }],
  ])('lets a stack be deleted %s', async (_name, change) => {
    await invoke(request('Delete', change));
    expect(responded()).toMatchObject([{ Status: 'SUCCESS' }]);
  });

  it('lets a stack be deleted if Scheduler does not respond', async () => {
    await whileSilent(scheduler, () => invoke(request('Delete'), { remainingMs: 2000 }));
    expect(responded()).toMatchObject([{ Status: 'SUCCESS' }]);
  });

  it.each<[string, object, Parameters<typeof invoke>[1], RegExp]>([
    ['a database that does not exist', {}, { database: 'nowhere' }, /the Glue database nowhere/],
    ['an environment without a database', {}, { database: '' }, /DATABASE is not set/],
    ['settings without a hash', { settings: { packed: 'x' } }, {}, /settings\.hash is missing/],
  ])('fails with the reason: %s', async (_name, ResourceProperties, options, reason) => {
    const { last } = await invoke(
      request('Create', Object.keys(ResourceProperties).length > 0 ? { ResourceProperties } : {}),
      options,
    );
    expect(last).toEqual({});
    expect(responded()).toMatchObject([{ Status: 'FAILED', Reason: expect.stringMatching(reason) }]);
    expect(String(responded()[0]?.Reason).length).toBeLessThanOrEqual(1000);
  });

  describe('at an update whose rebuild fails', () => {
    const update = (from: string, to: string, options: Parameters<typeof invoke>[1] = {}) =>
      invoke(
        request('Update', {
          ResourceProperties: { nonce: to, settings: packSettings(SETTINGS) },
          OldResourceProperties: { nonce: from },
        }),
        options,
      );
    const failing = { database: 'nowhere' };
    const statuses = () => responded().map(({ Status }) => Status);

    it('restores the former schedules at the rollback, even if its rebuild fails', async () => {
      await update('0', '1');
      await update('1', '2', failing);
      const [name, made] = [...(scheduler.held.get('BrandReports-order_list') ?? [])][0] ?? [];
      if (name && made) scheduler.held.get('BrandReports-order_list')?.set(name.replace('acme', 'new'), made);
      await update('2', '1', failing);
      expect(scheduled()).toEqual(REPORTS.map((report) => `${report} acme ENABLED`));
    });

    it('recognises a rollback after an update that ran out of time', async () => {
      await whileSilent(glue, () => update('1', '2', { remainingMs: 2000 }));
      await update('2', '1', failing);
      expect(statuses()).toEqual(['FAILED', 'SUCCESS']);
    });

    it.each(['not JSON', '{"from":2}'])(
      'continues if the recorded update is damaged: %s',
      async (damaged) => {
        const body = Buffer.from(damaged);
        s3.objects.set('deployments/failed-update.json', { body, etag: '"1"', modifiedAt: new Date() });
        await update('1', '2', failing);
        await update('2', '1', failing);
        expect(statuses()).toEqual(['FAILED', 'SUCCESS']);
      },
    );

    it('names the format of a lake of another program, and lets the update be rolled back', async () => {
      const format = { body: Buffer.from('{"format":1}'), etag: '"1"', modifiedAt: new Date() };
      s3.objects.set('ledger/format.json', format);
      await update('1', '2');
      await update('2', '1');
      expect(responded()).toMatchObject([
        { Status: 'FAILED', Reason: expect.stringMatching(/s3:\/\/lake has format 1;.*Next step: use the/) },
        { Status: 'SUCCESS' },
      ]);
      expect(glue.tables.size).toBe(0);
      expect(othersIn(s3.objects)).toEqual([['ledger/format.json', format]]);
    });

    it('logs that it cannot record the update, and continues', async () => {
      s3.faults.refuseAll = true;
      const { printed } = await update('1', '2', { remainingMs: 4000 });
      expect(printed).toContain('update_not_remembered');
      expect(statuses()).toEqual(['FAILED']);
    });
  });

  it('responds before its time runs out if AWS does not respond', async () => {
    await whileSilent(glue, () => invoke(request('Create'), { remainingMs: 2000 }));
    expect(responded()).toMatchObject([
      { Status: 'FAILED', Reason: expect.stringContaining('time ran out') },
    ]);
  });

  it('sends the response again if it was not accepted', async () => {
    cloudFormation.refusals = 2;
    await invoke(request('Delete'));
    expect(responded()).toMatchObject([{ Status: 'SUCCESS' }]);
  });

  it.each([
    ['refuses', () => cloudFormation.url, 'HTTP 500'],
    ['does not exist', () => 'http://127.0.0.1:1', 'TypeError'],
  ])('I9: never prints the address of a response, not even one that %s', async (_name, server, why) => {
    cloudFormation.refusals = 100;
    const ResponseURL = `${server()}/answer?${SIGNATURE}`;
    const { printed, last } = await invoke(request('Delete', { ResponseURL }), { endpoint: server() });
    expect(last).toMatchObject({
      errorMessage: `CloudFormation did not accept the response in 4 tries: ${why}`,
    });
    expect(printed).not.toContain(ResponseURL);
    expect(printed).not.toContain(SIGNATURE);
  });

  describe('if another server runs on the machine', () => {
    let another: HttpServer;
    let received: string[];
    beforeEach(async () => {
      received = [];
      another = await startHttpServer((heard, _body, response) => {
        received.push(`${heard.method} ${heard.url}`);
        response.end();
      });
    });
    afterEach(() => another.close());

    it.each([302, 307])('follows no redirect to it: HTTP %d', async (status) => {
      const redirecting = await startHttpServer((_heard, _body, response) =>
        response.writeHead(status, { location: `${another.url}/2018-06-01/runtime/invocation/next` }).end(),
      );
      const ResponseURL = `${redirecting.url}/answer?${SIGNATURE}`;
      const { last } = await invoke(request('Delete', { ResponseURL }), { endpoint: redirecting.url });
      await redirecting.close();
      expect(received).toEqual([]);
      expect(last).toMatchObject({ errorMessage: expect.stringContaining(`in 4 tries: HTTP ${status}`) });
    });
  });
});

describe('rebuild-catalog by hand', () => {
  beforeEach(() => putSettings(s3.objects, SETTINGS));

  it('rebuilds the catalog, and returns what it did', async () => {
    const { last } = await invoke({});
    expect(last).toMatchObject({
      answer: {
        status: 'complete',
        tables: [
          'clicks',
          'click_details',
          'orders',
          'order_states',
          'transactions',
          'transaction_states',
          'attribution',
          'coverage',
          'changes',
        ],
        views: expect.arrayContaining(['orders_daily', 'attribution_daily', 'freshness', 'restatements']),
        published: 0,
        remaining: 0,
      },
    });
    expect(cloudFormation.responses).toEqual([]);
  });

  it('writes the schedules of a deployment that ended meanwhile', async () => {
    const read = s3.objects.get.bind(s3.objects);
    let deployed = false;
    s3.objects.get = (key) => {
      const found = read(key);
      if (key !== CURRENT_SETTINGS_KEY || deployed) return found;
      deployed = true;
      putSettings(s3.objects, { ...SETTINGS, deployment: { ...SETTINGS.deployment, schedules: false } });
      return found;
    };
    await invoke({});
    expect(scheduled()).toEqual(REPORTS.map((report) => `${report} acme DISABLED`));
  });

  it('reports what went wrong', async () => {
    const { last } = await invoke({}, { database: 'nowhere' });
    expect(last).toMatchObject({ errorMessage: expect.stringContaining('the Glue database nowhere') });
  });
});

describe('the address of a response', () => {
  const address = (rest: string) => `https://cloudformation-custom-resource-response-${rest}`;
  const isTaken = (ResponseURL: string, region: string, endpoint = '') => {
    try {
      const parsed = parseRebuildEvent({ ...REQUEST, ResponseURL }, { region, endpoint });
      return parsed?.ResponseURL === ResponseURL;
    } catch {
      return false;
    }
  };

  it.each([
    ['us-east-1', 'useast1.s3.amazonaws.com/arn%3Aaws?Signature=a'],
    ['us-east-1', 'useast1.s3.us-east-1.amazonaws.com:443/'],
    ['eu-west-1', 'euwest1.s3-eu-west-1.amazonaws.com/arn%3Aaws%3Acloudformation'],
    ['eu-central-1', 'eucentral1.s3.dualstack.eu-central-1.amazonaws.com/'],
    ['us-gov-west-1', 'usgovwest1.s3.us-gov-west-1.amazonaws.com/'],
    ['cn-north-1', 'cnnorth1.s3.cn-north-1.amazonaws.com.cn/'],
    ['eusc-de-east-1', 'euscdeeast1.s3.eusc-de-east-1.amazonaws.eu/'],
    ['us-iso-east-1', 'usisoeast1.s3.us-iso-east-1.c2s.ic.gov/'],
    ['us-isob-east-1', 'usisobeast1.s3.us-isob-east-1.sc2s.sgov.gov/'],
    ['eu-isoe-west-1', 'euisoewest1.s3.eu-isoe-west-1.cloud.adc-e.uk/'],
    ['us-isof-south-1', 'usisofsouth1.s3.us-isof-south-1.csp.hci.ic.gov/'],
  ])('is in the bucket of CloudFormation in %s: %s', (region, rest) => {
    expect(isTaken(address(rest), region)).toBe(true);
  });

  it.each([
    ['without TLS', address('useast1.s3.amazonaws.com/').replace('https', 'http')],
    ['another bucket', 'https://evil.s3.amazonaws.com/'],
    ['a bucket of almost that name', address('useast1-evil.s3.amazonaws.com/')],
    [
      'a bucket whose name ends like the right one',
      'https://evil.cloudformation-custom-resource-response-useast1.s3.amazonaws.com/',
    ],
    ['the bucket of another region', address('euwest1.s3.eu-west-1.amazonaws.com/')],
    ['that bucket in China', address('useast1.s3.amazonaws.com.cn/')],
    ['that bucket in the sovereign cloud of Europe', address('useast1.s3.amazonaws.eu/')],
    ['a machine at AWS', 'https://ec2-203-0-113-1.compute-1.amazonaws.com/'],
    ['an API at AWS', 'https://abc.execute-api.us-east-1.amazonaws.com/'],
    ['a name that ends like a name of AWS', address('useast1.s3.evil-amazonaws.com/')],
    ['a name that begins like a name of AWS', address('useast1.s3.amazonaws.com.evil.example/')],
    ['a name with a full stop of another script', address('useast1.s3.amazonaws.com。evil.example/')],
    ['a letter of another script', address('useast1.s3.аmazonaws.com/')],
    ['a full stop at the end', address('useast1.s3.amazonaws.com./')],
    ['another port', address('useast1.s3.amazonaws.com:8443/')],
    ['a user', address('useast1.s3.amazonaws.com/').replace('//', '//user@')],
    ['a password', address('useast1.s3.amazonaws.com/').replace('//', '//:secret@')],
    ['the name of AWS as a user', address('useast1.s3.amazonaws.com@evil.example/')],
    [
      'a backslash',
      address('useast1.s3.amazonaws.com\\\\@evil.example/').replace('https://', 'https:\\\\evil.example\\'),
    ],
    ['the metadata of a machine', 'http://169.254.169.254/latest/meta-data/'],
    ['the loopback', 'http://127.0.0.1/'],
    ['the loopback with TLS', 'https://localhost/'],
    ['a file', 'file:///etc/passwd'],
    ['no address', 's3.amazonaws.com'],
  ])('is refused: %s', (_name, url) => {
    expect(isTaken(url, 'us-east-1')).toBe(false);
  });

  it.each([
    ['the server that stands for AWS', 'http://127.0.0.1:4566/answer', true],
    ['another port of its machine', 'http://127.0.0.1:4567/answer', false],
    ['its name as a user of another server', 'http://127.0.0.1:4566@evil.example/answer', false],
    ['AWS itself', address('useast1.s3.amazonaws.com/'), false],
  ])('of a local AWS is taken from no other server: %s', (_name, url, isAccepted) => {
    expect(isTaken(url, 'us-east-1', 'http://127.0.0.1:4566')).toBe(isAccepted);
  });
});

describe('the event of rebuild-catalog', () => {
  it.each<[string, unknown]>([
    ['nothing', null],
    ['the event of another function', { brand: 'acme' }],
    ['a request without an id', { ...REQUEST, RequestId: undefined }],
    ['a request with another address', { ...REQUEST, ResponseURL: `https://evil.example/?${SIGNATURE}` }],
    ['a request of another kind', { ...REQUEST, RequestType: 'Read' }],
  ])('I9: is refused without being quoted: %s', (_name, event) => {
    expect(() => parseRebuildEvent(event, { region: 'us-east-1' })).toThrow(
      /^the event is neither \{\}(?!.*5ec2e7)/,
    );
  });
});
