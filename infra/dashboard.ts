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
  /** Draws which days are in. */
  calendar: IFunction;
  staleAfterHours: number;
  /** By the title that they are shown under. */
  alarms: ReadonlyMap<string, Alarm[]>;
}

/** Is everything in, and if not, what is missing: the answer first, then what it rests on. */
export class ReportsDashboard extends Dashboard {
  constructor(scope: Construct, id: string, props: ReportsDashboardProps) {
    super(scope, id, { dashboardName: Stack.of(scope).stackName, defaultInterval: Duration.days(7) });
    this.addWidgets(calendarWidget(props.calendar));
    this.addWidgets(...alarmWidgets(props));
    this.addWidgets(this.whatToDo(props));
    this.addWidgets(...standingWidgets(props));
    this.addWidgets(...trafficWidgets(props), ...machineWidgets(props));
  }

  private whatToDo({ functions, stateMachine }: ReportsDashboardProps): IWidget {
    const tests = Object.entries(functions).map(
      ([report, { functionName }]) => `[${report}](${consoleLink(this, 'lambda', testPage(functionName))})`,
    );
    const backfill = consoleLink(this, 'states', `/statemachines/view/${stateMachine.stateMachineArn}`);
    return new TextWidget({
      width: WIDTH,
      height: 8,
      markdown: [
        '## What to do',
        `Test events of the functions: ${tests.join(' · ')} · executions: [backfill](${backfill})`,
        '',
        '| alarm | what it means | what to do |',
        '| --- | --- | --- |',
        '| stale | no day was completed for too long, or no run told of one | test with **Check-the-connection**, then **Sync-now** |',
        '| failed | runs end as failed | test with **Sync-now**: the answer says what is wrong and what to do about it |',
        '| throttled | the service answers HTTP 429 | lower the setting `requestsPerSecond` and deploy; nothing is lost |',
        '| crashed | a function ran out of time or memory, or met a bug | read its log, test with **Sync-now** |',
        '| queue | an event came to nothing | read the messages, mend, **Sync-now**, then purge the queue |',
        '| backfill-failed | months are left | read the cause of the execution, mend, start it again with the same input |',
        '',
        'A day that is in but wrong: put brand, `from` and `to` (YYYY-MM-DD) into **Read-a-range-again** and test with it.',
      ].join('\n'),
    });
  }
}

function calendarWidget({ functionArn }: IFunction): IWidget {
  return new CustomWidget({ title: 'Which days are in', functionArn, width: WIDTH, height: 12 });
}

/** One widget for each brand, since one of them shows a hundred alarms at most. */
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

function standingWidgets({ observed, staleAfterHours }: ReportsDashboardProps): IWidget[] {
  const failedDays = observed.map((of) => of.failedDays().with({ label: of.label }));
  return [
    graph(WIDTH / 2, 'Hours since the newest complete day', observed.map(hoursSinceNewestCompleteDay), {
      leftAnnotations: [{ value: staleAfterHours, label: 'stale' }],
    }),
    graph(WIDTH / 2, 'Failed days', failedDays),
  ];
}

function hoursSinceNewestCompleteDay(of: ObservedReport, index: number): IMetric {
  const seconds = `seconds${index}`;
  return new MathExpression({
    label: of.label,
    expression: `${seconds} / 3600`,
    usingMetrics: { [seconds]: of.secondsSinceNewestCompleteDay() },
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
    const sums = observed.map((of) => of.sum(name).with({ label: of.label }));
    return graph(WIDTH / 3, title, sums);
  });
}

function machineWidgets({ functions, queues, stateMachine }: ReportsDashboardProps): IWidget[] {
  const each = <Of>(all: Readonly<Record<string, Of>>, metricOf: (of: Of, label: string) => IMetric) =>
    Object.entries(all).map(([label, of]) => metricOf(of, label));
  const statistic = Stats.MAXIMUM;
  return [
    graph(
      WIDTH / 3,
      'Functions: errors',
      each(functions, (of, label) => of.metricErrors({ label })),
    ),
    graph(
      WIDTH / 3,
      'Functions: longest run',
      each(functions, (of, label) => of.metricDuration({ label, statistic })),
    ),
    graph(
      WIDTH / 3,
      'Events in the failure queues',
      each(queues, (of, label) => of.metricApproximateNumberOfMessagesVisible({ label, statistic })),
    ),
    graph(WIDTH / 3, 'Backfills', [stateMachine.metricSucceeded(), stateMachine.metricFailed()]),
  ];
}

function graph(width: number, title: string, left: IMetric[], props: GraphWidgetProps = {}): IWidget {
  return new GraphWidget({ title, left, width, height: 6, leftYAxis: { min: 0 }, ...props });
}
