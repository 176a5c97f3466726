/**
 * The different texts of a column as their bytes in UTF-8, one behind the other. Most values of a report are texts, they
 * come as bytes and are written as bytes: to make a string of each would cost more than all else that is done with them.
 */
import type { Value } from '../../column-types.ts';

/** By code, where a text stands in `bytes`; it ends before it begins where the code stands for NULL. */
export interface Texts {
  readonly bytes: Buffer;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

export function isNullText({ starts, ends }: Pick<Texts, 'starts' | 'ends'>, code: number): boolean {
  return (starts[code] ?? 1) > (ends[code] ?? 0);
}

/** The text that a code stands for; `undefined` for NULL. @param most bytes of it from its beginning */
export function textOfCode(
  { bytes, starts, ends }: Texts,
  code: number,
  most = Number.POSITIVE_INFINITY,
): string | undefined {
  if (isNullText({ starts, ends }, code)) return undefined;
  const start = starts[code] ?? 0;
  return bytes.toString('utf8', start, Math.min(ends[code] ?? 0, start + most));
}

/** The texts of these values; what is not text is NULL. Lone surrogates are replaced. */
export function textsOf(values: readonly (Value | undefined)[]): Texts {
  return joinedBytes(values, (value) => (typeof value === 'string' ? Buffer.from(value) : undefined));
}

/** The bytes of each value, one behind the other. @param bytesOf `undefined` for what is to be NULL */
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

/** The texts of both, with the codes of the second behind those of the first. */
export function joined(one: Texts, other: Texts): Texts {
  const [first, length] = [one.starts.length, one.starts.length + other.starts.length];
  const [starts, ends] = [new Uint32Array(length), new Uint32Array(length)];
  starts.set(one.starts);
  ends.set(one.ends);
  starts.set(
    other.starts.map((start) => start + one.bytes.length),
    first,
  );
  ends.set(
    other.ends.map((end, code) => (isNullText(other, code) ? 0 : end + one.bytes.length)),
    first,
  );
  return { bytes: Buffer.concat([one.bytes, other.bytes]), starts, ends };
}
