import { describe, expect, it } from '@jest/globals';
import type { HttpHeaders } from '../../shared/ports.ts';
import { createServiceClock, httpDate, parseHttpDate } from '../../shared/service/server-clock.ts';

const base = Date.parse('2026-11-03T15:20:00.400Z');
const header = (serviceMs: number, more: HttpHeaders = {}): HttpHeaders => ({
  date: httpDate(serviceMs),
  ...more,
});

const DAY = 86_400_000;

describe('I10: the clock of the service', () => {
  it.each<[string, HttpHeaders, number, number, number | undefined]>([
    ['the same clock', header(base), 0, 100, 0],
    ['a date cut to the second', header(base + 999), 0, 100, 0],
    ['two seconds off, which a signature tolerates', header(base + 2_000), 0, 100, 0],
    ['five minutes ahead', header(base + 300_000), 0, 100, 300_000],
    ['five minutes behind', header(base - 300_000), 0, 100, -300_000],
    ['a response that took half a minute, dated at its end', header(base + 30_000), 0, 30_000, 0],
    ['a response that took half a minute, dated at its beginning', header(base), 0, 30_000, 0],
    ['a machine whose clock is set back an hour meanwhile', header(base), 3_600_000, 100, 0],
    ['a machine that sleeps for an hour meanwhile', header(base + 3_600_000), 0, 3_600_000, 0],
    ['sixty days ahead, once', header(base + 60 * DAY), 0, 100, undefined],
    ['another century, once', header(base - 100 * 366 * DAY), 0, 100, undefined],
    ['a response from a cache', header(base - 300_000, { age: '300' }), 0, 100, undefined],
    ['no date', {}, 0, 100, undefined],
    ['a date in another form', { date: '2026-11-03T10:00:00Z' }, 0, 100, undefined],
    ['text that is not a date', { date: 'yesterday' }, 0, 100, undefined],
  ])('is learned from %s', (_name, headers, sent, received, skew) => {
    const clock = createServiceClock(() => base);
    clock.learn(headers, base + sent, base + received);
    expect(clock.skewMs === undefined).toBe(skew === undefined);
    expect(Math.abs((clock.skewMs ?? 0) - (skew ?? 0))).toBeLessThanOrEqual(1_000);
    expect(clock.nowMs()).toBe(base + (clock.skewMs ?? 0));
  });

  it.each<[string, number[], number | undefined]>([
    ['two responses agree', [3_600_000, 3_601_000], 3_600_000],
    ['two machines of the service differ by minutes', [3_600_000, 3_900_000], 3_900_000],
    ['two responses differ', [3_600_000, -3_600_000], undefined],
    ['a response in between differs', [3_600_000, 0, 3_600_000], 0],
    ['the clock jumps back and forth by minutes', [300_000, 0, 300_000], 300_000],
    ['one response is wrong among right ones', [3_600_000, 3_600_000, 20 * DAY, 3_600_000], 3_600_000],
    ['one right response follows wrong ones', [3_600_000, 3_600_000, 0], 3_600_000],
    ['the machine is corrected', [3_600_000, 3_600_000, 0, 0], 0],
    ['it is two years off', [800 * DAY, 800 * DAY], 800 * DAY],
  ])('follows two responses that agree: %s', (_name, seen, skew) => {
    const clock = createServiceClock(() => base);
    for (const aheadMs of seen) clock.learn(header(base + aheadMs), base, base + 100);
    expect(clock.skewMs === undefined).toBe(skew === undefined);
    expect(Math.abs((clock.skewMs ?? 0) - (skew ?? 0))).toBeLessThanOrEqual(1_000);
  });

  it.each<[string, number[], number, boolean]>([
    ['no response', [], 0, false],
    ['a small difference', [300_000], 300_000, false],
    ['a large difference, once', [3_600_000], 3_600_000, true],
    ['two large differences', [3_600_000, -3_600_000], -3_600_000, true],
    ['a large difference, twice', [3_600_000, 3_600_000], 3_600_000, false],
    ['one wrong date after a right one', [0, 20 * DAY], 20 * DAY, false],
  ])('is unsettled until two responses agree: %s', (_name, seen, last, isUnsettled) => {
    const clock = createServiceClock(() => base);
    for (const aheadMs of seen) clock.learn(header(base + aheadMs), base, base + 100);
    expect(clock.isUnsettled).toBe(isUnsettled);
    expect(Math.abs(clock.lastSkewMs - last)).toBeLessThanOrEqual(1_000);
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
