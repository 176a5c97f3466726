import { hash, randomUUID } from 'node:crypto';
import { type JsonObject, stringifyJson } from '../shared/json.ts';
import type { Fields } from './fields.ts';
import type { Readings } from './readings.ts';

/** Opaque cursors: each holds a place in one listing, and is refused in any other. */
export interface Cursors {
  give(place: number, fields: Fields): string;
  /** @returns the place, or `undefined` for a cursor that is foreign, forged or dead */
  take(cursor: string, fields: Fields): number | undefined;
}

/** @param requests how many requests the service has met so far */
export function createCursors(life: Readings['cursorLife'], requests: () => number): Cursors {
  const start = randomUUID().slice(0, 8);
  return {
    give: (place, fields) =>
      Buffer.from([place, listing(fields), start, requests()].join(' ')).toString('base64url'),
    take(cursor, fields) {
      const [place, of, started, givenAt] = Buffer.from(cursor, 'base64url').toString().split(' ');
      if (of !== listing(fields) || !/^\d+$/.test(place ?? '')) return undefined;
      if (life !== 'forever' && started !== start) return undefined;
      if (typeof life === 'number' && requests() - Number(givenAt) > life) return undefined;
      return Number(place);
    },
  };
}

/** A short name for what is listed, whichever page of it is asked for and however long. */
export function listing({
  first: _first,
  cursor: _cursor,
  limit: _limit,
  page_size: _size,
  ...asked
}: JsonObject): string {
  const fields = Object.entries(asked).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', stringifyJson(fields)).slice(0, 8);
}
