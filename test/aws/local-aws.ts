import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { GlueClient, paginateGetPartitions, paginateGetTables } from '@aws-sdk/client-glue';
import { GetObjectCommand, paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod/mini';
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../shared/base/json.ts';
import { awsTestOptions } from '../fakes/aws-test-options.ts';

const ACCOUNT = '123456789012';
const REGION = 'us-east-1';
const STARTS_WITHIN_MS = 60_000;
const EXECUTES_WITHIN_MS = 300_000;

const execute = promisify(execFile);

/** The contents of a database and a bucket, for the readers of `athena.ts`. */
export interface Held {
  tables: Map<string, { table: JsonObject; version: number; partitions: Map<string, JsonObject> }>;
  objects: Map<string, { body: Buffer; etag: string; modifiedAt: Date }>;
}

/**
 * Starts a local AWS: moto's server, in which functions run with the credentials of their own roles.
 * @param folder the folder for unpacked code
 */
export async function startLocalAws(folder: string) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const moto = await startMoto(port, folder);
  /** The objects of buckets, by place and ETag. */
  const bodies = new Map<string, Buffer>();
  const clients = {
    s3: new S3Client(awsTestOptions(url)),
    glue: new GlueClient(awsTestOptions(url)),
    secrets: new SecretsManagerClient(awsTestOptions(url)),
  };

  /** Calls a service that has no client here; moto takes the service from the signature's scope. */
  async function call(service: string, path: string, headers: Record<string, string>, body: string) {
    const scope = `Credential=test/20260101/${REGION}/${service}/aws4_request`;
    const authorization = `AWS4-HMAC-SHA256 ${scope}, SignedHeaders=host, Signature=0`;
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization, ...headers },
      body,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${service} answered ${response.status}: ${text}`);
    return { text, headers: response.headers };
  }

  /** Calls IAM in AWS's Query protocol. @returns XML */
  async function query(Action: string, input: Record<string, string>) {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ Action, Version: '2010-05-08', ...input }).toString();
    return (await call('iam', '/', form, body)).text;
  }

  return {
    account: `aws://${ACCOUNT}/${REGION}`,
    url,
    /** For other people's actions in the account. */
    s3: clients.s3,
    glue: clients.glue,

    /** Runs the CDK's command as in the README. @throws Error with the end of its output */
    async cdk(...args: string[]): Promise<void> {
      const env = {
        PATH: process.env.PATH,
        HOME: folder,
        ...{ AWS_REGION: REGION, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
        // moto reads templates only from addresses of S3 that belong to Amazon or have this name.
        AWS_ENDPOINT_URL: `http://localhost:${port}`,
        AWS_ENDPOINT_URL_S3: url,
        AWS_EC2_METADATA_DISABLED: 'true',
        CDK_DISABLE_CLI_TELEMETRY: 'true',
        CDK_DISABLE_VERSION_CHECK: '1',
      };
      await execute('cdk', [...args, '--no-color', '--no-notices'], { env }).catch(({ stdout, stderr }) => {
        throw new Error(`cdk ${args[0]} failed: ${`${stdout}${stderr}`.slice(-2000)}`);
      });
    },

    createSecret: (Name: string, secret: Json) =>
      clients.secrets.send(new CreateSecretCommand({ Name, SecretString: JSON.stringify(secret) })),

    createRole: (RoleName: string) =>
      query('CreateRole', {
        RoleName,
        AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [] }),
      }),

    async madeInIam(start: string): Promise<string[]> {
      const [roles, policies] = [
        await query('ListRoles', {}),
        await query('ListPolicies', { Scope: 'Local' }),
      ];
      const names = [...textsIn(roles, 'RoleName'), ...textsIn(policies, 'PolicyName')];
      return names.filter((name) => name.startsWith(start));
    },

    /** @throws Error if the function fails */
    async invoke(name: string, event: JsonObject): Promise<unknown> {
      const path = `/2015-03-31/functions/${name}/invocations`;
      const { text, headers } = await call('lambda', path, {}, JSON.stringify(event));
      if (headers.has('x-amz-function-error')) throw new Error(`${name} failed: ${text}`);
      return JSON.parse(text);
    },

    /** Starts the state machine. @returns the end of the execution, as Step Functions describes it */
    async execute(stateMachine: string, input: JsonObject): Promise<JsonObject> {
      const stepFunctions = async (operation: string, body: JsonObject) => {
        const headers = {
          'x-amz-target': `AWSStepFunctions.${operation}`,
          'content-type': 'application/x-amz-json-1.0',
        };
        const { text } = await call('states', '/', headers, JSON.stringify(body));
        return z.parse(z.record(z.string(), z.json()), JSON.parse(text));
      };
      const stateMachineArn = `arn:aws:states:${REGION}:${ACCOUNT}:stateMachine:${stateMachine}`;
      const start = { stateMachineArn, name: randomUUID(), input: JSON.stringify(input) };
      const { executionArn = '' } = await stepFunctions('StartExecution', start);
      const ends = Date.now() + EXECUTES_WITHIN_MS;
      while (Date.now() < ends) {
        const described = await stepFunctions('DescribeExecution', { executionArn });
        if (described.status !== 'RUNNING') return described;
        await sleep(200);
      }
      throw new Error(`${stateMachine} is still running`);
    },

    async held(database: string, bucket: string): Promise<Held> {
      return {
        tables: await tablesIn(clients.glue, database),
        objects: await objectsIn(clients.s3, bucket, bodies),
      };
    },

    async close() {
      moto.kill();
      await once(moto, 'close');
      for (const client of Object.values(clients)) client.destroy();
    },
  };
}

async function startMoto(port: number, folder: string) {
  const script = fileURLToPath(new URL('./moto_server.py', import.meta.url));
  // The server ends when its standard input ends, and so always with this process.
  const moto = spawn(process.env.MOTO_PYTHON ?? 'python3', [script, String(port), folder], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}/moto-api/`;
  const ends = Date.now() + STARTS_WITHIN_MS;
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    if (moto.exitCode !== null || Date.now() > ends) throw new Error('moto did not start');
    await sleep(100);
  }
  return moto;
}

/** The texts of the elements with this name. */
function textsIn(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, text = '']) => text.trim());
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('no port is free');
  return address.port;
}

async function tablesIn(client: GlueClient, DatabaseName: string): Promise<Held['tables']> {
  const tables: Held['tables'] = new Map();
  for await (const { TableList = [] } of paginateGetTables({ client }, { DatabaseName })) {
    for (const table of TableList)
      tables.set(table.Name ?? '', { table: plain(table), version: 0, partitions: new Map() });
  }
  for (const [TableName, { partitions }] of tables) {
    for await (const { Partitions = [] } of paginateGetPartitions({ client }, { DatabaseName, TableName })) {
      for (const partition of Partitions)
        partitions.set((partition.Values ?? []).join('/'), plain(partition));
    }
  }
  return tables;
}

async function objectsIn(
  client: S3Client,
  Bucket: string,
  bodies: Map<string, Buffer>,
): Promise<Held['objects']> {
  const objects: Held['objects'] = new Map();
  for await (const { Contents = [] } of paginateListObjectsV2({ client }, { Bucket })) {
    const read = Contents.map(async ({ Key = '', ETag = '', LastModified = new Date(0) }) => {
      const version = `${Bucket}/${Key} ${ETag}`;
      const body = bodies.get(version) ?? (await bodyOf(client, Bucket, Key));
      bodies.set(version, body);
      return [Key, { body, etag: ETag, modifiedAt: LastModified }] as const;
    });
    for (const [key, object] of await Promise.all(read)) objects.set(key, object);
  }
  return objects;
}

async function bodyOf(client: S3Client, Bucket: string, Key: string): Promise<Buffer> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
}

function plain(described: object): JsonObject {
  const json = parseJson(JSON.stringify(described));
  if (!isJsonObject(json)) throw new Error('the description is not an object');
  return json;
}
