/** A page of the AWS console. @param page behind the `#` */
export function consoleUrl(region: string, service: string, page: string): string {
  return `https://${region}.console.aws.amazon.com/${service}/home?region=${region}#${page}`;
}

/** Where the Lambda console offers a function's test events. */
export function testPage(functionName: string): string {
  return `/functions/${functionName}?tab=testing`;
}
