/** Describes the bytes of a body for people: its encoding, a place in it, its text. */
import { isUtf8 } from 'node:buffer';
import { formOf } from '../records/json-form.ts';

const MARK = Buffer.of(0xef, 0xbb, 0xbf);

/** The body without byte order marks: each file that a script includes may add one. */
export function withoutMark({ buffer, byteOffset, length }: Uint8Array): Buffer {
  let body = Buffer.from(buffer, byteOffset, length);
  while (body.subarray(0, MARK.length).equals(MARK)) body = body.subarray(MARK.length);
  return body;
}

export function isBlank(body: Buffer): boolean {
  return textOf(body).trim() === '';
}

export function shownText(body: Buffer, quote: (text: string) => string): string {
  return isBlank(body) ? 'an empty body' : `"${quote(textOf(body))}"`;
}

/** The line and the record show people the place in a page, and the byte shows it to a program. */
export function placeOf(body: Buffer, at: number): string {
  const before = body.subarray(0, at);
  const line = before.reduce((lines, byte) => lines + (byte === 0x0a ? 1 : 0), 1);
  const { record } = formOf(before).fault ?? {};
  const code = body[at] ?? 0x20;
  const control =
    code < 0x20 || code === 0x7f ? ` (U+00${code.toString(16).toUpperCase().padStart(2, '0')})` : '';
  return `line ${line}${record === undefined ? '' : `, record ${record}`}${control}`;
}

/** The position of the first byte that is not UTF-8: the decoder replaces it, so the text encodes to other bytes. */
export function firstNotUtf8(body: Buffer): number {
  const again = Buffer.from(body.toString());
  return body.findIndex((byte, at) => byte !== again[at]);
}

const SEQUENCE = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g;

/** I9: bytes that are not UTF-8 are read as Latin-1, so that a secret is recognized in both. */
export function textOf(body: Buffer): string {
  if (isUtf8(body)) return body.toString();
  return body.toString('latin1').replaceAll(SEQUENCE, (text) => Buffer.from(text, 'latin1').toString());
}

/** UTF-32 first, because its byte order mark begins like the mark of UTF-16. An ASCII character has the zero bytes. */
const TEXTS: readonly (readonly [name: string, hex: RegExp])[] = [
  ['UTF-32', /^(?:fffe0000|0000feff|(?!00)..000000|000000(?!00))/],
  ['UTF-16, little-endian', /^(?:fffe|(?!00)..00)/],
  ['UTF-16, big-endian', /^(?:feff|00(?!00))/],
];
const COMPRESSED: readonly (readonly [name: string, hex: RegExp])[] = [
  ['gzip', /^1f8b/],
  ['zstd', /^28b52ffd/],
  ['deflate', /^78(?:01|5e|9c|da)/],
];

/** What the bytes are, if they are no UTF-8 text; `undefined` if they may be one, or nobody can know. */
export function encodingOf(
  body: Buffer,
  contentEncoding: string | undefined,
  quote: (text: string) => string,
): string | undefined {
  const begin = body.toString('hex', 0, 4);
  const [text] = TEXTS.find(([, hex]) => hex.test(begin)) ?? [];
  if (text !== undefined) return text;
  if (isUtf8(body)) return undefined;
  const compression = COMPRESSED.find(([, hex]) => hex.test(begin))?.[0];
  if (compression === undefined) return undefined;
  return contentEncoding === undefined
    ? `compressed with ${compression}, without a Content-Encoding`
    : `still compressed with ${compression} with the Content-Encoding "${quote(contentEncoding)}"; allowed: gzip or br, once`;
}
