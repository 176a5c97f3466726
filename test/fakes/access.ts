import type { IncomingMessage } from 'node:http';

/** Whether who signed with this access key may do this to that: `s3:GetObject`, an ARN. */
export type Access = (accessKey: string, action: string, resource: string) => boolean;

/** The account and region of every double of AWS, as ARNs have them. */
export const PLACE = 'us-east-1:123456789012';

export function accessKeyOf({ headers }: IncomingMessage): string {
  return /Credential=([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? '';
}
