/* Goes with the last reader that still names it: `changes` becomes a view over the tables of what was before. */
import type { TableShape } from '../ports.ts';
import type { View } from '../reports/definition.ts';

export const changesTable: TableShape = {
  name: 'changes',
  description: '',
  partitionKeys: ['brand', 'report', 'month'],
  columns: [{ name: 'dt', type: 'string' }],
};

export function changeViews(_reports: object): View[] {
  return [];
}
