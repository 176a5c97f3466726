// A digest says whether two partitions hold the same rows, each as often. It is compared to tell a restated day from one
// that has not changed (I11). A hash of the file would count another order of pages or a grown schema as a change.
// The hashes of rows are added, so that order does not matter and duplicates do.

import { hash } from 'node:crypto';
import type { Row } from './columns.ts';
import type { Value } from '../../column-types.ts';

/**
 * The content of a partition in any order of its rows: their number, and the sum (mod 2^128) of a hash of each.
 * NULLs do not count, so that a schema which grew changes nothing; nor does `_synced_at`.
 */
export class Digest {
  #rows = 0;
  #sum = 0n;

  add(row: Row): void {
    this.#rows += 1;
    this.#sum = BigInt.asUintN(128, this.#sum + BigInt(`0x${hash('sha256', rowText(row)).slice(0, 32)}`));
  }

  get rows(): number {
    return this.#rows;
  }

  /** `<rows>:<32 hexadecimal digits>` */
  value(): string {
    return `${this.#rows}:${this.#sum.toString(16).padStart(32, '0')}`;
  }
}

/** Each value is preceded by its length, so that no two different rows have the same text. */
function rowText(row: Row): string {
  let text = '';
  for (const name of Object.keys(row).sort()) {
    const value = row[name];
    if (value === null || value === undefined || name === '_synced_at') continue;
    const canonical = canonicalText(value);
    text += `${name} ${canonical.length} ${canonical}`;
  }
  return text;
}

/** The same text for equal values of one column, and another for every other value. */
export function canonicalText(value: Value): string {
  return value instanceof Date ? `date ${value.getTime()}` : `${typeof value} ${value}`;
}
