import type { Credentials } from '../ports.ts';

const REDACTED = '[redacted]';
const DIGESTS = /[0-9a-f]{64,}/gi;
const MAX_QUOTED = 200;
/** Characters of a quoted place, before it and after it. */
const AROUND = 60;
/**
 * A `bid` of this many characters is replaced anywhere. A shorter bid is replaced only as a whole word, because five
 * digits occur by chance in many amounts, ids and times.
 */
const MIN_LONG_BID = 6;
/** I9: a short bid may have the digits of a day, a time or a number that is named as another thing, which stay readable. */
const NO_BID = [
  String.raw`(?<![\p{L}\p{N}])(?:code|count|status|http(?:/\d(?:\.\d)?)?)["'\\\s:=]{1,8}-?\d+(?![\p{L}\p{N}])`,
  String.raw`(?<!\d)\d{4}(?<mark>[-/])\d\d\k<mark>\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?(?!\d)`,
  String.raw`(?<!\d)\d\d [a-z]{3} \d{4}(?: \d\d:\d\d:\d\d)?(?!\d)`,
].join('|');
/** A shorter token or secret is part of many words: replacing a letter everywhere would leave no readable text. */
const MIN_LONG_TOKEN = 4;
/** Fewer characters of base64, which encode fewer than 6 bytes, occur by chance in ordinary words. */
const MIN_ENCODED = 7;
/** Invisible characters, also as services escape them: a secret with one in the middle still reads like the secret. */
const UNSEEN = new RegExp(
  [
    String.raw`[\p{Cf}\p{DI}\p{Cs}\u2800]|(?!\s)\p{Cc}`,
    // Except line ends and tabs, which separate words.
    String.raw`\\{1,4}u(?:00(?:0[0-8ef]|1[\da-f]|ad)|034f|061c|180e|20(?:0[b-f]|2[a-e]|6[\da-f])|fe0[\da-f]|feff)`,
    String.raw`\\{1,4}x(?:0[0-8ef]|1[\da-f]|ad)`,
    '&(?:amp;)?(?:#0*(?:173|820[3-7]|8288|65279)|#x0*(?:ad|200[b-f]|2060|feff)|shy|zwn?j|lrm|rlm);',
    '%(?:00|C2%AD|E2%80%8[B-F]|E2%81%A0|EF%BB%BF)',
  ].join('|'),
  'giu',
);
/** Letters, digits and marks as East Asian services write them. */
const FULL_WIDTH = /[！-～]/gu;
/** The separators that services put between the thousands of a number: `1,001`. */
const MARKS = [',', '.', "'", '’', ' ', '\u00a0', '\u202f'];
/** Only this much is redacted: millions of characters take seconds, and overflow the stack of a regular expression. */
const MAX_REDACTED = 10_000;
/** More characters than a secret has in any form. */
const MAX_SECRET = 5_000;

/** I9: replaces the credentials, however they are escaped or encoded, and everything that looks like a digest. */
export function redactor(all: readonly Credentials[]): (text: string) => string {
  // Texts are redacted as they read, so what a secret has of such characters is not in them.
  const forms = (secret: string) => [...new Set([secret, asRead(secret)])].filter((form) => form !== '');
  const bids = all.flatMap(({ bid }) => forms(bid));
  const tokens = all.flatMap(({ token, secret }) => [token, secret].flatMap(forms));
  const secrets = longestFirst([
    ...tokens.filter(({ length }) => length >= MIN_LONG_TOKEN),
    ...bids.filter(({ length }) => length >= MIN_LONG_BID).flatMap(asPrinted),
  ]);
  const shortTokens = longestFirst(tokens.filter(({ length }) => length < MIN_LONG_TOKEN));
  const shortBids = longestFirst(bids.filter(({ length }) => length < MIN_LONG_BID).flatMap(asPrinted));
  // A space may appear as `=` and a line end in quoted-printable.
  const patterns = [
    ...secrets.map((secret) => new RegExp(anyForms(secret).join(String.raw`(?:=?\s)*`), 'giu')),
    ...secrets.map(separatedHex),
    DIGESTS,
    ...shortTokens.map((token) => new RegExp(wholeWord(token), 'giu')),
  ];
  const orBid = shortBids.map((bid) => `|${wholeWord(bid)}`).join('');
  const shortBid = new RegExp(`(?<other>${NO_BID})${orBid}`, 'giu');
  const named = bids.flatMap((bid) => [`bid=${bid}`, `"bid":${bid}`, `"bid":"${bid}`]);
  const encodings = [...secrets, ...named].flatMap(encodingsOf);
  const hasSecret = (run: string) => encodings.some((encoded) => run.includes(encoded));
  // A run of characters is replaced whole, because the bid may be encoded before the token.
  const withoutEncoded = (run: string) => {
    const base64 = run.replaceAll(LINE_END, '').replaceAll(PLUS, '+').replaceAll(SLASH, '/');
    return hasSecret(base64) || hasSecret(base64.toLowerCase()) ? REDACTED : run;
  };
  return (text) =>
    patterns
      .reduce(
        (clean, pattern) => clean.replaceAll(pattern, REDACTED),
        asRead(text).replaceAll(RUN, withoutEncoded),
      )
      .replaceAll(shortBid, (found, other?: string) => (other === undefined ? REDACTED : found));
}

function asRead(text: string): string {
  return text.replaceAll(UNSEEN, '').replaceAll(FULL_WIDTH, (wide) => wide.normalize('NFKC'));
}

function asPrinted(bid: string): string[] {
  return [bid, ...MARKS.map((mark) => bid.replaceAll(/\B(?=(?:\d{3})+$)/g, mark))];
}

/** The secret as separated hexadecimal bytes: `74:6f:6b`, `0x74, 0x6f, 0x6b` */
function separatedHex(secret: string): RegExp {
  const bytes = [...Buffer.from(secret)].map((byte) => hexDigits(byte, 2));
  return new RegExp(bytes.join(String.raw`[\s:,-]{1,2}(?:0x)?`), 'gi');
}

function longestFirst(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '').sort((a, b) => b.length - a.length);
}

const ESCAPE = String.raw`%[\da-f]{2}|=3d|\\(?:[bfnrtv0]|[0-3][0-7]{2}|x[\da-f]{2}|u[\da-f]{4})|&#?[\da-z]{1,8}`;

/** The bid without a letter or digit next to it, except those of an escape; with leading zeros, as in `007`. */
function wholeWord(bid: string): string {
  const start = String.raw`(?:(?<![\p{L}\p{N}])|(?<=${ESCAPE}))0*`;
  return `${start}${anyForms(bid).join('')}(?![\\p{L}\\p{N}])`;
}

/** Base64 characters or hexadecimal digits. Some may be escaped, and line ends may separate them. */
const RUN = /[\w+/=%\\&#;\r\n-]{8,}/g;
const LINE_END = /[\r\n]|\\{1,4}[rn]/g;

/** The base64 of a text at each possible offset in the encoded bytes, and its hexadecimal digits. */
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
 * I9: text from outside for a message: one line of at most 200 characters, redacted. Only the beginning of a long text
 * is redacted, and the end of that beginning is left out: it may be a part of a secret, which redaction does not
 * recognize.
 */
export function quoted(redact: (text: string) => string, text: string): string {
  const isCut = text.length > MAX_REDACTED;
  const clean = redact(text.slice(0, MAX_REDACTED));
  const line = oneLine(isCut && !clean.endsWith(REDACTED) ? clean.slice(0, -MAX_SECRET) : clean);
  return isCut || line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line;
}

/**
 * I9: the same for the characters around a place. They are redacted together, because the place may be within a secret.
 * Then the place is where the redacted text and the redacted rest begin to have the same end.
 */
export function quotedAround(redact: (text: string) => string, text: string, at: number): string {
  const [from, to] = [Math.max(0, at - MAX_REDACTED), Math.min(text.length, at + MAX_REDACTED)];
  const clean = redact(text.slice(from, to));
  const rest = redact(text.slice(at, to));
  let same = 0;
  while (same < rest.length && clean.at(-1 - same) === rest.at(-1 - same)) same += 1;
  const place = clean.length - same;
  // Secrets that the ends cut are not recognized.
  const start = Math.max(from > 0 ? MAX_SECRET : 0, place - AROUND);
  const end = Math.min(clean.length - (to < text.length ? MAX_SECRET : 0), place + AROUND);
  const line = oneLine(clean.slice(start, end));
  return `${from + start > 0 ? '…' : ''}${line}${to < text.length || end < clean.length ? '…' : ''}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
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

/** Consecutive backslashes share one pattern: thousands of them could be matched in too many ways by one each. */
function anyForms(secret: string): string[] {
  return [...secret.matchAll(/\\+|[^\\]/gu)].map(([run]) =>
    run.startsWith('\\') ? `${anyForm('\\', '')}{${run.length},${5 * run.length}}` : anyForm(run),
  );
}

/**
 * A pattern of one character as it is, or escaped as in a URL, a form, JSON, JavaScript, HTML, C or quoted-printable,
 * or in two of them. Each service, and each proxy before it, escapes other characters. The pattern ignores case.
 */
function anyForm(character: string, prefix = `(?:${BACKSLASHES})?`): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const bytes = [...new TextEncoder().encode(character)];
  const references = [`#0*${code}`, `#x0*${hex}`, ENTITIES.get(character) ?? []].flat();
  const forms = [
    bytes.map((byte) => `(?:%(?:25){0,2}|=)${hexDigits(byte, 2)}`).join(''),
    bytes.map((byte) => `${BACKSLASHES}0*${byte.toString(8)}`).join(''),
    units.map((unit) => `${BACKSLASHES}u${hexDigits(unit, 4)}`).join(''),
    `${BACKSLASHES}u\\{0*${hex}\\}`,
    code < 0x100 ? `${BACKSLASHES}x${hexDigits(code, 2)}` : [],
    code < 0x20 ? `\\${JSON.stringify(character).slice(1, -1)}` : [],
    character === ' ' ? '\\+' : [],
    `${prefix}(?:${AMPERSAND}(?:${references.join('|')});?|\\u{${hex}})`,
  ].flat();
  return `(?:${forms.join('|')})`;
}

function hexDigits(number: number, length: number): string {
  return number.toString(16).padStart(length, '0');
}

/** The two base64 characters that are often escaped, or replaced in addresses. */
const PLUS = new RegExp(`-|${anyForm('+')}`, 'giu');
const SLASH = new RegExp(`_|\\\\/|${anyForm('/')}`, 'giu');
