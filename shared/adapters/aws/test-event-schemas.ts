/** The registry, one per account and region, in which the Lambda console looks for shareable test events. */
export const REGISTRY = 'lambda-testevent-schemas';

/** The schema in that registry that holds a function's events. */
export function schemaName(functionName: string): string {
  return `_${functionName}-schema`;
}
