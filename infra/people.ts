import { Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { Construct } from 'constructs';
import type { Deployment } from './deployment.ts';
import { type BackfillStateMachine, MAP_LABEL } from './backfill-state-machine.ts';
import type { Catalog } from './catalog.ts';
import type { FailureQueue } from './failure-queue.ts';
import { type Grantee, allowIn, arnInStack, rolePolicy } from './grants.ts';
import type { Lake } from './lake.ts';
import { alarmArns } from './alarms.ts';
import { consoleLink, instanceName, output } from './names.ts';
import type { PipelineFunction } from './pipeline-function.ts';
import { SAVED_QUERIES } from './saved-queries.ts';

function newWorkGroup(
  scope: Construct,
  name: string,
  description: string,
  { queryScanLimitGb }: Deployment,
  resultConfiguration?: CfnWorkGroup.ResultConfigurationProperty,
): CfnWorkGroup {
  return new CfnWorkGroup(scope, 'WorkGroup', {
    name,
    description,
    // Without this option, queries that people saved would block the deletion of the stack.
    recursiveDeleteOption: true,
    workGroupConfiguration: {
      // This decides about the results alone: each query obeys the limit of the workgroup.
      enforceWorkGroupConfiguration: resultConfiguration !== undefined,
      publishCloudWatchMetricsEnabled: true,
      engineVersion: { selectedEngineVersion: 'Athena engine version 3' },
      bytesScannedCutoffPerQuery: Math.round(queryScanLimitGb * 1e9),
      resultConfiguration,
    },
  });
}

/** To run a query whose id is known. Athena returns results only to principals that may read their object in S3. */
const RUN = ['GetWorkGroup', 'StartQueryExecution', 'GetQueryExecution', 'GetQueryResults'];
/** Rights to the queries of everybody in a workgroup: IAM cannot narrow them to a person. */
const SHARE = [
  ...['StopQueryExecution', 'BatchGetQueryExecution', 'ListQueryExecutions', 'GetQueryRuntimeStatistics'],
  ...['GetQueryResultsStream', 'ListNamedQueries', 'GetNamedQuery', 'BatchGetNamedQuery'],
  ...['CreateNamedQuery', 'UpdateNamedQuery', 'DeleteNamedQuery'],
];

/** Lets a person run queries in one workgroup. S3 and Glue decide what a query may read. */
function grantWorkGroup(grantee: Grantee, name: string, actions: readonly string[]): void {
  allowIn(grantee, 'athena', actions, [arnInStack(grantee, 'athena', `workgroup/${name}`)]);
  // These actions have no narrower resource. The last one gives access only to what Lake Formation granted.
  const lists = ['ListWorkGroups', 'ListEngineVersions', 'ListDataCatalogs', 'ListDatabases'];
  const tables = ['GetDataCatalog', 'GetDatabase', 'ListTableMetadata', 'GetTableMetadata'];
  allowIn(grantee, 'athena', [...lists, ...tables], ['*']);
  allowIn(grantee, 'lakeformation', ['GetDataAccess'], ['*']);
}

interface AnalystsProps {
  deployment: Deployment;
  lake: Lake;
  catalog: Catalog;
}

export class Analysts extends Construct {
  readonly #props: AnalystsProps;

  constructor(scope: Construct, id: string, props: AnalystsProps) {
    super(scope, id);
    const { deployment, lake, catalog } = props;
    this.#props = props;
    const name = instanceName(this);
    const description = 'Queries on the affiliate reports';
    const kmsKey = deployment.encryptionKey?.keyArn;
    const workGroup = newWorkGroup(this, name, description, deployment, {
      outputLocation: lake.analystResultsUrl,
      expectedBucketOwner: Stack.of(this).account,
      encryptionConfiguration: kmsKey
        ? { encryptionOption: 'SSE_KMS', kmsKey }
        : { encryptionOption: 'SSE_S3' },
    });
    for (const { name: title, description, sql } of SAVED_QUERIES) {
      const query = new CfnNamedQuery(this, `Query-${title}`, {
        database: catalog.databaseName,
        workGroup: name,
        name: title,
        description,
        queryString: sql,
      });
      query.addResourceDependency(workGroup);
    }
    const policy = rolePolicy(this, {
      // A fixed name, because other systems refer to it, e.g. permission sets. IAM is global, and a stack of this name
      // may be in another region too.
      managedPolicyName: `${name}-analysts-${Stack.of(this).region}`,
      description: `Query the affiliate reports of ${name} in Athena`,
      roleNames: deployment.analystRoles,
    });
    this.grant(policy);
    output(this, 'AnalystsPolicyArn', {
      value: policy.managedPolicyArn,
      description:
        'The setting analystRoles attaches this policy to roles: it allows to query, and nothing else',
    });
    output(this, 'Athena', {
      value: consoleLink(this, 'athena', '/query-editor'),
      description: `Query here, in the workgroup ${name}`,
    });
  }

  grant(grantee: Grantee): void {
    const { lake, catalog } = this.#props;
    lake.grantQuery(grantee);
    lake.grantReadPage(grantee);
    catalog.grantQuery(grantee);
    grantWorkGroup(grantee, instanceName(this), [...RUN, ...SHARE]);
  }
}

/**
 * Gives people of any brand one workgroup, and one policy that reads only the files of the brand in their tag `brand`.
 * The workgroup fixes no place of results, because that would be one place for all brands: each query names its place,
 * and the policy allows only the brand's own. Metadata in Glue is not separated by brand, so these people can list the
 * names and days of other brands (docs/how-to/give-people-access.md). The Iceberg tables stay closed, because one of
 * their metadata files names the files of all brands.
 */
export class BrandPeople extends Construct {
  constructor(scope: Construct, id: string, { deployment, lake, catalog }: AnalystsProps) {
    super(scope, id);
    // No instance has a "." in its name, so this is the workgroup of no other instance.
    const name = `${instanceName(this)}.brands`;
    newWorkGroup(this, name, 'Queries on the affiliate reports of one brand', deployment);
    const policy = rolePolicy(this, {
      managedPolicyName: `${name}-${Stack.of(this).region}`,
      description: `Query the affiliate reports of the brand in the tag "brand" in the workgroup ${name}`,
      roleNames: deployment.brandRoles,
    });
    lake.grantQueryBrand(policy);
    catalog.grantQueryHive(policy);
    grantWorkGroup(policy, name, RUN);
    output(this, 'BrandPolicyArn', {
      value: policy.managedPolicyArn,
      description:
        'The setting brandRoles attaches this policy to roles: it allows to query the brand in the tag "brand" of the role',
    });
  }
}

/* Operators read no data of the lake and no secret, and change neither code nor configuration. */

interface OperatorsProps {
  deployment: Deployment;
  functions: readonly PipelineFunction[];
  backfill: BackfillStateMachine;
  queue: FailureQueue;
  lake: Lake;
}

/** Calls of console pages that AWS allows on no narrower resource: lists of the region. */
const CONSOLE_LISTS: Readonly<Record<string, string[]>> = {
  // The list of functions, and the limits above it.
  lambda: ['ListFunctions', 'GetAccountSettings'],
  states: ['ListStateMachines'],
  sqs: ['ListQueues'],
  // The list of groups. The other actions refer to a query of Logs Insights or a session of Live Tail.
  logs: ['DescribeLogGroups', 'GetQueryResults', 'StopQuery', 'StopLiveTail'],
  // The graph of an alarm's metric.
  cloudwatch: ['ListMetrics', 'GetMetricData'],
};

export class Operators extends Construct {
  readonly #props: OperatorsProps;

  constructor(scope: Construct, id: string, props: OperatorsProps) {
    super(scope, id);
    this.#props = props;
    const name = instanceName(this);
    const policy = rolePolicy(this, {
      managedPolicyName: `${name}-operators-${Stack.of(this).region}`,
      description: `Run the pipeline ${name} from the console`,
      roleNames: props.deployment.operatorRoles,
    });
    this.grant(policy);
    output(this, 'OperatorsPolicyArn', {
      value: policy.managedPolicyArn,
      description:
        'The setting operatorRoles attaches this policy to roles: start, stop and watch the pipeline, without its data',
    });
  }

  grant(grantee: Grantee): void {
    const { functions, backfill, queue, lake } = this.#props;
    // The page of a function reads its configuration before it shows the tab "Test".
    const see = ['GetFunction', 'GetFunctionConfiguration', 'GetFunctionEventInvokeConfig', 'ListTags'];
    const arns = functions.map((each) => each.function.functionArn);
    allowIn(grantee, 'lambda', ['InvokeFunction', ...see], arns);
    this.#grantBackfill(grantee, backfill);
    queue.grantOperate(grantee);
    const read = ['DescribeLogStreams', 'FilterLogEvents', 'GetLogEvents', 'StartQuery', 'StartLiveTail'];
    // With and without the `:*` of streams, which Live Tail leaves out. The names of the functions' groups end in random
    // letters, so no other group's name begins with one of them. Both forms of each would exceed the size of a policy.
    const { logGroupName } = backfill.logGroup;
    const ofFunctions = functions.map((each) => `${each.logGroup.logGroupName}*`);
    const logs = [...ofFunctions, logGroupName, `${logGroupName}:*`].map((name) =>
      arnInStack(this, 'logs', `log-group:${name}`),
    );
    allowIn(grantee, 'logs', read, logs);
    allowIn(grantee, 'cloudwatch', ['DescribeAlarms', 'DescribeAlarmHistory'], alarmArns(this));
    lake.grantReadPage(grantee);
    for (const [service, actions] of Object.entries(CONSOLE_LISTS)) allowIn(grantee, service, actions, ['*']);
  }

  #grantBackfill(grantee: Grantee, { stateMachine }: BackfillStateMachine): void {
    const { stateMachineName: name, stateMachineArn } = stateMachine;
    const start = ['StartExecution', 'ListExecutions', 'DescribeStateMachine'];
    allowIn(grantee, 'states', start, [stateMachineArn]);
    // The name of a map run, and of its executions, contains the label.
    const executions = [name, `${name}/${MAP_LABEL}`].map((each) =>
      arnInStack(this, 'states', `execution:${each}:*`),
    );
    const look = [
      'DescribeExecution',
      'DescribeStateMachineForExecution',
      'GetExecutionHistory',
      'ListMapRuns',
    ];
    allowIn(grantee, 'states', [...look, 'StopExecution'], executions);
    const mapRuns = arnInStack(this, 'states', `mapRun:${name}/${MAP_LABEL}:*`);
    allowIn(grantee, 'states', ['DescribeMapRun', 'ListExecutions'], [mapRuns]);
  }
}
