/**
 * Who may do what, for the doubles of AWS: a test can give them the policies that the synthesised roles have.
 * Without it a double allows everything, and a missing permission shows only in a real account.
 */
import type { IncomingMessage } from 'node:http';

/**
 * Whether the owner of an access key may perform an action (`s3:GetObject`) on a resource (an ARN). `context` holds what
 * policies can ask about the request, by their condition keys.
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
