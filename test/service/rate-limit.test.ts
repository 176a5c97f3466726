import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTimeBudget } from '../../shared/context/time-budget.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { createRateLimiter } from '../../shared/service/rate-limit.ts';
import { NO_TURN } from '../../shared/service/request-queue.ts';
import { refusalOfPause } from '../../shared/service/retry.ts';
import { virtualTime } from '../fakes/virtual-time.ts';

const start = Date.parse('2026-11-03T15:20:00Z');
const anHour = 3_600_000;
const refusePause = waitsFor(anHour);
/** No other run has sent requests before. */
const claim = async () => Number.NEGATIVE_INFINITY;

/** Refuses longer pauses. */
function waitsFor(maxWaitMs: number) {
  return refusalOfPause(
    { maxWaitMs },
    createTimeBudget(undefined, () => 0),
  );
}

function limited(requestsPerSecond: number, refuse = refusePause) {
  const time = virtualTime(start);
  return {
    time,
    limiter: createRateLimiter({
      requestsPerSecond,
      claim,
      refusePause: refuse,
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    }),
  };
}

/** A limiter of a run with this much time. */
function timed(requestsPerSecond: number, timeMs: number) {
  const time = virtualTime(start);
  const limiter = createRateLimiter({
    requestsPerSecond,
    claim,
    refusePause,
    leftMs: () => Math.max(0, start + timeMs - time.wallMs()),
    monotonicMs: time.monotonicMs,
    sleep: time.sleep,
  });
  return { time, limiter, waitUntilSent: () => limiter.take(NO_TURN) };
}

function claiming(own: () => Promise<number>) {
  const time = virtualTime(start);
  const { monotonicMs, sleep } = time;
  const limiter = createRateLimiter({ requestsPerSecond: 5, claim: own, refusePause, monotonicMs, sleep });
  return { time, limiter };
}

describe('rate limit', () => {
  it('spaces requests, whichever report sends them', async () => {
    const { time, limiter } = limited(5);
    const begun: number[] = [];
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        await limiter.take(NO_TURN);
        begun.push(time.wallMs() - start);
      }),
    );
    expect(begun).toEqual([0, 200, 400, 600, 800, 1000]);
  });

  it('lets no more requests through in a second than the setting allows, except after late timers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 200 }),
        fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 40 }),
        async (rate, gaps) => {
          const { time, limiter } = limited(rate);
          const begun: number[] = [];
          for (const gap of gaps) {
            time.advance(gap);
            await limiter.take(NO_TURN);
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
    expect(limiter.rate()).toBe(5);
    time.advance(100);
    limiter.slowDown(time.wallMs());
    expect(limiter.rate()).toBe(2.5);
    limiter.speedUp();
    expect(limiter.rate()).toBeCloseTo(2.7);
    for (let i = 0; i < 100; i += 1) limiter.speedUp();
    expect(limiter.rate()).toBe(10);
  });

  it.each([
    { shows: 'a little late does not delay the next one', lateMs: 19, begun: [0, 219, 419] },
    { shows: 'very late moves the following slots', lateMs: 20, begun: [0, 220, 440] },
  ])('is kept by a timer: one that wakes up $shows', async ({ lateMs, begun }) => {
    const time = virtualTime(start);
    const limiter = createRateLimiter({
      requestsPerSecond: 5,
      claim,
      refusePause,
      monotonicMs: time.monotonicMs,
      sleep: (ms, signal) => time.sleep(ms + lateMs, signal),
    });
    const sent = await Promise.all([1, 2, 3].map(() => limiter.take(NO_TURN)));
    expect(sent.map((at) => at - start)).toEqual(begun);
  });

  it('never falls to zero', () => {
    const { time, limiter } = limited(10);
    for (let i = 0; i < 50; i += 1) {
      time.advance(1_000);
      limiter.slowDown(time.wallMs());
    }
    expect(limiter.rate()).toBeGreaterThan(0.3);
  });

  it('sends nothing during a pause that the service requested, not even queued requests', async () => {
    const { time, limiter } = limited(5);
    await limiter.take(NO_TURN);
    const waiting = limiter.take(NO_TURN);
    limiter.pauseFor(60_000);
    await waiting;
    expect(time.wallMs()).toBe(start + 60_000);
  });

  it('fails at once if the pause is longer than a run waits', async () => {
    const { time, limiter } = limited(5, waitsFor(60_000));
    limiter.pauseFor(60_001);
    await expect(limiter.take(NO_TURN)).rejects.toMatchObject({
      kind: 'transient',
      code: 'out_of_time',
      message: expect.stringMatching(/61 s .*60 s/),
    });
    expect(time.slept).toEqual([]);
  });

  it('refuses nothing without a pause, or with an empty pause', async () => {
    const { limiter } = limited(5, () => new BrandReportsError('transient', 'out_of_time', 'no'));
    await limiter.take(NO_TURN);
    limiter.pauseFor(0);
    await limiter.take(NO_TURN);
    limiter.pauseFor(1);
    await expect(limiter.take(NO_TURN)).rejects.toMatchObject({ code: 'out_of_time' });
  });

  it('lets requests wait that arrive during a pause, until the pause becomes too long', async () => {
    const { time, limiter } = limited(5, waitsFor(60_000));
    limiter.pauseFor(60_000);
    await Promise.all([limiter.take(NO_TURN), Promise.resolve().then(() => limiter.take(NO_TURN))]);
    expect(time.wallMs() - start).toBe(60_200);
    const waiting = [limiter.take(NO_TURN), limiter.take(NO_TURN)];
    limiter.pauseFor(60_001);
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: 'out_of_time' });
  });

  it('lets the others through when one request is aborted', async () => {
    const { time } = limited(1);
    const limiter = createRateLimiter({
      requestsPerSecond: 1,
      claim,
      refusePause,
      monotonicMs: time.monotonicMs,
      sleep: (ms) => (ms > 500 ? new Promise(() => undefined) : Promise.resolve()),
    });
    await limiter.take(NO_TURN);
    const stop = new AbortController();
    const given = limiter.take(NO_TURN, stop.signal);
    // Until the test awaits it.
    await new Promise(setImmediate);
    stop.abort();
    await expect(given).rejects.toMatchObject({ kind: 'transient', code: 'stopped' });
    time.advance(1_000);
    await limiter.take(NO_TURN);
  });

  it('chooses the request to send when its slot has arrived', async () => {
    const { limiter } = limited(5);
    const sent: string[] = [];
    const send = async (report: string, rank: number, urgent = false) => {
      await limiter.take({ urgent, report, rank });
      sent.push(`${report} ${rank}`);
      // Requested while others wait for their slots.
      if (sent.length === 2) late.push(send('orders', 7, true));
    };
    const late: Promise<void>[] = [];
    await Promise.all([send('clicks', 2), send('clicks', 1), send('orders', 5), send('orders', 6)]);
    await Promise.all(late);
    expect(sent).toEqual(['clicks 1', 'orders 5', 'orders 7', 'clicks 2', 'orders 6']);
  });

  it('sends a request whose slot is in the last moment of the run', async () => {
    const { time, waitUntilSent } = timed(1 / 64, 64_000);
    await Promise.all([waitUntilSent(), waitUntilSent()]);
    expect(time.wallMs() - start).toBe(64_000);
  });

  it('waits up to a minute from the moment of the request, however long there was no request before', async () => {
    const { time, waitUntilSent } = timed(1 / 100, 0);
    await waitUntilSent();
    time.advance(50_000);
    await waitUntilSent();
    expect(time.wallMs() - start).toBeCloseTo(100_000);
  });

  it('sends requests whose slots are in time, and waits up to a minute for each slot after the end', async () => {
    const { time, waitUntilSent } = timed(1 / 59, 1_000);
    await Promise.all([1, 2, 3, 4].map(() => waitUntilSent()));
    expect(time.wallMs() - start).toBeCloseTo(3 * 59_000);
  });

  it('fails requests whose slot is after the end of the run', async () => {
    const { time, waitUntilSent } = timed(0.01, 90_000);
    await waitUntilSent();
    for (const each of [1, 2].map(() => waitUntilSent()))
      await expect(each).rejects.toMatchObject({
        ...{ kind: 'transient', code: 'out_of_time' },
        message: expect.stringContaining('the rate is 0.01 requests per second'),
      });
    expect(time.wallMs()).toBe(start);
  });

  it('claims before each request, but not during a pause, and starts one interval after another run may have sent', async () => {
    const claimed: number[] = [];
    const { time, limiter } = claiming(async () => {
      claimed.push(time.wallMs() - start);
      return start;
    });
    await limiter.take(NO_TURN);
    expect(time.wallMs() - start).toBe(200);
    limiter.pauseFor(60_000);
    await limiter.take(NO_TURN);
    expect(claimed).toEqual([0, 200, 60_200]);
  });

  it('fails the waiting requests if a claim fails, and continues when a later claim succeeds', async () => {
    const denied = new BrandReportsError('conflict', 'brand_busy', 'no');
    const outcomes = [() => Promise.reject(denied)];
    const { limiter } = claiming(() => outcomes.shift()?.() ?? claim());
    for (const each of [1, 2].map(() => limiter.take(NO_TURN))) await expect(each).rejects.toBe(denied);
    await limiter.take(NO_TURN);
  });
});
