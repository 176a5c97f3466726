import { Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { Settings } from '../shared/settings/settings.ts';
import type { Lake } from './lake.ts';
import { PipelineFunction } from './pipeline-function.ts';

export interface CalendarFunctionProps {
  settings: Settings;
  lake: Lake;
}

/** The function that draws on the dashboard which days are in the lake. */
export class CalendarFunction extends PipelineFunction {
  constructor(scope: Construct, id: string, { settings, lake }: CalendarFunctionProps) {
    super(scope, id, {
      settings,
      name: 'calendar',
      description: 'Draws which days are in the lake, for the dashboard',
      handler: 'calendar',
      environment: { LAKE_URL: lake.url, FUNCTION_PREFIX: Stack.of(scope).stackName },
      // A person waits for it.
      timeout: Duration.minutes(1),
      testEvents: { 'Draw-the-calendar': {}, 'How-to-use-it': { describe: true } },
    });
    lake.grantReadLedgers(this);
  }
}
