import { Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct, IConstruct } from 'constructs';

/** The principal that gets a permission, and the construct that its policies belong to. */
export type Grantee = IGrantable & IConstruct;

const READ = ['kms:Decrypt'];
/** With read access: S3 joins the parts of an upload, and queues and topics use one data key for several messages. */
const WRITE = [...READ, 'kms:GenerateDataKey'];

/**
 * The key that a setting names. The stack cannot change its policy: docs/how-to/customer-keys.md lists what it must
 * allow.
 */
export function customerKey(scope: Construct, keyArn: string | undefined, id = 'Key'): IKey | undefined {
  return keyArn === undefined ? undefined : Key.fromKeyArn(scope, id, keyArn);
}

/**
 * Lets a principal use a customer-managed key of KMS, through one service alone.
 * @param keyArn if missing, nothing is granted
 */
export function grantKey(
  grantee: Grantee,
  keyArn: string | undefined,
  service: 's3' | 'secretsmanager' | 'sns' | 'sqs',
  use: 'read' | 'write',
): void {
  if (keyArn === undefined) return;
  const { region, urlSuffix } = Stack.of(grantee);
  Grant.addToPrincipal({
    grantee,
    actions: use === 'read' ? READ : WRITE,
    resourceArns: [keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` } },
  });
}
