import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnDatabase } from 'aws-cdk-lib/aws-glue';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { DeploymentSettings } from '../shared/settings/deployment.ts';
import { COVERAGE_TABLE } from '../shared/lake/paths.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { acknowledgeWildcards, type Grantee } from './acknowledge-wildcards.ts';
import { output } from './output.ts';

/** Of tables and views. */
const DEFINE = ['glue:GetTable', 'glue:CreateTable', 'glue:UpdateTable'];
const PUBLISH = ['glue:GetPartitions', 'glue:CreatePartition', 'glue:UpdatePartition'];
const QUERY = [
  'glue:GetTable',
  'glue:GetTables',
  'glue:GetPartition',
  'glue:GetPartitions',
  'glue:BatchGetPartition',
  'glue:GetDatabase',
  'glue:GetDatabases',
];

/** The Glue database. The functions create its tables, views and partitions, because records decide the columns. */
export class Catalog extends Construct {
  readonly databaseName: string;

  constructor(scope: Construct, id: string, deployment: DeploymentSettings) {
    super(scope, id);
    this.databaseName = deployment.adoptDatabase ?? this.newDatabase(deployment);
    output(this, 'DatabaseName', { value: this.databaseName, description: 'The database in Athena' });
  }

  private newDatabase({ tablePermissions }: DeploymentSettings): string {
    const { stackName, account } = Stack.of(this);
    // This path keeps the logical id of earlier stacks: another one would create a second database of the same name.
    const database = new CfnDatabase(new Construct(this, 'Database'), 'Resource', {
      catalogId: account,
      databaseInput: {
        name: snakeCase(stackName),
        description: 'Affiliate reports of brands, a partition per brand and day',
        // Without it no one could see the tables in an account under Lake Formation.
        createTableDefaultPermissions:
          tablePermissions === 'iam'
            ? [
                {
                  permissions: ['ALL'],
                  principal: { dataLakePrincipalIdentifier: 'IAM_ALLOWED_PRINCIPALS' },
                },
              ]
            : [],
      },
    });
    // The catalog can be rebuilt from the ledgers in the lake.
    database.applyRemovalPolicy(RemovalPolicy.DESTROY);
    return database.ref;
  }

  /** For runs of these reports: their tables and views, and coverage. */
  grantReports(grantee: Grantee, reports: readonly ReportDefinition[]): void {
    const tables = [...reports.map(({ table }) => table), COVERAGE_TABLE];
    const views = reports.flatMap((report) => report.views.map(({ name }) => name));
    this.grant(grantee, DEFINE, [...tables, ...views]);
    this.grant(grantee, PUBLISH, tables);
  }

  grantRebuild(grantee: Grantee): void {
    this.grant(grantee, [...DEFINE, ...PUBLISH], ['*']);
  }

  grantQuery(grantee: Grantee): void {
    this.grant(grantee, QUERY, ['*']);
    // Athena needs the database `default`, and lists databases only for who may read all names.
    const [byDefault, all] = [[this.arn('database', 'default')], [this.arn('database', '*')]];
    Grant.addToPrincipal({ grantee, actions: ['glue:GetDatabase'], resourceArns: byDefault });
    Grant.addToPrincipal({ grantee, actions: ['glue:GetDatabases'], resourceArns: all });
    acknowledgeWildcards(grantee, all, 'Names of databases only: their tables stay closed.');
  }

  private arn(resource: string, resourceName?: string): string {
    return Stack.of(this).formatArn({ service: 'glue', resource, resourceName });
  }

  private grant(grantee: Grantee, actions: string[], tables: readonly string[]): void {
    // Glue checks the catalog and the database above a table as well.
    const resourceArns = [
      this.arn('catalog'),
      this.arn('database', this.databaseName),
      ...tables.map((table) => this.arn('table', `${this.databaseName}/${table}`)),
    ];
    Grant.addToPrincipal({ grantee, actions, resourceArns });
    acknowledgeWildcards(
      grantee,
      resourceArns,
      'All tables of this one database: reports may be added later.',
    );
  }
}

/** `BrandReports-staging` → `brand_reports_staging` */
function snakeCase(stackName: string): string {
  return stackName
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}
