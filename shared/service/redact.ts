import type { Credentials } from '../ports.ts';

const REDACTED = '[redacted]';
const DIGESTS = /[0-9a-f]{64,}/gi;
const MAX_QUOTED = 200;
/**
 * A `bid` of so many characters is replaced anywhere. A shorter one is replaced as a whole word only, because five digits
 * are found by chance in many amounts, ids and times.
 */
const MIN_LONG_BID = 6;
/** Fewer characters of base64, which are of fewer than 7 bytes, are found by chance in ordinary words. */
const MIN_ENCODED = 8;
/** Characters that nobody sees, also as JSON escapes them: a secret with one in the middle reads like the secret. */
const UNSEEN =
  /[\p{Cf}\p{DI}]|(?!\s)\p{Cc}|\\{1,4}u(?:00[01][\da-f]|00ad|034f|061c|180e|20(?:0[b-f]|2[a-e]|6[\da-f])|fe0[\da-f]|feff)/giu;
/** So much of a text is redacted: millions of characters take seconds, and overflow the stack of a regular expression. */
const MAX_REDACTED = 10_000;
/** More characters than a secret has in any form. */
const MAX_SECRET = 5_000;

/** I9: replaces the credentials, however their characters are escaped or encoded, and whatever looks like a digest. */
export function redactor(all: readonly Credentials[]): (text: string) => string {
  const bids = all.flatMap(({ bid }) => [bid, grouped(bid, ','), grouped(bid, '.')]);
  const isLong = (bid: string) => bid.length >= MIN_LONG_BID;
  const secrets = longestFirst([
    ...all.flatMap(({ token, secret }) => [token, secret]),
    ...bids.filter(isLong),
  ]);
  const patterns = [
    ...secrets.map((secret) => new RegExp(Array.from(secret, anyForm).join(String.raw`\s*`), 'gu')),
    DIGESTS,
    ...longestFirst(bids.filter((bid) => !isLong(bid))).map(wholeWord),
  ];
  const encodings = secrets.flatMap(encodingsOf);
  const hasSecret = (run: string) => encodings.some((encoded) => run.includes(encoded));
  // A run is replaced whole, because the bid may be encoded before the token.
  const withoutEncoded = (run: string) => {
    const base64 = run.replaceAll(LINE_END, '').replaceAll(PLUS, '+').replaceAll(SLASH, '/');
    return hasSecret(base64) || hasSecret(base64.toLowerCase()) ? REDACTED : run;
  };
  return (text) =>
    patterns.reduce(
      (clean, pattern) => clean.replaceAll(pattern, REDACTED),
      text.replaceAll(UNSEEN, '').replaceAll(RUN, withoutEncoded),
    );
}

/** As some services print a number in a message: `1,001`. */
function grouped(bid: string, mark: string): string {
  return bid.replaceAll(/\B(?=(?:\d{3})+$)/g, mark);
}

function longestFirst(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '').sort((a, b) => b.length - a.length);
}

const ESCAPE = String.raw`%[\dA-Fa-f]{2}|\\(?:[bfnrtv0]|x[\dA-Fa-f]{2}|u[\dA-Fa-f]{4})|&#?[\dA-Za-z]{1,8}`;

/** The bid with no letter or digit beside it, unless they belong to an escape; with zeros before it, as `007`. */
function wholeWord(bid: string): RegExp {
  const start = String.raw`(?:(?<![\p{L}\p{N}])|(?<=${ESCAPE}))0*`;
  return new RegExp(`${start}${Array.from(bid, anyForm).join('')}(?![\\p{L}\\p{N}])`, 'gu');
}

/** Characters of base64 or hexadecimal digits, of which some may be escaped, and lines may end between them. */
const RUN = /[\w+/=%\\&#;\r\n-]{8,}/g;
const LINE_END = /[\r\n]|\\{1,4}[rn]/g;

/** The base64 of a text, wherever it begins in what was encoded, and its hexadecimal digits. */
function encodingsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Without the characters that other bytes share.
    return encoded.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3));
  });
  return [...base64, bytes.toString('hex')].filter(({ length }) => length >= MIN_ENCODED);
}

/**
 * I9: text from outside for a message: on one line, at most 200 characters, of a beginning that was redacted before. The end
 * of that beginning is left out, because it may be a part of a secret, which nothing recognizes.
 */
export function quoted(redact: (text: string) => string, text: string): string {
  const isCut = text.length > MAX_REDACTED;
  const clean = redact(text.slice(0, MAX_REDACTED));
  const line = (isCut && !clean.endsWith(REDACTED) ? clean.slice(0, -MAX_SECRET) : clean)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return isCut || line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line;
}

const BACKSLASHES = String.raw`\\{1,4}`;
const AMPERSAND = `(?:&|${BACKSLASHES}u0026)(?:amp;){0,2}`;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', 'amp'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['"', 'quot'],
  ["'", 'apos'],
  ['/', 'sol'],
  ['=', 'equals'],
  ['+', 'plus'],
]);

/**
 * A pattern of one character as it is, or escaped as in a URL, a form, JSON, JavaScript or HTML, or in two of them: each
 * service, and each proxy before it, escapes other characters.
 */
function anyForm(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = hexDigits(code, 1);
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const bytes = [...new TextEncoder().encode(character)];
  const references = [`#0*${code}`, `#[xX]0*${hex}`, ENTITIES.get(character) ?? []].flat();
  const forms = [
    bytes.map((byte) => `%(?:25){0,2}${hexDigits(byte, 2)}`).join(''),
    units.map((unit) => `${BACKSLASHES}u${hexDigits(unit, 4)}`).join(''),
    `${BACKSLASHES}u\\{0*${hex}\\}`,
    code < 0x100 ? `${BACKSLASHES}x${hexDigits(code, 2)}` : [],
    code < 0x20 ? `\\${JSON.stringify(character).slice(1, -1)}` : [],
    character === ' ' ? '\\+' : [],
    `(?:${BACKSLASHES})?(?:${AMPERSAND}(?:${references.join('|')});?|\\u{${code.toString(16)}})`,
  ].flat();
  return `(?:${forms.join('|')})`;
}

/** The digits of a number, at least so many, each in either case. */
function hexDigits(number: number, length: number): string {
  const digits = number.toString(16).padStart(length, '0');
  return digits.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Both characters of base64 that are often escaped, or replaced for addresses. */
const PLUS = new RegExp(`-|${anyForm('+')}`, 'gu');
const SLASH = new RegExp(`_|\\\\/|${anyForm('/')}`, 'gu');
