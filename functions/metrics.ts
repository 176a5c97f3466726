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
   * Given by the runs that answer for how a report stands: those of the schedule, and those by hand in the present.
   * A backfill tells its traffic alone, or it would hide a schedule that has died, and its failures are its execution's.
   */
  health?: { settings: Settings; nowMs: number };
}

type Measure = [name: string, unit: (typeof MetricUnit)[keyof typeof MetricUnit], value: number];

/**
 * Prints one document in CloudWatch's embedded metric format for each report of each brand. What cannot be printed is
 * logged: a run never fails for its metrics.
 */
export function emitMetrics(reports: readonly ReportOutcome[], options: MetricsOptions): void {
  for (const outcome of reports) {
    const { brand, report } = outcome;
    try {
      const metrics = new Metrics({ namespace: options.namespace });
      // The library's own dimension `service` would be one more for everybody to name.
      metrics.clearDefaultDimensions();
      metrics.addDimensions({ brand, report });
      for (const [name, unit, value] of measuresOf(outcome, options)) metrics.addMetric(name, unit, value);
      metrics.publishStoredMetrics();
    } catch (thrown) {
      options.log({ event: 'metrics_not_emitted', brand, report, message: String(thrown) });
    }
  }
}

function measuresOf(outcome: ReportOutcome, { health: standing }: MetricsOptions): Measure[] {
  const { days, requests, retries, throttles } = outcome;
  const sum = (of: 'rows' | 'pages') => days.reduce((total, day) => total + day[of], 0);
  return [
    ['Rows', MetricUnit.Count, sum('rows')],
    ['Pages', MetricUnit.Count, sum('pages')],
    ['Requests', MetricUnit.Count, requests],
    ...nonZero({ Retries: retries, Throttles: throttles }),
    ...(standing ? healthOf(outcome, standing) : []),
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
    // With its zeros, so that an alarm sees which runs went well. A report can fail before it has any days.
    ['Failures', MetricUnit.Count, status === 'failed' ? 1 : 0],
    ...nonZero({ FailedDays: failedDays }),
  ];
}

/** CloudWatch asks money for every metric in every hour that has it: what mostly is 0 is told only where it is not. */
function nonZero(counts: Record<string, number>): Measure[] {
  return Object.entries(counts).flatMap(([name, count]): Measure[] =>
    count > 0 ? [[name, MetricUnit.Count, count]] : [],
  );
}

/** From the end of the day, in the brand's zone, or from the start of the first day where none is complete. */
function secondsSince(day: string | null, brand: BrandSettings | undefined, nowMs: number): number {
  if (!brand) throw new BrandReportsError('bug', 'brand_unknown', 'a run told of a brand without settings');
  const { timeZone, startDate } = brand;
  const sinceMs = day === null ? startOfDay(startDate, timeZone) : endOfDay(day, timeZone);
  return Math.max(0, Math.round((nowMs - sinceMs) / 1000));
}
