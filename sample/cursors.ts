import { hash, randomUUID } from 'node:crypto';
import { type JsonObject, stringifyJson } from '../shared/json.ts';
import type { Fields } from './fields.ts';
import type { Interpretations } from './interpretations.ts';

/**
 * Opaque cursors: each holds the place where a page begins in one listing, and is not valid in any other. The same
 * place is always given the same cursor, unless cursors live for a limited time: then each holds when it was given.
 */
export interface Cursors {
  give(place: number, fields: Fields): string;
  /**
   * The place where the page begins. A dead cursor has none, one past the end, or that of the first page, as
   * `deadCursor` says. @returns `undefined` for a cursor that is refused
   */
  take(cursor: string, fields: Fields): number | undefined;
  /** Every cursor given so far dies; those given from now on are others. */
  forget(): void;
}

/** `requests`: how many the service has received so far; `nowMs`: its clock. */
export function createCursors(
  interpretations: Interpretations,
  { requests, nowMs }: { requests: () => number; nowMs: () => number },
): Cursors {
  const { cursorLife: life } = interpretations;
  let generation = life === 'forever' ? 'first' : randomUUID();
  const maxAge = typeof life === 'number' ? life : typeof life === 'string' ? undefined : life.ms;
  const age = typeof life === 'number' ? requests : nowMs;
  return {
    give(place, fields) {
      const parts = [place, listing(fields), generation, ...(maxAge === undefined ? [] : [age()])];
      return Buffer.from(parts.join(' ')).toString('base64url');
    },
    take(cursor, fields) {
      const [place, listed, given, givenAt] = Buffer.from(cursor, 'base64url').toString().split(' ');
      if (listed !== listing(fields) || !/^\d+$/.test(place ?? '')) return undefined;
      const isDead = given !== generation || (maxAge !== undefined && age() - Number(givenAt) > maxAge);
      return isDead ? placeOfDead[interpretations.deadCursor] : Number(place);
    },
    forget() {
      generation = randomUUID();
    },
  };
}

const placeOfDead = { refuse: undefined, empty: Number.POSITIVE_INFINITY, restart: 0 };

/** A short name for what is listed: the same for every page and page size. */
export function listing({
  first: _first,
  cursor: _cursor,
  limit: _limit,
  page_size: _size,
  ...filters
}: JsonObject): string {
  const fields = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', stringifyJson(fields)).slice(0, 8);
}
