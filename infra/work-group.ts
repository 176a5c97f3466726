import { Stack } from 'aws-cdk-lib';
import { CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { type Grantee, allow, arnInStack } from './grants.ts';

export interface WorkGroupProps {
  name: string;
  description: string;
  deployment: DeploymentSettings;
  results: string;
}

/** A workgroup of Athena that limits each query and decides where results are stored, whatever the client requests. */
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
  allow(
    grantee,
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
      'athena:CreateNamedQuery',
      'athena:UpdateNamedQuery',
      'athena:DeleteNamedQuery',
    ],
    [arnInStack(grantee, 'athena', `workgroup/${name}`)],
  );
  // These actions have no narrower resource. The last action gives access only to what Lake Formation granted.
  allow(
    grantee,
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
