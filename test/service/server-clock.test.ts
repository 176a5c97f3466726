import { describe, expect, it } from '@jest/globals';
import type { HttpHeaders } from '../../shared/ports.ts';
import { createServiceClock, httpDate, parseHttpDate } from '../../shared/service/server-clock.ts';

const base = Date.parse('2026-11-03T15:20:00.400Z');
const header = (serviceMs: number, more: HttpHeaders = {}): HttpHeaders => ({
  date: httpDate(serviceMs),
  ...more,
});

describe('I10: the clock of the service', () => {
  it.each([
    ['the same clock', header(base), 0, 100, 0],
    ['a date cut to the second', header(base + 999), 0, 100, 0],
    ['two seconds off, which a signature tolerates', header(base + 2_000), 0, 100, 0],
    ['five minutes ahead', header(base + 300_000), 0, 100, 300_000],
    ['five minutes behind', header(base - 300_000), 0, 100, -300_000],
    ['a response that took half a minute, dated at its end', header(base + 30_000), 0, 30_000, 0],
    ['a response that took half a minute, dated at its beginning', header(base), 0, 30_000, 0],
    ['sixty days ahead, once', header(base + 60 * 86_400_000), 0, 100, 0],
    ['another century', header(base - 100 * 366 * 86_400_000), 0, 100, 0],
    ['a response from a cache', header(base - 300_000, { age: '300' }), 0, 100, 0],
    ['no date', {}, 0, 100, 0],
    ['a date in another form', { date: '2026-11-03T10:00:00Z' }, 0, 100, 0],
    ['text that is not a date', { date: 'yesterday' }, 0, 100, 0],
  ])('is learned from %s', (_name, headers, sent, received, skew) => {
    const clock = createServiceClock(() => base);
    clock.learn(headers, base + sent, base + received);
    expect(Math.abs(clock.skewMs - skew)).toBeLessThanOrEqual(skew === 0 ? 0 : 1_000);
    expect(clock.nowMs()).toBe(base + clock.skewMs);
  });

  it.each<[string, number[], number]>([
    ['two responses agree', [3_600_000, 3_601_000], 3_600_000],
    ['two responses differ', [3_600_000, -3_600_000], 0],
    ['a response in between differs', [3_600_000, 0, 3_600_000], 0],
  ])('is taken to be an hour off, or not, if %s', (_name, seen, skew) => {
    const clock = createServiceClock(() => base);
    for (const aheadMs of seen) clock.learn(header(base + aheadMs), base, base + 100);
    expect(Math.abs(clock.skewMs - skew)).toBeLessThanOrEqual(skew === 0 ? 0 : 2_000);
    expect(clock.isInDoubt).toBe(seen.at(-1) !== 0 && skew === 0);
  });

  it('signs with a large difference at once if the other time was refused', () => {
    const clock = createServiceClock(() => base);
    clock.learn(header(base + 3_600_000), base, base + 100);
    clock.signAsDoubted();
    expect([clock.signingSkewMs > 3_590_000, clock.skewMs]).toEqual([true, 0]);
    clock.learn(header(base), base, base + 100);
    expect(clock.signingSkewMs).toBe(0);
  });

  it('keeps the skew when a slow response is consistent with it', () => {
    const clock = createServiceClock(() => base);
    clock.learn(header(base + 10_000), base, base + 100);
    const learned = clock.skewMs;
    clock.learn(header(base + 10_000), base, base + 20_000);
    expect(clock.skewMs).toBe(learned);
  });

  it('returns to the machine’s clock when it is right again', () => {
    const clock = createServiceClock(() => base);
    clock.learn(header(base + 300_000), base, base + 100);
    clock.learn(header(base), base, base + 1_500);
    expect(clock.skewMs).toBe(0);
  });

  it('reads and writes HTTP dates and nothing else', () => {
    expect(httpDate(Date.parse('2022-01-07T07:21:16Z'))).toBe('Fri, 07 Jan 2022 07:21:16 GMT');
    expect(parseHttpDate('Fri, 07 Jan 2022 07:21:16 GMT')).toBe(Date.parse('2022-01-07T07:21:16Z'));
    expect(parseHttpDate('Mon, 07 Jan 2022 07:21:16 GMT')).toBeUndefined();
    expect(parseHttpDate('7 Jan 2022')).toBeUndefined();
    expect(parseHttpDate(undefined)).toBeUndefined();
  });
});
