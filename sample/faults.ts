import type { JsonObject } from '../shared/json.ts';

/** What a rule sees of a request. */
export interface Call {
  brand: string;
  /** e.g. `report/order_list` */
  action: string;
  /** The action's own fields as they were sent. */
  fields: JsonObject;
}

/** What goes wrong with an answer. */
export type Fault =
  | { kind: 'status'; status: number; retryAfter?: string }
  | { kind: 'code'; code: number; msg: string }
  | { kind: 'html' }
  /** The connection ends before `Content-Length` is reached. */
  | { kind: 'cut_off' }
  /** A body that ends well as HTTP but in the middle as JSON. */
  | { kind: 'cut_json' }
  | { kind: 'missing_list' }
  /** Positions and cursors: the page names itself as the next one (the first page is spared). */
  | { kind: 'repeated_cursor' }
  /** Positions and cursors: from the third page on, the next page is the one before: A → B → A. */
  | { kind: 'cycling_cursor' }
  /** An empty page that says that more follows. */
  | { kind: 'empty_page' }
  | { kind: 'hang' }
  | { kind: 'reset' }
  /** Further or other headers, for example a `Date` of another time or an `Age`. */
  | { kind: 'headers'; headers: Record<string, string> }
  /** The service's clock is off by so much: for its check of the date and for its own `Date` header. */
  | { kind: 'skewed_clock'; skewMs: number }
  | { kind: 'redirect'; location: string };

/**
 * Which requests meet the fault: of those that fit `brand`, `action` and `when`, the `nth` (from 1) and the ones
 * behind it, `times` of them. Only one where `nth` is given alone, all of them where neither is.
 */
export interface FaultRule {
  on: { brand?: string; action?: string; when?: (call: Call) => boolean; nth?: number; times?: number };
  fault: Fault;
}

export interface FaultBook {
  /** @returns what takes the rule out again */
  add: (rule: FaultRule) => () => void;
  /** Counts the call in every rule that it fits. @returns the fault of the first rule that is due */
  next: (call: Call) => Fault | undefined;
}

export function createFaultBook(): FaultBook {
  const entries = new Set<{ rule: FaultRule; met: number }>();
  return {
    add(rule) {
      const entry = { rule, met: 0 };
      entries.add(entry);
      return () => void entries.delete(entry);
    },
    next(call) {
      const due = [...entries].filter((entry) => {
        if (!fits(entry.rule, call)) return false;
        entry.met += 1;
        return isDue(entry.rule, entry.met);
      });
      return due[0]?.rule.fault;
    },
  };
}

function fits({ on }: FaultRule, call: Call): boolean {
  return (
    (on.brand ?? call.brand) === call.brand &&
    (on.action ?? call.action) === call.action &&
    (on.when?.(call) ?? true)
  );
}

function isDue({ on: { nth, times } }: FaultRule, met: number): boolean {
  const first = nth ?? 1;
  const count = times ?? (nth === undefined ? Number.POSITIVE_INFINITY : 1);
  return first <= met && met < first + count;
}
