/**
 * The steps of the smoke test, in order. Each step returns its text for the table, and throws if something is wrong.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { addDays, monthOf } from '../../shared/days.ts';
import { icebergDatabase, ledgerKey } from '../../shared/lake/paths.ts';
import { athena, aws, awsAs, cdk, expectDenied, invoke, messageOf, text, texts, waitFor } from './account.ts';

/** The name of everything that the script creates outside the stack: a queue, a rule, a role and a schedule. */
export const STACK = 'BrandReports-smoke';
/** A brand at an address that does not exist. */
export const BROKEN = 'smoke-broken';

/** The subject of the test. */
export interface Try {
  /** A folder for temporary files. */
  work: string;
  brand: string;
  day: string;
  report: string;
  table: string;
}

type Step = readonly [name: string, run: () => Promise<string>];

const outputsSchema = z.record(z.string(), z.record(z.string(), z.string()));
const statusSchema = z.object({ status: z.string() });
const readSchema = z.object({
  ...{ status: z.string() },
  brands: z.array(
    z.object({ reports: z.record(z.string(), z.object({ read: z.object({ rows: z.number() }) })) }),
  ),
});
const watchSchema = z.object({
  message: z.nullable(z.string()),
  catalog: z.object({ status: z.string() }),
});
const ledgerSchema = z.object({
  days: z.record(z.string(), z.object({ committed: z.optional(z.unknown()) })),
});
const keysSchema = z.object({
  ...{ AccessKeyId: z.string(), SecretAccessKey: z.string(), SessionToken: z.string() },
});

/** @param settings the file that is deployed; `changeSettings` writes it again with another value for one brand */
export function stepsOf(
  { work, brand, day, report, table }: Try,
  settings: string,
  changeSettings: () => Promise<void>,
): Step[] {
  const path = (name: string) => join(work, name);
  const chosen = ['-c', `settings=${settings}`, '-c', `stack=${STACK}`, STACK];
  const name = `${STACK}-sync`;
  const outputs: Record<string, string> = {};
  const output = (key: string) => outputs[key] ?? missing(`the output ${key}`);
  const place = () => output('AlarmTopicArn').split(':');
  const arn = (service: string, resource: string) => {
    const [, partition, , region, account] = place();
    return `arn:${partition}:${service}:${service === 'iam' ? '' : region}:${account}:${resource}`;
  };
  const bucket = () => output('LakeUrl').replace('s3://', '');
  const brandResults = () => `${output('LakeUrl')}/query-results/brand=${brand}/`;
  const query = (sql: string, as = aws, workGroup = STACK) =>
    athena(sql, { workGroup, database: output('DatabaseName'), results: brandResults(), as });
  const run = (event: object, as = aws, of = name) => invoke(of, event, path('answer.json'), as);
  const status = async (event: object, as = aws) => z.parse(statusSchema, await run(event, as)).status;
  const check = (as = aws) => status({ brand, check: true }, as);
  const where = `WHERE brand = '${brand}' AND dt = '${day}'`;
  const received: string[] = [];
  let [rows, queueUrl] = ['', ''];

  async function deploy(...args: string[]): Promise<string> {
    const file = path('outputs.json');
    await cdk('deploy', '--require-approval', 'never', '--outputs-file', file, ...args);
    Object.assign(outputs, z.parse(outputsSchema, JSON.parse(await readFile(file, 'utf8')))[STACK]);
    return `account ${place()[4]}`;
  }

  async function readDay(tries = 5): Promise<string> {
    const answer = z.parse(readSchema, await run({ brand, reports: [report], from: day, to: day }));
    if (answer.status === 'incomplete' && tries > 1) return readDay(tries - 1);
    expectEqual('the status', answer.status, 'complete');
    const found = answer.brands[0]?.reports[report]?.read;
    rows = String(found?.rows ?? missing(`a row count of ${day}`));
    return `${rows} rows`;
  }

  async function arrival(what: string, pattern: RegExp): Promise<string> {
    await waitFor(what, 5, async () => {
      const poll = aws`sqs receive-message --queue-url ${queueUrl} --wait-time-seconds 2 --query Messages[].Body`;
      received.push(...texts(await poll));
      return received.find((body) => pattern.test(body));
    });
    return 'arrived in a queue';
  }

  async function runAll(queries: readonly (readonly [title: string, sql: string])[]): Promise<string> {
    const failures: string[] = [];
    for (const [title, sql] of queries)
      await query(sql).catch((error: unknown) => failures.push(`${title}: ${messageOf(error)}`));
    if (queries.length === 0 || failures.length > 0) throw new Error(failures.join('; ') || 'there is none');
    return `${queries.length} queries`;
  }

  /** With only this policy. Its rights take seconds to arrive, so the allowed call is repeated. */
  async function holding(
    policy: string,
    allowed: (as: typeof aws) => Promise<unknown>,
    others: (as: typeof aws) => readonly Promise<unknown>[],
  ): Promise<string> {
    await aws`iam attach-role-policy --role-name ${STACK} --policy-arn ${policy}`;
    try {
      const role = arn('iam', `role/${STACK}`);
      const keys = await waitFor('to assume the role', 2, async () =>
        z.parse(
          keysSchema,
          await aws`sts assume-role --role-arn ${role} --role-session-name smoke --query Credentials`,
        ),
      );
      const as = awsAs({
        ...{ AWS_ACCESS_KEY_ID: keys.AccessKeyId, AWS_SECRET_ACCESS_KEY: keys.SecretAccessKey },
        AWS_SESSION_TOKEN: keys.SessionToken,
      });
      await waitFor('the allowed call', 2, async () => (await allowed(as)) ?? null);
      const calls = others(as);
      await Promise.all(calls.map(expectDenied));
      return `${calls.length} other calls are denied`;
    } finally {
      await aws`iam detach-role-policy --role-name ${STACK} --policy-arn ${policy}`;
    }
  }

  const ledger = (of: string) => ledgerKey(report, brand, monthOf(of));
  const get = (key: string, as = aws) =>
    as`s3api get-object --bucket ${bucket()} --key ${key} ${path('object')}`;
  // If they were allowed, they would change almost nothing.
  const start = (as: typeof aws) => as`lambda invoke --function-name ${name} ${path('answer.json')}`;
  const change = (as: typeof aws) =>
    as`lambda update-function-configuration --function-name ${name} --description changed`;
  const secrets = (as: typeof aws) => as`secretsmanager list-secrets`;
  const ask = (as: typeof aws) =>
    as`athena start-query-execution --work-group ${STACK} --query-string SELECT`;

  return [
    ['deploy', () => deploy('--output', path('first'), ...chosen)],
    ['the function checks the connection', async () => expectEqual('the status', await check(), 'ok')],
    [
      'the watcher makes the catalog',
      async () => {
        const { catalog } = z.parse(watchSchema, await run({}, aws, `${STACK}-watch`));
        return expectEqual('the catalog', catalog.status, 'complete');
      },
    ],
    [
      'subscribe to events and messages',
      async () => {
        const [queue, rule, topic] = [
          arn('sqs', STACK),
          arn('events', `rule/${STACK}`),
          output('AlarmTopicArn'),
        ];
        const policy = statement('sqs:SendMessage', {
          Resource: queue,
          Principal: { Service: ['events.amazonaws.com', 'sns.amazonaws.com'] },
          Condition: { ArnEquals: { 'aws:SourceArn': [rule, topic] } },
        });
        const attributes = JSON.stringify({ Policy: policy });
        queueUrl = text(
          await aws`sqs create-queue --queue-name ${STACK} --attributes ${attributes} --query QueueUrl`,
        );
        const resources = [`arn:${place()[1]}:s3:::${bucket()}`];
        const pattern = JSON.stringify({ source: ['brand-reports'], resources });
        await aws`events put-rule --name ${STACK} --event-pattern ${pattern}`;
        await aws`events put-targets --rule ${STACK} --targets Id=queue,Arn=${queue}`;
        await aws`sns subscribe --topic-arn ${topic} --protocol sqs --notification-endpoint ${queue}`;
        return '';
      },
    ],
    [`sync ${report} of ${day}`, () => readDay()],
    ['an event arrives', () => arrival('the event', new RegExp(`"Day Published".*"${day}"`, 's'))],
    [
      'Athena counts the same rows',
      async () => expectEqual('the count', await query(`SELECT count(*) FROM ${table} ${where}`), rows),
    ],
    [
      'every view',
      async () => {
        const views = "TableList[?TableType=='VIRTUAL_VIEW'].Name";
        const names = aws`glue get-tables --database-name ${output('DatabaseName')} --query ${views}`;
        return runAll(texts(await names).map((view) => [view, `SELECT * FROM ${view} LIMIT 10`]));
      },
    ],
    [
      'every saved query',
      async () => {
        const queries: [string, string][] = [];
        const ids = aws`athena list-named-queries --work-group ${STACK} --query NamedQueryIds`;
        for (const id of texts(await ids)) {
          const sql = aws`athena get-named-query --named-query-id ${id} --query NamedQuery.QueryString`;
          queries.push([id, text(await sql)]);
        }
        return runAll(queries);
      },
    ],
    [
      'time travel in Iceberg',
      async () => {
        const iceberg = icebergDatabase(output('DatabaseName'));
        const newest = `SELECT CAST(snapshot_id AS varchar) FROM "${iceberg}"."${table}$snapshots" ORDER BY committed_at DESC LIMIT 1`;
        const countAt = (when: string) =>
          query(`SELECT count(*) FROM ${iceberg}.${table} FOR ${when} ${where}`);
        expectEqual('the count by version', await countAt(`VERSION AS OF ${await query(newest)}`), rows);
        return expectEqual('the count by time', await countAt('TIMESTAMP AS OF current_timestamp'), rows);
      },
    ],
    [
      'make a role',
      async () => {
        const Principal = { AWS: arn('iam', 'root'), Service: 'scheduler.amazonaws.com' };
        const trust = statement('sts:AssumeRole', { Principal });
        const tag = `Key=brand,Value=${brand}`;
        await aws`iam create-role --role-name ${STACK} --assume-role-policy-document ${trust} --tags ${tag}`;
        return '';
      },
    ],
    [
      'the policy of analysts',
      () =>
        holding(
          output('AnalystsPolicyArn'),
          (as) => query(`SELECT count(*) FROM ${table}`, as),
          (as) => [get(ledger(day), as), start(as), change(as), secrets(as)],
        ),
    ],
    [
      'the policy of operators',
      () =>
        holding(output('OperatorsPolicyArn'), check, (as) => [
          ...[get(ledger(day), as), change(as), secrets(as), ask(as)],
        ]),
    ],
    [
      `the policy of ${brand}`,
      async () => {
        const other = `snapshots/${table}/brand=${brand}-2/dt=${day}/other`;
        await aws`s3api put-object --bucket ${bucket()} --key ${other}`;
        return holding(
          output('BrandPolicyArn'),
          (as) => query(`SELECT count(*) FROM ${table} ${where}`, as, `${STACK}.brands`),
          (as) => [get(other, as), get(ledger(day), as), start(as), ask(as)],
        );
      },
    ],
    [
      'a schedule fires once',
      async () => {
        const before = addDays(day, -1);
        const Arn = arn('lambda', `function:${name}`);
        const policy = statement('lambda:InvokeFunction', { Resource: Arn });
        await aws`iam put-role-policy --role-name ${STACK} --policy-name invoke --policy-document ${policy}`;
        const Input = JSON.stringify({ brand, reports: [report], from: before, to: before });
        const target = JSON.stringify({ Arn, RoleArn: arn('iam', `role/${STACK}`), Input });
        const soon = new Date(Date.now() + 120_000).toISOString().slice(0, 19);
        await waitFor(
          'the schedule',
          1,
          () =>
            aws`scheduler create-schedule --name ${STACK} --schedule-expression at(${soon}) --flexible-time-window Mode=OFF --action-after-completion DELETE --target ${target}`,
        );
        await waitFor(`${before} in the ledger`, 10, async () => {
          await get(ledger(before));
          const { days } = z.parse(ledgerSchema, JSON.parse(await readFile(path('object'), 'utf8')));
          return days[before]?.committed;
        });
        return `read ${before}`;
      },
    ],
    [
      'a message arrives',
      async () => {
        expectEqual(
          'the status',
          await status({ brand: BROKEN, reports: [report], from: day, to: day }),
          'failed',
        );
        const { message } = z.parse(watchSchema, await run({}, aws, `${STACK}-watch`));
        if (message === null) missing('a message of the watcher');
        return arrival('the message', new RegExp(`"Type" ?: ?"Notification".*${BROKEN}`, 's'));
      },
    ],
    [
      `a backfill of ${monthOf(day)}`,
      async () => {
        const machine = arn('states', `stateMachine:${STACK}-backfill`);
        const input = JSON.stringify({
          brand,
          reports: [report],
          from: `${monthOf(day)}-01`,
          to: day,
        });
        const execution = text(
          await aws`stepfunctions start-execution --state-machine-arn ${machine} --input ${input} --query executionArn`,
        );
        const end = await waitFor('the end of the backfill', 30, async () => {
          const now = aws`stepfunctions describe-execution --execution-arn ${execution} --query status`;
          return (await now) === 'RUNNING' ? undefined : now;
        });
        return expectEqual('the status', end, 'SUCCEEDED');
      },
    ],
    [
      'nothing changed: no difference',
      async () => {
        await cdk('diff', '--fail', '--output', path('diff'), ...chosen);
        return '';
      },
    ],
    [
      'one brand changed',
      async () => {
        await changeSettings();
        await deploy('--output', path('second'), ...chosen);
        return expectEqual('the status', await check(), 'ok');
      },
    ],
    [
      'an older assembly is deployed',
      async () => {
        await deploy('--app', path('first'), STACK);
        return expectEqual('the status', await check(), 'ok');
      },
    ],
  ];
}

/** Removes everything that the script created outside the stack. */
export async function cleanUp(): Promise<string> {
  const url = aws`sqs get-queue-url --queue-name ${STACK} --query QueueUrl`;
  const removals = [
    async () => aws`sqs delete-queue --queue-url ${text(await url)}`,
    () => aws`events remove-targets --rule ${STACK} --ids queue`,
    () => aws`events delete-rule --name ${STACK}`,
    () => aws`scheduler delete-schedule --name ${STACK}`,
    () => aws`iam delete-role-policy --role-name ${STACK} --policy-name invoke`,
    () => aws`iam delete-role --role-name ${STACK}`,
  ];
  const problems: string[] = [];
  for (const remove of removals) await remove().catch((error: unknown) => problems.push(messageOf(error)));
  // A step that failed has not created its resource, and a schedule that fired is gone.
  const real = problems.filter((problem) => !/NotFound|NoSuch|NonExistent|does not exist/i.test(problem));
  if (real.length > 0) throw new Error(real.join('; '));
  return '';
}

/**
 * Removes the logs of CDK's own functions, which belong to no stack.
 * @throws Error with the names of the leftovers of the stack
 */
export async function nothingIsLeft({ work }: Pick<Try, 'work'>): Promise<string> {
  const file = await readFile(join(work, 'outputs.json'), 'utf8').catch(() => '{}');
  const { LakeUrl = '', DatabaseName = STACK } = z.parse(outputsSchema, JSON.parse(file))[STACK] ?? {};
  const logs = async () =>
    texts(
      await aws`logs describe-log-groups --log-group-name-prefix /aws/lambda/${STACK} --query logGroups[].logGroupName`,
    );
  for (const group of await logs()) await aws`logs delete-log-group --log-group-name ${group}`;
  const isLive = `StackName=='${STACK}' && StackStatus!='DELETE_COMPLETE'`;
  const found = await Promise.all([
    aws`cloudformation list-stacks --query ${`StackSummaries[?${isLive}].StackName`}`,
    aws`s3api list-buckets --query ${`Buckets[?Name=='${LakeUrl.replace('s3://', '')}'].Name`}`,
    aws`glue get-databases --query ${`DatabaseList[?starts_with(Name, '${DatabaseName}')].Name`}`,
    aws`iam list-roles --query ${`Roles[?starts_with(RoleName, '${STACK}')].RoleName`}`,
    logs(),
  ]);
  const left = found.flatMap(texts);
  if (left.length > 0) throw new Error(left.join(', '));
  return '';
}

/** A policy with one statement. */
function statement(Action: string, others: object): string {
  return JSON.stringify({ Version: '2012-10-17', Statement: { Effect: 'Allow', Action, ...others } });
}

function expectEqual(what: string, found: unknown, wanted: unknown): string {
  const [is, should] = [found, wanted].map((value) => JSON.stringify(value));
  if (is !== should) throw new Error(`${what} is ${is}, not ${should}`);
  return typeof found === 'string' ? found : '';
}

function missing(what: string): never {
  throw new Error(`${what} is missing`);
}
