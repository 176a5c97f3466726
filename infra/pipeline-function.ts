import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ArnFormat, AssetHashType, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable, type IPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { testPage } from '../shared/adapters/aws/console-url.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { bundleFunction } from './bundle-function.ts';
import { consoleLink } from './console-link.ts';
import type { FailureQueue } from './failure-queue.ts';
import { instanceName } from './instance-name.ts';
import { customerKey, grantKey } from './key-grants.ts';
import { grantNetwork, networkOf } from './network.ts';
import { output } from './output.ts';

export interface PipelineFunctionProps {
  /** Part of the function's bundle. */
  settings: Settings;
  /** The function's name, without the stack's name before it. */
  name: string;
  description: string;
  /** The file in `functions/` that exports `handler`. */
  handler: string;
  environment: Readonly<Record<string, string>>;
  timeout?: Duration;
  /** Instances reserved for it, which are also its maximum. */
  reservedConcurrency?: number;
  /** The queue for events that the function failed on or that waited too long for it. */
  onFailure?: FailureQueue;
  /** Events by name, which the console offers under "Test" to everybody in the account. */
  testEvents: Readonly<Record<string, unknown>>;
}

const SECRETS_PER_STATEMENT = 10;

/** A Lambda function with the settings in its bundle, its log group, and a role that may write to that. */
export class PipelineFunction extends Construct implements IGrantable {
  readonly function: LambdaFunction;
  readonly role: Role;
  readonly grantPrincipal: IPrincipal;
  /** The function's name in AWS, which starts with the stack's name. */
  readonly name: string;
  readonly testEvents: PipelineFunctionProps['testEvents'];
  private readonly settings: Settings;

  constructor(scope: Construct, id: string, props: PipelineFunctionProps) {
    super(scope, id);
    this.name = `${instanceName(this)}-${props.name}`;
    this.testEvents = props.testEvents;
    const { settings, onFailure, reservedConcurrency } = props;
    this.settings = settings;
    const { logRetentionDays, lakeKeyArn, vpc } = settings.deployment;
    // Without a fixed name: a group left over from a deleted stack would block the next deployment.
    const logGroup = new LogGroup(this, 'Logs', {
      retention: logRetentionDays,
      encryptionKey: customerKey(this, lakeKeyArn),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.grantPrincipal = this.role;
    if (vpc) grantNetwork(this.role, vpc);
    this.function = new LambdaFunction(this, 'Function', {
      functionName: this.name,
      description: props.description,
      code: bundled(props.handler, settings),
      handler: 'main.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // The smallest size with a whole CPU.
      memorySize: 1769,
      timeout: props.timeout ?? Duration.minutes(15),
      // The next scheduled run is the retry; an event that waited longer for an instance is outdated.
      retryAttempts: 0,
      maxEventAge: Duration.minutes(15),
      ...(onFailure && { onFailure }),
      ...(reservedConcurrency !== undefined && { reservedConcurrentExecutions: reservedConcurrency }),
      loggingFormat: LoggingFormat.JSON,
      logGroup,
      role: this.role,
      ...(vpc && networkOf(this, vpc)),
      environment: { ...props.environment },
    });
    logGroup.grantWrite(this.role);
    output(this, `${pascalCase(props.name)}Function`, {
      value: consoleLink(this, 'lambda', testPage(this.name)),
      description: props.description,
    });
  }

  /** Lets the function read these secrets. They are created by hand: I9. */
  grantSecrets(names: Iterable<string>): void {
    const resourceArns = [...new Set(names)].map((name) =>
      Stack.of(this).formatArn({
        service: 'secretsmanager',
        resource: 'secret',
        // Secrets Manager adds a hyphen and six characters to the name.
        resourceName: `${name}-??????`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    );
    const actions = ['secretsmanager:GetSecretValue'];
    // CDK divides large policies between statements: one of 60 secrets alone could exceed the size that IAM allows.
    for (let first = 0; first < resourceArns.length; first += SECRETS_PER_STATEMENT)
      Grant.addToPrincipal({
        grantee: this,
        actions,
        resourceArns: resourceArns.slice(first, first + SECRETS_PER_STATEMENT),
      });
    grantKey(this, this.settings.deployment.secretsKeyArn, 'secretsmanager', 'read');
  }
}

function bundled(handler: string, settings: Settings): Code {
  const folder = fileURLToPath(new URL('../functions', import.meta.url));
  // Settings are part of the code, because a function's environment holds 4 kB at most.
  const define = { BRAND_REPORTS_SETTINGS: JSON.stringify(settings) };
  return Code.fromAsset(folder, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      local: {
        tryBundle(output) {
          bundleFunction({ entryPoints: [join(folder, `${handler}.lambda.ts`)] }, output, define);
          return true;
        },
      },
      // Never run; but functions with the same image and command get the same bundle.
      image: Runtime.NODEJS_24_X.bundlingImage,
      command: [handler, define.BRAND_REPORTS_SETTINGS],
    },
  });
}

/** `order_list` → `OrderList`, `rebuild-catalog` → `RebuildCatalog` */
function pascalCase(name: string): string {
  return name.replace(/(?:^|[_-])([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
