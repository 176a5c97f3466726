import { MetricUnit, Metrics } from '@aws-lambda-powertools/metrics';
import { endOfDay, startOfDay } from '../shared/days.ts';
import { BrandReportsError } from '../shared/errors.ts';
import type { ReportOutcome } from '../shared/outcome.ts';
import type { Log } from '../shared/log-events.ts';
import type { BrandSettings, Settings } from '../shared/settings/settings.ts';

export interface MetricsOptions {
  namespace: string;
  log: Log;
  /**
   * Given by runs that show how a report is doing: scheduled ones, and those by hand at the current time. A backfill
   * emits traffic only: otherwise it would hide a schedule that stopped, and its failures show as failed executions.
   */
  health?: { settings: Settings; nowMs: number };
}

type Measure = [name: string, unit: (typeof MetricUnit)[keyof typeof MetricUnit], value: number];

/**
 * Writes one document in CloudWatch's embedded metric format for each report of each brand. A failure to write is
 * logged: a run never fails because of its metrics.
 */
export function emitMetrics(reports: readonly ReportOutcome[], options: MetricsOptions): void {
  for (const outcome of reports) {
    const { brand, report } = outcome;
    try {
      const metrics = new Metrics({ namespace: options.namespace });
      // Otherwise every reader of the metrics would have to name the library's own dimension `service`.
      metrics.clearDefaultDimensions();
      metrics.addDimensions({ brand, report });
      for (const [name, unit, value] of measuresOf(outcome, options)) metrics.addMetric(name, unit, value);
      metrics.publishStoredMetrics();
    } catch (thrown) {
      options.log({ event: 'metrics_not_emitted', brand, report, message: String(thrown) });
    }
  }
}

function measuresOf(outcome: ReportOutcome, { health }: MetricsOptions): Measure[] {
  const { days, requests, retries, throttles } = outcome;
  const sum = (count: 'rows' | 'pages') => days.reduce((total, day) => total + day[count], 0);
  return [
    ['Rows', MetricUnit.Count, sum('rows')],
    ['Pages', MetricUnit.Count, sum('pages')],
    ['Requests', MetricUnit.Count, requests],
    ...nonZero({ Retries: retries, Throttles: throttles }),
    ...(health ? healthOf(outcome, health) : []),
  ];
}

function healthOf(
  { brand, status, days, newestComplete }: ReportOutcome,
  { settings, nowMs }: NonNullable<MetricsOptions['health']>,
): Measure[] {
  const failedDays = days.filter(({ outcome }) => outcome === 'failed').length;
  return [
    [
      'SecondsSinceNewestCompleteDay',
      MetricUnit.Seconds,
      secondsSince(newestComplete, settings.brands[brand], nowMs),
    ],
    // Zeros too, so that an alarm sees runs that succeeded. A report can fail before it has any days.
    ['Failures', MetricUnit.Count, status === 'failed' ? 1 : 0],
    ...nonZero({ FailedDays: failedDays }),
  ];
}

/** CloudWatch charges for every metric in every hour that has data: what is mostly 0 is emitted only where it is not. */
function nonZero(counts: Record<string, number>): Measure[] {
  return Object.entries(counts).flatMap(([name, count]): Measure[] =>
    count > 0 ? [[name, MetricUnit.Count, count]] : [],
  );
}

/** Since the end of the day in the brand's zone, or since the start of the first day where no day is complete. */
function secondsSince(day: string | null, brand: BrandSettings | undefined, nowMs: number): number {
  if (!brand)
    throw new BrandReportsError('bug', 'brand_unknown', `the outcome names a brand without settings`);
  const { timeZone, startDate } = brand;
  const sinceMs = day === null ? startOfDay(startDate, timeZone) : endOfDay(day, timeZone);
  return Math.max(0, Math.round((nowMs - sinceMs) / 1000));
}
