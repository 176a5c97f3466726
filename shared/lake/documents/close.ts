/**
 * `closes/<brand>/<YYYY-MM>.json`: a month as it was when it was closed. It names the version of each day, and whatever
 * else decides what queries of the month give, so that they give the same as long as the close exists.
 */
import * as z from 'zod/mini';
import { type MonthSpan, isDay, isInSpan, monthOf } from '../../days.ts';
import { BrandReportsError } from '../../errors.ts';
import type { Json } from '../../json.ts';
import type { ObjectStore } from '../../ports.ts';
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
import { brandRoles } from './roles.ts';

const stored = { snapshot: storedId, rows: storedCount, bytes: storedCount, digest: z.string() };
const day = () => z.string().check(z.refine(isDay));

const closedDay = storedObject(() => ({
  /** The name of the report, e.g. order_list. */
  report: z.string(),
  day: day(),
  ...stored,
  /** When the reading began that the version is of. */
  readFrom: storedTime,
  timeZone: z.optional(z.string()),
  /** It was read while the day was open, so that it is a part of the day. */
  isOpen: z.optional(z.literal(true)),
  /** What had become of its records. */
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
   * Days of months that were closed before which have another version now than the close before this one names: a
   * statement of this month carries their difference over.
   */
  carried: z.array(closedDay),
  /** Days that were not whole, which a person has accepted. */
  exceptions: z.array(
    storedObject(() => ({
      report: z.string(),
      day: day(),
      why: z.enum(['missing', 'open', 'unconfirmed', 'failed', 'erased']),
    })),
  ),
  /** By table: how many columns it had, and which fields had which roles. */
  tables: z.record(
    z.string(),
    storedObject(() => ({ columns: storedCount, roles: z.optional(brandRoles) })),
  ),
  recentWrites: z.array(z.string()),
}));

/** The version of a day that a close names. */
export type ClosedDay = z.infer<typeof closedDay>;
/** A closed month of a brand. Times are ISO 8601 in UTC. */
export type Close = z.infer<typeof close>;

/** Reads a stored close. @throws BrandReportsError `config` `damaged_document` where it is not the close of this month */
export function parseClose(key: string, storedJson: Json): Close {
  const parsed = parseDocument(close, key, storedJson);
  const own = closeKey(parsed.brand, parsed.month);
  if (own !== key) throw damagedDocument(key, `its content belongs to ${own}`);
  const stray = parsed.days.find((each) => monthOf(each.day) !== parsed.month);
  if (stray !== undefined) throw damagedDocument(key, `${stray.day} is not a day of its month`);
  return parsed;
}

/** All versions that a close names: those of its month, and those of months that were closed before. */
export function namedDays({ days, carried }: Pick<Close, 'days' | 'carried'>): ClosedDay[] {
  return [...days, ...carried];
}

/**
 * The closes of a brand or, without one, of all brands, by brand and month.
 * @param onDamage called with what is wrong with a close, which is left out; missing: that error is thrown, because what
 * such a close keeps is not known
 * @param span only of these months
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
    // Another process may have removed it since it was listed.
    if (!stored) continue;
    const read = await readOrDamage((async () => parseClose(key, parseJsonDocument(key, stored.body)))());
    if ('value' in read) closes.push(read.value);
    else onDamage(damagedClose(of, read.damage), of);
  }
  return closes;
}

function damagedClose(
  { brand, month }: { brand: string; month: string },
  { context, cause }: BrandReportsError,
): BrandReportsError {
  return new BrandReportsError(
    'config',
    'damaged_document',
    `${closeKey(brand, month)} cannot be used: ${String(context?.problem)}. Until then no version of ${brand} is deleted. Next step: restore the document or, to close the month anew, remove it: "brand-reports close ${month} --brand ${brand} --remove"`,
    { context, cause },
  );
}
