/** Injects faults of eight kinds into an export of orders, and says which cause each order must be found with. */
import type { ShownOrder } from './exports.ts';

/** An order of the lake: as it was first shown, and as it is now. */
export interface KnownOrder {
  before: ShownOrder;
  now: ShownOrder;
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
type Kind = (typeof KINDS)[number];

/** Per kind. */
const FAULTS = 3;

/**
 * @param known of a month and the day on each side of it
 * @param chance in [0, 1)
 * @returns the orders of an export with faults, and by order the cause to be found
 */
export function withFaults(
  known: readonly KnownOrder[],
  month: string,
  kinds: readonly Kind[],
  chance: () => number,
): { shown: ShownOrder[]; expected: Map<string, Kind> } {
  const inMonth = known.filter(({ now }) => now.day.startsWith(month));
  const shown = new Map(inMonth.map(({ now }) => [now.id, [now]]));
  const expected = new Map<string, Kind>();
  const pick = (of: readonly KnownOrder[]) => {
    const free = of.filter(({ now }) => !expected.has(now.id));
    return free[Math.floor(chance() * free.length)];
  };
  const counts = inMonth.filter(({ now }) => now.status !== 'void' && now.commission > 1);
  for (const kind of kinds)
    for (let fault = 0; fault < FAULTS; fault += 1) {
      const found = pick(candidates(kind, { known, inMonth, counts, month }));
      if (!found) continue;
      const { before, now } = found;
      const id = kind === 'missing_here' ? `77${now.id}` : now.id;
      expected.set(id, kind);
      const asShown: Record<Kind, ShownOrder[]> = {
        missing_here: [{ ...now, id }],
        missing_there: [],
        voided_since: [before],
        repriced_since: [before],
        other_day: [now.day.startsWith(month) ? shifted(now, month) : moved(now, month)],
        other_currency: [{ ...now, currency: 'EUR' }],
        rounding: [{ ...now, places: 1 }],
        duplicate: [now, now],
      };
      shown.set(id, asShown[kind]);
    }
  return { shown: [...shown.values()].flat(), expected };
}

interface Orders {
  known: readonly KnownOrder[];
  inMonth: readonly KnownOrder[];
  counts: readonly KnownOrder[];
  month: string;
}

function candidates(kind: Kind, { known, inMonth, counts, month }: Orders): readonly KnownOrder[] {
  const changed = inMonth.filter(({ before }) => before.status !== 'void');
  switch (kind) {
    case 'voided_since':
      return changed.filter(({ now }) => now.status === 'void');
    case 'repriced_since':
      return changed.filter(
        ({ before, now }) => now.status !== 'void' && before.commission !== now.commission,
      );
    case 'other_day':
      return known.filter(({ now }) => !now.day.startsWith(month) && now.status !== 'void');
    case 'rounding':
      // A tenth that is shown as 1.2 instead of 1.20 is no fault.
      return counts.filter(({ now }) => now.commission % 10 !== 0 && now.amount % 10 !== 0);
    default:
      return counts;
  }
}

/** On the first or the last day of the month, as another zone has it. */
function moved(order: ShownOrder, month: string): ShownOrder {
  const days = order.day < month ? 1 : -1;
  return shiftedBy(order, days);
}

function shifted(order: ShownOrder, month: string): ShownOrder {
  return shiftedBy(order, order.day === `${month}-01` ? 1 : -1);
}

function shiftedBy(order: ShownOrder, days: number): ShownOrder {
  const at = order.at + days * 86_400_000;
  return {
    ...order,
    at,
    day: new Date(Date.parse(order.day) + days * 86_400_000).toISOString().slice(0, 10),
  };
}
