import { Duration } from 'aws-cdk-lib';
import type { ISchedule, ScheduleTargetConfig, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import type { FailureQueue } from './failure-queue.ts';
import type { PipelineFunction } from './pipeline-function.ts';

/**
 * Starts a function. Its queue gets only events that the schedule could not deliver: the function has its own queue.
 */
export class ScheduleTarget extends LambdaInvoke {
  readonly #undelivered: FailureQueue;

  constructor(started: PipelineFunction, undelivered: FailureQueue, input?: ScheduleTargetInput) {
    super(started.function, {
      ...(input && { input }),
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
