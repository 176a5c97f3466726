import { CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Database } from 'aws-cdk-lib/aws-glue';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';

/** The Glue database. Its tables and partitions are the pipeline's own: they grow with what the records hold. */
export class Catalog extends Construct {
  readonly databaseName: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const database = new Database(this, 'Database', {
      databaseName: 'brand_reports',
      description: 'Affiliate reports of brands, a partition per brand and day',
      // The ledgers in the lake can make all of it again.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.databaseName = database.databaseName;
    new CfnOutput(this, 'DatabaseName', { value: this.databaseName, description: 'The database in Athena' });
  }

  grantReadWrite(grantee: IGrantable): void {
    const arn = (resource: string, resourceName?: string) =>
      Stack.of(this).formatArn({ service: 'glue', resource, resourceName });
    Grant.addToPrincipal({
      grantee,
      actions: [
        'glue:GetTable',
        'glue:CreateTable',
        'glue:UpdateTable',
        'glue:GetPartition',
        'glue:GetPartitions',
        'glue:CreatePartition',
        'glue:UpdatePartition',
      ],
      resourceArns: [
        arn('catalog'),
        arn('database', this.databaseName),
        arn('table', `${this.databaseName}/*`),
      ],
    });
  }
}
