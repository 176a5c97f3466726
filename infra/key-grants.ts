import { Stack } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IConstruct } from 'constructs';

/** Who gets a permission: also the construct that its policies are below. */
export type Grantee = IGrantable & IConstruct;

const READ = ['kms:Decrypt'];
/** Reading too, which S3 needs to put parts of an upload together. */
const WRITE = [...READ, 'kms:GenerateDataKey'];

/**
 * Lets somebody use a customer-managed key of KMS, through one service alone.
 * @param keyArn nothing is granted where a setting names no key
 */
export function grantKey(
  grantee: Grantee,
  keyArn: string | undefined,
  service: 's3' | 'secretsmanager',
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
