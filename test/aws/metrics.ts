import * as z from 'zod/mini';
import { resolve, resourcesOf, type Template } from '../iam/template.ts';

/** A metric by everything that identifies it in CloudWatch, e.g. `Reports Rows brand=acme report=order_list`. */
type Metric = string;

/** A document in the embedded metric format. */
const documentSchema = z.looseObject({
  _aws: z.object({
    CloudWatchMetrics: z.array(
      z.object({
        Namespace: z.string(),
        Dimensions: z.array(z.array(z.string())),
        Metrics: z.array(z.object({ Name: z.string() })),
      }),
    ),
  }),
});

const metricSchema = z.object({
  Namespace: z.string(),
  MetricName: z.string(),
  Dimensions: z._default(z.array(z.object({ Name: z.string(), Value: z.string() })), []),
});
/** An alarm on a metric, or on an expression. */
const alarmSchema = z.union([
  z.pipe(
    metricSchema,
    z.transform((metric) => [metric]),
  ),
  z.pipe(
    z.object({ Metrics: z.array(z.object({ MetricStat: z.optional(z.object({ Metric: metricSchema })) })) }),
    z.transform(({ Metrics }) => Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])),
  ),
]);
const dashboardSchema = z.object({
  widgets: z.array(
    z.object({
      properties: z.object({ metrics: z._default(z.array(z.array(z.unknown())), []) }),
    }),
  ),
});

/** The metrics that CloudWatch would make of what functions printed, a list for each document. */
export function emittedMetrics(log: string): Metric[][] {
  const documents = log.split('\n').filter((line) => line.startsWith('{"_aws"'));
  return documents.map((line) => {
    const document = z.parse(documentSchema, JSON.parse(line));
    return document._aws.CloudWatchMetrics.flatMap(({ Namespace, Dimensions, Metrics }) =>
      Dimensions.flatMap((names) =>
        Metrics.filter(({ Name }) => typeof document[Name] === 'number').map(({ Name }) =>
          metric(
            Namespace,
            Name,
            names.map((name) => [name, document[name]]),
          ),
        ),
      ),
    );
  });
}

/** The metrics that alarms and dashboards of the template use, in addition to AWS's own. */
export function watchedMetrics(template: Template): Metric[] {
  const alarms = resourcesOf(template, 'AWS::CloudWatch::Alarm').flatMap(([, properties]) =>
    z.parse(alarmSchema, resolve(properties, {})).map(({ Namespace, MetricName, Dimensions }) =>
      metric(
        Namespace,
        MetricName,
        Dimensions.map(({ Name, Value }) => [Name, Value]),
      ),
    ),
  );
  const dashboards = resourcesOf(template, 'AWS::CloudWatch::Dashboard').flatMap(([, properties]) =>
    shownBy(String(resolve(properties.DashboardBody, {}))),
  );
  return [...alarms, ...dashboards].filter((watched) => !watched.startsWith('AWS/'));
}

/** `[namespace, name, dimension, value, …, options]` each, or `[options]` for an expression. */
function shownBy(dashboard: string): Metric[] {
  const { widgets } = z.parse(dashboardSchema, JSON.parse(dashboard));
  return widgets
    .flatMap(({ properties }) => properties.metrics)
    .map((shown) => shown.filter((part) => typeof part === 'string'))
    .flatMap(([namespace, name, ...rest]) => {
      if (namespace === undefined || name === undefined) return [];
      const pairs = Array.from({ length: rest.length / 2 }, (_, at) => rest.slice(at * 2, at * 2 + 2));
      return [
        metric(
          namespace,
          name,
          pairs.map(([dimension = '', value]) => [dimension, value]),
        ),
      ];
    });
}

function metric(namespace: string, name: string, dimensions: [name: string, value: unknown][]): Metric {
  const sorted = dimensions.map(([dimension, value]) => `${dimension}=${value}`).sort();
  return [namespace, name, ...sorted].join(' ');
}
