/*
 * Without this construct a new stack has no tables until each report has run, and nothing repairs a catalog that was
 * edited by hand. CloudFormation does not own the tables, because runs add columns and partitions between deployments:
 * a custom resource calls a function whenever the settings, the definitions or the version have changed, which makes the
 * catalog what definitions, schemas and ledgers in the lake say, and publishes the test events of the console. Where none
 * of them has changed, a deployment changes nothing, and `cdk diff` is empty. By hand: test event "Repair-the-catalog".
 */
import { hash } from 'node:crypto';
import { CustomResource, Duration, Stack } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { coverageTable } from '../shared/catalog/coverage.ts';
import { schemaChangesTable } from '../shared/catalog/schema-changes.ts';
import { changeViews, changesTable } from '../shared/history/index.ts';
import { freshness } from '../shared/catalog/freshness.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { REGISTRY, schemaName } from '../shared/adapters/aws/test-event-schemas.ts';
import type { Catalog } from './catalog.ts';
import { instanceName } from './instance-name.ts';
import type { Lake } from './lake.ts';
import { PipelineFunction } from './pipeline-function.ts';

export interface RebuildCatalogFunctionProps {
  settings: Settings;
  lake: Lake;
  catalog: Catalog;
  /** The other functions whose test events it publishes. */
  functions: readonly PipelineFunction[];
  reports: ReportRegistry;
  /** Of the program. */
  version: string;
}

/** The function that rebuilds the catalog and publishes test events, and the custom resource that calls it. */
export class RebuildCatalogFunction extends PipelineFunction {
  /** What depends on it is created when the first rebuild has succeeded, and deleted before everything else. */
  readonly resource: CustomResource;

  constructor(scope: Construct, id: string, props: RebuildCatalogFunctionProps) {
    const { settings, reports, lake, catalog, version } = props;
    const { adoptBucket, adoptDatabase, tags } = settings.deployment;
    super(scope, id, {
      settings,
      name: 'rebuild-catalog',
      description:
        'Rebuilds tables, views and partitions of the catalog from the lake; runs when a deployment changes them',
      handler: 'rebuild-catalog',
      environment: { ...lake.environment, DATABASE: catalog.databaseName },
      testEvents: { 'Repair-the-catalog': {} },
    });
    lake.grantRebuild(this);
    catalog.grantRebuild(this);
    const functions = [...props.functions, this];
    this.grantTestEvents({ ...props, functions });
    if (adoptBucket !== undefined) lake.grantReadOwner(this);
    if (adoptDatabase !== undefined) catalog.grantReadOwner(this);
    const ownTables = [coverageTable, schemaChangesTable, changesTable];
    const ownViews = [freshness, ...changeViews(reports)];
    this.resource = new CustomResource(this, 'Resource', {
      resourceType: 'Custom::BrandReportsCatalog',
      serviceToken: this.function.functionArn,
      // The longest wait for an instance and the function's timeout together; CloudFormation's default is an hour.
      serviceTimeout: Duration.minutes(31),
      properties: {
        nonce: hash('sha256', JSON.stringify([version, settings, reports, ...ownTables, ...ownViews]), 'hex'),
        adopted: { bucket: adoptBucket, database: adoptDatabase },
        ...(tags && { tags }),
        testEvents: functions.map(({ name, testEvents }) => ({
          functionName: name,
          // As JSON text, because CloudFormation turns numbers and booleans in properties into text.
          events: Object.entries(testEvents).map(([event, value]) => ({
            name: event,
            value: JSON.stringify(value),
          })),
        })),
      },
    });
    // The role includes its policies: without them the first call would be denied.
    this.resource.node.addDependency(this.function, this.role);
  }

  /** The registry belongs to the account: it may exist already, and is never deleted. */
  private grantTestEvents({ functions, reports, settings }: RebuildCatalogFunctionProps): void {
    const arn = (resource: string, resourceName: string) =>
      Stack.of(this).formatArn({ service: 'schemas', resource, resourceName });
    const registry = arn('registry', REGISTRY);
    Grant.addToPrincipal({
      grantee: this,
      actions: ['schemas:CreateRegistry'],
      resourceArns: [registry],
    });
    const schema = (name: string) => arn('schema', `${REGISTRY}/${schemaName(name)}`);
    const current = functions.map(({ name }) => schema(name));
    Grant.addToPrincipal({
      grantee: this,
      actions: ['schemas:CreateSchema', 'schemas:DescribeSchema', 'schemas:UpdateSchema'],
      // AWS wants the registry of a schema to be named beside it.
      resourceArns: [registry, ...current],
    });
    if (settings.deployment.tags)
      Grant.addToPrincipal({ grantee: this, actions: ['schemas:TagResource'], resourceArns: current });
    // The events of a report that is no longer enabled go too.
    const ofReports = Object.keys(reports).map((name) => schema(`${instanceName(this)}-${name}`));
    Grant.addToPrincipal({
      grantee: this,
      actions: ['schemas:DeleteSchema'],
      resourceArns: [registry, ...new Set([...current, ...ofReports])],
    });
  }
}
