import { Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { Grant, ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Catalog } from './catalog.ts';
import { consoleLink } from './console-link.ts';
import { acknowledgeWildcards } from './acknowledge-wildcards.ts';
import type { Lake } from './lake.ts';
import { savedQueries } from './saved-queries.ts';
import { output } from './output.ts';

export interface AnalystsProps {
  reports: readonly ReportDefinition[];
  /** What one query may read. */
  scanLimitGb: number;
  lake: Lake;
  catalog: Catalog;
}

/** What people who query get: a workgroup with limits and first queries, and a policy that allows that and nothing more. */
export class Analysts extends Construct {
  readonly workGroupName: string;

  constructor(scope: Construct, id: string, { reports, scanLimitGb, lake, catalog }: AnalystsProps) {
    super(scope, id);
    const { stackName } = Stack.of(this);
    const workGroup = new CfnWorkGroup(this, 'WorkGroup', {
      name: stackName,
      description: 'Queries on the affiliate reports',
      // Queries that people saved would keep the stack from being destroyed.
      recursiveDeleteOption: true,
      workGroupConfiguration: {
        enforceWorkGroupConfiguration: true,
        publishCloudWatchMetricsEnabled: true,
        engineVersion: { selectedEngineVersion: 'Athena engine version 3' },
        bytesScannedCutoffPerQuery: Math.round(scanLimitGb * 1e9),
        resultConfiguration: {
          outputLocation: lake.queryResultsUrl,
          encryptionConfiguration: { encryptionOption: 'SSE_S3' },
        },
      },
    });
    this.workGroupName = stackName;
    for (const { name, description, sql } of savedQueries(reports)) {
      const query = new CfnNamedQuery(this, `Query-${name}`, {
        database: catalog.databaseName,
        workGroup: stackName,
        name,
        description,
        queryString: sql,
      });
      query.addResourceDependency(workGroup);
    }
    const policy = this.policy({ lake, catalog });
    output(this, 'AnalystsPolicyArn', {
      value: policy.managedPolicyArn,
      description: 'Attach it to people who query: it allows that and nothing more',
    });
    output(this, 'Athena', {
      value: consoleLink(this, 'athena', '/query-editor'),
      description: `Query here, in the workgroup ${stackName}`,
    });
  }

  private policy({ lake, catalog }: Pick<AnalystsProps, 'lake' | 'catalog'>): ManagedPolicy {
    const { stackName } = Stack.of(this);
    const policy = new ManagedPolicy(this, 'Policy', {
      description: `Query the affiliate reports of ${stackName} in Athena`,
    });
    lake.grantQuery(policy);
    catalog.grantQuery(policy);
    const allow = (actions: string[], resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee: policy, actions, resourceArns });
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
      [Stack.of(this).formatArn({ service: 'athena', resource: 'workgroup', resourceName: stackName })],
    );
    // These know no narrower resource; the last one gives what Lake Formation has granted, and nothing where it has not.
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
    acknowledgeWildcards(policy, ['*'], 'Athena and Lake Formation know nothing narrower for these actions.');
    return policy;
  }
}
