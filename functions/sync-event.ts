import * as z from 'zod/mini';
import { isDay, isInstant } from '../shared/days.ts';
import { bool, number, object, oneOf, parseInput, text } from '../shared/validation/input.ts';

/**
 * Parses the event of a schedule or a person: `{}` means all brands.
 * @param brands the brands that have the report enabled
 * @throws BrandReportsError `config` with a line for every problem
 */
export function parseSyncEvent(event: unknown, brands: readonly string[]) {
  const isRebuild = typeof event === 'object' && event !== null && 'rebuild' in event;
  return isRebuild
    ? parseInput(rebuildSchema(brands), event, 'event', 'the event')
    : parseInput(syncSchema(brands), event, 'event', 'the event');
}

export const day = () => text('a day, YYYY-MM-DD', isDay);

function syncSchema(brands: readonly string[]) {
  return object({
    brand: z.optional(oneOf(...brands)),
    /** With `to`: read these days, `YYYY-MM-DD`, whether they are due or not. */
    from: z.optional(day()),
    to: z.optional(day()),
    /** Whether a reading with fewer records may replace records that can no longer change. */
    acceptFewer: z.optional(bool()),
    rebuild: z.optional(z.never()),
    /** Checks only credentials, clock and the first page; writes nothing. */
    check: z.optional(bool()),
    /** Overrides the current time: ISO 8601 with a zone. */
    now: z.optional(text('an instant such as 2026-01-31T06:00:00Z', isInstant)),
    /** The maximum that this run may use of the brand's request rate. */
    requestsPerSecond: z.optional(number(Number.MIN_VALUE, 1000, 'a number above 0, up to 1000')),
  }).check(({ value, issues }) => {
    refuseBackwards(value, issues);
    const { acceptFewer, from, to } = value;
    const message = 'true only together with "from" or "to"';
    if (acceptFewer && from === undefined && to === undefined)
      issues.push({ code: 'custom', path: ['acceptFewer'], input: acceptFewer, message });
  });
}

/** The days to rebuild from their raw records. */
function rebuildSchema(brands: readonly string[]) {
  return object({
    rebuild: z.literal(true, { error: 'true' }),
    brand: oneOf(...brands),
    from: day(),
    to: day(),
  }).check(({ value, issues }) => refuseBackwards(value, issues));
}

export function refuseBackwards(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  issues: z.core.$ZodRawIssue[],
): void {
  if (from !== undefined && to !== undefined && from > to)
    issues.push({ code: 'custom', path: ['from'], input: from, message: `a day not after ${to}` });
}
