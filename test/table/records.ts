import fc from 'fast-check';
import { type Json, type JsonObject, parseJson } from '../../shared/base/json.ts';
import { anyCharacter } from '../fixtures/texts.ts';

/** Texts that have broken pipelines before. */
export const awkwardTexts = [
  '',
  ' ',
  'null',
  'true',
  '12',
  '12.50',
  '1e2',
  '20260131',
  '20260230',
  'Sat, 31 Jan 2026 10:00:00 GMT',
  'Mon, 31 Jan 2026 10:00:00 GMT',
  '2026-01-31T10:00:00+02:00',
  '\u0000',
  '\uFEFFafter a byte order mark',
  '\uFF21 fullwidth',
  '😀 emoji',
  '\uD800 lone surrogate',
  'a"b\\c\n',
  '9007199254740993',
];

/** Literals of JSON numbers, including numbers that a JavaScript number cannot hold. */
export const awkwardNumbers = [
  '0',
  '-0',
  '1',
  '1.10',
  '-12.345678901',
  '0.1',
  '1e2',
  '1E-9',
  '1e-10',
  '9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '12345678901234567890123456789.123456789',
  '123456789012345678901234567890',
  '1e400',
  '1e999999999999',
  '1e-999999999999',
  '20260131',
];

export const awkwardFields = [
  'id',
  'orderId',
  'order_id',
  'ORDER_ID',
  'adGroupId',
  'paid',
  'orderNo',
  'brand',
  'dt',
  '_rescued',
  '_synced_at',
  '__proto__',
  'constructor',
  'toString',
  '',
  '_',
  'größe',
  '日付',
  '\uD800',
  'a b-c.d',
  '2nd',
  'k'.repeat(256),
];

const text = fc.oneof(fc.constantFrom(...awkwardTexts), fc.string({ unit: anyCharacter }));
const number = fc.oneof(
  fc.constantFrom(...awkwardNumbers),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);
const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  text,
  number.map((literal) => parseJson(literal.replace('e+', 'e'))),
);

export const anyValue: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  objectOf(scalar),
);

export const anyRecord: fc.Arbitrary<JsonObject> = objectOf(anyValue);

function objectOf(value: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> {
  const field = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...awkwardFields) }, fc.string());
  return fc.array(fc.tuple(field, value), { maxLength: 12 }).map((fields) => Object.fromEntries(fields));
}
