/**
 * A close, `closes/<brand>/<YYYY-MM>.json`, records a month as it was when it was closed: the version of each day,
 * and everything else that decides the results of queries of the month. Those results stay the same while the close
 * exists.
 */
import * as z from 'zod/mini';
import { type MonthSpan, isDay, isInSpan, monthOf } from '../../days.ts';
import type { BrandReportsError } from '../../errors.ts';
import type { Json } from '../../json.ts';
import type { ObjectStore } from '../../ports.ts';
import { ROLES } from '../../roles/index.ts';
import { CLOSES_PREFIX, brandClosesPrefix, closeKey, parseCloseKey } from '../paths.ts';
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

const field = z.string().check(z.minLength(1), z.maxLength(500), z.regex(/^[^'"\\]*$/));
const roles = storedObject(() => ({
  fields: z.partialRecord(z.enum(ROLES), z.nullable(z.union([field, z.array(field)]))),
  words: z.record(field, z.string().check(z.regex(/^[a-z]{1,20}$/))),
  /** Missing: the words of the interface. */
  kinds: z.optional(z.array(field)),
}));

const stored = { snapshot: storedId, rows: storedCount, bytes: storedCount, digest: z.string() };
const day = () => z.string().check(z.refine(isDay));

const closedDay = storedObject(() => ({
  report: z.string(),
  day: day(),
  ...stored,
  readFrom: storedTime,
  timeZone: z.optional(z.string()),
  /** The version was read while the day was open, so it contains only a part of the day. */
  isOpen: z.optional(z.literal(true)),
  /** The day's object in the lifecycle table, e.g. `order_states`. */
  lifecycle: z.optional(storedObject(() => stored)),
}));

const close = storedObject(() => ({
  version: z.literal(1),
  brand: z.string(),
  month: z.string(),
  /** By the machine's clock. */
  closedAt: storedTime,
  /** The days of the month, by report and day. */
  days: z.array(closedDay),
  /**
   * Days of months closed earlier whose version is no longer the version in the previous close. A statement of this
   * month carries their difference over.
   */
  carried: z.array(closedDay),
  /** Days that were incomplete and that a person accepted. */
  exceptions: z.array(
    storedObject(() => ({
      report: z.string(),
      day: day(),
      why: z.enum(['missing', 'open', 'unconfirmed', 'failed', 'erased']),
    })),
  ),
  /**
   * Days of the two lists above that were erased after the close: their versions are gone, and the numbers of their rows
   * stay. No comparison with this close includes them, on either side, even if they are read again.
   */
  erased: z.optional(
    z.array(
      storedObject(() => ({ report: z.string(), day: day(), rows: storedCount, erasedAt: storedTime })),
    ),
  ),
  /** By table: the number of columns, and the fields of the roles. */
  tables: z.record(
    z.string(),
    storedObject(() => ({ columns: storedCount, roles: z.optional(roles) })),
  ),
  recentWrites: z.array(z.string()),
}));

export type ClosedDay = z.infer<typeof closedDay>;
/** A closed month of a brand. Times are ISO 8601 in UTC. */
export type Close = z.infer<typeof close>;

/** Reads a stored close. @throws BrandReportsError `config` `damaged_document` if it is not the close of this month */
export function parseClose(key: string, storedJson: Json): Close {
  const parsed = parseDocument(close, key, storedJson);
  const own = closeKey(parsed.brand, parsed.month);
  if (own !== key) throw damagedDocument(key, `its content belongs to ${own}`);
  const stray = parsed.days.find((each) => monthOf(each.day) !== parsed.month);
  if (stray !== undefined) throw damagedDocument(key, `${stray.day} is not a day of its month`);
  return parsed;
}

export function withErasedDays(
  close: Close,
  isErased: (day: Pick<ClosedDay, 'report' | 'day'>) => boolean,
  erasedAt: string,
): Close {
  const gone = namedDays(close).filter(isErased);
  if (gone.length === 0) return close;
  return {
    ...close,
    days: close.days.filter((each) => !isErased(each)),
    carried: close.carried.filter((each) => !isErased(each)),
    erased: [
      ...(close.erased ?? []),
      ...gone.map(({ report, day, rows }) => ({ report, day, rows, erasedAt })),
    ],
  };
}

/** The days of its month that the close lacks, because they were not whole then or were erased since. */
export function lackingDays({ month, exceptions, erased = [] }: Close): Close['exceptions'] {
  const since = erased.filter(({ day }) => monthOf(day) === month);
  return [...exceptions, ...since.map(({ report, day }) => ({ report, day, why: 'erased' as const }))];
}

/** All versions in a close: of its own month, and of months that were closed earlier. */
export function namedDays({ days, carried }: Pick<Close, 'days' | 'carried'>): ClosedDay[] {
  return [...days, ...carried];
}

/**
 * Reads the closes of a brand or, without a brand, of all brands, in order of brand and month.
 * @param onDamage receives the error of a damaged close, which is left out. Without it, the error is thrown, because the
 * versions that a damaged close protects are unknown
 * @param span only these months
 */
export async function readCloses(
  store: ObjectStore,
  brand?: string,
  onDamage: (error: BrandReportsError, of: { brand: string; month: string }) => void = (error) => {
    throw error;
  },
  span: MonthSpan = {},
): Promise<Close[]> {
  const closes: Close[] = [];
  for await (const { key } of store.list(brand === undefined ? CLOSES_PREFIX : brandClosesPrefix(brand))) {
    const of = parseCloseKey(key);
    const stored = of && isInSpan(of.month, span) && (await store.get(key));
    // Another process may have removed the close since it was listed.
    if (!stored) continue;
    const read = await readOrDamage((async () => parseClose(key, parseJsonDocument(key, stored.body)))());
    if ('value' in read) closes.push(read.value);
    else onDamage(read.damage, of);
  }
  return closes;
}
