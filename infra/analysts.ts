import { Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { Grant, ManagedPolicy, Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import type { Catalog } from './catalog.ts';
import { consoleLink } from './console-link.ts';
import { instanceName } from './instance-name.ts';
import type { Grantee } from './key-grants.ts';
import type { Lake } from './lake.ts';
import { savedQueries } from './saved-queries.ts';
import { output } from './output.ts';

export interface AnalystsProps {
  reports: readonly ReportDefinition[];
  deployment: DeploymentSettings;
  lake: Lake;
  catalog: Catalog;
}

/** For people who query: a workgroup with a limit and saved queries, and a policy that allows querying and nothing else. */
export class Analysts extends Construct {
  readonly workGroupName: string;
  readonly #props: AnalystsProps;

  constructor(scope: Construct, id: string, props: AnalystsProps) {
    super(scope, id);
    const { reports, deployment, lake, catalog } = props;
    this.#props = props;
    const name = instanceName(this);
    const { queryScanLimitGb, lakeKeyArn } = deployment;
    const workGroup = new CfnWorkGroup(this, 'WorkGroup', {
      name,
      description: 'Queries on the affiliate reports',
      // Otherwise queries that people saved would block the deletion of the stack.
      recursiveDeleteOption: true,
      workGroupConfiguration: {
        enforceWorkGroupConfiguration: true,
        publishCloudWatchMetricsEnabled: true,
        engineVersion: { selectedEngineVersion: 'Athena engine version 3' },
        bytesScannedCutoffPerQuery: Math.round(queryScanLimitGb * 1e9),
        resultConfiguration: {
          outputLocation: lake.queryResultsUrl,
          expectedBucketOwner: Stack.of(this).account,
          encryptionConfiguration:
            lakeKeyArn === undefined
              ? { encryptionOption: 'SSE_S3' }
              : { encryptionOption: 'SSE_KMS', kmsKey: lakeKeyArn },
        },
      },
    });
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
    const policy = this.policy(deployment);
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

  private policy({ analystRoles = [] }: DeploymentSettings): ManagedPolicy {
    const name = instanceName(this);
    const { region } = Stack.of(this);
    const policy = new ManagedPolicy(this, 'Policy', {
      // Others name it, e.g. permission sets. IAM is global, and a stack of this name may be in another region too.
      managedPolicyName: `${name}-analysts-${region}`,
      description: `Query the affiliate reports of ${name} in Athena`,
      // What is attached by hand would block the deletion of the stack: CloudFormation detaches only what it attached.
      roles: analystRoles.map((name) => Role.fromRoleName(this, `Role-${name}`, name)),
    });
    this.grant(policy);
    return policy;
  }

  /** Allows querying and nothing else. */
  grant(grantee: Grantee): void {
    const { lake, catalog } = this.#props;
    lake.grantQuery(grantee);
    catalog.grantQuery(grantee);
    const allow = (actions: string[], resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns });
    allow(
      [
        'athena:GetWorkGroup',
        'athena:StartQueryExecution',
        'athena:StopQueryExecution',
        'athena:GetQueryExecution',
        'athena:BatchGetQueryExecution',
        'athena:ListQueryExecutions',
        'athena:GetQueryResults',
        'athena:GetQueryResultsStream',
        'athena:GetQueryRuntimeStatistics',
        'athena:ListNamedQueries',
        'athena:GetNamedQuery',
        'athena:BatchGetNamedQuery',
      ],
      [
        Stack.of(this).formatArn({
          service: 'athena',
          resource: 'workgroup',
          resourceName: this.workGroupName,
        }),
      ],
    );
    // These actions take no narrower resource. The last one gives access only where Lake Formation granted it.
    allow(
      [
        'athena:ListWorkGroups',
        'athena:ListEngineVersions',
        'athena:ListDataCatalogs',
        'athena:GetDataCatalog',
        'athena:ListDatabases',
        'athena:GetDatabase',
        'athena:ListTableMetadata',
        'athena:GetTableMetadata',
        'lakeformation:GetDataAccess',
      ],
      ['*'],
    );
  }
}
