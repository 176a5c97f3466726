import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRetryBudget, SERVICE_RETRY, pause, retryAfterMs } from '../../shared/service/retry.ts';

const now = Date.parse('2026-11-03T15:20:00Z');

describe('retries', () => {
  it.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['none', {}, undefined],
    ['a date', { 'retry-after': 'Tue, 03 Nov 2026 15:21:00 GMT' }, 60_000],
    [
      'a date, by the clock of the same answer',
      { 'retry-after': 'Tue, 03 Nov 2026 15:21:00 GMT', date: 'Tue, 03 Nov 2026 15:20:50 GMT' },
      10_000,
    ],
    ['a date that is over', { 'retry-after': 'Tue, 03 Nov 2026 15:00:00 GMT' }, 0],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['other text', { 'retry-after': 'soon' }, undefined],
  ])('read Retry-After: %s', (_name, headers, expected) => {
    expect(retryAfterMs(new Headers(headers), now)).toBe(expected);
  });

  it('never allow more than ten retries and a fifth of the calls', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (events) => {
        const budget = createRetryBudget(SERVICE_RETRY.budget);
        let calls = 0;
        let retries = 0;
        for (const isCall of events) {
          if (isCall) {
            budget.earn();
            calls += 1;
          } else if (budget.spend()) retries += 1;
        }
        expect(retries).toBeLessThanOrEqual(10 + 0.2 * calls + 1e-9);
      }),
    );
  });

  it('cannot be saved up beyond fifty', () => {
    const budget = createRetryBudget(SERVICE_RETRY.budget);
    for (let call = 0; call < 10_000; call += 1) budget.earn();
    const spent = Array.from({ length: 100 }, () => budget.spend()).filter(Boolean);
    expect(spent).toHaveLength(50);
  });

  it('do not wait any longer in a stopped run, whatever its sleep does', async () => {
    const stop = new AbortController();
    const asleep = pause(1e9, () => new Promise(() => undefined), stop.signal);
    stop.abort();
    await expect(asleep).rejects.toMatchObject({ kind: 'transient', code: 'stopped' });
    await expect(pause(1, async () => undefined, stop.signal)).rejects.toMatchObject({ code: 'stopped' });
  });
});
