import { Duration } from 'aws-cdk-lib';
import {
  type ISchedule,
  Schedule,
  type ScheduleExpression,
  ScheduleTargetInput,
  type ScheduleTargetConfig,
} from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { FailureQueue } from './failure-queue.ts';
import type { PipelineFunction } from './pipeline-function.ts';

/**
 * A schedule that starts a function with `{}`. The queue gets only events that the schedule could not deliver: the
 * function has a queue of its own.
 */
export function startBySchedule(
  started: PipelineFunction,
  schedule: ScheduleExpression,
  { enabled, undelivered }: { enabled: boolean; undelivered: FailureQueue },
): void {
  new Schedule(started, 'Schedule', {
    description: `Starts ${started.name}`,
    schedule,
    enabled,
    target: new ScheduleTarget(started, undelivered),
  });
}

class ScheduleTarget extends LambdaInvoke {
  readonly #undelivered: FailureQueue;

  constructor(started: PipelineFunction, undelivered: FailureQueue) {
    super(started.function, {
      input: ScheduleTargetInput.fromObject({}),
      // The next start is the retry.
      retryAttempts: 2,
      maxEventAge: Duration.minutes(15),
      deadLetterQueue: undelivered,
    });
    this.#undelivered = undelivered;
  }

  override bind(schedule: ISchedule): ScheduleTargetConfig {
    const target = super.bind(schedule);
    this.#undelivered.grantSend(target.role);
    return target;
  }
}
