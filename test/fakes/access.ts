/**
 * Gives the doubles of AWS the policies of the synthesised roles, so that a test finds a missing permission. Without
 * policies a double allows everything, and a missing permission would show only in a real account.
 */
import type { IncomingMessage } from 'node:http';

/**
 * Whether the owner of an access key may perform an action (`s3:GetObject`) on a resource (an ARN). `context` contains
 * the properties of the request that policies can test, by their condition keys.
 */
export type Access = (
  accessKey: string,
  action: string,
  resource: string,
  context?: Readonly<Record<string, string>>,
) => boolean;

/** The region and account in the ARNs of every double of AWS. */
export const PLACE = 'us-east-1:123456789012';

export function accessKeyOf({ headers }: IncomingMessage): string {
  return /Credential=([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
}
