/*
 * The whole deployment as a construct, for the stack of this repository (app.ts) and for other people's apps. I9: it
 * names secrets, but neither creates nor reads them, so the template contains no credential. Its public types use only
 * types of CDK, because an app gets the types of this file alone.
 */
import type { RemovalPolicy } from 'aws-cdk-lib';
import type { AlarmBase } from 'aws-cdk-lib/aws-cloudwatch';
import { type OnEventOptions, Rule } from 'aws-cdk-lib/aws-events';
import type { IDatabase } from 'aws-cdk-lib/aws-glue';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { FunctionOptions, IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct, type IConstruct } from 'constructs';
import packageJson from '../package.json' with { type: 'json' };
import { EVENT_SOURCE } from '../shared/adapters/aws/event-bridge.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import { reports as ourReports } from '../shared/reports/index.ts';
import { SECRETS_PREFIX } from '../shared/adapters/credentials.ts';
import { type Settings, parseSettings } from '../shared/settings/settings.ts';
import { AlarmTopic, Alarms } from './alarms.ts';
import { Analysts, BrandPeople, Operators } from './people.ts';
import { BackfillStateMachine } from './backfill-state-machine.ts';
import { Catalog } from './catalog.ts';
import { consoleLink, nameInstance, output } from './names.ts';
import { deploymentOf } from './deployment.ts';
import { FailureQueue } from './failure-queue.ts';
import { Lake } from './lake.ts';
import { SyncFunction, WatchFunction } from './pipeline-function.ts';

/** With `vpc`, all functions run in the VPC, and need a route to the service and to AWS from there. */
export interface BrandReportsProps extends Pick<FunctionOptions, 'vpc' | 'vpcSubnets' | 'securityGroups'> {
  /** The contents of a settings file, as an object; docs/reference/settings.md describes it. */
  readonly settings: unknown;
  /** The start of all names in AWS: a letter, then letters, digits and "-", at most 38. @default - the name of the stack */
  readonly name?: string;
  /** An existing bucket for this lake alone. @default - a new one */
  readonly bucket?: IBucket;
  /** An existing Glue database. @default - a new one */
  readonly database?: IDatabase;
  /** The topic of alarms and of the watcher's messages, instead of the setting `alarmEmail`. @default - a new one */
  readonly topic?: ITopic;
  /**
   * The key that encrypts a new bucket, results of queries, logs, queues and a new topic. docs/how-to/customer-keys.md
   * lists what its policy must allow. @default - keys of AWS
   */
  readonly encryptionKey?: IKey;
  /** The key that encrypts the secrets of the brands. @default - the key of Secrets Manager */
  readonly secretsKey?: IKey;
  /** The removal policy of a new lake: `DESTROY` deletes the reports with the stack. @default RemovalPolicy.RETAIN */
  readonly removalPolicy?: RemovalPolicy;
  /** How long logs are kept. @default RetentionDays.THREE_MONTHS */
  readonly logRetention?: RetentionDays;
  /** The memory of each function. @default 1024 */
  readonly memoryMb?: number;
  /** Instances reserved for the function that reads, which are also its maximum. @default - none are reserved */
  readonly reservedConcurrency?: number;
  /** The deployed program, and the name of the settings in errors. @internal */
  readonly program?: { reports?: ReportRegistry; version?: string; origin?: string };
}

/** Copies the affiliate reports of brands into dated Parquet partitions on S3, for SQL with Athena. */
export class BrandReports extends Construct {
  readonly lakeBucket: IBucket;
  readonly database: string;
  /** The topic to which alarms and the watcher publish. */
  readonly alarmTopic: ITopic;
  /** For actions of yours beside the topic: `for (const alarm of reports.alarms) alarm.addAlarmAction(…)`. */
  readonly alarms: readonly AlarmBase[];
  /** The function that reads the reports. */
  readonly sync: IFunction;
  readonly #analysts: Analysts;
  readonly #operators: Operators;

  /** @throws Error with a line for every problem of the settings */
  constructor(scope: Construct, id: string, props: BrandReportsProps) {
    super(scope, id);
    const { reports = ourReports, version = packageJson.version } = props.program ?? {};
    nameInstance(this, props.name);
    const settings = parseSettings(props.settings, reports, props.program?.origin);
    const deployment = deploymentOf(settings.deployment, props);
    const { vpc, vpcSubnets, securityGroups } = props;
    const network = { vpc, vpcSubnets, securityGroups };
    const lake = new Lake(this, 'Lake', {
      ...{ reports, deployment, catalogs: settings.catalogs, bucket: props.bucket },
    });
    const catalog = new Catalog(this, 'Catalog', { reports, settings, database: props.database });
    const failed = new FailureQueue(this, 'Failed', deployment);
    const common = { settings, deployment, version, network, lake, catalog, failed };

    const sync = new SyncFunction(this, 'Sync', common);
    const backfill = new BackfillStateMachine(this, 'Backfill', deployment, sync);
    const topic = new AlarmTopic(this, 'AlarmTopic', deployment, props.topic);
    const watch = new WatchFunction(this, 'Watch', { ...common, topic });
    const { alarms } = new Alarms(this, 'Alarms', {
      deployment,
      watch: watch.function,
      queue: failed,
      stateMachine: backfill.stateMachine,
      topic: topic.topic,
    });
    output(this, 'Secrets', {
      value: consoleLink(this, 'secretsmanager', '!/listSecrets'),
      description: `Before the first run put bid, token, secret and baseUrl of each brand into the secret ${SECRETS_PREFIX}<brand>`,
    });
    outputEvents(this, settings);
    this.lakeBucket = lake.bucket;
    this.database = catalog.databaseName;
    this.alarmTopic = topic.topic;
    this.alarms = alarms;
    this.sync = sync.function;
    this.#analysts = new Analysts(this, 'Analysts', { deployment, lake, catalog });
    this.#operators = new Operators(this, 'Operators', {
      deployment,
      functions: [sync, watch],
      backfill,
      queue: failed,
      lake,
    });
    if (deployment.brandRoles) new BrandPeople(this, 'BrandPeople', { deployment, lake, catalog });
  }

  /** Lets a principal query the tables in the workgroup of this instance, and nothing else. */
  grantQuery(grantee: IGrantable & IConstruct): void {
    this.#analysts.grant(grantee);
  }

  /** Lets a principal start and follow runs and backfills, without access to data or secrets. */
  grantOperate(grantee: IGrantable & IConstruct): void {
    this.#operators.grant(grantee);
  }

  /**
   * A rule that starts a target when a day of this lake is published; docs/reference/events.md describes the event. The
   * rule adds an `eventPattern` of the options: a brand or a report in `detail`, or `Day Changed` as another
   * `detailType`.
   */
  onDayPublished(id: string, options: OnEventOptions = {}): Rule {
    const rule = new Rule(this, id, options);
    if (options.target !== undefined) rule.addTarget(options.target);
    rule.addEventPattern({
      source: [EVENT_SOURCE],
      detailType: ['Day Published'],
      resources: [this.lakeBucket.bucketArn],
    });
    return rule;
  }
}

function outputEvents(scope: Construct, { brands }: Settings): void {
  const [[brand, first] = []] = Object.entries(brands);
  const day = first?.startDate;
  const events = [
    ['SyncEvent', { brand }, 'reads the due days of the brand; {} does the same for all brands'],
    ['CheckEvent', { brand, check: true }, 'tests the connection and writes nothing'],
    ['RangeEvent', { brand, from: day, to: day }, 'reads these days again: set the days first'],
  ] as const;
  for (const [name, event, description] of events)
    output(scope, name, {
      value: JSON.stringify(event),
      description: `An event to paste under "Test" of the function sync: ${description}`,
    });
}
