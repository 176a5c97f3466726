import { CustomResource, Duration, Stack } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Settings } from '../shared/settings/settings.ts';
import { REGISTRY, schemaName } from '../shared/adapters/aws/test-event-schemas.ts';
import type { Catalog } from './catalog.ts';
import type { Lake } from './lake.ts';
import { PipelineFunction } from './pipeline-function.ts';

export interface CatalogRebuildProps {
  settings: Settings;
  settingsJson: string;
  lake: Lake;
  catalog: Catalog;
  /** Those whose test events are made, beside the set-up's own. */
  functions: readonly PipelineFunction[];
  /** Differs at every deployment, because every deployment sets up. */
  nonce: string;
}

/**
 * Brings tables, views and partitions of the catalog to what definitions, schemas and ledgers say, and makes the test
 * events of the console. CloudFormation does not own them, because they grow between deployments.
 */
export class CatalogRebuild extends PipelineFunction {
  constructor(scope: Construct, id: string, props: CatalogRebuildProps) {
    const { settings, settingsJson, lake, catalog, nonce } = props;
    super(scope, id, {
      settings,
      settingsJson,
      name: 'setup',
      description: 'Sets up tables, views and partitions in the catalog, and the test events of the console',
      handler: 'rebuild-catalog',
      environment: { LAKE_URL: lake.url, DATABASE: catalog.databaseName },
      testEvents: { 'Repair-the-catalog': {} },
    });
    lake.grantRebuild(this);
    catalog.grantRebuild(this);
    const functions = [...props.functions, this];
    this.grantTestEvents(functions);
    const run = new CustomResource(this, 'Resource', {
      resourceType: 'Custom::BrandReportsSetup',
      serviceToken: this.function.functionArn,
      // As long as the event may wait for an instance and the function then work; without it, an hour.
      serviceTimeout: Duration.minutes(31),
      properties: {
        nonce,
        testEvents: functions.map(({ name, testEvents }) => ({
          functionName: name,
          // As text, because CloudFormation makes text of every number and every true inside of a property.
          events: Object.entries(testEvents).map(([event, value]) => ({
            name: event,
            value: JSON.stringify(value),
          })),
        })),
      },
    });
    // The policies of the role are among its parts: without them the first set-up would be refused.
    run.node.addDependency(this.function, this.role);
  }

  /** The registry is the account's: it may be there already, and is never deleted. */
  private grantTestEvents(functions: readonly PipelineFunction[]): void {
    const arn = (resource: string, resourceName: string) =>
      Stack.of(this).formatArn({ service: 'schemas', resource, resourceName });
    Grant.addToPrincipal({
      grantee: this,
      actions: [
        'schemas:CreateRegistry',
        'schemas:CreateSchema',
        'schemas:DescribeSchema',
        'schemas:UpdateSchema',
        'schemas:DeleteSchema',
      ],
      resourceArns: [
        arn('registry', REGISTRY),
        ...functions.map(({ name }) => arn('schema', `${REGISTRY}/${schemaName(name)}`)),
      ],
    });
  }
}
