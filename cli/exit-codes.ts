import type { Status } from '../shared/outcome.ts';

/** What the process ends with: see `brand-reports --help`. */
export const EXIT = { complete: 0, failed: 1, usage: 2, incomplete: 3, busy: 4 } as const satisfies Record<
  Status | 'usage',
  number
>;
