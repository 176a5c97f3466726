const REDACTED = '[redacted]';
const DIGESTS = /[0-9a-f]{64,}/gi;
const MAX_QUOTED = 200;

/** I9: replaces the secrets, however their characters are escaped, and whatever looks like a digest. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const longestFirst = secrets.filter((secret) => secret !== '').sort((a, b) => b.length - a.length);
  const patterns = longestFirst.map((secret) => new RegExp(Array.from(secret, anyForm).join(''), 'gu'));
  return (text) =>
    patterns
      .reduce((clean, pattern) => clean.replaceAll(pattern, REDACTED), text)
      .replaceAll(DIGESTS, REDACTED);
}

/** I9: text from outside for a message: redacted as a whole before it is cut, on one line, at most 200 characters. */
export function quoted(redact: (text: string) => string, text: string): string {
  const line = redact(text)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line;
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
