import { Stack, type StackProps } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ReportDefinition, ReportRegistry } from '../shared/reports/definition.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { Analysts } from './analysts.ts';
import { Backfill } from './backfill-state-machine.ts';
import { Catalog } from './catalog.ts';
import { consoleLink } from './console-link.ts';
import { CalendarFunction } from './calendar-function.ts';
import { FailureQueue } from './failure-queue.ts';
import { Lake } from './lake.ts';
import { Observability } from './observability.ts';
import { output } from './output.ts';
import { ReportFunction, type ScheduledBrand } from './report-function.ts';
import { CatalogRebuild } from './catalog-rebuild.ts';

export interface PipelineStackProps extends StackProps {
  reports: ReportRegistry;
  settings: Settings;
  /** What `settings` was parsed from, as JSON: it goes into the functions' bundle. */
  settingsJson: string;
  /** Differs at every deployment. */
  nonce: string;
}

/** The whole deployment: wiring only. */
export class PipelineStack extends Stack {
  constructor(scope: Construct, id: string, props: PipelineStackProps) {
    super(scope, id, props);
    const { reports, settings, settingsJson, nonce } = props;
    const { deployment } = settings;
    const lake = new Lake(this, 'Lake', { reports, deployment });
    const catalog = new Catalog(this, 'Catalog', deployment);
    const undelivered = new FailureQueue(this, 'Undelivered');
    const failed = new FailureQueue(this, 'Failed');

    const enabled = enabledReports(reports, settings);
    const functions = enabled.map(
      ({ report, brands }) =>
        new ReportFunction(this, report.name, {
          settings,
          settingsJson,
          report,
          brands,
          lake,
          catalog,
          undelivered,
          failed,
        }),
    );
    const backfill = new Backfill(this, 'Backfill', {
      settings,
      settingsJson,
      reports: enabled.map(({ report }) => report),
      lake,
      catalog,
    });
    const calendar = new CalendarFunction(this, 'Calendar', { settings, settingsJson, lake });
    new Observability(this, 'Observability', {
      deployment,
      functions,
      queues: { undelivered, failed },
      stateMachine: backfill.stateMachine,
      calendar: calendar.function,
    });
    new CatalogRebuild(this, 'Setup', {
      settings,
      settingsJson,
      lake,
      catalog,
      functions: [...functions, backfill.worker, calendar],
      nonce,
    });
    new Analysts(this, 'Analysts', {
      reports: enabled.map(({ report }) => report),
      scanLimitGb: deployment.queryScanLimitGb,
      lake,
      catalog,
    });
    this.outputSecretLinks(Object.values(settings.brands).map(({ secretName }) => secretName));
  }

  private outputSecretLinks(names: readonly string[]): void {
    for (const [index, name] of [...new Set(names)].entries())
      output(this, `Secret${index + 1}`, {
        value: consoleLink(this, 'secretsmanager', `!/secret?name=${encodeURIComponent(name)}`),
        description: `Fill it before the first run: ${name}`,
      });
  }
}

/** The reports that a brand has enabled, with those brands; each brand of each report has a turn of its own. */
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
  return [...Map.groupBy(slotted, ({ report }) => report)].map(([report, of]) => ({
    report,
    brands: Object.fromEntries(
      of.map(({ name, brand, schedule, slot, slots }) => [name, { brand, schedule, slot, slots }]),
    ),
  }));
}
