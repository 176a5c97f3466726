import { monthSources } from '../../cli/close-sums.ts';
import type { CloseOptions } from '../../shared/operations/close-month.ts';
import type { EraseOptions } from '../../shared/operations/erase.ts';

/** For closes whose totals do not matter, because no engine reads the lake. */
export const WITHOUT_SUMS: Pick<CloseOptions, 'by' | 'sums'> & Pick<EraseOptions, 'erasedSums'> = {
  by: 'ann',
  sums: { sourcesOf: monthSources, totalsOf: async () => [] },
  erasedSums: async () => new Map(),
};
