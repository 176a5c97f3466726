import { hash, randomUUID } from 'node:crypto';
import { type JsonObject, stringifyJson } from '../shared/json.ts';
import type { Fields } from './fields.ts';
import type { Interpretations } from './interpretations.ts';

/** Opaque cursors: each holds a place in one listing, and is not valid in any other. */
export interface Cursors {
  give(place: number, fields: Fields): string;
  /** @returns the place, or `undefined` for a cursor that is of another listing, forged or expired */
  take(cursor: string, fields: Fields): number | undefined;
}

/** @param requests how many requests the service has received so far */
export function createCursors(life: Interpretations['cursorLife'], requests: () => number): Cursors {
  const start = randomUUID().slice(0, 8);
  return {
    give: (place, fields) =>
      Buffer.from([place, listing(fields), start, requests()].join(' ')).toString('base64url'),
    take(cursor, fields) {
      const [place, listed, started, givenAt] = Buffer.from(cursor, 'base64url').toString().split(' ');
      if (listed !== listing(fields) || !/^\d+$/.test(place ?? '')) return undefined;
      if (life !== 'forever' && started !== start) return undefined;
      if (typeof life === 'number' && requests() - Number(givenAt) > life) return undefined;
      return Number(place);
    },
  };
}

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
