/** Injects faults of eight kinds into an export, and returns the expected cause of each order. */
import type { ShownOrder } from './exports.ts';

/** An order of the lake, or the pieces of one product in it: in its first and its current state. */
export interface Known {
  before: ShownOrder[];
  now: ShownOrder[];
}

export const KINDS = [
  'missing_here',
  'missing_there',
  'voided_since',
  'repriced_since',
  'other_day',
  'other_currency',
  'rounding',
  'duplicate',
] as const;
export type Kind = (typeof KINDS)[number];

/** The number of faults of each kind. */
const FAULTS = 3;

/** The first and the last day of an export. */
export interface Span {
  from: string;
  to: string;
}

/** The subject of a difference. */
export function keyOf({ id, product = '' }: Pick<ShownOrder, 'id' | 'product'>): string {
  return `${id} ${product}`;
}

/**
 * @param known the orders of these days and of the day before and after them
 * @param chance in [0, 1)
 * @returns the lines of an export with faults, and the expected cause of each order
 */
export function withFaults(
  known: readonly Known[],
  span: Span,
  kinds: readonly Kind[],
  chance: () => number,
): { shown: ShownOrder[]; expected: Map<string, Kind> } {
  const isIn = ({ now: [first] }: Known) =>
    first !== undefined && first.day >= span.from && first.day <= span.to;
  const keyOfKnown = ({ now: [first] }: Known) => (first ? keyOf(first) : '');
  const shown = new Map(known.filter(isIn).map((each) => [keyOfKnown(each), each.now]));
  const expected = new Map<string, Kind>();
  for (const kind of kinds)
    for (let fault = 0; fault < FAULTS; fault += 1) {
      const candidates = known.filter((each) => {
        // The first order of another day belongs to the day before or after.
        const isBeside = kind === 'other_day' && fault === 0;
        return !expected.has(keyOfKnown(each)) && isIn(each) !== isBeside && CAN_HAVE[kind](each);
      });
      const found = candidates[Math.floor(chance() * candidates.length)];
      if (!found) continue;
      const lines = CHANGED[kind](found, span);
      const key = kind === 'missing_here' ? keyOf(lines[0] ?? { id: '' }) : keyOfKnown(found);
      expected.set(key, kind);
      shown.set(key, lines);
    }
  return { shown: [...shown.values()].flat(), expected };
}

const counts = (lines: readonly ShownOrder[]) =>
  lines.every(({ status, commission }) => status !== 'void' && commission > 1);
const total = (lines: readonly ShownOrder[]) => lines.reduce((sum, { commission }) => sum + commission, 0);
const isVoid = ({ status }: ShownOrder) => status === 'void';

const CAN_HAVE: Readonly<Record<Kind, (known: Known) => boolean>> = {
  missing_here: ({ now }) => counts(now),
  missing_there: ({ now }) => counts(now),
  voided_since: ({ before, now }) => !before.every(isVoid) && now.every(isVoid),
  repriced_since: ({ before, now }) => !now.every(isVoid) && total(before) !== total(now),
  other_day: ({ now }) => counts(now),
  other_currency: ({ now }) => counts(now),
  // 1.2 instead of 1.20 is not a fault.
  rounding: ({ now }) =>
    counts(now) && now.every(({ amount, commission }) => amount % 10 !== 0 && commission % 10 !== 0),
  duplicate: ({ now }) => counts(now),
};

const CHANGED: Readonly<Record<Kind, (known: Known, span: Span) => ShownOrder[]>> = {
  missing_here: ({ now }) => now.map((line) => ({ ...line, id: `77${line.id}` })),
  missing_there: () => [],
  voided_since: ({ before }) => before,
  repriced_since: ({ before }) => before,
  other_day: ({ now }, span) => now.map((line) => ({ ...line, ...onOtherDay(line, span) })),
  other_currency: ({ now }) => now.map((line) => ({ ...line, currency: 'EUR' })),
  rounding: ({ now }) => now.map((line) => ({ ...line, places: 1 })),
  duplicate: ({ now }) => [...now, ...now.slice(0, 1)],
};

/** The day in another time zone: one day off, among the days of the export. */
function onOtherDay({ at, day }: ShownOrder, { from }: Span): Pick<ShownOrder, 'at' | 'day'> {
  const days = day <= from ? 1 : -1;
  const shifted = new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
  return { at: at + days * 86_400_000, day: shifted };
}
