/**
 * Stores the different texts of a column as UTF-8 bytes without gaps. Most values of a report are texts that arrive as
 * bytes and are written as bytes: turning each into a string would cost more than everything else that is done with them.
 */
import type { Value } from '../base/column-types.ts';

/** By code: where a text stands in `bytes`; for NULL, the end is before the start. */
export interface Texts {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export function isNullText({ starts, ends }: Pick<Texts, 'starts' | 'ends'>, code: number): boolean {
  return (starts[code] ?? 1) > (ends[code] ?? 0);
}

/** The text of a code; `undefined` for NULL. @param most bytes from its beginning */
export function textOfCode(
  { bytes, starts, ends }: Texts,
  code: number,
  most = Number.POSITIVE_INFINITY,
): string | undefined {
  if (isNullText({ starts, ends }, code)) return undefined;
  const start = starts[code] ?? 0;
  return bytes.toString('utf8', start, Math.min(ends[code] ?? 0, start + most));
}

/** The texts of these values; a value that is not a text is NULL. Lone surrogates are replaced. */
export function textsOf(values: readonly (Value | undefined)[]): Texts {
  return joinedBytes(values, (value) => (typeof value === 'string' ? Buffer.from(value) : undefined));
}

export function joinedBytes(
  values: readonly (Value | undefined)[],
  bytesOf: (value: Value) => Buffer | undefined,
): Texts {
  const parts: Buffer[] = [];
  const starts = new Uint32Array(values.length).fill(1);
  const ends = new Uint32Array(values.length);
  let at = 0;
  for (let code = 0; code < values.length; code += 1) {
    const value = values[code];
    const part = value === undefined ? undefined : bytesOf(value);
    if (!part) continue;
    parts.push(part);
    starts[code] = at;
    at += part.length;
    ends[code] = at;
  }
  return { bytes: Buffer.concat(parts), starts, ends };
}
