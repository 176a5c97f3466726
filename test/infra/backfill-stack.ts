import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { BackfillStateMachine } from '../../infra/backfill-state-machine.ts';
import { EventBus } from '../../infra/event-bus.ts';
import { Catalog } from '../../infra/catalog.ts';
import { Lake } from '../../infra/lake.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

/** The template of a backfill alone, with the resources that it needs. */
export function backfillTemplate(input: object): Template {
  const settings = parseSettings(input, reports);
  const stack = new Stack(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'BrandReports');
  new BackfillStateMachine(stack, 'Backfill', {
    settings,
    reports: Object.values(reports),
    lake: new Lake(stack, 'Lake', { reports, deployment: settings.deployment }),
    catalog: new Catalog(stack, 'Catalog', { reports, settings }),
    bus: new EventBus(stack, settings.events),
  });
  return Template.fromStack(stack);
}
