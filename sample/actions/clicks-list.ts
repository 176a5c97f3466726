import { isCanonicalInteger } from '../../shared/base/json.ts';
import { refusal, success } from '../envelope.ts';
import { integer, position, text } from '../fields.ts';
import type { Action, Query } from './action.ts';
import { recordOf, select, timeConflict, timeRange } from './select.ts';

/** docs/explanation/interface.md, section 4.1: the click log, oldest first, paged by `first` and `pageInfo`. */
export const clicksList: Action = {
  rules: {
    start_time: integer(),
    end_time: integer(),
    first: position,
    page_size: integer(20, 100),
    publisher_id: text,
    channel_id: text,
  },
  conflict: timeConflict,
  answer(query) {
    const { brand, fields, interpretations } = query;
    const start = firstPlace(query);
    if (start === undefined) return refusal('badField', 'first: not a position that the service returned');

    const clicks = select(brand.records.clicks_list, timeRange(query), query, ['publisher_id', 'channel_id']);
    const end = start + Math.min(Number(fields.page_size ?? 20), interpretations.pageCap);
    const list = clicks
      .sort((a, b) => a.at - b.at)
      .slice(start, end)
      .map(recordOf);
    return success({
      pageInfo: {
        hasNextPage: end < clicks.length,
        endCursor: list.length === 0 ? '' : endCursor(start + list.length - 1, query),
      },
      list,
    });
  },
};

/** The `endCursor` of a page whose last record has this place, counted from 0. */
function endCursor(last: number, { fields, interpretations, cursors }: Query): string {
  switch (interpretations.endCursor) {
    case 'last':
      return String(last);
    case 'next':
    case 'last_from_one':
      return String(last + 1);
    case 'padded':
      return String(last).padStart(10, '0');
    case 'opaque':
      return cursors.give(interpretations.first === 'inclusive' ? last : last + 1, fields);
  }
}

/** The place, counted from 0, where the page begins; `undefined` for a `first` that no response contained. */
function firstPlace(query: Query): number | undefined {
  const { first = '0' } = query.fields;
  if (first === '0') return 0;
  if (query.interpretations.endCursor === 'opaque') return query.cursors.take(first, query.fields);
  const last = lastPlace(first, query);
  if (last === undefined) return undefined;
  const overlaps = query.interpretations.endCursor !== 'next' && query.interpretations.first === 'inclusive';
  return overlaps ? last : last + 1;
}

/** The place of the last record that an `endCursor` names, unless the cursor is opaque. */
function lastPlace(first: string, { interpretations }: Query): number | undefined {
  if (interpretations.endCursor === 'padded') return /^\d{10}$/.test(first) ? Number(first) : undefined;
  if (!isCanonicalInteger(first)) return undefined;
  return interpretations.endCursor === 'last' ? Number(first) : Number(first) - 1;
}
