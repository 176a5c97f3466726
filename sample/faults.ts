import type { JsonObject } from '../shared/base/json.ts';

/** A request, as a rule matches it. */
export interface Call {
  brand: string;
  /** For example `report/order_list`. */
  action: string;
  /** The action's own fields, as sent. */
  fields: JsonObject;
}

/** A fault of a response. */
export type Fault =
  | { kind: 'status'; status: number; retryAfter?: string }
  | { kind: 'code'; code: number; msg: string }
  | { kind: 'html' }
  /** The connection ends before `Content-Length` is reached. */
  | { kind: 'cut_off' }
  /** A complete HTTP body whose JSON ends in the middle. */
  | { kind: 'cut_json' }
  | { kind: 'missing_list' }
  /** For positions and cursors: the page names itself as the next page, except the first page. */
  | { kind: 'repeated_cursor' }
  /** For positions and cursors: from the third page on, the next page is the previous one: A → B → A. */
  | { kind: 'cycling_cursor' }
  /** An empty page that announces another page. */
  | { kind: 'empty_page' }
  /** For details: the record is about another click. */
  | { kind: 'other_id' }
  | { kind: 'hang' }
  | { kind: 'reset' }
  /** Further or other headers, for example a `Date` of another time or an `Age`. */
  | { kind: 'headers'; headers: Record<string, string> }
  /** The service's clock is off by `skewMs`, both in its check of the date and in its own `Date` header. */
  | { kind: 'skewed_clock'; skewMs: number }
  | { kind: 'redirect'; location: string };

/**
 * The requests that get the fault: of the requests that match `brand`, `action` and `when`, `times` requests from the
 * `nth` on (counted from 1). With `nth` alone it is one request; with neither it is every request.
 */
export interface FaultRule {
  on: { brand?: string; action?: string; when?: (call: Call) => boolean; nth?: number; times?: number };
  fault: Fault;
}

export interface FaultBook {
  /** @returns a function that removes the rule */
  add: (rule: FaultRule) => () => void;
  /** Counts the call in every rule that it matches. @returns the fault of the first rule that applies */
  next: (call: Call) => Fault | undefined;
}

export function createFaultBook(): FaultBook {
  const entries = new Set<{ rule: FaultRule; matched: number }>();
  return {
    add(rule) {
      const entry = { rule, matched: 0 };
      entries.add(entry);
      return () => void entries.delete(entry);
    },
    next(call) {
      const applying = [...entries].filter((entry) => {
        if (!matches(entry.rule, call)) return false;
        entry.matched += 1;
        return applies(entry.rule, entry.matched);
      });
      return applying[0]?.rule.fault;
    },
  };
}

function matches({ on }: FaultRule, call: Call): boolean {
  return (
    (on.brand ?? call.brand) === call.brand &&
    (on.action ?? call.action) === call.action &&
    (on.when?.(call) ?? true)
  );
}

function applies({ on: { nth, times } }: FaultRule, matched: number): boolean {
  const first = nth ?? 1;
  const count = times ?? (nth === undefined ? Number.POSITIVE_INFINITY : 1);
  return first <= matched && matched < first + count;
}
