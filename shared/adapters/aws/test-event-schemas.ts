/** The registry, one per account and region, from which the Lambda console reads shareable test events. */
export const REGISTRY = 'lambda-testevent-schemas';

/** The schema in that registry with a function's events. */
export function schemaName(functionName: string): string {
  return `_${functionName}-schema`;
}
