import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnDatabase, type IDatabase } from 'aws-cdk-lib/aws-glue';
import { Construct } from 'constructs';
import { CLOSES_TABLE, COVERAGE_TABLE, beforeTable, icebergDatabase } from '../shared/lake/paths.ts';
import { type ReportRegistry, allViews, dayTables } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { instanceName, output } from './names.ts';
import { type Grantee, allow, arnInStack } from './grants.ts';

const DEFINE = ['glue:GetTable', 'glue:CreateTable', 'glue:UpdateTable'];
const PUBLISH = ['glue:GetPartitions', 'glue:CreatePartition', 'glue:UpdatePartition'];
const QUERY = [
  ...['glue:GetTable', 'glue:GetTables', 'glue:GetDatabase', 'glue:GetDatabases'],
  ...['glue:GetPartition', 'glue:GetPartitions', 'glue:BatchGetPartition', 'glue:GetPartitionIndexes'],
];

export interface CatalogProps {
  reports: ReportRegistry;
  settings: Settings;
  /** An existing database; missing: the stack creates one. */
  database?: IDatabase | undefined;
}

/** The column types of Iceberg differ, hence a second database. Records decide the columns, so functions create the tables. */
export class Catalog extends Construct {
  readonly databaseName: string;
  private readonly icebergName: string | undefined;
  readonly #props: CatalogProps;

  constructor(scope: Construct, id: string, props: CatalogProps) {
    super(scope, id);
    const { settings } = props;
    const database = props.database?.databaseName;
    this.#props = props;
    const description = 'Affiliate reports of brands, a partition per brand and day';
    this.databaseName = database ?? this.newDatabase('Database', ownName(this), description);
    output(this, 'DatabaseName', { value: this.databaseName, description: 'The database in Athena' });
    if (!settings.catalogs.includes('iceberg')) return;
    const name = icebergDatabase(database ?? ownName(this));
    this.icebergName = this.newDatabase('Iceberg', name, 'The same reports as Iceberg tables');
  }

  private newDatabase(id: string, name: string, description: string): string {
    const { account } = Stack.of(this);
    // The path keeps the logical id of earlier stacks: another id would create a second database of the same name.
    const database = new CfnDatabase(new Construct(this, id), 'Resource', {
      catalogId: account,
      databaseInput: {
        name,
        description,
        // Without these permissions, nobody could see the tables in an account under Lake Formation.
        createTableDefaultPermissions: [
          { permissions: ['ALL'], principal: { dataLakePrincipalIdentifier: 'IAM_ALLOWED_PRINCIPALS' } },
        ],
      },
    });
    // Deleted with the stack, because the catalog can be rebuilt from the ledgers in the lake.
    database.applyRemovalPolicy(RemovalPolicy.DESTROY);
    return database.ref;
  }

  grantSync(grantee: Grantee): void {
    const reports = Object.values(this.#props.reports);
    // The command line and the watcher write the table of closes.
    const tables = [...reports.flatMap(dayTables), COVERAGE_TABLE];
    const views = allViews(this.#props.reports).map(({ name }) => name);
    this.grant(grantee, this.databaseName, DEFINE, [...tables, ...views]);
    this.grant(grantee, this.databaseName, PUBLISH, tables);
    // A partition of what records were before is removed when that is no longer known.
    const before = reports.map(({ table }) => beforeTable(table));
    this.grant(grantee, this.databaseName, ['glue:DeletePartition'], before);
    this.grant(grantee, this.databaseName, ['glue:GetTable', 'glue:GetPartitions'], [CLOSES_TABLE]);
    const reportTables = reports.map(({ table }) => table);
    this.grant(grantee, this.icebergName, DEFINE, reportTables);
  }

  grantUpdate(grantee: Grantee): void {
    this.grant(grantee, this.databaseName, [...DEFINE, ...PUBLISH, 'glue:DeletePartition'], ['*']);
    this.grant(grantee, this.icebergName, DEFINE, ['*']);
  }

  grantQuery(grantee: Grantee): void {
    this.grantQueryHive(grantee);
    this.grant(grantee, this.icebergName, QUERY, ['*']);
  }

  grantQueryHive(grantee: Grantee): void {
    this.grant(grantee, this.databaseName, QUERY, ['*']);
    // Athena needs the database `default`, and lists databases only if the principal may read all names. The tables of
    // other databases stay closed.
    allow(grantee, ['glue:GetDatabase'], [this.arn('database/default')]);
    allow(grantee, ['glue:GetDatabases'], [this.arn('database/*')]);
  }

  private arn(path: string): string {
    return arnInStack(this, 'glue', path);
  }

  private grant(
    grantee: Grantee,
    database: string | undefined,
    actions: string[],
    tables: readonly string[],
  ): void {
    if (database === undefined) return;
    // Glue also checks the catalog and the database above a table.
    const above = [this.arn('catalog'), this.arn(`database/${database}`)];
    allow(grantee, actions, [...above, ...tables.map((table) => this.arn(`table/${database}/${table}`))]);
  }
}

/** The name of the database that the stack creates: `BrandReports-staging` → `brand_reports_staging` */
function ownName(scope: Construct): string {
  return instanceName(scope)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}
