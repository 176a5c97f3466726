/**
 * A service without a network that answers page by page, in each pagination style and under each reading of it.
 * It records the fields of every request in `asked`.
 */
import { type Json, type JsonObject, stringifyJson } from '../../shared/json.ts';
import type { ReportService } from '../../shared/ports.ts';

type Data = { data: JsonObject; envelope?: JsonObject };

/** Answers each request as `answer` says. */
export function pagedService(answer: (fields: JsonObject, number: number) => Data | Promise<Data>) {
  const asked: JsonObject[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const service: ReportService = {
    async call(_action, fields, signal) {
      asked.push(fields);
      signals.push(signal);
      const { data, envelope } = await answer(fields, asked.length);
      return { data, envelope: { code: 0, msg: 'success', data, ...envelope } };
    },
    quote: (text) => text,
  };
  return { service, asked, signals };
}

/** Answers with these one after the other, and then always with the last one. */
export function answersInTurn(...answers: JsonObject[]) {
  return pagedService((_fields, number) => ({ data: answers[Math.min(number, answers.length) - 1] ?? {} }));
}

/** How a service may read what docs/interface.md, section 4.1, leaves open about positions. */
export interface PositionReading {
  /** Records that a page has in common with the one before. */
  overlap: number;
  /** The service's own cap on a page. */
  cap: number;
  /** What `endCursor` looks like. */
  write: 'text' | 'number' | 'padded' | 'opaque';
  /** Whether hasNextPage is true behind a full page even where nothing follows. */
  eager: boolean;
}

export function positionService(records: readonly JsonObject[], reading: PositionReading) {
  const write: Record<PositionReading['write'], (position: number) => Json> = {
    text: String,
    number: (position) => position,
    padded: (position) => String(position).padStart(12, '0'),
    opaque: (position) => `position:${position}`,
  };
  return pagedService(({ first, page_size }) => {
    const from = Number(/\d+/.exec(stringifyJson(first ?? 0))?.[0]);
    const size = Math.min(reading.cap, Number(page_size));
    const list = records.slice(from, from + size);
    const to = from + list.length;
    const hasNextPage = to < records.length || (reading.eager && list.length === size);
    const endCursor = hasNextPage ? write[reading.write](to - reading.overlap) : null;
    return { data: { list, pageInfo: { hasNextPage, endCursor } } };
  });
}

/** What comes after the last page, which page is the first, and where the records are (docs/interface.md, section 4.3). */
export interface NumberedReading {
  pastTheEnd: 'empty' | 'repeat';
  firstPage: number;
  cap: number;
  list: string;
}

export function numberedService(records: readonly JsonObject[], reading: NumberedReading) {
  return pagedService(({ page_number, page_size }) => {
    const size = Math.min(reading.cap, Number(page_size));
    const last = Math.max(0, Math.ceil(records.length / size) - 1);
    const index = Number(page_number) - reading.firstPage;
    const page = reading.pastTheEnd === 'repeat' ? Math.min(index, last) : index;
    return { data: { [reading.list]: records.slice(page * size, (page + 1) * size), total: records.length } };
  });
}

/** How the last cursor page ends, where the cursor is and what it looks like (docs/interface.md, section 4.5). */
export interface CursorReading {
  end: null | '' | 'absent';
  place: 'data' | 'envelope';
  write: (position: number) => Json;
  read: (cursor: Json | undefined) => number;
  cap: number;
  /** Empty pages before each further one. */
  empty: number;
}

export function cursorService(records: readonly JsonObject[], reading: CursorReading) {
  const { empty, end } = reading;
  return pagedService(({ cursor, limit }) => {
    const size = Math.min(reading.cap, Number(limit));
    const step = cursor === undefined ? 0 : reading.read(cursor);
    const page = Math.floor(step / (empty + 1));
    const list = step % (empty + 1) === 0 ? records.slice(page * size, (page + 1) * size) : [];
    const more = (page + 1) * size < records.length;
    const next: JsonObject = more
      ? { cursor: reading.write(step + 1) }
      : end === 'absent'
        ? {}
        : { cursor: end };
    const data = { list, count: list.length };
    return reading.place === 'data' ? { data: { ...data, ...next } } : { data, envelope: next };
  });
}
