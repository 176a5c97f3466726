/** The steps of the try, in their order. Each one returns what the table says about it, and throws if something is wrong. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { addDays, monthOf } from '../../shared/days.ts';
import { icebergDatabase, ledgerKey } from '../../shared/lake/paths.ts';
import {
  type Identity,
  athena,
  aws,
  awsText,
  awsTexts,
  cdk,
  denied,
  invoke,
  messageOf,
  waitFor,
} from './account.ts';

export const STACK = 'BrandReports-smoke';
/** A brand at an address that does not exist. */
export const BROKEN = 'smoke-broken';
/** What the script makes beside the stack has the stack's name. */
const [QUEUE, RULE, ROLE, SCHEDULE] = [STACK, STACK, STACK, STACK];

/** What is tried. */
export interface Try {
  /** A folder of its own. */
  work: string;
  brand: string;
  day: string;
  report: string;
  table: string;
}

type Step = readonly [name: string, run: () => Promise<string>];

const outputsSchema = z.record(z.string(), z.record(z.string(), z.string()));
const statusSchema = z.object({ status: z.string() });
const daysSchema = z.object({
  reports: z.array(z.object({ days: z.array(z.object({ dt: z.string(), rows: z.number() })) })),
});
const watchSchema = z.object({ message: z.nullable(z.string()) });
const ledgerSchema = z.object({
  days: z.record(z.string(), z.object({ committed: z.optional(z.unknown()) })),
});
const keysSchema = z.object({
  ...{ AccessKeyId: z.string(), SecretAccessKey: z.string(), SessionToken: z.string() },
});

/** @param settingsFile is deployed; `changeSettings` writes it again with another value for one brand */
export function stepsOf(
  { work, brand, day, report, table }: Try,
  settingsFile: string,
  changeSettings: () => Promise<void>,
): Step[] {
  const path = (name: string) => join(work, name);
  const chosen = ['-c', `settings=${settingsFile}`, '-c', 'environment=smoke', STACK];
  const without = ['--require-approval', 'never'];
  const reportFunction = `${STACK}-${report}`;
  const of: Record<string, string> = {};
  const output = (name: string) => of[name] ?? missing(`the output ${name}`);
  const database = () => output('DatabaseName');
  const bucket = () => output('LakeUrl').replace('s3://', '');
  /** Partition, region and account, as every ARN of the stack has them. */
  const arn = (service: string, resource: string) => {
    const [, partition, , region, account] = output('AlarmTopicArn').split(':');
    return `arn:${partition}:${service}:${['iam', 's3'].includes(service) ? '' : region}:${service === 's3' ? '' : account}:${resource}`;
  };
  const run = (event: object, identity?: Identity, name = reportFunction) =>
    invoke(name, event, path('answer.json'), identity);
  const query = (sql: string, workGroup = STACK, identity?: Identity) =>
    athena(sql, { workGroup, database: database(), ...(identity && { identity }) });
  let rows = 0;
  const countOf = `SELECT count(*) FROM ${table}`;
  const where = `WHERE brand = '${brand}' AND dt = '${day}'`;
  let queueUrl = '';
  const received: string[] = [];

  async function deploy(...args: string[]): Promise<string> {
    await cdk('deploy', ...without, '--outputs-file', path('outputs.json'), ...args);
    const outputs = z.parse(outputsSchema, JSON.parse(await readFile(path('outputs.json'), 'utf8')));
    Object.assign(of, outputs[STACK]);
    return `account ${output('AlarmTopicArn').split(':')[4]}`;
  }

  async function readDay(from: string, to: string): Promise<unknown> {
    for (let tries = 0; tries < 5; tries += 1) {
      const answer = await run({ brand, from, to });
      const { status } = z.parse(statusSchema, answer);
      if (status === 'incomplete') continue;
      expectEqual('the status', status, 'complete');
      return answer;
    }
    throw new Error('the day is incomplete after 5 runs');
  }

  /** A body that has come to the queue and matches. */
  async function arrival(what: string, pattern: RegExp): Promise<string> {
    const poll = ['sqs', 'receive-message', '--queue-url', queueUrl, '--wait-time-seconds', '2'];
    await waitFor(what, 5, async () => {
      received.push(...(await awsTexts('Messages[].Body', [...poll, '--max-number-of-messages', '10'])));
      return received.find((body) => pattern.test(body));
    });
    return 'arrived in a queue';
  }

  /** Runs every query, and names those that fail. */
  async function allOf(queries: readonly (readonly [name: string, sql: string])[]): Promise<string> {
    const failures: string[] = [];
    for (const [name, sql] of queries)
      await query(sql).catch((error: unknown) => failures.push(`${name}: ${messageOf(error)}`));
    if (queries.length === 0 || failures.length > 0) throw new Error(failures.join('; ') || 'there is none');
    return `${queries.length} queries`;
  }

  /** With the policy alone. Its rights take seconds to arrive, so the first call is repeated. */
  async function asHolderOf(
    policy: string,
    allowed: (identity: Identity) => Promise<unknown>,
    others: readonly (readonly string[])[],
  ): Promise<string> {
    const attachment = ['--role-name', ROLE, '--policy-arn', policy];
    await aws(['iam', 'attach-role-policy', ...attachment]);
    try {
      const assume = [
        'sts',
        'assume-role',
        '--role-arn',
        arn('iam', `role/${ROLE}`),
        '--role-session-name',
        'smoke',
      ];
      const keys = await waitFor('assuming the role', 2, async () =>
        z.parse(keysSchema, await aws([...assume, '--query', 'Credentials'])),
      );
      const identity = {
        ...{ AWS_ACCESS_KEY_ID: keys.AccessKeyId, AWS_SECRET_ACCESS_KEY: keys.SecretAccessKey },
        AWS_SESSION_TOKEN: keys.SessionToken,
      };
      await waitFor('the allowed call', 2, async () => (await allowed(identity), true));
      for (const call of others) await denied(identity, ...call);
      return `${others.length} other calls are denied`;
    } finally {
      await aws(['iam', 'detach-role-policy', ...attachment]);
    }
  }

  const object = (key: string) => ['s3api', 'get-object', '--bucket', bucket(), '--key', key, path('object')];
  const ledger = (of: string) => ledgerKey(report, brand, monthOf(of));
  const describe = ['lambda', 'update-function-configuration', '--function-name', reportFunction];
  const change = [...describe, '--description', 'changed'];
  const secret = ['secretsmanager', 'list-secrets'];
  const lambda = ['lambda', 'invoke', '--function-name', reportFunction, path('answer.json')];
  const functions = () =>
    aws([
      ...['lambda', 'list-functions', '--query'],
      `Functions[?starts_with(FunctionName, '${STACK}-')].[FunctionName, CodeSha256, LastModified]`,
    ]);

  return [
    ['deploy', () => deploy('--output', path('first'), ...chosen)],
    [
      'the function checks the connection',
      async () =>
        expectEqual('the status', z.parse(statusSchema, await run({ brand, check: true })).status, 'ok'),
    ],
    [
      'subscribe to events and messages',
      async () => {
        const topic = output('AlarmTopicArn');
        const [queue, rule] = [arn('sqs', QUEUE), arn('events', `rule/${RULE}`)];
        const Statement = {
          ...{ Effect: 'Allow', Action: 'sqs:SendMessage', Resource: queue },
          Principal: { Service: ['events.amazonaws.com', 'sns.amazonaws.com'] },
          Condition: { ArnEquals: { 'aws:SourceArn': [rule, topic] } },
        };
        const attributes = JSON.stringify({ Policy: JSON.stringify({ Version: '2012-10-17', Statement }) });
        queueUrl = await awsText('QueueUrl', [
          'sqs',
          'create-queue',
          '--queue-name',
          QUEUE,
          '--attributes',
          attributes,
        ]);
        const pattern = { source: ['brand-reports'], resources: [arn('s3', bucket())] };
        await aws(['events', 'put-rule', '--name', RULE, '--event-pattern', JSON.stringify(pattern)]);
        await aws(['events', 'put-targets', '--rule', RULE, '--targets', `Id=queue,Arn=${queue}`]);
        await aws([
          'sns',
          'subscribe',
          '--topic-arn',
          topic,
          '--protocol',
          'sqs',
          '--notification-endpoint',
          queue,
        ]);
        return `queue ${QUEUE}`;
      },
    ],
    [
      `sync ${report} of ${day}`,
      async () => {
        const { reports } = z.parse(daysSchema, await readDay(day, day));
        rows = reports[0]?.days.find(({ dt }) => dt === day)?.rows ?? missing(`a row count of ${day}`);
        return `${rows} rows`;
      },
    ],
    ['an event arrives', () => arrival('the event', new RegExp(`"Day Published".*"${day}"`, 's'))],
    [
      'Athena counts the same rows',
      async () => expectEqual('the count', await query(`${countOf} ${where}`), String(rows)),
    ],
    [
      'every view',
      async () => {
        const tables = ['glue', 'get-tables', '--database-name', database()];
        const names = await awsTexts("TableList[?TableType=='VIRTUAL_VIEW'].Name", tables);
        return allOf(names.map((name) => [name, `SELECT * FROM ${name} LIMIT 10`]));
      },
    ],
    [
      'every saved query',
      async () => {
        const ids = await awsTexts('NamedQueryIds', ['athena', 'list-named-queries', '--work-group', STACK]);
        const queries = [];
        for (const id of ids) {
          const get = ['athena', 'get-named-query', '--named-query-id', id];
          queries.push([
            await awsText('NamedQuery.Name', get),
            await awsText('NamedQuery.QueryString', get),
          ] as const);
        }
        return allOf(queries);
      },
    ],
    [
      'time travel in Iceberg',
      async () => {
        const iceberg = icebergDatabase(database());
        const newest = `SELECT CAST(snapshot_id AS varchar) FROM "${iceberg}"."${table}$snapshots" ORDER BY committed_at DESC LIMIT 1`;
        const now = `${countOf.replace(table, `${iceberg}.${table}`)} FOR`;
        const version = await query(newest);
        expectEqual(
          'the count by version',
          await query(`${now} VERSION AS OF ${version} ${where}`),
          String(rows),
        );
        const time = `${now} TIMESTAMP AS OF current_timestamp ${where}`;
        return expectEqual('the count by time', await query(time), String(rows));
      },
    ],
    [
      'make a role',
      async () => {
        const Principal = { AWS: arn('iam', 'root'), Service: 'scheduler.amazonaws.com' };
        const Statement = { Effect: 'Allow', Action: 'sts:AssumeRole', Principal };
        const trust = JSON.stringify({ Version: '2012-10-17', Statement });
        await aws(['iam', 'create-role', '--role-name', ROLE, '--assume-role-policy-document', trust]);
        return ROLE;
      },
    ],
    [
      'the policy of analysts',
      () =>
        asHolderOf(output('AnalystsPolicyArn'), (identity) => query(countOf, STACK, identity), [
          object(ledger(day)),
          lambda,
          change,
          secret,
        ]),
    ],
    [
      'the policy of operators',
      () =>
        asHolderOf(output('OperatorsPolicyArn'), (identity) => run({ brand, check: true }, identity), [
          object(ledger(day)),
          change,
          secret,
          ['athena', 'start-query-execution', '--work-group', STACK, '--query-string', 'SELECT 1'],
        ]),
    ],
    [
      `the policy of ${brand}`,
      async () => {
        const region = output('AlarmTopicArn').split(':')[3];
        const other = `snapshots/${table}/brand=${brand}-2/dt=${day}/x`;
        await aws(['s3api', 'put-object', '--bucket', bucket(), '--key', other]);
        return asHolderOf(
          arn('iam', `policy/${STACK}-brand-${brand}-${region}`),
          (identity) => query(`${countOf} ${where}`, `${STACK}-${brand}`, identity),
          [
            object(other),
            object(ledger(day)),
            lambda,
            ['athena', 'start-query-execution', '--work-group', STACK, '--query-string', 'SELECT 1'],
          ],
        );
      },
    ],
    [
      'a schedule fires once',
      async () => {
        const before = addDays(day, -1);
        const target = arn('lambda', `function:${reportFunction}`);
        const Statement = { Effect: 'Allow', Action: 'lambda:InvokeFunction', Resource: target };
        const policy = JSON.stringify({ Version: '2012-10-17', Statement });
        const name = ['--role-name', ROLE, '--policy-name', 'invoke'];
        await aws(['iam', 'put-role-policy', ...name, '--policy-document', policy]);
        const at = new Date(Date.now() + 90_000).toISOString().slice(0, 19);
        const Input = JSON.stringify({ brand, from: before, to: before });
        await waitFor('the schedule', 1, () =>
          aws([
            ...['scheduler', 'create-schedule', '--name', SCHEDULE, '--schedule-expression', `at(${at})`],
            ...['--flexible-time-window', 'Mode=OFF', '--action-after-completion', 'DELETE', '--target'],
            JSON.stringify({ Arn: target, RoleArn: arn('iam', `role/${ROLE}`), Input }),
          ]),
        );
        await waitFor(`${before} in the ledger`, 10, async () => {
          await aws(object(ledger(before)));
          const { days } = z.parse(ledgerSchema, JSON.parse(await readFile(path('object'), 'utf8')));
          return days[before]?.committed;
        });
        return `read ${before}`;
      },
    ],
    [
      'a message arrives',
      async () => {
        const { status } = z.parse(statusSchema, await run({ brand: BROKEN, from: day, to: day }));
        expectEqual(`the status of ${BROKEN}`, status, 'failed');
        const { message } = z.parse(watchSchema, await run({}, {}, `${STACK}-calendar`));
        if (message === null) throw new Error('the watcher has sent no message');
        return arrival('the message', new RegExp(`"Type" ?: ?"Notification".*${BROKEN}`, 's'));
      },
    ],
    [
      'test events are listed',
      async () => {
        const registry = ['--registry-name', 'lambda-testevent-schemas'];
        const list = ['schemas', 'list-schemas', ...registry, '--schema-name-prefix', `_${STACK}-`];
        const names = await awsTexts('Schemas[].SchemaName', list);
        const content = [
          'schemas',
          'describe-schema',
          ...registry,
          '--schema-name',
          `_${reportFunction}-schema`,
        ];
        if (!(await awsText('Content', content)).includes('Sync-now'))
          throw new Error('Sync-now is not among them');
        return `${names.length} functions`;
      },
    ],
    [
      `a backfill of ${monthOf(day)}`,
      async () => {
        const machine = arn('states', `stateMachine:${STACK}-backfill`);
        const input = JSON.stringify({ report, brand, from: `${monthOf(day)}-01`, to: day });
        const start = ['stepfunctions', 'start-execution', '--state-machine-arn', machine, '--input', input];
        const execution = await awsText('executionArn', start);
        const status = await waitFor('the end of the backfill', 30, async () => {
          const described = ['stepfunctions', 'describe-execution', '--execution-arn', execution];
          const now = await awsText('status', described);
          return now === 'RUNNING' ? undefined : now;
        });
        return expectEqual('the status', status, 'SUCCEEDED');
      },
    ],
    [
      'nothing changed: no difference',
      async () => (await cdk('diff', '--fail', '--output', path('diff'), ...chosen), ''),
    ],
    [
      'one brand changed: no function is updated',
      async () => {
        const before = await functions();
        await changeSettings();
        await deploy('--output', path('second'), ...chosen);
        return expectEqual('the functions', await functions(), before);
      },
    ],
    [
      'an older assembly is deployed',
      async () => {
        await deploy('--app', path('first'), STACK);
        return expectEqual(
          'the status',
          z.parse(statusSchema, await run({ brand, check: true })).status,
          'ok',
        );
      },
    ],
  ];
}

/** Removes what the script has made beside the stack. */
export async function cleanUp(): Promise<string> {
  const queue = ['sqs', 'get-queue-url', '--queue-name', QUEUE];
  const calls: (readonly string[])[] = [
    ['events', 'remove-targets', '--rule', RULE, '--ids', 'queue'],
    ['events', 'delete-rule', '--name', RULE],
    ['scheduler', 'delete-schedule', '--name', SCHEDULE],
    ['iam', 'delete-role-policy', '--role-name', ROLE, '--policy-name', 'invoke'],
    ['iam', 'delete-role', '--role-name', ROLE],
  ];
  const problems: string[] = [];
  const note = (error: unknown) => {
    // A step that failed has not made it, and a schedule that fired is gone.
    if (!/NotFound|NoSuch|NonExistent|does not exist/i.test(messageOf(error)))
      problems.push(messageOf(error));
  };
  await awsText('QueueUrl', queue)
    .then((url) => aws(['sqs', 'delete-queue', '--queue-url', url]))
    .catch(note);
  for (const call of calls) await aws(call).catch(note);
  if (problems.length > 0) throw new Error(problems.join('; '));
  return '';
}

/**
 * Removes the logs of CDK's own functions, which belong to no stack.
 * @throws Error with the names of what is left of the stack
 */
export async function nothingIsLeft({ work }: Pick<Try, 'work'>): Promise<string> {
  const file = await readFile(join(work, 'outputs.json'), 'utf8').catch(() => '{}');
  const { LakeUrl = '', DatabaseName = STACK } = z.parse(outputsSchema, JSON.parse(file))[STACK] ?? {};
  const groups = ['logs', 'describe-log-groups', '--log-group-name-prefix', `/aws/lambda/${STACK}`];
  for (const name of await awsTexts('logGroups[].logGroupName', groups))
    await aws(['logs', 'delete-log-group', '--log-group-name', name]);
  const isLive = `StackName=='${STACK}' && StackStatus!='DELETE_COMPLETE'`;
  const left = [
    await awsTexts(`StackSummaries[?${isLive}].StackName`, ['cloudformation', 'list-stacks']),
    await awsTexts(`Buckets[?Name=='${LakeUrl.slice('s3://'.length)}'].Name`, ['s3api', 'list-buckets']),
    await awsTexts(`DatabaseList[?starts_with(Name, '${DatabaseName}')].Name`, ['glue', 'get-databases']),
    await awsTexts(`Roles[?starts_with(RoleName, '${STACK}')].RoleName`, ['iam', 'list-roles']),
    await awsTexts('logGroups[].logGroupName', groups),
  ].flat();
  if (left.length > 0) throw new Error(left.join(', '));
  return '';
}

function expectEqual(what: string, found: unknown, wanted: unknown): string {
  const [is, should] = [found, wanted].map((value) => JSON.stringify(value));
  if (is !== should) throw new Error(`${what} is ${is}, not ${should}`);
  return typeof found === 'string' ? found : '';
}

function missing(what: string): never {
  throw new Error(`${what} is missing`);
}
