import { Stack } from 'aws-cdk-lib';
import { CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { type Grantee, allowIn, arnInStack } from './grants.ts';

export interface WorkGroupProps {
  name: string;
  description: string;
  deployment: DeploymentSettings;
  results: string;
}

export function newWorkGroup(
  scope: Construct,
  { name, description, deployment, results }: WorkGroupProps,
): CfnWorkGroup {
  const { queryScanLimitGb, lakeKeyArn } = deployment;
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
          lakeKeyArn === undefined
            ? { encryptionOption: 'SSE_S3' }
            : { encryptionOption: 'SSE_KMS', kmsKey: lakeKeyArn },
      },
    },
  });
}

/** Lets a person run queries and saved queries in one workgroup. S3 and Glue decide what a query may read. */
export function grantWorkGroup(grantee: Grantee, name: string): void {
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
