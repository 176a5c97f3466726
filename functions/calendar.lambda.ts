import { randomUUID } from 'node:crypto';
import * as z from 'zod/mini';
import { openLakeStore } from '../shared/adapters/aws/lake-store.ts';
import { snsNotifier } from '../shared/adapters/aws/sns-notifier.ts';
import { systemClock } from '../shared/adapters/system-clock.ts';
import { lastMonths } from '../shared/days.ts';
import { BrandReportsError, asBrandReportsError } from '../shared/errors.ts';
import { integer, oneOf, parseInput } from '../shared/validation/input.ts';
import { readLedgers } from '../shared/lake/documents/read.ts';
import { type WatchOutcome, watch } from '../shared/operations/watch.ts';
import { reports } from '../shared/reports/index.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { calendar } from '../shared/status/calendar.ts';
import { html } from '../shared/status/html.ts';
import { tableStatuses } from '../shared/status/table-statuses.ts';
import { consoleControls, consoleTextControls } from './console-controls.ts';
import { countProblems } from './count-problems.ts';
import { bundledSettings, environment, log } from './function-context.ts';

/** A Lambda response holds 6 MB at most, quotes and line ends escaped. */
const MAX_BYTES = 5_000_000;

const DOCUMENTATION = `
## Coverage calendar
Which days of which reports are complete, and what is wrong with the others.

| parameter | default | meaning |
| --- | --- | --- |
| **brand** | all | only this brand |
| **months** | 3 | how many months, 24 at most |

### Example
\`\`\` yaml
brand: acme
months: 6
\`\`\`
`;

/**
 * Draws the coverage calendar for a CloudWatch dashboard; `{"watch": true}` makes it one look of the watcher.
 * @param event the widget's parameters and CloudWatch's `widgetContext`; `describe` requests documentation
 * @returns HTML, of the error too; Markdown for `describe`; what a look found
 * @throws BrandReportsError where a look fails: the alarm of the missing metric, and the queue, tell of that
 */
export async function handler(event: unknown): Promise<string | WatchOutcome> {
  if (z.safeParse(LOOK, event).success) return look();
  try {
    return await draw(event);
  } catch (thrown) {
    const { kind, code, message, cause } = asBrandReportsError(thrown);
    const stack = cause instanceof Error ? cause.stack : undefined;
    log({ event: 'calendar_failed', kind, code, message, ...(stack !== undefined && { stack }) });
    return html`<p><b>The calendar cannot be drawn</b> (${kind}, ${code}).</p><pre style="white-space:pre-wrap">${message}</pre>`
      .markup;
  }
}

const LOOK = z.strictObject({ watch: z.literal(true) });

function look(): Promise<WatchOutcome> {
  const store = openLakeStore(environment('LAKE_URL'));
  const [region, stack] = [environment('AWS_REGION'), environment('FUNCTION_PREFIX')];
  return watch({
    settings: bundledSettings(),
    reports,
    store,
    clock: systemClock(),
    random: Math.random,
    newId: randomUUID,
    log,
    notifier: snsNotifier(environment('TOPIC_ARN')),
    countProblems: (count) => countProblems(stack, count),
    message: { pipeline: stack, page: environment('PAGE_URL'), controls: consoleTextControls(region, stack) },
    controls: consoleControls(region, stack),
  });
}

async function draw(event: unknown): Promise<string> {
  const settings = bundledSettings();
  const { describe, brand, months, widgetContext } = parseWidgetEvent(event, settings);
  if (describe) return DOCUMENTATION;
  const nowMs = Date.now();
  const span = lastMonths(months, nowMs);
  const ledgers = await readLedgers(openLakeStore(environment('LAKE_URL')), reports, span);
  const tables = tableStatuses(settings, reports, ledgers, nowMs, span);
  const { markup } = calendar(
    tables.filter((table) => brand === undefined || table.brand === brand),
    {
      settings,
      nowMs,
      controls: consoleControls(environment('AWS_REGION'), environment('FUNCTION_PREFIX')),
      theme: widgetContext?.theme === 'dark' ? 'dark' : 'light',
    },
  );
  return withinLimit(markup);
}

/** Parameters that are not known are ignored, because CloudWatch adds its own. */
function parseWidgetEvent(event: unknown, { brands }: Settings) {
  const schema = z.looseObject({
    describe: z.optional(z.boolean({ error: 'true, false' })),
    brand: z.optional(oneOf(...Object.keys(brands))),
    months: z._default(integer(1, 24), 3),
    widgetContext: z.optional(z.looseObject({ theme: z.optional(z.string()) })),
  });
  return parseInput(schema, event, 'event', "The widget's parameters");
}

function withinLimit(markup: string): string {
  const bytes = Buffer.byteLength(JSON.stringify(markup));
  if (bytes <= MAX_BYTES) return markup;
  throw new BrandReportsError(
    'config',
    'calendar_too_large',
    `The calendar has ${bytes} bytes; allowed: ${MAX_BYTES}. Give the widget a brand, or fewer months.`,
  );
}
