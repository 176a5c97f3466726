import { Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Deployment } from './deployment.ts';
import { type BackfillStateMachine, MAP_LABEL } from './backfill-state-machine.ts';
import type { Catalog } from './catalog.ts';
import type { FailureQueue } from './failure-queue.ts';
import { type Grantee, allowIn, arnInStack, rolePolicy } from './grants.ts';
import type { Lake } from './lake.ts';
import { consoleLink, instanceName, output } from './names.ts';
import type { PipelineFunction } from './pipeline-function.ts';
import { savedQueries } from './saved-queries.ts';

function newWorkGroup(
  scope: Construct,
  name: string,
  description: string,
  { queryScanLimitGb, encryptionKey }: Deployment,
  results: string,
): CfnWorkGroup {
  return new CfnWorkGroup(scope, 'WorkGroup', {
    name,
    description,
    // Without this option, queries that people saved would block the deletion of the stack.
    recursiveDeleteOption: true,
    workGroupConfiguration: {
      enforceWorkGroupConfiguration: true,
      publishCloudWatchMetricsEnabled: true,
      engineVersion: { selectedEngineVersion: 'Athena engine version 3' },
      bytesScannedCutoffPerQuery: Math.round(queryScanLimitGb * 1e9),
      resultConfiguration: {
        outputLocation: results,
        expectedBucketOwner: Stack.of(scope).account,
        encryptionConfiguration:
          encryptionKey === undefined
            ? { encryptionOption: 'SSE_S3' }
            : { encryptionOption: 'SSE_KMS', kmsKey: encryptionKey.keyArn },
      },
    },
  });
}

/** Lets a person run queries and saved queries in one workgroup. S3 and Glue decide what a query may read. */
function grantWorkGroup(grantee: Grantee, name: string): void {
  const run = ['GetWorkGroup', 'StartQueryExecution', 'StopQueryExecution', 'GetQueryExecution'];
  const see = ['BatchGetQueryExecution', 'ListQueryExecutions', 'GetQueryRuntimeStatistics'];
  const results = ['GetQueryResults', 'GetQueryResultsStream'];
  const readSaved = ['ListNamedQueries', 'GetNamedQuery', 'BatchGetNamedQuery'];
  const save = ['CreateNamedQuery', 'UpdateNamedQuery', 'DeleteNamedQuery'];
  const arn = arnInStack(grantee, 'athena', `workgroup/${name}`);
  allowIn(grantee, 'athena', [...run, ...see, ...results, ...readSaved, ...save], [arn]);
  // These actions have no narrower resource. The last one gives access only to what Lake Formation granted.
  const lists = ['ListWorkGroups', 'ListEngineVersions', 'ListDataCatalogs', 'ListDatabases'];
  const tables = ['GetDataCatalog', 'GetDatabase', 'ListTableMetadata', 'GetTableMetadata'];
  allowIn(grantee, 'athena', [...lists, ...tables], ['*']);
  allowIn(grantee, 'lakeformation', ['GetDataAccess'], ['*']);
}

interface AnalystsProps {
  reports: readonly ReportDefinition[];
  deployment: Deployment;
  lake: Lake;
  catalog: Catalog;
}

export class Analysts extends Construct {
  readonly workGroupName: string;
  readonly #props: AnalystsProps;

  constructor(scope: Construct, id: string, props: AnalystsProps) {
    super(scope, id);
    const { reports, deployment, lake, catalog } = props;
    this.#props = props;
    const name = instanceName(this);
    const description = 'Queries on the affiliate reports';
    const workGroup = newWorkGroup(this, name, description, deployment, lake.queryResultsUrl);
    this.workGroupName = name;
    for (const { name: title, description, sql } of savedQueries(reports)) {
      const query = new CfnNamedQuery(this, `Query-${title}`, {
        database: catalog.databaseName,
        workGroup: this.workGroupName,
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
    grantWorkGroup(grantee, this.workGroupName);
  }
}

interface BrandAccessProps extends Omit<AnalystsProps, 'reports'> {
  brand: string;
  roleNames: readonly string[];
}

/**
 * Gives people of one brand a workgroup with results of its own, and a policy that reads only the files of this brand.
 * Metadata in Glue is not separated by brand, so these people can list the names and days of other brands
 * (docs/how-to/give-people-access.md). The Iceberg tables stay closed, because one of their metadata files names the
 * files of all brands.
 */
export class BrandAccess extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { brand, roleNames, deployment, lake, catalog }: BrandAccessProps,
  ) {
    super(scope, id);
    // The name contains "brand", because an instance or a policy may have the name of a brand, e.g.
    // BrandReports-staging.
    const name = `${instanceName(this)}-brand-${brand}`;
    const description = `Queries on the affiliate reports of ${brand}`;
    newWorkGroup(this, name, description, deployment, lake.brandResultsUrl(brand));
    const policy = rolePolicy(this, {
      managedPolicyName: `${name}-${Stack.of(this).region}`,
      description: `Query the affiliate reports of ${brand} in the workgroup ${name}`,
      roleNames,
    });
    lake.grantQueryBrand(policy, brand);
    catalog.grantQueryHive(policy);
    grantWorkGroup(policy, name);
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
  // The list of alarms, and the graph of an alarm's metric.
  cloudwatch: ['DescribeAlarms', 'ListMetrics', 'GetMetricData'],
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
    this.#grantFunctions(grantee, functions);
    this.#grantBackfill(grantee, backfill);
    queue.grantOperate(grantee);
    this.#grantLogs(grantee, functions, backfill);
    const alarms = arnInStack(this, 'cloudwatch', `alarm:${instanceName(this)}-*`);
    allowIn(grantee, 'cloudwatch', ['DescribeAlarmHistory'], [alarms]);
    lake.grantReadPage(grantee);
    for (const [service, actions] of Object.entries(CONSOLE_LISTS)) allowIn(grantee, service, actions, ['*']);
  }

  #grantFunctions(grantee: Grantee, functions: OperatorsProps['functions']): void {
    // The page of a function reads its configuration before it shows the tab "Test".
    const see = ['GetFunction', 'GetFunctionConfiguration', 'GetFunctionEventInvokeConfig', 'ListTags'];
    const arns = functions.map((each) => each.function.functionArn);
    allowIn(grantee, 'lambda', ['InvokeFunction', ...see], arns);
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

  #grantLogs(
    grantee: Grantee,
    functions: readonly PipelineFunction[],
    { logGroup }: BackfillStateMachine,
  ): void {
    const read = ['DescribeLogStreams', 'FilterLogEvents', 'GetLogEvents', 'StartQuery', 'StartLiveTail'];
    // With and without the `:*` of streams, which Live Tail leaves out. The names of the functions' groups end in
    // random letters, so no other group's name begins with one of them. Both forms of each name would exceed the size
    // of one policy.
    const names = [
      ...functions.map((each) => `${each.logGroup.logGroupName}*`),
      logGroup.logGroupName,
      `${logGroup.logGroupName}:*`,
    ];
    const arns = names.map((name) => arnInStack(this, 'logs', `log-group:${name}`));
    allowIn(grantee, 'logs', read, arns);
  }
}
