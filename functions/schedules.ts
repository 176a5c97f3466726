import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { schedulerClientOptions, writeSchedules } from '../shared/adapters/aws/schedules.ts';
import { reports } from '../shared/reports/index.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { startsOf } from '../shared/settings/staggered.ts';
import { environment } from './function-context.ts';

/**
 * Writes the schedules of all reports. Their functions then start by themselves, unless the settings turn schedules
 * off. Without brands, it deletes all schedules.
 * @throws BrandReportsError if Scheduler refuses
 */
export async function publishSchedules({
  brands,
  deployment,
}: Pick<Settings, 'brands'> & { deployment: Pick<Settings['deployment'], 'schedules'> }): Promise<void> {
  const client = new SchedulerClient(schedulerClientOptions);
  const starts = Map.groupBy(startsOf({ brands }, reports), ({ report }) => report);
  for (const report of Object.keys(reports)) {
    const functionArn = `${environment('SCHEDULED_FUNCTIONS')}${report}`;
    // The group of schedules has the same name as the function that they start.
    await writeSchedules(client, functionArn.split(':').at(-1) ?? '', starts.get(report) ?? [], {
      functionArn,
      roleArn: environment('SCHEDULER_ROLE'),
      queueArn: environment('UNDELIVERED_QUEUE'),
      enabled: deployment.schedules,
    });
  }
}
