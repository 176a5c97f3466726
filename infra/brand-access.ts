import { Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { AnalystsProps } from './analysts.ts';
import { instanceName } from './instance-name.ts';
import { rolePolicy } from './role-policy.ts';
import { grantWorkGroup, newWorkGroup } from './work-group.ts';

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
