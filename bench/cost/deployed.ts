import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { stackOf } from '../../test/infra/stack.ts';

/** Items that cost money by existing. */
export interface Deployed {
  /** The memory of the function `sync`. */
  memoryMb: number;
  timeoutSeconds: number;
  /** An alarm on an expression counts once for each metric in it. */
  alarmMetrics: number;
}

const functionSchema = z.object({ MemorySize: z.number(), Timeout: z.number() });
const alarmSchema = z.object({
  Metrics: z._default(z.array(z.object({ MetricStat: z.optional(z.unknown()) })), [
    { MetricStat: 'its own' },
  ]),
});

/** Counts the items in the template of the stack with these settings. */
export function deployed(settings: object): Deployed {
  const template = Template.fromStack(stackOf(settings));
  const properties = (type: string, wanted?: object) =>
    Object.values(template.findResources(type, wanted)).map(({ Properties }): unknown => Properties);
  const named = { Properties: { FunctionName: 'BrandReports-sync' } };
  const [sync] = properties('AWS::Lambda::Function', named);
  const { MemorySize, Timeout } = z.parse(functionSchema, sync);
  const alarms = properties('AWS::CloudWatch::Alarm').map((alarm) => z.parse(alarmSchema, alarm).Metrics);
  return {
    memoryMb: MemorySize,
    timeoutSeconds: Timeout,
    alarmMetrics: alarms.flat().filter(({ MetricStat }) => MetricStat !== undefined).length,
  };
}
