import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { PERIOD_HOURS } from './alarm-windows.ts';

/** One report of one brand, with the metrics that `functions/metrics.ts` writes for it. */
export class ObservedReport {
  readonly brand: string;
  readonly report: string;
  readonly schedule: string;
  readonly function: IFunction;
  readonly label: string;
  private readonly namespace: string;

  constructor(
    namespace: string,
    observed: Pick<ObservedReport, 'brand' | 'report' | 'schedule' | 'function'>,
  ) {
    this.namespace = namespace;
    this.brand = observed.brand;
    this.report = observed.report;
    this.schedule = observed.schedule;
    this.function = observed.function;
    this.label = `${observed.brand} ${observed.report}`;
  }

  /** The minimum: of several runs in a period, the one that saw the newest complete day is right. */
  secondsSinceNewestCompleteDay(): Metric {
    return this.metric('SecondsSinceNewestCompleteDay', Stats.MINIMUM);
  }

  failures(): Metric {
    return this.metric('Failures', Stats.MAXIMUM);
  }

  failedDays(): Metric {
    return this.metric('FailedDays', Stats.MAXIMUM);
  }

  sum(name: 'Rows' | 'Pages' | 'Requests' | 'Retries' | 'Throttles'): Metric {
    return this.metric(name, Stats.SUM);
  }

  /** The share of requests, in per cent, that the service answered with HTTP 429; no data where it answered none so. */
  throttledPercent(): MathExpression {
    return new MathExpression({
      expression: '100 * throttles / requests',
      usingMetrics: { throttles: this.sum('Throttles'), requests: this.sum('Requests') },
      period: Duration.hours(PERIOD_HOURS),
    });
  }

  private metric(metricName: string, statistic: string): Metric {
    const { namespace, brand, report } = this;
    return new Metric({
      namespace,
      metricName,
      dimensionsMap: { brand, report },
      statistic,
      period: Duration.hours(PERIOD_HOURS),
    });
  }
}
