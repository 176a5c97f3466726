import { randomUUID } from 'node:crypto';
import { objectPage } from '../shared/adapters/aws/console-url.ts';
import { openBucket } from '../shared/adapters/aws/lake-store.ts';
import { snsNotifier } from '../shared/adapters/aws/sns-notifier.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { inOurFormat } from '../shared/lake/documents/lake-format.ts';
import { COVERAGE_PAGE_KEY } from '../shared/lake/paths.ts';
import { type WatchOutcome, watch } from '../shared/watcher/index.ts';
import { reports } from '../shared/reports/index.ts';
import { consoleControls, consoleTextControls } from './console-controls.ts';
import { deployedSettings } from './deployed-settings.ts';
import { environment, eventReceiver, log } from './function-context.ts';

/**
 * Publishes the metric `Problems` as a line in CloudWatch's embedded metric format, which Lambda's logs turn into the
 * metric. It writes to standard output, because `console` would wrap the line.
 * @param namespace the stack's name
 */
export function countProblems(namespace: string, problems: number): void {
  const document = {
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [
        { Namespace: namespace, Dimensions: [[]], Metrics: [{ Name: 'Problems', Unit: 'Count' }] },
      ],
    },
    Problems: problems,
  };
  process.stdout.write(`${JSON.stringify(document)}\n`);
}

/**
 * Does one watcher run. The content of the event does not matter.
 * @returns what the watcher run found
 * @throws BrandReportsError if the watcher run fails: then the metric is missing, which raises its alarm, and the event
 * goes to the queue
 */
export async function handler(): Promise<WatchOutcome> {
  const lake = environment('LAKE_URL');
  const store = inOurFormat(openBucket(lake, environment('LAKE_OWNER')));
  const [region, stack] = [environment('AWS_REGION'), environment('FUNCTION_PREFIX')];
  const page = objectPage(region, new URL(lake).hostname, COVERAGE_PAGE_KEY);
  return watch({
    settings: await deployedSettings(store)(),
    reports,
    store,
    clock: systemClock(),
    random: Math.random,
    newId: randomUUID,
    log,
    notifier: snsNotifier(environment('TOPIC_ARN')),
    events: eventReceiver(),
    countProblems: (count) => countProblems(stack, count),
    message: { pipeline: stack, page, controls: consoleTextControls(region, stack) },
    controls: consoleControls(region, stack),
  });
}
