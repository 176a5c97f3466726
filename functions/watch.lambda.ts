import type { Context } from 'aws-lambda';
import * as z from 'zod/mini';
import { objectPage } from '../shared/adapters/aws/console-url.ts';
import { snsNotifier } from '../shared/adapters/aws/sns-notifier.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { type CatalogOutcome, updateCatalog } from '../shared/catalog/update.ts';
import { object, parseInput } from '../shared/settings/input.ts';
import { type WatchOutcome, watch } from '../shared/watch/watcher/index.ts';
import { consoleControls } from './console-controls.ts';
import { createFunctionContext, environment, timeLimits } from './function-context.ts';

/** `rebuildCatalog`: make tables, views and partitions anew, also tables that are up to date. */
const eventSchema = object({ rebuildCatalog: z.optional(z.literal(true, { error: 'true' })) });

/**
 * Does one watcher run, then brings the catalog up to date as far as time allows: the next run continues.
 * @throws BrandReportsError on an event that is not valid, and if the watcher run or a table or view fails. Then the
 * event goes to the queue; three failures in a row raise an alarm
 */
export async function handler(
  event: unknown,
  lambda: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<WatchOutcome & { catalog: CatalogOutcome }> {
  const { rebuildCatalog = false } = parseInput(eventSchema, event, 'event', 'the event');
  const { deadline } = timeLimits(lambda.getRemainingTimeInMillis());
  const { lake, ...context } = createFunctionContext();
  const [region, stack] = [environment('AWS_REGION'), environment('FUNCTION_PREFIX')];
  const clock = systemClock();
  const found = await watch({
    ...{ ...context, clock, store: lake.store },
    notifier: snsNotifier(environment('TOPIC_ARN')),
    pipeline: stack,
    pageAt: (key) => objectPage(region, new URL(lake.store.url).hostname, key),
    controls: consoleControls(region, stack),
  });
  const program = environment('PROGRAM_VERSION');
  const catalogId = `${environment('STACK_ID')} ${environment('DATABASE')}`;
  const catalog = await updateCatalog({
    ...{ ...context, lake, clock, deadline },
    program,
    catalogId,
    again: rebuildCatalog,
  });
  return { ...found, catalog };
}
