import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { Grantee } from './key-grants.ts';
import type { PipelineFunction } from './pipeline-function.ts';

export interface OperatorsProps {
  functions: readonly PipelineFunction[];
  /** Of the backfill. */
  stateMachine: StateMachine;
}

/** For people who start runs and backfills by hand. */
export class Operators extends Construct {
  readonly #props: OperatorsProps;

  constructor(scope: Construct, id: string, props: OperatorsProps) {
    super(scope, id);
    this.#props = props;
  }

  /** Allows starting and following what the stack has; data and secrets stay closed. */
  grant(grantee: Grantee): void {
    const { functions, stateMachine } = this.#props;
    const allow = (actions: string[], resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee, actions, resourceArns });
    allow(
      ['lambda:InvokeFunction'],
      functions.map((each) => each.function.functionArn),
    );
    const machine = stateMachine.stateMachineArn;
    allow(['states:StartExecution', 'states:ListExecutions', 'states:DescribeStateMachine'], [machine]);
    const executions = Stack.of(this).formatArn({
      service: 'states',
      resource: 'execution',
      resourceName: `${stateMachine.stateMachineName}:*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    allow(['states:DescribeExecution', 'states:GetExecutionHistory', 'states:StopExecution'], [executions]);
  }
}
