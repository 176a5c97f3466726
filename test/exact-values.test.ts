import { describe, expect, it } from '@jest/globals';
import { parseInstant } from '../shared/exact-values.ts';

describe('the instant of a record', () => {
  it('is read from an HTTP-date', () => {
    expect(parseInstant('Sun, 01 Nov 2026 05:59:59 GMT')).toEqual(new Date('2026-11-01T05:59:59Z'));
  });

  it.each([undefined, null, 0, '', 'soon', '2026-01-31'])('is not guessed from %j', (value) => {
    expect(parseInstant(value)).toBeUndefined();
  });
});
