/*
 * The whole deployment, wiring only. Per report a function with a schedule for each brand (report-function.ts), which
 * writes the lake (lake.ts) and the catalog (catalog.ts). A state machine for backfills, a function that watches all
 * days and draws the calendar, and one that rebuilds the catalog when a deployment changes it. Events that fail end up
 * in two queues; what is wrong goes to one topic (alarm-topic.ts), from the watcher and a few alarms (alarms.ts). Other
 * people's programs receive events (event-bus.ts). Analysts get a workgroup and a policy (analysts.ts). I9: secrets are
 * neither created nor read here, only named, so that no credential is in the template.
 */
import { Annotations, Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ReportDefinition, ReportRegistry } from '../shared/reports/definition.ts';
import { type Settings, secretNameOf } from '../shared/settings/settings.ts';
import { AlarmTopic } from './alarm-topic.ts';
import { Alarms } from './alarms.ts';
import { Analysts } from './analysts.ts';
import { BackfillStateMachine } from './backfill-state-machine.ts';
import { Catalog } from './catalog.ts';
import { consoleLink } from './console-link.ts';
import { CalendarFunction } from './calendar-function.ts';
import { EventBus } from './event-bus.ts';
import { FailureQueue } from './failure-queue.ts';
import { guard } from './guards.ts';
import { Lake } from './lake.ts';
import { output } from './output.ts';
import { ReportFunction, type ScheduledBrand } from './report-function.ts';
import { RebuildCatalogFunction } from './rebuild-catalog-function.ts';

/** Instances that an account has to leave unreserved. */
const UNRESERVED = 100;

export interface PipelineStackProps extends StackProps {
  reports: ReportRegistry;
  settings: Settings;
  /** Of the program. */
  version: string;
}

export class PipelineStack extends Stack {
  constructor(scope: Construct, id: string, props: PipelineStackProps) {
    const { reports, settings, version } = props;
    const { deployment } = settings;
    const { account, region } = deployment;
    const env = { ...(account && { account }), ...(region && { region }), ...props.env };
    super(scope, id, { ...props, env });
    guard(this, deployment);
    const lake = new Lake(this, 'Lake', { reports, deployment });
    const catalog = new Catalog(this, 'Catalog', { reports, settings });
    const bus = new EventBus(this, settings.events);
    const undelivered = new FailureQueue(this, 'Undelivered', deployment);
    const failed = new FailureQueue(this, 'Failed', deployment);

    const enabled = enabledReports(reports, settings);
    this.warnOfQuota(enabled.length * (deployment.reservedConcurrency ?? 0));
    const functions = enabled.map(
      ({ report, brands }) =>
        new ReportFunction(this, report.name, {
          settings,
          report,
          brands,
          lake,
          catalog,
          bus,
          undelivered,
          failed,
        }),
    );
    const backfill = new BackfillStateMachine(this, 'Backfill', {
      settings,
      reports: enabled.map(({ report }) => report),
      lake,
      catalog,
      bus,
    });
    const topic = new AlarmTopic(this, 'AlarmTopic', deployment);
    const calendar = new CalendarFunction(this, 'Calendar', {
      settings,
      lake,
      topic,
      bus,
      undelivered,
      failed,
    });
    new Alarms(this, 'Alarms', {
      deployment,
      queues: { undelivered, failed },
      stateMachine: backfill.stateMachine,
      topic: topic.topic,
    });
    const rebuild = new RebuildCatalogFunction(this, 'RebuildCatalog', {
      settings,
      lake,
      catalog,
      functions: [...functions, backfill.worker, calendar],
      reports,
      version,
    });
    for (const each of [...functions, calendar]) each.scheduleAfter(rebuild.resource);
    new Analysts(this, 'Analysts', {
      reports: enabled.map(({ report }) => report),
      deployment,
      lake,
      catalog,
    });
    this.outputSecretLinks(Object.entries(settings.brands).map(([name, brand]) => secretNameOf(name, brand)));
  }

  /** Where the quota does not suffice, CloudFormation fails the deployment with a message that names neither setting nor quota. */
  private warnOfQuota(reserved: number): void {
    if (reserved === 0) return;
    Annotations.of(this).addWarningV2(
      'brand-reports:reservedConcurrency',
      `deployment.reservedConcurrency reserves ${reserved} instances, and AWS wants ${UNRESERVED} to stay unreserved: the deployment fails with "UnreservedConcurrentExecution below its minimum value" unless the account's quota "Concurrent executions" of Lambda is ${reserved + UNRESERVED} or more. New accounts have 10. Request more in Service Quotas, or leave the setting out.`,
    );
  }

  private outputSecretLinks(names: readonly string[]): void {
    for (const [index, name] of [...new Set(names)].entries())
      output(this, `Secret${index + 1}`, {
        value: consoleLink(this, 'secretsmanager', `!/secret?name=${encodeURIComponent(name)}`),
        description: `Put bid, token, secret and baseUrl into this secret before the first run: ${name}`,
      });
  }
}

/** The reports that a brand has enabled, with those brands. Each brand of each report gets its own slot: staggered.ts. */
function enabledReports(
  reports: ReportRegistry,
  { brands }: Settings,
): { report: ReportDefinition; brands: Record<string, ScheduledBrand> }[] {
  const pairs = Object.values(reports).flatMap((report) =>
    Object.entries(brands).flatMap(([name, brand]) => {
      const own = brand.reports[report.name];
      return own?.enabled ? [{ report, name, brand, schedule: own.schedule }] : [];
    }),
  );
  const slotted = pairs.map((pair, slot) => ({ ...pair, slot, slots: pairs.length }));
  return [...Map.groupBy(slotted, ({ report }) => report)].map(([report, scheduled]) => ({
    report,
    brands: Object.fromEntries(
      scheduled.map(({ name, brand, schedule, slot, slots }) => [name, { brand, schedule, slot, slots }]),
    ),
  }));
}
