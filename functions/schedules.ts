import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { createSchedules, schedulerClientOptions } from '../shared/adapters/aws/schedules.ts';
import { reports } from '../shared/reports/index.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { startsOf } from '../shared/settings/staggered.ts';
import { environment } from './function-context.ts';

/**
 * Makes the schedules of all reports: from then on their functions start by themselves, or not where the settings have
 * schedules off. Without brands, it deletes all schedules.
 * @throws BrandReportsError where Scheduler refuses
 */
export async function publishSchedules({
  brands,
  deployment,
}: Pick<Settings, 'brands'> & { deployment: Pick<Settings['deployment'], 'schedules'> }): Promise<void> {
  const schedules = createSchedules(new SchedulerClient(schedulerClientOptions));
  const starts = Map.groupBy(startsOf({ brands }, reports), ({ report }) => report);
  for (const report of Object.keys(reports)) {
    const functionArn = `${environment('SCHEDULED_FUNCTIONS')}${report}`;
    // A group has the name of the function that its schedules start.
    await schedules.publish(functionArn.split(':').at(-1) ?? '', starts.get(report) ?? [], {
      functionArn,
      roleArn: environment('SCHEDULER_ROLE'),
      queueArn: environment('UNDELIVERED_QUEUE'),
      enabled: deployment.schedules,
    });
  }
}
