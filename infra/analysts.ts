import { Stack } from 'aws-cdk-lib';
import { CfnNamedQuery } from 'aws-cdk-lib/aws-athena';
import { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import type { Catalog } from './catalog.ts';
import { consoleLink } from './console-link.ts';
import { instanceName } from './instance-name.ts';
import type { Grantee } from './grants.ts';
import type { Lake } from './lake.ts';
import { output } from './output.ts';
import { rolePolicy } from './role-policy.ts';
import { savedQueries } from './saved-queries.ts';
import { grantWorkGroup, newWorkGroup } from './work-group.ts';

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
