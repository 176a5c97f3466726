import { randomUUID } from 'node:crypto';

/** A unique id that sorts by the second of its creation: `20260131t091500-4f1c9a2b7d60`. */
export function newId(): string {
  const second = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').toLowerCase();
  // The 48 bits of a UUID that are all random. Node draws the bits of many UUIDs at once.
  return `${second}-${randomUUID().slice(-12)}`;
}
