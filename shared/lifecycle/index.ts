/* Goes with the last reader that still names it: no report has a lifecycle table. */
import type { TableShape } from '../ports.ts';

export function lifecycleShape(_report: object): TableShape | undefined {
  return undefined;
}

export function lifecycleTables(_reports: object): TableShape[] {
  return [];
}
