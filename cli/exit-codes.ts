import type { Status } from '../shared/base/outcome.ts';

export const EXIT = { complete: 0, failed: 1, usage: 2, incomplete: 3, busy: 4 } as const satisfies Record<
  Status | 'usage',
  number
>;

/** The exit code that shells report for a process that Ctrl-C ended. */
export const EXIT_INTERRUPTED = 130;
