import * as z from 'zod/mini';
import { dayOf, earlier } from '../shared/days.ts';
import { configError } from '../shared/errors.ts';
import type { BrandToRead } from '../shared/operations/backfill.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { integer, object, oneOf, parseInput } from '../shared/validation/input.ts';
import { day, refuseBackwards } from './sync-event.ts';

const count = integer(0, Number.MAX_SAFE_INTEGER);
const item = z.object({
  brand: z.string(),
  reports: z.optional(z.array(z.string())),
  from: day(),
  to: z.optional(day()),
  pages: count,
  stalled: count,
});
const ended = z.object({ brand: z.string(), status: z.string(), why: z.optional(z.string()) });

/**
 * Parses what the state machine sends to the function: infra/backfill-state-machine.ts.
 * @throws BrandReportsError `config` for any other event
 */
export function parseBackfillEvent(event: unknown) {
  const schema = z.union([item, z.object({ plan: z.json() }), z.object({ conclude: z.array(ended) })], {
    error:
      'an event of the backfill\'s state machine: start an execution of the state machine instead, with {"brands", "reports", "from", "to"}',
  });
  return parseInput(schema, event, 'event', 'the event');
}

/**
 * Parses the input with which a person starts a backfill. Without `brands` it reads all brands that have days to read,
 * without `from` each brand from its start date.
 * @throws BrandReportsError `config` for an input that has a fault, or a brand without anything to read
 */
export function parseBackfillInput(input: unknown, { brands }: Settings, nowMs: number): BrandToRead[] {
  const enabledIn = (brand: string) =>
    Object.entries(brands[brand]?.reports ?? {}).flatMap(([name, { enabled }]) => (enabled ? [name] : []));
  const names = Object.keys(brands);
  const schema = object({
    brands: z.optional(listOf('brands', names)),
    reports: z.optional(listOf('reports', [...new Set(names.flatMap(enabledIn))])),
    from: z.optional(day()),
    to: z.optional(day()),
  }).check(({ value, issues }) => refuseBackwards(value, issues));
  const given = parseInput(schema, input, 'input', "the backfill's input");
  const { reports, to } = given;
  const items = [...new Set(given.brands ?? names)].map((brand) => ({
    brand,
    reports,
    from: given.from ?? brands[brand]?.startDate ?? '',
    to,
    pages: 0,
    stalled: 0,
  }));
  const isEmpty = ({ brand, from }: BrandToRead) => {
    const today = dayOf(nowMs, brands[brand]?.timeZone ?? 'UTC');
    return (
      from > earlier(to ?? today, today) || !enabledIn(brand).some((name) => reports?.includes(name) ?? true)
    );
  };
  const empty = items.filter(isEmpty).map(({ brand }) => brand);
  if (empty.length > 0 && (given.brands || empty.length === items.length))
    throw configError(
      'input',
      `the backfill's input has nothing to read for ${empty.join(', ')}: name days from startDate to today, and reports that the settings enable`,
    );
  return items.filter((each) => !isEmpty(each));
}

function listOf(what: string, words: readonly string[]) {
  const error = `a list of ${what}, at least one`;
  return z.array(oneOf(...words), { error }).check(z.minLength(1, { error }));
}
