import * as z from 'zod/mini';
import { DAY_MS } from '../../shared/base/days.ts';

/** The messages between the service of `npm run bench` and its parent, and the constants that both use. */

export const ACTION = 'report/transaction_list';
export const SERVICE_NAME = 'BENCH';
export const CREDENTIALS = { bid: '1001', token: 'token-of-bench', secret: 'secret-of-bench' };
/** The first day that has records; it ended long ago. */
export const FIRST_DAY = '2024-01-01';

/** Counted from the first day. @param date `YYYYMMDD` */
export function dayNumber(date: string): number {
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`;
  return Math.round((Date.parse(day) - Date.parse(FIRST_DAY)) / DAY_MS);
}

/**
 * `pages` counts the pages of all days together; a page has `RECORDS_PER_PAGE` records unless the plan sets another
 * number. `restated`: one record of so many is in another state.
 */
export const servicePlanSchema = z.object({
  pages: z.number(),
  days: z.number(),
  latencyMs: z.number(),
  recordsPerPage: z.optional(z.number()),
  restated: z.optional(z.int()),
});
export type ServicePlan = z.infer<typeof servicePlanSchema>;

/**
 * The fault of the page in the middle: a 200 with an error inside, without or with an empty list; a cursor that leads
 * back, always or the first time; no response at all.
 */
const faultSchema = z.enum([
  'none',
  'error_inside',
  'error_and_list',
  'repeated_cursor',
  'repeated_once',
  'no_answer',
]);
export type Fault = z.infer<typeof faultSchema>;

/** The response to both is the `usage` since the last `begin`. */
export const toServiceSchema = z.union([
  z.object({ ask: z.literal('usage') }),
  z.object({ ask: z.literal('begin'), fault: faultSchema }),
]);
export type ToService = z.infer<typeof toServiceSchema>;

const usageSchema = z.object({
  requests: z.number(),
  cpuMs: z.number(),
  /** Milliseconds since 1970, with fractions. */
  firstRequestMs: z.optional(z.number()),
});
export type ServiceUsage = z.infer<typeof usageSchema>;

/** `held`: a client waits for the page that gets no response. */
export const fromServiceSchema = z.union([
  z.object({ url: z.string() }),
  z.object({ held: z.literal(true) }),
  usageSchema,
]);
export type FromService = z.infer<typeof fromServiceSchema>;
