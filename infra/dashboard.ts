import { Duration, Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  CustomWidget,
  Dashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  type IWidget,
  MathExpression,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { testPage } from '../shared/adapters/aws/console-url.ts';
import { alarmsAsMarkdown } from './alarm-table.ts';
import { PERIOD_HOURS } from './alarm-windows.ts';
import { consoleLink } from './console-link.ts';
import type { ObservedReport } from './observed-report.ts';

const WIDTH = 24;

export interface ReportsDashboardProps {
  observed: readonly ObservedReport[];
  /** The functions that sync, by report. */
  functions: Readonly<Record<string, IFunction>>;
  queues: Readonly<Record<string, IQueue>>;
  stateMachine: IStateMachine;
  /** Draws which days are in the lake. */
  calendar: IFunction;
  behindAfterHours: number;
  /** By the title that they are shown under. */
  alarms: ReadonlyMap<string, Alarm[]>;
}

/** Which days are in the lake, and what is missing: the answer first, then the figures behind it. */
export class ReportsDashboard extends Dashboard {
  constructor(scope: Construct, id: string, props: ReportsDashboardProps) {
    super(scope, id, { dashboardName: Stack.of(scope).stackName, defaultInterval: Duration.days(7) });
    this.addWidgets(calendarWidget(props.calendar));
    this.addWidgets(...alarmWidgets(props));
    this.addWidgets(this.whatToDo(props));
    this.addWidgets(...healthWidgets(props));
    this.addWidgets(...trafficWidgets(props), ...runtimeWidgets(props));
  }

  private whatToDo({ functions, stateMachine }: ReportsDashboardProps): IWidget {
    const tests = Object.entries(functions).map(
      ([report, { functionName }]) => `[${report}](${consoleLink(this, 'lambda', testPage(functionName))})`,
    );
    const backfill = consoleLink(this, 'states', `/statemachines/view/${stateMachine.stateMachineArn}`);
    return new TextWidget({
      width: WIDTH,
      height: 11,
      markdown: [
        '## What to do',
        `Test events of the functions: ${tests.join(' · ')} · executions of the [backfill](${backfill})`,
        '',
        alarmsAsMarkdown(),
        '',
        'To read days again: set `brand`, `from` and `to` (YYYY-MM-DD) in the test event **Read-a-range-again**, then test with it.',
      ].join('\n'),
    });
  }
}

function calendarWidget({ functionArn }: IFunction): IWidget {
  return new CustomWidget({ title: 'Which days are complete', functionArn, width: WIDTH, height: 12 });
}

/** One widget for each brand, because a widget shows a hundred alarms at most. */
function alarmWidgets({ alarms }: ReportsDashboardProps): IWidget[] {
  return [...alarms].map(
    ([title, shown]) =>
      new AlarmStatusWidget({
        title: `Alarms: ${title}`,
        alarms: shown,
        width: WIDTH / 2,
        height: 1 + Math.ceil(shown.length / 3),
      }),
  );
}

function healthWidgets({ observed, behindAfterHours }: ReportsDashboardProps): IWidget[] {
  const failedDays = observed.map((report) => report.failedDays().with({ label: report.label }));
  return [
    graph(WIDTH / 2, 'Hours since the newest complete day', observed.map(hoursSinceNewestCompleteDay), {
      leftAnnotations: [{ value: behindAfterHours, label: 'behind' }],
    }),
    graph(WIDTH / 2, 'Failed days', failedDays),
  ];
}

function hoursSinceNewestCompleteDay(report: ObservedReport, index: number): IMetric {
  const seconds = `seconds${index}`;
  return new MathExpression({
    label: report.label,
    expression: `${seconds} / 3600`,
    usingMetrics: { [seconds]: report.secondsSinceNewestCompleteDay() },
    period: Duration.hours(PERIOD_HOURS),
  });
}

function trafficWidgets({ observed }: ReportsDashboardProps): IWidget[] {
  const graphs = [
    ['Rows read', 'Rows'],
    ['Pages', 'Pages'],
    ['Requests', 'Requests'],
    ['Retries', 'Retries'],
    ['Answers HTTP 429', 'Throttles'],
  ] as const;
  return graphs.map(([title, name]) => {
    const sums = observed.map((report) => report.sum(name).with({ label: report.label }));
    return graph(WIDTH / 3, title, sums);
  });
}

function runtimeWidgets({ functions, queues, stateMachine }: ReportsDashboardProps): IWidget[] {
  const functionMetrics = (metricOf: (syncs: IFunction, label: string) => IMetric) =>
    Object.entries(functions).map(([report, syncs]) => metricOf(syncs, report));
  const waiting = Object.entries(queues).map(([label, queue]) =>
    queue.metricApproximateNumberOfMessagesVisible({ label, statistic: Stats.MAXIMUM }),
  );
  return [
    graph(
      WIDTH / 3,
      'Functions: errors',
      functionMetrics((syncs, label) => syncs.metricErrors({ label })),
    ),
    graph(
      WIDTH / 3,
      'Functions: longest run',
      functionMetrics((syncs, label) => syncs.metricDuration({ label, statistic: Stats.MAXIMUM })),
    ),
    graph(WIDTH / 3, 'Events in the failure queues', waiting),
    graph(WIDTH / 3, 'Backfills', [stateMachine.metricSucceeded(), stateMachine.metricFailed()]),
  ];
}

function graph(width: number, title: string, left: IMetric[], props: GraphWidgetProps = {}): IWidget {
  return new GraphWidget({ title, left, width, height: 6, leftYAxis: { min: 0 }, ...props });
}
