import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { PERIOD_HOURS } from './alarm-windows.ts';

/** One report of one brand, with the metrics that `functions/metrics.ts` prints for it. */
export class ObservedReport {
  readonly brand: string;
  readonly report: string;
  readonly schedule: string;
  readonly function: IFunction;
  readonly label: string;
  private readonly namespace: string;

  constructor(namespace: string, of: Pick<ObservedReport, 'brand' | 'report' | 'schedule' | 'function'>) {
    this.namespace = namespace;
    this.brand = of.brand;
    this.report = of.report;
    this.schedule = of.schedule;
    this.function = of.function;
    this.label = `${of.brand} ${of.report}`;
  }

  /** Of several runs in a period the one that knows of the newest day is right. */
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

  /** The share of requests, in per cent, that the service answered with HTTP 429; missing where it is none. */
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
