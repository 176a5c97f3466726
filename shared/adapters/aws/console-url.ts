/** The address of a page of the AWS console. @param page what follows the `#` */
export function consoleUrl(region: string, service: string, page: string): string {
  return `https://${region}.console.aws.amazon.com/${service}/home?region=${region}#${page}`;
}

/** The page of the Lambda console with a function's test events, for `consoleUrl`. */
export function testPage(functionName: string): string {
  return `/functions/${functionName}?tab=testing`;
}
