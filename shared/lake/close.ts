/**
 * A close, `closes/<brand>/<YYYY-MM>.json`, records what a month was when it was closed: for each day its place in the
 * day's chain of changes, and the totals as they were shown, because people were paid by them. It keeps no version.
 */
import * as z from 'zod/mini';
import { type MonthSpan, isDay, isInSpan } from '../base/days.ts';
import type { BrandReportsError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import type { ObjectStore } from '../ports.ts';
import { CLOSES_PREFIX, brandClosesPrefix, closeKey, parseCloseKey } from './paths.ts';
import {
  damagedDocument,
  parseDocument,
  parseJsonDocument,
  readOrDamage,
  storedCount,
  storedId,
  storedObject,
  storedTime,
} from './cas-document.ts';

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const month = () => z.string().check(z.regex(MONTH));
const day = () => z.string().check(z.refine(isDay));
const text = () => z.nullable(z.string());
const decimal = () => z.string().check(z.regex(/^-?\d{1,29}(\.\d{1,9})?$/));

export const MONEY_TABLES = ['orders', 'transactions'] as const;
export type MoneyTable = (typeof MONEY_TABLES)[number];

const ofPublisher = () => ({
  publisher_id: text(),
  publisher_name: text(),
  currency: text(),
  counted: decimal(),
  /** The records whose commission is not known; the sum lacks them. */
  unknown: storedCount,
});

export const WHY_NOT_WHOLE = [
  'missing',
  'open',
  'unconfirmed',
  'failed',
  'given_up',
  'came_back_empty',
  'kept',
  'erased',
] as const;

const close = storedObject(() => ({
  brand: z.string(),
  month: month(),
  closedAt: storedTime,
  by: z.string().check(z.minLength(1), z.maxLength(100), z.regex(/^\P{C}+$/u)),
  /** The hash of the settings by which the totals were shown (`schema/settings/<brand>/<hash>.json`); missing: none. */
  settings: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/))),
  /** The start of the oldest reading of its own month: if no day is missing, the month is complete as of then. */
  completeAsOf: z.optional(storedTime),
  /** By month: the table whose commission counts, if it differs from the closes before. */
  sources: z.record(month(), z.enum(MONEY_TABLES)),
  /** `counted`: of all days up to the end of the month; `statement`: the total of the statement of this month. */
  totals: z.array(storedObject(() => ({ ...ofPublisher(), statement: decimal() }))),
  /** Days up to the end of the month whose place differs from their place in the closes before; the snapshot is for people. */
  days: z.array(
    storedObject(() => ({ report: z.string(), day: day(), place: storedCount, snapshot: storedId })),
  ),
  exceptions: z.array(storedObject(() => ({ report: z.string(), day: day(), why: z.enum(WHY_NOT_WHOLE) }))),
  /** What its sums lack although it was closed: roles of money without a field, and amounts that cannot be read. */
  faults: z.array(z.string()),
  /** Days that were erased after the close, with what they added to `counted`. They take part in no later statement. */
  erased: z.array(
    storedObject(() => ({
      report: z.string(),
      day: day(),
      erasedAt: storedTime,
      totals: z.array(storedObject(ofPublisher)),
    })),
  ),
  recentWrites: z.array(z.string()),
}));

export type Close = z.infer<typeof close>;
export type ErasedTotals = Close['erased'][number]['totals'];

export function parseClose(key: string, storedJson: Json): Close {
  const parsed = parseDocument(close, key, storedJson);
  const own = closeKey(parsed.brand, parsed.month);
  if (own !== key) throw damagedDocument(key, `its content belongs to ${own}`);
  const named = [...parsed.days, ...parsed.exceptions, ...parsed.erased];
  const stray = named.find((each) => each.day > `${parsed.month}-31`);
  if (stray !== undefined) throw damagedDocument(key, `${stray.day} is after its month`);
  const twice = [parsed.days, parsed.erased].some((each) => new Set(each.map(dayId)).size < each.length);
  if (twice) throw damagedDocument(key, 'it names a day twice');
  return parsed;
}

export function dayId({ report, day: of }: { report: string; day: string }): string {
  return `${report} ${of}`;
}

export interface ClosedDay {
  report: string;
  day: string;
  /** Missing: the day was erased after a close, so that it takes part in no later statement, even if it is read again. */
  place?: number;
}

/** What several closes of a brand have together, the oldest close first: the place of each day, and the source of each month. */
export function closedDays(closes: readonly Close[]): {
  days: ReadonlyMap<string, ClosedDay>;
  sources: Readonly<Partial<Record<string, MoneyTable>>>;
} {
  const named = closes.flatMap(({ days }) =>
    days.map(({ report, day: of, place }) => ({ report, day: of, place })),
  );
  const erased = closes.flatMap((each) => each.erased.map(({ report, day: of }) => ({ report, day: of })));
  return {
    days: new Map([...named, ...erased].map((each) => [dayId(each), each])),
    sources: Object.assign({}, ...closes.map(({ sources }) => sources)),
  };
}

/** The days of its month that the close lacks, because they were not whole then or were erased since. */
export function lackingDays({ month: of, exceptions, erased }: Close): Close['exceptions'] {
  const since = erased.filter((each) => each.day.startsWith(of));
  return [
    ...exceptions,
    ...since.map(({ report, day: lost }) => ({ report, day: lost, why: 'erased' as const })),
  ];
}

/**
 * In order of brand and month.
 * @param of the brand, or the keys of the closes; missing: all closes
 * @param onDamage receives the error of a damaged close; without it, the error is thrown
 */
export async function readCloses(
  store: ObjectStore,
  of?: string | readonly string[],
  onDamage: (error: BrandReportsError, damaged: { brand: string; month: string }) => void = (error) => {
    throw error;
  },
  span: MonthSpan = {},
): Promise<Close[]> {
  const prefix = typeof of === 'string' ? brandClosesPrefix(of) : CLOSES_PREFIX;
  const keys = Array.isArray(of) ? of : await Array.fromAsync(store.list(prefix), ({ key }) => key);
  const closes: Close[] = [];
  for (const key of keys) {
    const named = parseCloseKey(key);
    const stored = named && isInSpan(named.month, span) && (await store.get(key));
    // Another process may have removed the close since it was listed.
    if (!stored) continue;
    const read = await readOrDamage((async () => parseClose(key, parseJsonDocument(key, stored.body)))());
    if ('value' in read) closes.push(read.value);
    else onDamage(read.damage, named);
  }
  return closes;
}
