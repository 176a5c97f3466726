import { MINUTE_MS } from './days.ts';
import { type Json, numberText, stringifyJson } from './json.ts';

// Reads a value of a record as text, number, day or instant, but only if the result is exactly that value. Nobody would
// notice a silent rounding, so each function returns `undefined` instead, and the caller keeps the original value
// (promise I6).

/** No literal that fits a column exactly is longer; longer literals are not parsed. */
const MAX_LITERAL_LENGTH = 100;

/** The text of a string or the digits of a number; `undefined` for other values and for texts that are too long. */
export function literalOf(value: Json): string | undefined {
  const text = typeof value === 'string' ? value : numberText(value);
  return text === undefined || text.length > MAX_LITERAL_LENGTH ? undefined : text;
}

/** A string unchanged, any other value as JSON. A string with a lone surrogate has no exact text in UTF-8. */
export function exactText(value: Json): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined;
  return numberText(value) ?? stringifyJson(value);
}

export interface Digits {
  precision: number;
  scale: number;
}

export const BIGINT_DIGITS: Digits = { precision: 19, scale: 0 };

export function exactBigint(value: Json): bigint | undefined {
  const integer = exactUnscaled(value, BIGINT_DIGITS);
  return integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined;
}

/** A double whose shortest decimal form is the original number. */
export function exactDouble(value: Json): number | undefined {
  const literal = parseNumber(literalOf(value));
  if (!literal) return undefined;
  const double = Number(literalOf(value));
  const nearest = parseNumber(String(double));
  const same = nearest?.digits === literal.digits && nearest.exponent === literal.exponent;
  return same ? double : undefined;
}

/** The number in units of 10^-scale, if it is a whole number of them with at most `precision` digits. */
export function exactUnscaled(value: Json, { precision, scale }: Digits): bigint | undefined {
  const literal = parseNumber(literalOf(value));
  if (!literal) return undefined;
  if (literal.digits === '') return 0n;
  const zeros = literal.exponent + scale;
  const fits = zeros >= 0 && literal.digits.length + zeros <= precision;
  return fits ? BigInt(`${literal.sign}${literal.digits}${'0'.repeat(zeros)}`) : undefined;
}

/** The inverse of `exactUnscaled`, with all places: 1500n at scale 3 is `1.500`. */
export function decimalText(unscaled: bigint, scale: number): string {
  if (scale === 0) return String(unscaled);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** `YYYYMMDD` (docs/explanation/interface.md, section 2) or `YYYY-MM-DD`, as midnight UTC. */
export function exactDay(value: Json): Date | undefined {
  const [, year, , month, day] = /^(\d{4})(-?)(\d\d)\2(\d\d)$/.exec(literalOf(value) ?? '') ?? [];
  return realInstant(`${year}-${month}-${day}T00:00:00.000Z`);
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const HTTP_DATE = /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (?:GMT|UTC)$/;
const ISO_INSTANT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,3})0*)?(?:Z|([+-])(\d\d):?(\d\d))$/;

/**
 * The instant of an unambiguous text: an HTTP-date (docs/explanation/interface.md, section 2), or ISO 8601 with a zone.
 * The weekday of an HTTP-date is not checked. The result is `undefined` for other texts, such as 30 February, a time
 * without a zone, or fractions of a millisecond.
 */
export function parseInstant(value: Json | undefined): Date | undefined {
  if (typeof value !== 'string') return undefined;
  const [, date = '', month = '', year = '', clock = ''] = HTTP_DATE.exec(value) ?? [];
  if (date !== '') {
    const monthNumber = String(MONTHS.indexOf(month) + 1).padStart(2, '0');
    return realInstant(`${year}-${monthNumber}-${date.padStart(2, '0')}T${clock}.000Z`);
  }
  const [, day, time, fraction = '', sign, hours, minutes] = ISO_INSTANT.exec(value) ?? [];
  const local = realInstant(`${day}T${time}.${fraction.padEnd(3, '0')}Z`);
  if (!local || sign === undefined) return local;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offsetMs = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  return new Date(local.getTime() - offsetMs);
}

/** From 2000 to 2099, instants in seconds have 9 or 10 digits and in milliseconds 12 or 13: no number is both. */
const EPOCH = { fromMs: Date.UTC(2000), toMs: Date.UTC(2100) };

/**
 * The instant of a text or a number: whole seconds since 1970, seconds with up to three decimal places, or whole
 * milliseconds. The size of a number decides its unit. Only instants from 2000 to 2099 count: 0, a duration, or digits
 * such as 20260131120000 are not instants.
 */
export function exactInstant(value: Json): Date | undefined {
  const named = parseInstant(literalOf(value));
  if (named) return named;
  const asSeconds = exactUnscaled(value, { precision: 13, scale: 3 });
  const asMs = exactUnscaled(value, { precision: 13, scale: 0 });
  return instantOfEpoch(asSeconds) ?? instantOfEpoch(asMs);
}

function instantOfEpoch(ms: bigint | undefined): Date | undefined {
  return ms !== undefined && ms >= EPOCH.fromMs && ms < EPOCH.toMs ? new Date(Number(ms)) : undefined;
}

/** `true` and `false`, also as texts. 0 and 1 do not count, because they may be numbers. */
export function exactBoolean(value: Json): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return value === 'true' || value === 'false' ? value === 'true' : undefined;
}

function realInstant(iso: string): Date | undefined {
  const instant = new Date(iso);
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === iso ? instant : undefined;
}

/** A JSON number as `sign digits × 10^exponent`, without zeros at either end of the digits; 0 has no digits. */
function parseNumber(
  text: string | undefined,
): { sign: string; digits: string; exponent: number } | undefined {
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text ?? '');
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const withoutLeading = (whole + fraction).replace(/^0+/, '');
  const digits = withoutLeading.replace(/0+$/, '');
  const shift = Number(exponent) - fraction.length + withoutLeading.length - digits.length;
  return { sign, digits, exponent: digits === '' ? 0 : shift };
}
