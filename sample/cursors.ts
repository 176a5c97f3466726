import { hash, randomUUID } from 'node:crypto';
import { type JsonObject, stringifyJson } from '../shared/base/json.ts';
import type { Fields } from './fields.ts';
import type { Interpretations } from './interpretations.ts';

/**
 * Opaque cursors: each contains the place where a page begins in one listing, and is not valid in any other. The same
 * place always has the same cursor, unless cursors live for a limited time: then each cursor contains its time.
 */
export interface Cursors {
  give(place: number, fields: Fields): string;
  /**
   * The place where the page begins. For a dead cursor it is missing, past the end, or the place of the first page,
   * depending on `deadCursor`. @returns `undefined` for a cursor that is refused
   */
  take(cursor: string, fields: Fields): number | undefined;
  /** Ends every cursor given so far; later cursors differ from them. */
  forget(): void;
}

/** `requests`: the number of requests so far; `nowMs`: the service's clock. */
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

/** A short name for a listing: the same for every page and page size. */
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
