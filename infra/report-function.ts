import { Duration, TimeZone } from 'aws-cdk-lib';
import { Schedule, ScheduleExpression, ScheduleTargetInput, TimeWindow } from 'aws-cdk-lib/aws-scheduler';
import type { Construct, IDependable } from 'constructs';
import type { ReportDefinition } from '../shared/reports/definition.ts';
import { type BrandSettings, type Settings, secretNameOf } from '../shared/settings/settings.ts';
import type { Catalog } from './catalog.ts';
import type { EventBus } from './event-bus.ts';
import type { FailureQueue } from './failure-queue.ts';
import type { Lake } from './lake.ts';
import { type Network, PipelineFunction } from './pipeline-function.ts';
import { ScheduleTarget } from './schedule-target.ts';
import { staggered } from './staggered.ts';

export interface ReportFunctionProps {
  settings: Settings;
  network?: Network;
  report: ReportDefinition;
  /** The brands that have the report enabled, by name. */
  brands: Readonly<Record<string, ScheduledBrand>>;
  lake: Lake;
  catalog: Catalog;
  bus: EventBus;
  /** The queue for events that a schedule could not deliver. */
  undelivered: FailureQueue;
  /** The queue for events that the function failed on. */
  failed: FailureQueue;
}

export interface ScheduledBrand {
  brand: BrandSettings;
  /** As in the settings. */
  schedule: string;
  /** The schedule's number among all `slots` schedules of the stack, from 0. */
  slot: number;
  slots: number;
}

/** The function that syncs one report, and a schedule for each brand in the brand's time zone. */
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
    this.grantSecrets(Object.entries(brands).map(([name, { brand }]) => secretNameOf(name, brand)));
    for (const [name, scheduled] of Object.entries(brands)) this.schedule(props, name, scheduled);
  }

  /**
   * Nothing starts by itself before the tables are there, nor while the stack is being deleted: a first deployment that
   * fails leaves a bucket that is empty, and so can be deleted.
   */
  scheduleAfter(dependency: IDependable): void {
    for (const child of this.node.children)
      if (child instanceof Schedule) child.node.addDependency(dependency);
  }

  private schedule(
    { settings, report, undelivered }: ReportFunctionProps,
    brandName: string,
    { brand, schedule, slot, slots }: ScheduledBrand,
  ): void {
    const { expression, windowMinutes } = staggered(schedule, slot, slots);
    new Schedule(this, `Schedule-${brandName}`, {
      description: `Syncs ${report.table} of ${brandName}`,
      schedule: ScheduleExpression.expression(expression, TimeZone.of(brand.timeZone)),
      enabled: settings.deployment.schedules,
      timeWindow:
        windowMinutes === 0 ? TimeWindow.off() : TimeWindow.flexible(Duration.minutes(windowMinutes)),
      target: new ScheduleTarget(this, undelivered, ScheduleTargetInput.fromObject({ brand: brandName })),
    });
  }
}

/** The range is an example: set its days before testing with it. */
function testEvents(brands: ReportFunctionProps['brands']): Record<string, unknown> {
  const [brand, first] = Object.entries(brands)[0] ?? [];
  const day = first?.brand.startDate;
  return {
    'Sync-now': {},
    'Check-the-connection': { check: true },
    'Read-a-range-again': { brand, from: day, to: day, acceptFewer: false },
    'Rebuild-from-raw-records': { rebuild: true, brand, from: day, to: day },
  };
}
