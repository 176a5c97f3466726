import { AssetHashType, Aws, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { type IGrantable, type IPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { type ILogGroup, LogGroup } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import { hash } from 'node:crypto';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { objectPage, testPage } from '../shared/adapters/aws/console-url.ts';
import { EVENT_SOURCE } from '../shared/adapters/aws/event-bridge.ts';
import { SECRETS_PREFIX } from '../shared/adapters/credentials.ts';
import { type BrandReportsError, configError } from '../shared/base/errors.ts';
import { COVERAGE_PAGE_KEY } from '../shared/lake/paths.ts';
import { SETTINGS_FILE, settingsText } from '../shared/settings/settings-file.ts';
import type { Settings } from '../shared/settings/settings.ts';
import type { AlarmTopic } from './alarms.ts';
import { bundleFunction } from './bundle-function.ts';
import type { Catalog } from './catalog.ts';
import type { Deployment } from './deployment.ts';
import type { FailureQueue } from './failure-queue.ts';
import { type Network, allow, arnInStack, grantKey, grantNetwork } from './grants.ts';
import type { Lake } from './lake.ts';
import { consoleLink, instanceName, output } from './names.ts';

export interface PipelineParts {
  settings: Settings;
  deployment: Deployment;
  version: string;
  network: Network;
  lake: Lake;
  catalog: Catalog;
  /** Receives events that a schedule could not deliver, that a function failed on, or that waited too long for an instance. */
  failed: FailureQueue;
}

export interface PipelineFunctionProps extends PipelineParts {
  /** The name without the stack's name in front; a file in `functions/` has the same name. */
  name: string;
  description: string;
  /** When it starts with `{}`. */
  schedule: string;
  environment?: Readonly<Record<string, string>>;
  timeout?: Duration;
  /** The number of instances reserved for it, which is also its maximum. */
  reservedConcurrency?: number | undefined;
}

export class PipelineFunction extends Construct implements IGrantable {
  readonly function: LambdaFunction;
  readonly role: Role;
  readonly logGroup: ILogGroup;
  readonly grantPrincipal: IPrincipal;

  constructor(scope: Construct, id: string, props: PipelineFunctionProps) {
    super(scope, id);
    const functionName = `${instanceName(this)}-${props.name}`;
    const { settings, deployment, network, lake, catalog, reservedConcurrency } = props;
    // Events are always sent: without a rule they start nothing, and a million cost 1 USD.
    const bus = arnInStack(this, 'events', 'event-bus/default');
    // No fixed name: a group left over from a deleted stack would block the next deployment.
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: deployment.logRetention,
      encryptionKey: deployment.encryptionKey,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.grantPrincipal = this.role;
    this.function = new LambdaFunction(this, 'Function', {
      functionName,
      description: props.description,
      ...network,
      code: functionCode(props.name, settingsText(settings)),
      handler: 'main.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: deployment.memoryMb,
      timeout: props.timeout ?? Duration.minutes(15),
      // No retries: the next scheduled run is the retry, and an event that waited longer for an instance is outdated.
      retryAttempts: 0,
      maxEventAge: Duration.minutes(15),
      onFailure: props.failed,
      reservedConcurrentExecutions: reservedConcurrency,
      loggingFormat: LoggingFormat.JSON,
      logGroup: this.logGroup,
      role: this.role,
      environment: {
        ...lake.environment,
        EVENT_BUS_ARN: bus,
        DATABASE: catalog.databaseName,
        PROGRAM_VERSION: props.version,
        ...props.environment,
      },
    });
    this.logGroup.grantWrite(this.role);
    allow(this, ['events:PutEvents'], [bus], { StringEquals: { 'events:source': EVENT_SOURCE } });
    if (network.vpc) {
      const subnets = network.vpc.selectSubnets(network.vpcSubnets);
      grantNetwork(this.role, subnets, this.function.connections.securityGroups);
    }
    output(this, `${props.name.replace(/^./, (first) => first.toUpperCase())}Function`, {
      value: consoleLink(this, 'lambda', testPage(functionName)),
      description: props.description,
    });
    const target = new LambdaInvoke(this.function, {
      input: ScheduleTargetInput.fromObject({}),
      // The next start is the retry.
      retryAttempts: 2,
      maxEventAge: Duration.minutes(15),
      deadLetterQueue: props.failed,
    });
    const schedule = new Schedule(this, 'Schedule', {
      description: `Starts ${functionName}`,
      schedule: ScheduleExpression.expression(props.schedule),
      enabled: deployment.schedules,
      target,
    });
    props.failed.grantSend(target.bind(schedule).role);
  }
}

/** The settings lie beside the code, so that CloudFormation updates both together and rolls both back. */
function functionCode(handler: string, settings: string): Code {
  const folder = fileURLToPath(new URL('../functions', import.meta.url));
  const ready = join(folder, handler);
  const isReady = existsSync(ready);
  return Code.fromAsset(isReady ? ready : folder, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      local: {
        tryBundle(output) {
          if (isReady) cpSync(ready, output, { recursive: true });
          else bundleFunction({ entryPoints: [join(folder, `${handler}.lambda.ts`)] }, output);
          writeFileSync(join(output, SETTINGS_FILE), settings);
          return true;
        },
      },
      // Docker never runs; but CDK gives functions with the same image and command the same bundle.
      image: Runtime.NODEJS_24_X.bundlingImage,
      command: [handler, hash('sha256', settings)],
    },
  });
}

export class SyncFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, props: PipelineParts) {
    const { settings, deployment, lake, catalog } = props;
    const { reservedConcurrency, schedule } = deployment;
    super(scope, id, {
      ...props,
      name: 'sync',
      description: 'Reads the due days of all brands; test it with {}',
      schedule,
      reservedConcurrency,
    });
    lake.grantSync(this);
    catalog.grantSync(this);
    this.grantSecrets(settings, deployment);
  }

  /** The names of secrets have one prefix, so that a new brand changes no policy. I9: people create the secrets by hand. */
  private grantSecrets({ brands }: Settings, { secretsKey }: Deployment): void {
    for (const [brand, { secretName = SECRETS_PREFIX }] of Object.entries(brands))
      if (!secretName.startsWith(SECRETS_PREFIX)) throw outsideOfPrefix(brand);
    const secrets = arnInStack(this, 'secretsmanager', `secret:${SECRETS_PREFIX}*`);
    allow(this, ['secretsmanager:GetSecretValue'], [secrets]);
    grantKey(this, secretsKey, 'secretsmanager', 'read');
  }
}

/** I9: the error does not contain the name, because somebody may have entered a credential instead. */
function outsideOfPrefix(brand: string): BrandReportsError {
  return configError(
    'secret_outside_prefix',
    `brands.${brand}.secretName does not begin with "${SECRETS_PREFIX}", and the functions may read only secrets with this prefix. Leave secretName out and store the secret as ${SECRETS_PREFIX}${brand}, or under another name with this prefix.`,
  );
}

export class WatchFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, props: PipelineParts & { topic: AlarmTopic }) {
    const { lake, catalog, topic } = props;
    super(scope, id, {
      ...props,
      name: 'watch',
      description:
        'Watches every day of every report, reports news, draws which days are in the lake, and updates the catalog; test it with {}',
      // Not on the hour, when most of the world's schedules start.
      schedule: 'cron(50 * * * ? *)',
      environment: {
        FUNCTION_PREFIX: instanceName(scope),
        TOPIC_ARN: topic.topic.topicArn,
        STACK_ID: Aws.STACK_ID,
      },
      timeout: Duration.minutes(5),
    });
    lake.grantWatch(this);
    catalog.grantUpdate(this);
    topic.grantPublish(this);
    output(this, 'CoveragePage', {
      value: objectPage(Stack.of(this).region, lake.bucket.bucketName, COVERAGE_PAGE_KEY),
      description: 'The days in the lake, what is missing and what to do, drawn every hour: press Open',
    });
  }
}
