import { Duration } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { DestinationConfig, IDestination, IFunction } from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import type { Deployment } from './deployment.ts';
import { type Grantee, allow, grantKey } from './grants.ts';

/** A dead-letter queue: keeps failed events for two weeks, until a person has handled them. */
export class FailureQueue extends Queue implements IDestination {
  readonly #key: IKey | undefined;

  constructor(scope: Construct, id: string, { encryptionKey }: Deployment) {
    super(scope, id, {
      encryption: encryptionKey === undefined ? QueueEncryption.SQS_MANAGED : QueueEncryption.KMS,
      encryptionMasterKey: encryptionKey,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    this.#key = encryptionKey;
  }

  /** Lets Lambda or the Scheduler send events with this role. CDK's own grants would allow any use of the key. */
  grantSend(grantee: Grantee): void {
    allow(grantee, ['sqs:SendMessage'], [this.queueArn]);
    grantKey(grantee, this.#key, 'sqs', 'write');
  }

  grantOperate(grantee: Grantee): void {
    const see = ['sqs:GetQueueAttributes', 'sqs:GetQueueUrl', 'sqs:ListQueueTags'];
    const empty = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:PurgeQueue'];
    allow(grantee, [...see, ...empty], [this.queueArn]);
    grantKey(grantee, this.#key, 'sqs', 'read');
  }

  bind(_scope: Construct, failing: IFunction): DestinationConfig {
    this.grantSend(failing);
    return { destination: this.queueArn };
  }
}
