/*
 * Rebuilds the catalog when a deployment changes it. Without this construct a new stack has no tables until each report
 * has run, and nothing corrects a catalog that was edited by hand. CloudFormation does not own the tables, because runs
 * add columns and partitions between deployments. Instead, a custom resource calls a function when the settings, the
 * definitions, the function's code or the version have changed. The function:
 * - stores the settings in the lake, from where all functions read them,
 * - updates tables, views and partitions from definitions, schemas and ledgers,
 * - writes the schedules.
 * - If nothing has changed, a deployment changes nothing, and `cdk diff` is empty. By hand: test the function with `{}`.
 */
import { hash } from 'node:crypto';
import { CustomResource, Duration, Stack, Tags } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import { packSettings } from '../shared/settings/packed-settings.ts';
import { SETTINGS_WRITER } from './lake-bucket.ts';
import { PipelineFunction } from './pipeline-function.ts';
import type { PipelineParts } from './pipeline-parts.ts';
import type { Schedules } from './schedules.ts';

export interface RebuildCatalogFunctionProps extends PipelineParts {
  /** The schedules that it writes. */
  schedules: Schedules;
  reports: ReportRegistry;
  /** The version of the program. */
  version: string;
}

/** The function that rebuilds the catalog, and the custom resource that calls the function. */
export class RebuildCatalogFunction extends PipelineFunction {
  /**
   * Resources that depend on it are created after the first rebuild has succeeded, and deleted before everything else.
   */
  readonly resource: CustomResource;

  constructor(scope: Construct, id: string, props: RebuildCatalogFunctionProps) {
    const { settings, reports, lake, catalog, schedules, version } = props;
    super(scope, id, {
      ...props,
      name: 'rebuild-catalog',
      description:
        'Rebuilds tables, views and partitions of the catalog from the lake, and the schedules; runs when a deployment changes them; test it with {}',
      handler: 'rebuild-catalog',
      environment: { ...lake.environment, ...schedules.environment, DATABASE: catalog.databaseName },
    });
    lake.grantRebuild(this);
    Tags.of(this.role).add(SETTINGS_WRITER.key, SETTINGS_WRITER.value);
    catalog.grantRebuild(this);
    schedules.grantPublish(this);
    // `--context again=…` makes a deployment store the settings again, even if nothing has changed.
    const again: unknown = this.node.tryGetContext('again');
    this.resource = new CustomResource(this, 'Resource', {
      resourceType: 'Custom::BrandReportsCatalog',
      serviceToken: this.function.functionArn,
      // The longest wait for an instance plus the function's timeout; CloudFormation's default is an hour.
      serviceTimeout: Duration.minutes(31),
      properties: {
        nonce: hash('sha256', JSON.stringify([version, settings, reports, this.code(), again]), 'hex'),
        settings: packSettings(settings),
        // Another bucket or database needs a rebuild too.
        place: { lake: lake.url, database: catalog.databaseName },
      },
    });
    // The role includes its policies: without them the first call would be denied.
    this.resource.node.addDependency(this.function, this.role, schedules);
  }

  /** The hash of the bundle: a release may change how tables are built without changing their definitions. */
  private code(): unknown {
    const { defaultChild } = this.function.node;
    return defaultChild instanceof CfnFunction ? Stack.of(this).resolve(defaultChild.code) : undefined;
  }
}
