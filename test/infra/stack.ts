import { Annotations, App, Stack } from 'aws-cdk-lib';
import { BrandReports } from '../../infra/brand-reports.ts';
import { featureFlags } from '../../infra/feature-flags.ts';
import type { ReportRegistry } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';

export const ACME = {
  baseUrl: 'https://service.example/api/brand',
  service: 'ACME',
  timeZone: 'America/New_York',
  startDate: '2026-01-01',
  secretName: 'brand-reports/acme',
};

/** An app without bundles. */
export function appOf(context: object = {}): App {
  return new App({ context: { ...featureFlags(), 'aws:cdk:bundling-stacks': [], ...context } });
}

/** The stack of these settings, without bundles. */
export function stackOf(
  settings: object,
  options: { registry?: ReportRegistry; app?: App; name?: string; version?: string; context?: object } = {},
): Stack {
  const { registry = reports, name = 'BrandReports', version = '1.0.0' } = options;
  const app = options.app ?? appOf(options.context);
  const stack = new Stack(app, name);
  new BrandReports(stack, 'Default', { settings, program: { reports: registry, version } });
  // Most settings of tests name no receiver of alarms.
  if (!options.app) Annotations.of(stack).acknowledgeWarning('brand-reports:noReceiver');
  return stack;
}
