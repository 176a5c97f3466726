import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { amountText, exactNumber } from '../../shared/base/exact-number.ts';

describe('a number for people', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1,000'],
    ['-1234567.500000000', '-1,234,567.5'],
    ['0.000000001', '0.000000001'],
    ['100.000000000', '100'],
    ['1e21', '1e21'],
    ['no number', 'no number'],
  ])('is %s as %s', (number, text) => {
    expect(exactNumber(number)).toBe(text);
  });

  it('has the digits of the number, whatever it is', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt({ min: 0n, max: 999_999_999n }), (whole, places) => {
        const text = `${whole}.${String(places).padStart(9, '0')}`;
        const read = exactNumber(text).replaceAll(',', '');
        const [digits, rest = ''] = read.split('.');
        expect(`${digits}.${rest.padEnd(9, '0')}`).toBe(text);
      }),
    );
  });
});

describe('a sum for people', () => {
  it.each([
    ['1234567.565000000', '1,234,567.57'],
    ['-0.995000000', '-1'],
    ['-0.004999999', '0'],
    ['12.500000000', '12.50'],
    ['100.000000000', '100'],
    ['12345678901234567890.015', '12,345,678,901,234,567,890.02'],
    ['7', '7'],
    ['1e21', '1e21'],
  ])('is %s as %s', (sum, text) => {
    expect(amountText(sum)).toBe(text);
  });
});
