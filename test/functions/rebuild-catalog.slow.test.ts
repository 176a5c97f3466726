import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseSetupEvent } from '../../functions/rebuild-catalog-event.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../shared/json.ts';
import { startGlueServer } from '../fakes/glue-server.ts';
import { type HttpServer, startHttpServer } from '../fakes/http-server.ts';
import { startS3Server } from '../fakes/s3-server.ts';
import { startSchemasServer } from '../fakes/schemas-server.ts';

const execute = promisify(execFile);
const SIGNATURE = 'X-Amz-Signature=5ec2e7';
const SCHEMA = 'lambda-testevent-schemas/_BrandReports-order_list-schema';
const SETTINGS = {
  brands: {
    acme: {
      baseUrl: 'https://service.example/api',
      service: 'ACME',
      timeZone: 'America/New_York',
      startDate: '2026-01-01',
      secretName: 'brand-reports/acme',
    },
  },
};

let s3: Awaited<ReturnType<typeof startS3Server>>;
let glue: Awaited<ReturnType<typeof startGlueServer>>;
let schemas: Awaited<ReturnType<typeof startSchemasServer>>;
let cloudFormation: HttpServer & {
  answers: { contentType: string | undefined; body: JsonObject }[];
  /** That many answers are not taken. */
  refusals: number;
};

beforeEach(async () => {
  s3 = await startS3Server({ bucket: 'lake' });
  glue = await startGlueServer('brand_reports');
  schemas = await startSchemasServer();
  const server = await startHttpServer((request, body, response) => {
    const refused = cloudFormation.refusals > 0;
    cloudFormation.refusals -= refused ? 1 : 0;
    const answer = parseJson(body.toString());
    const isAnswer = request.method === 'PUT' && request.url?.endsWith(SIGNATURE) && isJsonObject(answer);
    if (!refused && isAnswer)
      cloudFormation.answers.push({ contentType: request.headers['content-type'], body: answer });
    response.writeHead(refused ? 500 : 200).end();
  });
  cloudFormation = Object.assign(server, { answers: [], refusals: 0 });
});
afterEach(async () => {
  for (const server of [s3, glue, schemas, cloudFormation]) await server.close();
});

const REQUEST = {
  RequestType: 'Create',
  ResponseURL: `https://s3.example/answer?${SIGNATURE}`,
  StackId: 'arn:aws:cloudformation:us-east-1:123456789012:stack/BrandReports/1',
  RequestId: 'request-1',
  LogicalResourceId: 'Setup',
};

function request(RequestType: string, change: object = {}) {
  return {
    ...REQUEST,
    RequestType,
    ResponseURL: `${cloudFormation.url}/answer?${SIGNATURE}`,
    ResourceType: 'Custom::BrandReportsSetup',
    ResourceProperties: {
      ServiceToken: 'arn:aws:lambda:us-east-1:123456789012:function:BrandReports-setup',
      nonce: '1',
      testEvents: [
        {
          functionName: 'BrandReports-order_list',
          events: [
            { name: 'Check-the-connection', value: '{"check":true}' },
            { name: 'Slowly', value: '{"requestsPerSecond":0.50}' },
          ],
        },
      ],
    },
    ...change,
  };
}

/** Runs the handler in a process of its own, with the local servers for AWS. */
async function invoke(
  event: unknown,
  { remainingMs = 900_000, settings = JSON.stringify(SETTINGS), database = 'brand_reports' } = {},
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
        PATH: process.env.PATH,
        BRAND_REPORTS_SETTINGS: settings,
        LAKE_URL: 's3://lake',
        DATABASE: database,
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        AWS_ENDPOINT_URL_S3: s3.url,
        AWS_ENDPOINT_URL_GLUE: glue.url,
        AWS_ENDPOINT_URL_SCHEMAS: schemas.url,
      },
    },
  );
  return { printed: stdout + stderr, last: parseJson(stdout.trimEnd().split('\n').at(-1) ?? '') };
}

/** The server takes requests in the meantime, and answers none. */
async function whileSilent(server: HttpServer, act: () => Promise<unknown>): Promise<void> {
  const silent = await startHttpServer(() => {});
  const { url } = server;
  server.url = silent.url;
  await act().finally(() => {
    server.url = url;
    return silent.close();
  });
}

const answered = () => cloudFormation.answers.map(({ body }) => body);

describe('set-up for CloudFormation', () => {
  it.each([
    ['Create', {}, 'brand-reports-setup'],
    ['Update', { PhysicalResourceId: 'as-it-was' }, 'as-it-was'],
  ])('at %s makes the catalog and the test events, and answers', async (type, change, PhysicalResourceId) => {
    await invoke(request(type, change));
    expect(cloudFormation.answers).toEqual([
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
    expect(schemas.schemas.get(SCHEMA)?.Content).toContain(
      '"examples":{"Check-the-connection":{"value":{"check":true}},"Slowly":{"value":{"requestsPerSecond":0.50}}}',
    );
  });

  it('at Delete removes the test events alone', async () => {
    await invoke(request('Create'));
    const tables = [...glue.tables.keys()];
    await invoke(request('Delete', { PhysicalResourceId: 'as-it-was' }), { settings: 'not needed any more' });
    expect(answered()[1]).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'as-it-was' });
    expect([...schemas.schemas.keys()]).toEqual([]);
    expect([...schemas.registries]).toEqual(['lambda-testevent-schemas']);
    expect([...glue.tables.keys()]).toEqual(tables);
  });

  it('lets a stack go whose test events cannot be removed, and says so in the log', async () => {
    schemas.faults.deny = true;
    const { printed } = await invoke(request('Delete'));
    expect(answered()).toMatchObject([{ Status: 'SUCCESS' }]);
    expect(printed).toMatch(
      /test_events_failed.*DeleteSchema on its schema _BrandReports-order_list-schema/s,
    );
  });

  it.each([
    ['of a Create that was wrong', { ResourceProperties: { testEvents: 'none' } }],
    ['without properties', { ResourceProperties: undefined }],
  ])('lets a stack go by a Delete %s', async (_name, change) => {
    await invoke(request('Delete', change));
    expect(answered()).toMatchObject([{ Status: 'SUCCESS' }]);
  });

  it('lets a stack go where the schemas do not answer', async () => {
    await whileSilent(schemas, () => invoke(request('Delete'), { remainingMs: 2000 }));
    expect(answered()).toMatchObject([{ Status: 'SUCCESS' }]);
  });

  it.each<[string, object, Parameters<typeof invoke>[1], RegExp]>([
    ['a database that is not there', {}, { database: 'nowhere' }, /the Glue database nowhere/],
    ['settings that are none', {}, { settings: '{' }, /BRAND_REPORTS_SETTINGS is not JSON/],
    [
      'a test event that is not text',
      { testEvents: [{ functionName: 'f', events: [{ name: 'e', value: { check: 'true' } }] }] },
      {},
      /testEvents\.0\.events\.0\.value is an object; allowed: an event as JSON text/,
    ],
    [
      'a function with no name of one',
      { testEvents: [{ functionName: '../f', events: [] }] },
      {},
      /functionName/,
    ],
  ])('answers %s with the reason', async (_name, ResourceProperties, options, reason) => {
    const { last } = await invoke(
      request('Create', Object.keys(ResourceProperties).length > 0 ? { ResourceProperties } : {}),
      options,
    );
    expect(last).toEqual({});
    expect(answered()).toMatchObject([{ Status: 'FAILED', Reason: expect.stringMatching(reason) }]);
    expect(String(answered()[0]?.Reason).length).toBeLessThanOrEqual(1000);
  });

  it.each([
    ['takes an update back', '2026-01-01T00:00:00.000Z', 'SUCCESS'],
    ['updates', '2026-01-03T00:00:00.000Z', 'FAILED'],
  ])('where CloudFormation %s and nothing can be set up, answers %s → %s', async (_name, nonce, Status) => {
    const change = {
      ResourceProperties: { nonce, testEvents: [] },
      OldResourceProperties: { nonce: '2026-01-02T00:00:00.000Z', testEvents: [] },
    };
    const { printed } = await invoke(request('Update', change), { database: 'nowhere' });
    expect(answered()).toMatchObject([{ Status }]);
    expect(printed).toContain('catalog_rebuild_failed');
  });

  it('answers before its time runs out, where AWS does not answer', async () => {
    await whileSilent(glue, () => invoke(request('Create'), { remainingMs: 2000 }));
    expect(answered()).toMatchObject([{ Status: 'FAILED', Reason: expect.stringContaining('time ran out') }]);
  });

  it('answers again where the answer was not taken', async () => {
    cloudFormation.refusals = 2;
    await invoke(request('Delete'));
    expect(answered()).toMatchObject([{ Status: 'SUCCESS' }]);
  });

  it.each([
    ['refuses', () => `${cloudFormation.url}/answer`, 'HTTP 500'],
    ['is not there', () => 'http://127.0.0.1:1/answer', 'TypeError'],
  ])('I9: never prints the address of an answer, not even of one that %s', async (_name, address, why) => {
    cloudFormation.refusals = 100;
    const ResponseURL = `${address()}?${SIGNATURE}`;
    const { printed, last } = await invoke(request('Delete', { ResponseURL }));
    expect(last).toMatchObject({ errorMessage: `CloudFormation did not take the answer: ${why}` });
    expect(printed).not.toContain(ResponseURL);
    expect(printed).not.toContain(SIGNATURE);
  });
});

describe('set-up by hand', () => {
  it('does the same to the catalog, and tells what it did', async () => {
    const { last } = await invoke({});
    expect(last).toMatchObject({
      answer: {
        status: 'complete',
        tables: ['clicks', 'click_details', 'orders', 'transactions', 'attribution', 'coverage'],
        views: ['attribution_daily', 'freshness'],
        published: 0,
        remaining: 0,
      },
    });
    expect(cloudFormation.answers).toEqual([]);
    expect([...schemas.registries]).toEqual([]);
  });

  it('tells what went wrong', async () => {
    const { last } = await invoke({}, { database: 'nowhere' });
    expect(last).toMatchObject({ errorMessage: expect.stringContaining('the Glue database nowhere') });
  });
});

describe('an event of set-up', () => {
  it.each<[string, unknown]>([
    ['nothing', null],
    ['another one', { brand: 'acme' }],
    ['a request without an id', { ...REQUEST, RequestId: undefined }],
    ['a request to answer without TLS', { ...REQUEST, ResponseURL: `http://s3.example/?${SIGNATURE}` }],
    ['a request to answer into a file', { ...REQUEST, ResponseURL: 'file:///etc/passwd' }],
    ['a request of another kind', { ...REQUEST, RequestType: 'Read' }],
  ])('I9: is refused without being quoted: %s', (_name, event) => {
    expect(() => parseSetupEvent(event)).toThrow(/^the event is neither \{\}(?!.*5ec2e7)/);
  });
});
