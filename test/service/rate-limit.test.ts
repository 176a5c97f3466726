import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRateLimiter } from '../../shared/service/rate-limit.ts';
import { virtualTime } from '../fakes/virtual-time.ts';

const start = Date.parse('2026-11-03T15:20:00Z');
const anHour = 3_600_000;

function limited(requestsPerSecond: number) {
  const time = virtualTime(start);
  return { time, limiter: createRateLimiter({ requestsPerSecond, wallMs: time.wallMs, sleep: time.sleep }) };
}

describe('rate limit', () => {
  it('spaces requests, whoever sends them', async () => {
    const { time, limiter } = limited(5);
    const begun: number[] = [];
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        await limiter.take(anHour);
        begun.push(time.wallMs() - start);
      }),
    );
    expect(begun).toEqual([0, 200, 400, 600, 800, 1000]);
  });

  it('lets no more requests through in a second than the setting, late timers aside', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 200 }),
        fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 40 }),
        async (rate, gaps) => {
          const { time, limiter } = limited(rate);
          const begun: number[] = [];
          for (const gap of gaps) {
            time.advance(gap);
            await limiter.take(anHour);
            begun.push(time.wallMs());
          }
          begun.forEach((from, index) => {
            const within = begun.slice(index).filter((at) => at < from + 1_000).length;
            expect(within).toBeLessThanOrEqual(Math.ceil(rate * 1.02) + 1);
          });
        },
      ),
    );
  });

  it('halves the rate once for all requests that were throttled together, and recovers step by step', async () => {
    const { time, limiter } = limited(10);
    time.advance(100);
    for (const sent of [start, start + 10, start + 20]) limiter.slowDown(sent);
    expect(limiter.requestsPerSecond).toBe(5);
    time.advance(100);
    limiter.slowDown(time.wallMs());
    expect(limiter.requestsPerSecond).toBe(2.5);
    limiter.speedUp();
    expect(limiter.requestsPerSecond).toBeCloseTo(2.7);
    for (let i = 0; i < 100; i += 1) limiter.speedUp();
    expect(limiter.requestsPerSecond).toBe(10);
  });

  it('never stops altogether', () => {
    const { time, limiter } = limited(10);
    for (let i = 0; i < 50; i += 1) {
      time.advance(1_000);
      limiter.slowDown(time.wallMs());
    }
    expect(limiter.requestsPerSecond).toBeGreaterThan(0.3);
  });

  it('sends nothing during a pause that the service requested, not even queued requests', async () => {
    const { time, limiter } = limited(5);
    await limiter.take(anHour);
    const waiting = limiter.take(anHour);
    limiter.pauseFor(60_000);
    await waiting;
    expect(time.wallMs()).toBe(start + 60_000);
  });

  it('keeps to the longer of two pauses', async () => {
    const { time, limiter } = limited(5);
    limiter.pauseFor(60_000);
    limiter.pauseFor(1_000);
    await limiter.take(anHour);
    expect(time.wallMs()).toBe(start + 60_000);
  });

  it('fails at once where the pause is longer than the caller waits', async () => {
    const { time, limiter } = limited(5);
    limiter.pauseFor(60_001);
    await expect(limiter.take(60_000)).rejects.toMatchObject({
      kind: 'transient',
      code: 'retry_after',
      message: expect.stringMatching(/61 s .*60 s/),
    });
    expect(time.slept).toEqual([]);
    await limiter.take(60_001);
  });

  it('makes no request wait longer than one interval when the machine clock is set back', async () => {
    const { time, limiter } = limited(5);
    await limiter.take(anHour);
    time.advance(-anHour);
    await limiter.take(anHour);
    expect(time.slept).toEqual([200]);
  });

  it('lets the others through when one of them is aborted', async () => {
    const { time } = limited(1);
    const limiter = createRateLimiter({
      requestsPerSecond: 1,
      wallMs: time.wallMs,
      sleep: (ms) => (ms > 500 ? new Promise(() => undefined) : Promise.resolve()),
    });
    await limiter.take(anHour);
    const stop = new AbortController();
    const given = limiter.take(anHour, stop.signal);
    stop.abort();
    await expect(given).rejects.toMatchObject({ kind: 'transient', code: 'stopped' });
    time.advance(1_000);
    await limiter.take(anHour);
  });
});
