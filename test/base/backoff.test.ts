import { describe, expect, it } from '@jest/globals';
import { exponentialMs, fullJitterMs } from '../../shared/base/backoff.ts';

const backoff = { baseMs: 500, capMs: 30_000 };

describe('backoff', () => {
  it.each([
    [0, 500],
    [1, 1_000],
    [2, 2_000],
    [6, 30_000],
    [5_000, 30_000],
  ])('of retry %i is %i ms, and with jitter any time below', (retry, expected) => {
    expect(exponentialMs(retry, backoff)).toBe(expected);
    expect(fullJitterMs(retry, backoff, 0)).toBe(0);
    expect(fullJitterMs(retry, backoff, 0.5)).toBe(expected / 2);
  });
});
