/** The domain of the console in the partition `aws`. */
export const CONSOLE = 'console.aws.amazon.com';
/** Those of other partitions of AWS: the partition, how its regions begin, the domain. */
export const OTHER_CONSOLES = [
  { partition: 'aws-cn', start: 'cn-', domain: 'console.amazonaws.cn' },
  { partition: 'aws-us-gov', start: 'us-gov-', domain: 'console.amazonaws-us-gov.com' },
  { partition: 'aws-eusc', start: 'eusc-', domain: 'console.amazonaws-eusc.eu' },
];

function consoleOf(region: string): string {
  return OTHER_CONSOLES.find(({ start }) => region.startsWith(start))?.domain ?? CONSOLE;
}

/**
 * The address of a page of the AWS console.
 * @param page what follows the `#`
 * @param domain needed if the text of the region is not known yet
 */
export function consoleUrl(
  region: string,
  service: string,
  page: string,
  domain = consoleOf(region),
): string {
  return `https://${region}.${domain}/${service}/home?region=${region}#${page}`;
}

/** The page of an object in the S3 console, from which it can be opened. @param domain as of `consoleUrl` */
export function objectPage(region: string, bucket: string, key: string, domain = consoleOf(region)): string {
  return `https://${region}.${domain}/s3/object/${bucket}?region=${region}&prefix=${key}`;
}

/** The page of the Lambda console with a function's test events, for `consoleUrl`. */
export function testPage(functionName: string): string {
  return `/functions/${functionName}?tab=testing`;
}
