import { type Json, numberText, stringifyJson } from '../../json.ts';
import type { ColumnType } from '../../column-types.ts';

/**
 * What a column holds: text; bigint of a bigint column, or unscaled of a decimal one; number of a double column;
 * boolean; Date (a date: midnight UTC of it; a timestamp: to the millisecond).
 */
export type Value = string | bigint | number | boolean | Date;

/** No literal that fits a column exactly needs more; what is longer is not looked at. */
const MAX_LITERAL_LENGTH = 100;

/** The value as a column of the type holds it, `undefined` where it would not be exactly that value. */
export function toValue(type: ColumnType, value: Json): Value | undefined {
  if (type === 'string') return toText(value);
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined;
  const text = typeof value === 'string' ? value : numberText(value);
  if (text === undefined || text.length > MAX_LITERAL_LENGTH) return undefined;
  if (type === 'date') return parseDay(text);
  if (type === 'timestamp') return parseInstant(text);
  if (type === 'double') return toDouble(text);
  if (type === 'bigint') return toBigint(text);
  const { precision, scale } = decimalShape(type);
  return toUnscaled(text, precision, scale);
}

/**
 * Tells whether the column alone is enough to know what came: numbers and dates by value, texts in a column of
 * another type only in the form that the column itself would be written in.
 */
export function roundTrips(type: ColumnType, held: Value, value: Json): boolean {
  if (typeof value !== 'string' || typeof held === 'string' || type === 'date') return true;
  if (!(held instanceof Date)) return valueText(type, held) === value;
  const iso = held.toISOString();
  return value === held.toUTCString() || value === iso || value === iso.replace('.000Z', 'Z');
}

/** The value as text, the same for equal values of a type: decimals with all their places, times in ISO 8601. */
export function valueText(type: ColumnType, held: Value): string {
  if (held instanceof Date) return type === 'date' ? held.toISOString().slice(0, 10) : held.toISOString();
  if (typeof held !== 'bigint' || type === 'bigint') return String(held);
  return withPoint(held, decimalShape(type).scale);
}

/** Precision and scale of a decimal type, `{0, 0}` of every other. */
export function decimalShape(type: ColumnType): { precision: number; scale: number } {
  const [precision = 0, scale = 0] = type.startsWith('decimal')
    ? type.slice(8, -1).split(',').map(Number)
    : [];
  return { precision, scale };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const HTTP_DATE = /^(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) (?:GMT|UTC)$/;
const ISO_INSTANT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,3})0*)?(?:Z|([+-])(\d\d):?(\d\d))$/;

/**
 * The instant that a text names without doubt: an HTTP-date (interface document, section 2; a wrong weekday is
 * overlooked), or ISO 8601 with a zone. `undefined` for all else, such as the 30th of February or a time without zone.
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
  const offsetMs = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  return new Date(local.getTime() - offsetMs);
}

/** `YYYYMMDD` (interface document, section 2) or `YYYY-MM-DD`, as midnight UTC. */
function parseDay(text: string): Date | undefined {
  const [, year, , month, day] = /^(\d{4})(-?)(\d\d)\2(\d\d)$/.exec(text) ?? [];
  return realInstant(`${year}-${month}-${day}T00:00:00.000Z`);
}

function realInstant(iso: string): Date | undefined {
  const instant = new Date(iso);
  return !Number.isNaN(instant.getTime()) && instant.toISOString() === iso ? instant : undefined;
}

/** UTF-8 has no lone surrogates; JSON text has escapes for them. */
function toText(value: Json): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined;
  return numberText(value) ?? stringifyJson(value);
}

function toBigint(text: string): bigint | undefined {
  const integer = toUnscaled(text, 19, 0);
  return integer !== undefined && BigInt.asIntN(64, integer) === integer ? integer : undefined;
}

function toDouble(text: string): number | undefined {
  const literal = parseNumber(text);
  if (!literal) return undefined;
  const double = Number(text);
  const given = parseNumber(String(double));
  const same = given?.digits === literal.digits && given.exponent === literal.exponent;
  return same ? double : undefined;
}

/** The number in units of 10^-scale, where it is a whole number of them with at most `precision` digits. */
function toUnscaled(text: string, precision: number, scale: number): bigint | undefined {
  const literal = parseNumber(text);
  if (!literal) return undefined;
  if (literal.digits === '') return 0n;
  const zeros = literal.exponent + scale;
  const fits = zeros >= 0 && literal.digits.length + zeros <= precision;
  return fits ? BigInt(`${literal.sign}${literal.digits}${'0'.repeat(zeros)}`) : undefined;
}

/** A JSON number as `sign digits × 10^exponent`, digits without zeros at either end; 0 has none, and exponent 0. */
function parseNumber(text: string): { sign: string; digits: string; exponent: number } | undefined {
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const led = (whole + fraction).replace(/^0+/, '');
  const digits = led.replace(/0+$/, '');
  const shift = Number(exponent) - fraction.length + led.length - digits.length;
  return { sign, digits, exponent: digits === '' ? 0 : shift };
}

function withPoint(unscaled: bigint, scale: number): string {
  if (scale === 0) return String(unscaled);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** A signed integer from its bytes, as Parquet holds unscaled decimals. */
export function bigEndianInteger(bytes: Uint8Array): bigint {
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}
