import { Stack } from 'aws-cdk-lib';
import { CfnNamedQuery, CfnWorkGroup } from 'aws-cdk-lib/aws-athena';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import type { Catalog } from './catalog.ts';
import { type Grantee, allowIn, arnInStack, rolePolicy } from './grants.ts';
import type { Lake } from './lake.ts';
import { consoleLink, instanceName, output } from './names.ts';
import { savedQueries } from './saved-queries.ts';

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

export interface AnalystsProps {
  reports: readonly ReportDefinition[];
  deployment: DeploymentSettings;
  lake: Lake;
  catalog: Catalog;
}

/**
 * Gives people who query a workgroup with a limit, saved queries, and a policy that allows querying and nothing else.
 */
export class Analysts extends Construct {
  readonly workGroupName: string;
  readonly #props: AnalystsProps;

  constructor(scope: Construct, id: string, props: AnalystsProps) {
    super(scope, id);
    const { reports, deployment, lake, catalog } = props;
    this.#props = props;
    const name = instanceName(this);
    const description = 'Queries on the affiliate reports';
    const workGroup = newWorkGroup(this, { name, description, deployment, results: lake.queryResultsUrl });
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

export interface BrandAccessProps extends Omit<AnalystsProps, 'reports'> {
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
    newWorkGroup(this, { name, description, deployment, results: lake.brandResultsUrl(brand) });
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
