/** The address of a page of the AWS console. @param page what follows the `#` */
export function consoleUrl(region: string, service: string, page: string): string {
  return `https://${region}.console.aws.amazon.com/${service}/home?region=${region}#${page}`;
}

/** The page of an object in the S3 console, from which it can be opened. */
export function objectPage(region: string, bucket: string, key: string): string {
  return `https://${region}.console.aws.amazon.com/s3/object/${bucket}?region=${region}&prefix=${encodeURIComponent(key).replaceAll('%2F', '/')}`;
}

export function testPage(functionName: string): string {
  return `/functions/${functionName}?tab=testing`;
}
