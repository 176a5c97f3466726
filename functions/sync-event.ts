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

/** `{"rebuild": true, "brand", "from", "to"}`: the days to make again from their raw records. */
export interface RebuildEvent {
  brand: string;
  from: string;
  to: string;
}

/**
 * @param brands the brands that have the report enabled
 * @throws BrandReportsError `config` with a line for every problem
 */
export function parseSyncEvent(
  event: unknown,
  brands: readonly string[],
): { sync: SyncEvent } | { rebuild: RebuildEvent } {
  const isRebuild = typeof event === 'object' && event !== null && 'rebuild' in event;
  if (!isRebuild) return { sync: parseInput(syncSchema(brands), event, 'event', 'the event') };
  const { brand, from, to } = parseInput(rebuildSchema(brands), event, 'event', 'the event');
  return { rebuild: { brand, from, to } };
}

const day = () => text('a day, YYYY-MM-DD', isDay);

function syncSchema(brands: readonly string[]) {
  return object({
    brand: z.optional(oneOf(...brands)),
    from: z.optional(day()),
    to: z.optional(day()),
    rebuild: z.optional(z.never()),
    check: z.optional(z.boolean({ error: 'true, false' })),
    now: z.optional(text('an instant such as 2026-01-31T06:00:00Z', isInstant)),
    requestsPerSecond: z.optional(number(Number.MIN_VALUE, 1000, 'a number above 0, up to 1000')),
  }).check(({ value, issues }) => refuseBackwards(value, issues));
}

function rebuildSchema(brands: readonly string[]) {
  return object({
    rebuild: z.literal(true, { error: 'true' }),
    brand: oneOf(...brands),
    from: day(),
    to: day(),
  }).check(({ value, issues }) => refuseBackwards(value, issues));
}

function refuseBackwards(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  issues: z.core.$ZodRawIssue[],
): void {
  if (from !== undefined && to !== undefined && from > to)
    issues.push({ code: 'custom', path: ['from'], input: from, message: `a day not after ${to}` });
}
