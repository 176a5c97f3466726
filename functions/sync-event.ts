import * as z from 'zod/mini';
import { isDay, isInstant } from '../shared/days.ts';
import { number, object, oneOf, parseInput, text } from '../shared/validation/input.ts';

/** The event of a schedule or a person; `{}` means all brands. */
export interface SyncEvent {
  brand?: string | undefined;
  /** With `to`: read these days again, `YYYY-MM-DD`, whether they are due or not. */
  from?: string | undefined;
  to?: string | undefined;
  /** Only checks credentials, clock and first page; writes nothing. */
  check?: boolean | undefined;
  /** Overrides the current time: ISO 8601 with a zone. */
  now?: string | undefined;
  /** The most that this run may use of the brand's rate. */
  requestsPerSecond?: number | undefined;
}

/**
 * @param brands the brands that have the report enabled
 * @throws BrandReportsError `config` with a line for every problem
 */
export function parseSyncEvent(event: unknown, brands: readonly string[]): SyncEvent {
  const schema = object({
    brand: z.optional(oneOf(...brands)),
    from: z.optional(text('a day, YYYY-MM-DD', isDay)),
    to: z.optional(text('a day, YYYY-MM-DD', isDay)),
    check: z.optional(z.boolean({ error: 'true, false' })),
    now: z.optional(text('an instant such as 2026-01-31T06:00:00Z', isInstant)),
    requestsPerSecond: z.optional(number(Number.MIN_VALUE, 1000, 'a number above 0, up to 1000')),
  }).check(({ value: { from, to }, issues }) => {
    if (from !== undefined && to !== undefined && from > to)
      issues.push({ code: 'custom', path: ['from'], input: from, message: `a day not after ${to}` });
  });
  return parseInput(schema, event, 'event', 'the event');
}
