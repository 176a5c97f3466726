import * as z from 'zod/mini';
import { type MonthRange, lastBackfillDay } from '../shared/operations/backfill-months.ts';
import { earlier, isDay, isInstant } from '../shared/days.ts';
import { object, oneOf, parseInput, text } from '../shared/validation/input.ts';
import type { Settings } from '../shared/settings/settings.ts';

/** The input with which a person starts a backfill; missing ends are filled in. */
export interface BackfillRange extends MonthRange {
  report: string;
  brand: string;
}

const day = z.string().check(z.refine(isDay));
const count = z.number().check(z.refine((value) => Number.isSafeInteger(value) && value >= 0));
const item = z.object({
  read: z.object({
    report: z.string(),
    brand: z.string(),
    from: day,
    to: day,
    since: z.string().check(z.refine(isInstant)),
  }),
  progress: z.object({ left: count, pages: count, stalled: count, busy: count }),
});

const planning = z.object({
  plan: z.unknown(),
  execution: z.string(),
  running: z.array(z.object({ ExecutionArn: z.string(), Input: z.string() })),
});

const outcome = z.object({
  from: day,
  to: day,
  status: z.enum(['complete', 'incomplete', 'failed', 'busy']),
  rows: z.optional(count),
  left: z.optional(count),
  why: z.optional(z.string()),
});

const concluding = z.object({
  conclude: z.object({ items: z.array(item), months: z.array(outcome) }),
});

export type Item = z.infer<typeof item>;
export type Planning = z.infer<typeof planning>;

/**
 * Parses what the state machine sends to the function: infra/backfill-state-machine.ts.
 * @throws BrandReportsError `config` for any other event
 */
export function parseBackfillEvent(event: unknown) {
  const schema = z.union([planning, item, concluding], {
    error:
      'an event of the backfill\'s state machine: start an execution of the state machine instead, with {"report", "brand", "from", "to"}',
  });
  return parseInput(schema, event, 'event', 'the event');
}

/**
 * Parses the input and cuts its range off after the last day that a backfill reads. A missing `from` becomes the
 * brand's start date, a missing `to` that last day.
 * @throws BrandReportsError `config` for an input without such a range
 */
export function parseBackfillInput(input: unknown, settings: Settings, nowMs: number): BackfillRange {
  const enabledIn = (brand: string) =>
    Object.entries(settings.brands[brand]?.reports ?? {}).flatMap(([name, { enabled }]) =>
      enabled ? [name] : [],
    );
  const brands = Object.keys(settings.brands);
  const schema = object({
    report: oneOf(...new Set(brands.flatMap(enabledIn))),
    brand: oneOf(...brands),
    from: z.optional(text('a day, YYYY-MM-DD', isDay)),
    to: z.optional(text('a day, YYYY-MM-DD', isDay)),
  }).check(({ value, issues }) => {
    const refuse = (key: keyof typeof value, message: string) =>
      issues.push({ code: 'custom', path: [key], input: value[key], message });
    const { first, last } = bounds(settings, value.brand, nowMs);
    const { from = first, to = last } = value;
    if (!enabledIn(value.brand).includes(value.report))
      refuse('report', `a report that is enabled for ${value.brand}: ${enabledIn(value.brand).join(', ')}`);
    if (from < first)
      refuse('from', `a day from ${first} on: for earlier days set the brand's startDate earlier and deploy`);
    if (from > last) refuse('from', `a day up to ${last}: the schedule reads later days`);
    else if (to < from) refuse('to', `a day not before ${from}`);
  });
  const { report, brand, ...range } = parseInput(schema, input, 'input', "the backfill's input");
  const { first, last } = bounds(settings, brand, nowMs);
  return { report, brand, from: range.from ?? first, to: earlier(range.to ?? last, last) };
}

function bounds({ brands }: Settings, brand: string, nowMs: number): { first: string; last: string } {
  const { startDate = '', timeZone = 'UTC' } = brands[brand] ?? {};
  return { first: startDate, last: lastBackfillDay(nowMs, timeZone) };
}
