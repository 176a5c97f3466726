import { randomBytes } from 'node:crypto';

/** A unique id that sorts by the second of its creation: `20260131t091500-4f1c9a2b7d60`. */
export function newId(): string {
  const second = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').toLowerCase();
  return `${second}-${randomBytes(6).toString('hex')}`;
}
