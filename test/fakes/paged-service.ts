/**
 * Answers page by page without a network, in each pagination style and under each interpretation of it. It records the
 * fields of every request in `requests`.
 */
import { type Json, type JsonObject, stringifyJson } from '../../shared/base/json.ts';
import type { ReportService } from '../../shared/ports.ts';
import type { PagedStyle } from '../../shared/service/paging/page.ts';

const bounds = { min: 1, max: 200, default: 200 };
export const position: PagedStyle = { style: 'position', pageSize: { field: 'page_size', ...bounds } };
export const numbered: PagedStyle = {
  style: 'numbered',
  pageSize: { field: 'page_size', ...bounds },
  fixedFields: {},
};
export const byCursor: PagedStyle = { style: 'cursor', pageSize: { field: 'limit', ...bounds } };

type Data = { data: JsonObject; envelope?: JsonObject };

export function pagedService(answer: (fields: JsonObject, number: number) => Data | Promise<Data>) {
  const requests: JsonObject[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const service: ReportService = {
    async call(_action, fields, signal) {
      requests.push(fields);
      signals.push(signal);
      const { data, envelope } = await answer(fields, requests.length);
      return { data, envelope: { code: 0, msg: 'success', data, ...envelope } };
    },
    inOrder: () => service,
    hasAnswered: true,
    hasAnsweredTo: () => true,
    quote: (text) => text,
    clockSkewMs: 0,
  };
  return { service, requests, signals };
}

/** Answers with these responses in turn, and then always with the last one. */
export function answersInTurn(...answers: JsonObject[]) {
  return pagedService((_fields, number) => ({ data: answers[Math.min(number, answers.length) - 1] ?? {} }));
}

/** How a service may interpret what docs/explanation/interface.md, section 4.1, leaves open about positions. */
export interface PositionInterpretation {
  /** Records that a page shares with the page before. */
  overlap: number;
  /** The service's own cap on a page. */
  cap: number;
  /** The form of `endCursor`. */
  write: 'text' | 'number' | 'padded' | 'opaque';
  /** Whether hasNextPage is true after a full page even if nothing follows. */
  eager: boolean;
}

export function positionService(records: readonly JsonObject[], interpretation: PositionInterpretation) {
  const write: Record<PositionInterpretation['write'], (position: number) => Json> = {
    text: String,
    number: (position) => position,
    padded: (position) => String(position).padStart(12, '0'),
    opaque: (position) => `position:${position}`,
  };
  return pagedService(({ first, page_size }) => {
    const from = Number(/\d+/.exec(stringifyJson(first ?? 0))?.[0]);
    const size = Math.min(interpretation.cap, Number(page_size));
    const list = records.slice(from, from + size);
    const to = from + list.length;
    const hasNextPage = to < records.length || (interpretation.eager && list.length === size);
    const endCursor = hasNextPage ? write[interpretation.write](to - interpretation.overlap) : null;
    return { data: { list, pageInfo: { hasNextPage, endCursor } } };
  });
}

/** The page after the last one, the number of the first page, and the field with the records (docs/explanation/interface.md, section 4.3). */
export interface NumberedInterpretation {
  pastTheEnd: 'empty' | 'repeat';
  firstPage: number;
  cap: number;
  list: string;
}

export function numberedService(records: readonly JsonObject[], interpretation: NumberedInterpretation) {
  return pagedService(({ page_number, page_size }) => {
    const size = Math.min(interpretation.cap, Number(page_size));
    const last = Math.max(0, Math.ceil(records.length / size) - 1);
    const index = Number(page_number) - interpretation.firstPage;
    const page = interpretation.pastTheEnd === 'repeat' ? Math.min(index, last) : index;
    return {
      data: { [interpretation.list]: records.slice(page * size, (page + 1) * size), total: records.length },
    };
  });
}

/** The end of the last cursor page, the field of the cursor and its form (docs/explanation/interface.md, section 4.5). */
export interface CursorInterpretation {
  end: null | '' | 'absent';
  place: 'data' | 'envelope';
  write: (position: number) => Json;
  read: (cursor: Json | undefined) => number;
  cap: number;
  /** Empty pages before each further one. */
  empty: number;
}

export function cursorService(records: readonly JsonObject[], interpretation: CursorInterpretation) {
  const { empty, end } = interpretation;
  return pagedService(({ cursor, limit }) => {
    const size = Math.min(interpretation.cap, Number(limit));
    const step = cursor === undefined ? 0 : interpretation.read(cursor);
    const page = Math.floor(step / (empty + 1));
    const list = step % (empty + 1) === 0 ? records.slice(page * size, (page + 1) * size) : [];
    const more = (page + 1) * size < records.length;
    const next: JsonObject = more
      ? { cursor: interpretation.write(step + 1) }
      : end === 'absent'
        ? {}
        : { cursor: end };
    const data = { list, count: list.length };
    return interpretation.place === 'data' ? { data: { ...data, ...next } } : { data, envelope: next };
  });
}

/** How a service forgets its cursors, and how it answers a forgotten cursor. */
export interface ForgetfulInterpretation {
  style: 'cursor' | 'position';
  /** Records on a page. */
  size: number;
  /** The numbers of the requests before which every cursor given so far is forgotten. */
  forgetsAt: readonly number[];
  dead: 'empty' | 'restart';
  /** Whether the same page has the same cursor each time, until the service forgets the cursor. */
  stable: boolean;
  /** Whether a full page always has a next page, so that the last page may be empty. */
  eager: boolean;
}

/** A service whose cursors die between two requests. */
export function forgetfulService(records: readonly JsonObject[], given: ForgetfulInterpretation) {
  const alive = new Map<string, number>();
  let generation = 0;
  return pagedService(({ cursor, first }, number) => {
    if (given.forgetsAt.includes(number)) {
      alive.clear();
      generation += 1;
    }
    const asked = cursor ?? (first === 0 ? undefined : first);
    const dead = given.dead === 'empty' ? records.length : 0;
    const from = asked === undefined ? 0 : (alive.get(String(asked)) ?? dead);
    const to = from + given.size;
    const list = records.slice(from, to);
    const more = to < records.length || (given.eager && list.length === given.size);
    const next = more ? `${generation}-${given.stable ? '' : number}-${to}` : null;
    if (next !== null) alive.set(next, to);
    const data: JsonObject =
      given.style === 'cursor'
        ? { list, cursor: next }
        : { list, pageInfo: { hasNextPage: more, endCursor: next } };
    return { data };
  });
}
