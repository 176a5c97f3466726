import { Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod/mini';
import { reports } from '../../shared/reports/index.ts';
import { ACME, stackOf } from './stack.ts';

/** The type and the logical id of each resource of the stack with every report, sorted. */
export function logicalIds(stack = stackOf({ brands: { acme: allOf(ACME) } })): string[] {
  const types = z.record(z.string(), z.object({ Type: z.string() }));
  const resources = z.parse(types, Template.fromStack(stack).toJSON().Resources);
  return Object.entries(resources)
    .map(([id, { Type }]) => `${Type} ${id}`)
    .sort();
}

/** A brand with each report enabled. */
export function allOf(brand: typeof ACME) {
  return {
    ...brand,
    reports: Object.fromEntries(Object.keys(reports).map((name) => [name, { enabled: true }])),
  };
}

if (import.meta.main) console.log(logicalIds().join('\n'));
