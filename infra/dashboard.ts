import { Duration, Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  CustomWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { testPage } from '../shared/adapters/aws/console-url.ts';
import { type ObservedStack, alarmsAsMarkdown } from './alarm-table.ts';
import { consoleLink } from './console-link.ts';

const WIDTH = 24;

/** A function that syncs. */
export interface ObservedFunction {
  report: string;
  function: IFunction;
  logGroup: ILogGroup;
}

export interface ReportsDashboardProps extends ObservedStack {
  functions: readonly ObservedFunction[];
  /** Draws which days are in the lake. */
  calendar: IFunction;
  alarms: readonly Alarm[];
}

/**
 * Which days are in the lake, and what is missing: the answer first, then the figures behind it. Those of runs are queries
 * over the one line that a run logs, so their number does not grow with the brands.
 */
export class ReportsDashboard extends Dashboard {
  constructor(scope: Construct, id: string, props: ReportsDashboardProps) {
    super(scope, id, { dashboardName: Stack.of(scope).stackName, defaultInterval: Duration.days(7) });
    this.addWidgets(calendarWidget(props.calendar));
    this.addWidgets(
      new AlarmStatusWidget({ title: 'Alarms', alarms: [...props.alarms], width: WIDTH / 2, height: 6 }),
      graph(WIDTH / 2, 'Problems', [props.problems]),
    );
    this.addWidgets(this.whatToDo(props));
    this.addWidgets(...runWidgets(props.functions.map(({ logGroup }) => logGroup.logGroupName)));
    this.addWidgets(...runtimeWidgets(props));
  }

  private whatToDo({ functions, stateMachine }: ReportsDashboardProps): IWidget {
    const tests = functions.map(
      ({ report, function: syncs }) =>
        `[${report}](${consoleLink(this, 'lambda', testPage(syncs.functionName))})`,
    );
    const backfill = consoleLink(this, 'states', `/statemachines/view/${stateMachine.stateMachineArn}`);
    return new TextWidget({
      width: WIDTH,
      height: 8,
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

/** The lines that `run_ended` logs; Lambda puts an event under `message`. */
const RUNS = 'filter message.event = "run_ended"';

function runWidgets(logGroupNames: string[]): IWidget[] {
  const query = (
    title: string,
    view: LogQueryVisualizationType,
    width: number,
    ...queryLines: readonly string[]
  ) =>
    new LogQueryWidget({ title, view, width, height: 6, logGroupNames, queryLines: [RUNS, ...queryLines] });
  const { LINE, TABLE } = LogQueryVisualizationType;
  const sums = (...names: readonly string[]) =>
    names.map((name) => `sum(message.${name}) as ${name}`).join(', ');
  return [
    query('Rows and pages read', LINE, WIDTH / 3, `stats ${sums('rows', 'pages')} by bin(1h)`),
    query('Requests', LINE, WIDTH / 3, `stats ${sums('requests')} by bin(1h)`),
    query(
      'Retries and answers HTTP 429',
      LINE,
      WIDTH / 3,
      `stats ${sums('retries', 'throttles')} by bin(1h)`,
    ),
    query(
      'Runs by brand and report',
      TABLE,
      WIDTH,
      `stats count(*) as runs, ${sums('rows', 'pages', 'requests', 'retries', 'throttles', 'failedDays')}, max(message.newestComplete) as newestComplete by message.brand as brand, message.report as report`,
      'sort brand, report',
    ),
  ];
}

function runtimeWidgets({ functions, queues, stateMachine }: ReportsDashboardProps): IWidget[] {
  const functionMetrics = (metricOf: (syncs: IFunction, label: string) => IMetric) =>
    functions.map(({ report, function: syncs }) => metricOf(syncs, report));
  const waiting = Object.entries(queues).map(([label, queue]) =>
    queue.metricApproximateNumberOfMessagesVisible({ label, statistic: Stats.MAXIMUM }),
  );
  return [
    graph(
      WIDTH / 4,
      'Functions: errors',
      functionMetrics((syncs, label) => syncs.metricErrors({ label })),
    ),
    graph(
      WIDTH / 4,
      'Functions: longest run',
      functionMetrics((syncs, label) => syncs.metricDuration({ label, statistic: Stats.MAXIMUM })),
    ),
    graph(WIDTH / 4, 'Events in the failure queues', waiting),
    graph(WIDTH / 4, 'Backfills', [stateMachine.metricSucceeded(), stateMachine.metricFailed()]),
  ];
}

function graph(width: number, title: string, left: IMetric[]): IWidget {
  return new GraphWidget({ title, left, width, height: 6, leftYAxis: { min: 0 } });
}
