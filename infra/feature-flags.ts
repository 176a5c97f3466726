import { readFileSync } from 'node:fs';
import * as z from 'zod/mini';

const fileSchema = z.object({ context: z.record(z.string(), z.unknown()) });

/**
 * The feature flags of CDK, which change its templates: the flags of `cdk.json`, also if `cdk` does not run the app.
 */
export function featureFlags(): Record<string, unknown> {
  const file = new URL('../cdk.json', import.meta.url);
  const { context } = z.parse(fileSchema, JSON.parse(readFileSync(file, 'utf8')));
  return Object.fromEntries(Object.entries(context).filter(([name]) => name.startsWith('@')));
}
