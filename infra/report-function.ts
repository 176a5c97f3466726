import type { Construct } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import type { BrandSettings, Settings } from '../shared/settings/settings.ts';
import type { Catalog } from './catalog.ts';
import type { EventBus } from './event-bus.ts';
import type { FailureQueue } from './failure-queue.ts';
import type { Lake } from './lake.ts';
import type { Network } from './network.ts';
import { PipelineFunction } from './pipeline-function.ts';

export interface ReportFunctionProps {
  settings: Settings;
  network?: Network;
  report: ReportDefinition;
  /** The brands that have the report enabled, by name. */
  brands: Readonly<Record<string, BrandSettings>>;
  lake: Lake;
  catalog: Catalog;
  bus: EventBus;
  /** The queue for events that the function failed on. */
  failed: FailureQueue;
}

/** The function that syncs one report. `schedules.ts` has its schedules. */
export class ReportFunction extends PipelineFunction {
  readonly report: ReportDefinition;

  constructor(scope: Construct, id: string, props: ReportFunctionProps) {
    const { settings, network, report, brands, lake, catalog, bus } = props;
    const { reservedConcurrency } = settings.deployment;
    super(scope, id, {
      settings,
      network,
      name: report.name,
      description: `Syncs ${report.table}: ${report.description}`,
      handler: 'sync-report',
      environment: {
        REPORT: report.name,
        ...lake.environment,
        ...bus.environment,
        DATABASE: catalog.databaseName,
      },
      ...(reservedConcurrency !== undefined && { reservedConcurrency }),
      onFailure: props.failed,
      testEvents: testEvents(brands),
    });
    this.report = report;
    lake.grantReports(this, [report]);
    catalog.grantReports(this, [report]);
    bus.grantSend(this);
    this.grantSecrets();
  }
}

/** The test events of the console. The range is an example: set its days before testing with it. */
function testEvents(brands: ReportFunctionProps['brands']): Record<string, unknown> {
  const [brand, first] = Object.entries(brands)[0] ?? [];
  const day = first?.startDate;
  return {
    'Sync-now': {},
    'Check-the-connection': { check: true },
    'Read-a-range-again': { brand, from: day, to: day, acceptFewer: false },
    'Rebuild-from-raw-records': { rebuild: true, brand, from: day, to: day },
  };
}
