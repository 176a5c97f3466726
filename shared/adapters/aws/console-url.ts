/** The domain of the console in the partition `aws`. */
export const CONSOLE = 'console.aws.amazon.com';
/** The consoles of other AWS partitions: the partition, the beginning of its regions, the domain. */
export const OTHER_CONSOLES = [
  { partition: 'aws-cn', start: 'cn-', domain: 'console.amazonaws.cn' },
  { partition: 'aws-us-gov', start: 'us-gov-', domain: 'console.amazonaws-us-gov.com' },
  { partition: 'aws-eusc', start: 'eusc-', domain: 'console.amazonaws-eusc.eu' },
];

function siteOf(region: string): string {
  return OTHER_CONSOLES.find(({ start }) => region.startsWith(start))?.domain ?? CONSOLE;
}

/** The address of a page of the AWS console. @param page what follows the `#` @param site needed for a region that is a token */
export function consoleUrl(region: string, service: string, page: string, site = siteOf(region)): string {
  return `https://${region}.${site}/${service}/home?region=${region}#${page}`;
}

/** The page of an object in the S3 console, from which it can be opened. @param site as of `consoleUrl` */
export function objectPage(region: string, bucket: string, key: string, site = siteOf(region)): string {
  return `https://${region}.${site}/s3/object/${bucket}?region=${region}&prefix=${encodeURIComponent(key).replaceAll('%2F', '/')}`;
}

export function testPage(functionName: string): string {
  return `/functions/${functionName}?tab=testing`;
}
