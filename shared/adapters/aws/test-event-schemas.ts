/** The one registry of an account and region where the Lambda console looks for shareable test events. */
export const REGISTRY = 'lambda-testevent-schemas';

/** The schema in it that holds a function's events. */
export function schemaName(functionName: string): string {
  return `_${functionName}-schema`;
}
