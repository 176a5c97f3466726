import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  decimalText,
  exactBigint,
  exactDay,
  exactDouble,
  exactInstant,
  exactText,
  exactUnscaled,
  literalOf,
  parseInstant,
} from '../../shared/base/exact-values.ts';
import { typeSpec } from '../../shared/base/column-types.ts';
import { type Json, parseJson, rawNumber } from '../../shared/base/json.ts';

describe('the instant of a record', () => {
  it.each([
    ['an HTTP-date', 'Sun, 01 Nov 2026 05:59:59 GMT', '2026-11-01T05:59:59.000Z'],
    ['one in UTC', 'Sun, 01 Nov 2026 05:59:59 UTC', '2026-11-01T05:59:59.000Z'],
    ['one without a weekday', '01 Nov 2026 05:59:59 GMT', '2026-11-01T05:59:59.000Z'],
    ['ISO 8601', '2026-11-01T05:59:59Z', '2026-11-01T05:59:59.000Z'],
    ['with a space', '2026-11-01 05:59:59Z', '2026-11-01T05:59:59.000Z'],
    ['with a tenth of a second', '2026-11-01T05:59:59.2Z', '2026-11-01T05:59:59.200Z'],
    ['with zeros after the milliseconds', '2026-11-01T05:59:59.123000Z', '2026-11-01T05:59:59.123Z'],
    ['in a zone to the east', '2026-11-01T05:59:59+05:30', '2026-11-01T00:29:59.000Z'],
    ['in a zone to the west', '2026-11-01T05:59:59-0045', '2026-11-01T06:44:59.000Z'],
    ['in the furthest zone that can be written', '2026-11-01T00:00:00-23:59', '2026-11-01T23:59:00.000Z'],
  ])('is read from %s', (_name, text, instant) => {
    expect(parseInstant(text)?.toISOString()).toBe(instant);
  });

  it('is read from an HTTP-date of every month', () => {
    const months = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2026, month, 28)));
    expect(months.map((date) => parseInstant(date.toUTCString()))).toEqual(months);
  });

  it.each<[string, Json | undefined]>([
    ['nothing', undefined],
    ['null', null],
    ['a number', 0],
    ['empty text', ''],
    ['a word', 'soon'],
    ['a day', '2026-01-31'],
    ['a date after other text', 'on Sun, 01 Nov 2026 05:59:59 GMT'],
    ['a date before other text', 'Sun, 01 Nov 2026 05:59:59 GMT+1'],
    ['a date in another zone', 'Sun, 01 Nov 2026 05:59:59 CET'],
    ['a weekday of two letters', 'Su, 01 Nov 2026 05:59:59 GMT'],
    ['a weekday in capitals', 'SUN, 01 Nov 2026 05:59:59 GMT'],
    ['a weekday that is a number', '111, 01 Nov 2026 05:59:59 GMT'],
    ['a day of three digits', '001 Nov 2026 05:59:59 GMT'],
    ['a day that does not exist', 'xx Nov 2026 05:59:59 GMT'],
    ['a day that the month does not have', '31 Nov 2026 05:59:59 GMT'],
    ['a month in capitals', '01 NOV 2026 05:59:59 GMT'],
    ['a month that is a number', '01 111 2026 05:59:59 GMT'],
    ['a month that does not exist', '01 Foo 2026 05:59:59 GMT'],
    ['a year of two digits', '01 Nov 26 05:59:59 GMT'],
    ['an hour of one digit', '01 Nov 2026 5:59:59 GMT'],
    ['ISO 8601 without a zone', '2026-11-01T05:59:59'],
    ['ISO 8601 after other text', 'on 2026-11-01T05:59:59Z'],
    ['a small t', '2026-11-01t05:59:59Z'],
    ['a month of one digit', '2026-1-01T05:59:59Z'],
    ['an ISO year of two digits', '26-11-01T05:59:59Z'],
    ['an ISO day that the month does not have', '2026-11-31T05:59:59Z'],
    ['an ISO hour of one digit', '2026-11-01T5:59:59Z'],
    ['no seconds', '2026-11-01T05:59Z'],
    ['an empty fraction', '2026-11-01T05:59:59.Z'],
    ['a fraction without digits', '2026-11-01T05:59:59.xZ'],
    ['fractions of a millisecond', '2026-11-01T05:59:59.1234Z'],
    ['a zone of one digit', '2026-11-01T05:59:59+5:30'],
    ['half the minutes of a zone', '2026-11-01T05:59:59+05:3'],
    ['a zone of hours alone', '2026-11-01T05:59:59+05'],
    ['a zone of 24 hours', '2026-11-01T05:59:59+24:00'],
    ['a zone of 60 minutes', '2026-11-01T05:59:59+05:60'],
  ])('is not guessed from %s', (_name, value) => {
    expect(parseInstant(value)).toBeUndefined();
  });
});

describe('the instant that a number names', () => {
  const [from, to] = [Date.UTC(2000), Date.UTC(2100)];
  const secondsOf = (ms: number) => String(ms / 1000);
  const instants = fc.oneof(
    fc.integer({ min: from, max: to - 1 }),
    fc.integer({ min: from / 1000, max: to / 1000 - 1 }).map((seconds) => seconds * 1000),
  );

  it('I6: is the same in seconds and in milliseconds, as a number and in a text', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        for (const digits of [String(ms), secondsOf(ms)])
          for (const value of [parseJson(digits), digits]) expect(exactInstant(value)?.getTime()).toBe(ms);
      }),
    );
  });

  it('I6: can be derived from the column, letter by letter', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        const texts = typeSpec('timestamp').texts(new Date(ms));
        expect(texts).toEqual(expect.arrayContaining([String(ms), secondsOf(ms)]));
        for (const text of texts) expect(exactInstant(text)?.getTime()).toBe(ms);
      }),
    );
  });

  it('I6: does not exist beyond the years 2000 to 2099, in either unit', () => {
    const isIn = (ms: number) => ms >= from && ms < to;
    fc.assert(
      fc.property(fc.maxSafeInteger(), (number) => {
        fc.pre(!isIn(number) && !isIn(number * 1000));
        expect(exactInstant(number)).toBeUndefined();
        expect(exactInstant(String(number))).toBeUndefined();
      }),
    );
  });
});

describe('the day of a record', () => {
  it.each<[string, Json]>([
    ['digits', '20260131'],
    ['a number', 20260131],
    ['ISO 8601', '2026-01-31'],
  ])('is read from %s', (_name, value) => {
    expect(exactDay(value)).toEqual(new Date('2026-01-31T00:00:00.000Z'));
  });

  it.each<[string, Json]>([
    ['null', null],
    ['true', true],
    ['one hyphen', '2026-0131'],
    ['two hyphens at a time', '2026--01--31'],
    ['other text before it', 'x20260131'],
    ['other text after it', '20260131x'],
    ['a year of three digits', '0260131'],
    ['a day of one digit', '2026-01-3'],
    ['letters', 'yyyymmdd'],
    ['a day that the month does not have', '20260229'],
  ])('is not guessed from %s', (_name, value) => {
    expect(exactDay(value)).toBeUndefined();
  });
});

describe('the literal of a value', () => {
  it('is a text, or the digits of a number, up to 100 characters', () => {
    const long = '1'.repeat(100);
    expect([literalOf('a'), literalOf(1.5), literalOf(rawNumber('1.10'))]).toEqual(['a', '1.5', '1.10']);
    expect([literalOf(long), literalOf(rawNumber(long))]).toEqual([long, long]);
    expect([literalOf(`${long}1`), literalOf(rawNumber(`${long}1`))]).toEqual([undefined, undefined]);
  });

  it.each<[string, Json]>([
    ['null', null],
    ['false', false],
    ['a list', []],
    ['an object', {}],
  ])('does not exist for %s', (_name, value) => {
    expect(literalOf(value)).toBeUndefined();
  });
});

describe('a text', () => {
  it.each<[string, Json, string | undefined]>([
    ['as it is', ' a ', ' a '],
    ['the digits of a number', rawNumber('1.10'), '1.10'],
    ['JSON of anything else', { a: [true] }, '{"a":[true]}'],
    ['not if it has half a character', '\ud800', undefined],
  ])('is exact: %s', (_name, value, text) => {
    expect(exactText(value)).toBe(text);
  });
});

describe('a number', () => {
  const parsed = (text: string) => parseJson(text);

  it.each<[string, bigint | undefined]>([
    ['0', 0n],
    ['-0', 0n],
    ['0.00', 0n],
    ['-12', -12n],
    ['1200', 1200n],
    ['12e2', 1200n],
    ['12E+2', 1200n],
    ['1200e-2', 12n],
    ['0.12e2', 12n],
    ['0.0120e4', 120n],
    ['1.5', undefined],
    ['12e-1', undefined],
    ['9223372036854775807', 9223372036854775807n],
    ['9223372036854775808', undefined],
    ['"12"', 12n],
    ['"012"', undefined],
    ['"+12"', undefined],
    ['"12."', undefined],
    ['".5"', undefined],
    ['"1e"', undefined],
    ['"x1"', undefined],
    ['"1x"', undefined],
    ['"-"', undefined],
    ['""', undefined],
    ['true', undefined],
  ])('%s is or is not a whole number of 64 bits', (text, integer) => {
    expect(exactBigint(parsed(text))).toBe(integer);
  });

  it.each<[string, number | undefined]>([
    ['0', 0],
    ['-0.5', -0.5],
    ['1.10', 1.1],
    ['1e300', 1e300],
    ['100', 100],
    ['0.001', 0.001],
    ['1e400', undefined],
    ['9007199254740993', undefined],
    ['"x"', undefined],
    ['null', undefined],
  ])('%s is or is not a double', (text, double) => {
    expect(exactDouble(parsed(text))).toBe(double);
  });

  it.each<[string, bigint | undefined]>([
    ['999.99', 99_999n],
    ['1000', undefined],
    ['1000.00', undefined],
    ['-0.05', -5n],
    ['1.234', undefined],
    ['1.230', 123n],
    ['0', 0n],
    ['0e9', 0n],
    ['1e2', 10_000n],
    ['1e3', undefined],
  ])('%s is or is not a number of five digits with two decimals', (text, unscaled) => {
    expect(exactUnscaled(parsed(text), { precision: 5, scale: 2 })).toBe(unscaled);
  });

  it.each<[string, bigint, number]>([
    ['1.500', 1500n, 3],
    ['-0.05', -5n, 2],
    ['0.00', 0n, 2],
    ['0.5', 5n, 1],
    ['12', 12n, 0],
    ['-12', -12n, 0],
    ['-12.5', -125n, 1],
  ])('%s is shown with all its decimals', (text, unscaled, scale) => {
    expect(decimalText(unscaled, scale)).toBe(text);
  });
});
