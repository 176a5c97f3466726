import type { Construct } from 'constructs';
import { BrandReportsError } from '../shared/errors.ts';
import { SECRETS_PREFIX } from '../shared/adapters/credentials.ts';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import type { FailureQueue } from './failure-queue.ts';
import { allow, arnInStack, grantKey } from './grants.ts';
import { PipelineFunction, type PipelineFunctionProps } from './pipeline-function.ts';
import type { PipelineParts } from './pipeline-parts.ts';

interface ReadingFunctionProps extends PipelineParts, PipelineFunctionProps {
  /** The reports that it reads. */
  reports: readonly ReportDefinition[];
}

/** A function that reads reports from the service: it may read secrets, write the lake and the catalog, and send events. */
export class ReadingFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, props: ReadingFunctionProps) {
    const { settings, reports, lake, catalog, bus } = props;
    const environment = { ...lake.environment, ...bus.environment, DATABASE: catalog.databaseName };
    super(scope, id, { ...props, environment: { ...props.environment, ...environment } });
    lake.grantReports(this, reports);
    catalog.grantReports(this, reports);
    bus.grantSend(this);
    this.grantSecrets(settings);
  }

  /**
   * Lets the function read the secrets of all brands by the prefix of their names, so that a new brand changes no
   * policy. I9: people create the secrets by hand.
   */
  private grantSecrets({ brands, deployment }: Settings): void {
    for (const [brand, { secretName = SECRETS_PREFIX }] of Object.entries(brands))
      if (!secretName.startsWith(SECRETS_PREFIX)) throw outsideOfPrefix(brand);
    const secrets = arnInStack(this, 'secretsmanager', `secret:${SECRETS_PREFIX}*`);
    allow(this, ['secretsmanager:GetSecretValue'], [secrets]);
    grantKey(this, deployment.secretsKeyArn, 'secretsmanager', 'read');
  }
}

/** I9: the error does not contain the name, because somebody may have entered a credential instead. */
function outsideOfPrefix(brand: string): BrandReportsError {
  return new BrandReportsError(
    'config',
    'secret_outside_prefix',
    `brands.${brand}.secretName does not begin with "${SECRETS_PREFIX}", and the functions may read only secrets with this prefix. Leave secretName out and store the secret as ${SECRETS_PREFIX}${brand}, or under another name with this prefix.`,
  );
}

export interface ReportFunctionProps extends PipelineParts {
  report: ReportDefinition;
  /** The queue for events that the function failed on. */
  failed: FailureQueue;
}

/** The function that syncs one report. `schedules.ts` has its schedules. */
export class ReportFunction extends ReadingFunction {
  readonly report: ReportDefinition;

  constructor(scope: Construct, id: string, { report, failed, ...parts }: ReportFunctionProps) {
    super(scope, id, {
      ...parts,
      reports: [report],
      name: report.name,
      description: `Syncs ${report.table}: ${report.description}`,
      handler: 'sync-report',
      environment: { REPORT: report.name },
      reservedConcurrency: parts.settings.deployment.reservedConcurrency,
      onFailure: failed,
    });
    this.report = report;
  }
}
