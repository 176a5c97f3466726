import { type Envelope, refusal, success } from '../envelope.ts';
import type { Held } from '../brand.ts';
import type { Query } from './action.ts';
import { recordOf } from './select.ts';

/** The page at `cursor`, and the cursor of the next one (docs/explanation/interface.md, sections 4.4 and 4.5). */
export function cursorPage(
  held: readonly Held[],
  { fields, interpretations, cursors }: Query,
  listKey: string,
): Envelope {
  const { cursor = '', limit = '100' } = fields;
  const start = cursor === '' ? 0 : cursors.take(cursor, fields);
  if (start === undefined) return refusal('deadCursor', 'cursor: it is unknown or no longer valid');

  const end = start + Math.min(Number(limit), interpretations.pageCap);
  const list = held.slice(start, end).map(recordOf);
  const next =
    end < held.length ? { cursor: cursors.give(end, fields) } : finalCursor[interpretations.finalCursor];
  const page = { count: list.length, [listKey]: list };
  return interpretations.cursorIn === 'data' ? success({ ...page, ...next }) : { ...success(page), ...next };
}

const finalCursor = { null: { cursor: null }, absent: {}, empty: { cursor: '' } };
