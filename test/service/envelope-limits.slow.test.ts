import { describe, expect, it } from '@jest/globals';
import { classifyResponse } from '../../shared/service/envelope.ts';

describe('I12: a page', () => {
  it.each<[number, string, (count: number) => string, string]>([
    [2_000_000, 'structural characters', values, 'success'],
    [2_000_001, 'structural characters', values, 'too_large'],
    [250_000, 'keys', keys, 'success'],
    [250_001, 'keys', keys, 'too_large'],
  ])('that is parsed whole, with %d %s, is accepted or refused', (count, _of, text, is) => {
    const context = {
      brand: 'acme',
      action: 'report/order_list',
      isProven: false,
      quote: (text: string) => text,
    };
    const found = classifyResponse({ status: 200, headers: {}, body: Buffer.from(text(count)) }, context);
    expect(found.is === 'success' ? found.is : found.error.code).toBe(is);
  });
});

/** A page of one record with an unusual key, whose value is a list, with this many structural characters. */
function values(tokens: number): string {
  const text = (list: string) => String.raw`{"code":0,"data":{"list":[{"\u0061":[${list}]}]}}`;
  const others = text('0').replaceAll(/[^[\]{},:]/g, '').length;
  return text(`0${',0'.repeat(tokens - others)}`);
}

/** A page of records, one of them with an unusual key, with this many keys. */
function keys(count: number): string {
  return `{"code":0,"data":{"list":[{"\\u0061":1}${',{"a":1}'.repeat(count - 4)}]}}`;
}
