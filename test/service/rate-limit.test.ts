import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrandReportsError } from '../../shared/errors.ts';
import { createRateLimiter, fixedRate } from '../../shared/service/rate-limit.ts';
import { NO_TURN } from '../../shared/service/request-queue.ts';
import { UNLIMITED_TIME, refusalOfPause } from '../../shared/service/retry.ts';
import { virtualTime } from '../fakes/virtual-time.ts';

const start = Date.parse('2026-11-03T15:20:00Z');
const anHour = 3_600_000;
const waitsFor = (ms: number) => refusalOfPause({ maxWaitMs: ms, shortWaitMs: 0 }, UNLIMITED_TIME);

function limited(requestsPerSecond: number) {
  const time = virtualTime(start);
  return {
    time,
    limiter: createRateLimiter({
      highest: fixedRate(requestsPerSecond),
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    }),
  };
}

/** A limiter of a run with this much time. */
function timed(requestsPerSecond: number, timeMs: number) {
  const time = virtualTime(start);
  const limiter = createRateLimiter({
    highest: fixedRate(requestsPerSecond),
    leftMs: () => Math.max(0, start + timeMs - time.wallMs()),
    monotonicMs: time.monotonicMs,
    sleep: time.sleep,
  });
  return { time, limiter, waitUntilSent: () => limiter.take(NO_TURN, waitsFor(anHour)) };
}

describe('rate limit', () => {
  it('spaces requests, whichever report sends them', async () => {
    const { time, limiter } = limited(5);
    const begun: number[] = [];
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        await limiter.take(NO_TURN, waitsFor(anHour));
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
            await limiter.take(NO_TURN, waitsFor(anHour));
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

  it.each([
    { shows: 'a little late does not delay the next one', lateMs: 19, begun: [0, 219, 419] },
    { shows: 'very late moves the following slots', lateMs: 20, begun: [0, 220, 440] },
  ])('is kept by a timer: one that wakes up $shows', async ({ lateMs, begun }) => {
    const time = virtualTime(start);
    const limiter = createRateLimiter({
      highest: fixedRate(5),
      monotonicMs: time.monotonicMs,
      sleep: (ms, signal) => time.sleep(ms + lateMs, signal),
    });
    const sent = await Promise.all([1, 2, 3].map(() => limiter.take(NO_TURN, waitsFor(anHour))));
    expect(sent.map((at) => at - start)).toEqual(begun);
  });

  it('never falls to zero', () => {
    const { time, limiter } = limited(10);
    for (let i = 0; i < 50; i += 1) {
      time.advance(1_000);
      limiter.slowDown(time.wallMs());
    }
    expect(limiter.requestsPerSecond).toBeGreaterThan(0.3);
  });

  it('fails at once if the pause is longer than the caller waits', async () => {
    const { time, limiter } = limited(5);
    limiter.pauseFor(60_001);
    await expect(limiter.take(NO_TURN, waitsFor(60_000))).rejects.toMatchObject({
      kind: 'transient',
      code: 'retry_after',
      message: expect.stringMatching(/61 s .*60 s/),
    });
    expect(time.slept).toEqual([]);
    await limiter.take(NO_TURN, waitsFor(60_001));
  });

  it('does not consult callers without a pause, or with an empty pause', async () => {
    const { limiter } = limited(5);
    const never = () => new BrandReportsError('transient', 'retry_after', 'no');
    await limiter.take(NO_TURN, never);
    limiter.pauseFor(0);
    await limiter.take(NO_TURN, never);
    limiter.pauseFor(1);
    await expect(limiter.take(NO_TURN, never)).rejects.toMatchObject({ code: 'retry_after' });
  });

  it('lets requests wait that arrive during a pause', async () => {
    const { time, limiter } = limited(5);
    limiter.pauseFor(60_000);
    const first = limiter.take(NO_TURN, waitsFor(60_000));
    await Promise.resolve();
    const second = limiter.take(NO_TURN, waitsFor(60_000));
    await expect(limiter.take(NO_TURN, waitsFor(59_999))).rejects.toMatchObject({ code: 'retry_after' });
    await Promise.all([first, second]);
    expect(time.wallMs() - start).toBe(60_200);
  });

  it('lets the others through when one request is aborted', async () => {
    const { time } = limited(1);
    const limiter = createRateLimiter({
      highest: fixedRate(1),
      monotonicMs: time.monotonicMs,
      sleep: (ms) => (ms > 500 ? new Promise(() => undefined) : Promise.resolve()),
    });
    await limiter.take(NO_TURN, waitsFor(anHour));
    const stop = new AbortController();
    const given = limiter.take(NO_TURN, waitsFor(anHour), stop.signal);
    // Until the test awaits it.
    await new Promise(setImmediate);
    stop.abort();
    await expect(given).rejects.toMatchObject({ kind: 'transient', code: 'stopped' });
    time.advance(1_000);
    await limiter.take(NO_TURN, waitsFor(anHour));
  });

  it('chooses the request to send when its slot has arrived', async () => {
    const { limiter } = limited(5);
    const sent: string[] = [];
    const send = async (report: string, rank: number, urgent = false) => {
      await limiter.take({ urgent, report, rank }, waitsFor(anHour));
      sent.push(`${report} ${rank}`);
      // Requested while others wait for their slots.
      if (sent.length === 2) late.push(send('orders', 7, true));
    };
    const late: Promise<void>[] = [];
    await Promise.all([send('clicks', 2), send('clicks', 1), send('orders', 5), send('orders', 6)]);
    await Promise.all(late);
    expect(sent).toEqual(['clicks 1', 'orders 5', 'orders 7', 'clicks 2', 'orders 6']);
  });

  it('fails requests as soon as a pause is longer than they wait, and lets the others wait', async () => {
    const { time, limiter } = limited(1);
    await limiter.take(NO_TURN, waitsFor(anHour));
    const impatient = limiter.take(NO_TURN, waitsFor(1_000));
    const patient = limiter.take(NO_TURN, waitsFor(anHour));
    limiter.pauseFor(60_000);
    await expect(impatient).rejects.toMatchObject({ code: 'retry_after' });
    await patient;
    expect(time.wallMs()).toBe(start + 60_000);
  });

  it('waits while the highest rate is 0, and follows it when it changes', async () => {
    const { time } = limited(1);
    // Over time: no request, then 2, 1 and 4 requests a second.
    const rateAt = (ms: number) => (ms < 10_000 ? 0 : ms < 11_000 ? 2 : ms < 13_000 ? 1 : 4);
    const highest = {
      get requestsPerSecond() {
        return rateAt(time.wallMs() - start);
      },
      claim: async () => {},
    };
    const limiter = createRateLimiter({ highest, monotonicMs: time.monotonicMs, sleep: time.sleep });
    const begun: number[] = [];
    for (let sent = 0; sent < 6; sent += 1) {
      await limiter.take(NO_TURN, waitsFor(anHour));
      begun.push(time.wallMs() - start);
    }
    // After each rise one interval passes first.
    expect(begun).toEqual([10_500, 11_500, 12_500, 13_750, 14_000, 14_250]);
  });

  it('claims the rate before each request, and not during a pause that the service requested', async () => {
    const { time } = limited(1);
    const claimed: number[] = [];
    const limiter = createRateLimiter({
      highest: { requestsPerSecond: 5, claim: async () => void claimed.push(time.wallMs() - start) },
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    });
    await limiter.take(NO_TURN, waitsFor(anHour));
    limiter.pauseFor(60_000);
    await limiter.take(NO_TURN, waitsFor(anHour));
    expect(claimed).toEqual([0, 60_000]);
    await Promise.all([1, 2].map(() => limiter.take(NO_TURN, waitsFor(anHour))));
    // Each of the two earlier requests claims while it waits for its slot, and when the slot has arrived.
    expect(claimed.slice(2)).toEqual([60_000, 60_200, 60_200, 60_400]);
  });

  it.each<[string, { rate: number; timeMs: number; failsAtMs: number }]>([
    [
      'when the time of the run is over, while it has no rate',
      { rate: 0, timeMs: 90_000, failsAtMs: 90_000 },
    ],
    [
      'after a minute, so that a run without time still does some work',
      { rate: 0, timeMs: 0, failsAtMs: 60_000 },
    ],
    ['at once if the next slot is too late', { rate: 0.01, timeMs: 90_000, failsAtMs: 0 }],
  ])('fails the waiting requests %s', async (_name, { rate, timeMs, failsAtMs }) => {
    const { time, waitUntilSent } = timed(rate, timeMs);
    if (rate > 0) await waitUntilSent();
    const all = [1, 2].map(() => waitUntilSent());
    for (const each of all)
      await expect(each).rejects.toMatchObject({
        kind: 'transient',
        code: 'out_of_time',
        message: expect.stringContaining(`is ${rate} requests per second`),
      });
    expect(time.wallMs() - start).toBe(failsAtMs);
    await expect(waitUntilSent()).rejects.toMatchObject({ code: 'out_of_time' });
    expect(time.wallMs() - start).toBe(failsAtMs);
    expect(time.slept.reduce((sum, ms) => sum + ms, 0)).toBe(failsAtMs);
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

  it('fails requests that have waited for a minute since the last request was sent', async () => {
    const time = virtualTime(start);
    let rate = 1;
    const limiter = createRateLimiter({
      highest: {
        get requestsPerSecond() {
          return rate;
        },
        claim: async () => {},
      },
      leftMs: () => 0,
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    });
    const sent = limiter.take(NO_TURN, waitsFor(anHour));
    const waiting = limiter.take(NO_TURN, waitsFor(anHour));
    await sent;
    rate = 0;
    await expect(waiting).rejects.toMatchObject({ code: 'out_of_time' });
    expect(time.wallMs() - start).toBe(60_000);
  });

  it('sends requests whose slots are in time, and waits up to a minute for each slot after the end', async () => {
    const { time, waitUntilSent } = timed(1 / 59, 1_000);
    await Promise.all([1, 2, 3, 4].map(() => waitUntilSent()));
    expect(time.wallMs() - start).toBeCloseTo(3 * 59_000);
  });

  it('does not count a pause of the service as waiting for a slot', async () => {
    const { time, limiter, waitUntilSent } = timed(0, 90_000);
    const waiting = waitUntilSent();
    limiter.pauseFor(80_000);
    await expect(waiting).rejects.toMatchObject({ code: 'out_of_time' });
    expect(time.wallMs() - start).toBe(140_000);
  });

  it('fails the waiting requests if no rate can be claimed', async () => {
    const { time } = limited(1);
    const denied = new BrandReportsError('config', 'aws_refused', 'no');
    const limiter = createRateLimiter({
      highest: { requestsPerSecond: 0, claim: () => Promise.reject(denied) },
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    });
    const all = [1, 2].map(() => limiter.take(NO_TURN, waitsFor(anHour)));
    for (const each of all) await expect(each).rejects.toBe(denied);
  });

  it('continues when the rate can be claimed again', async () => {
    const { time } = limited(5);
    const outcomes: (() => Promise<void>)[] = [
      () => Promise.reject(new BrandReportsError('transient', 'aws_unavailable', 'no')),
      async () => {},
    ];
    const limiter = createRateLimiter({
      highest: { requestsPerSecond: 5, claim: () => (outcomes.shift() ?? (async () => {}))() },
      monotonicMs: time.monotonicMs,
      sleep: time.sleep,
    });
    const refused = limiter.take(NO_TURN, waitsFor(anHour));
    await expect(refused).rejects.toMatchObject({ code: 'aws_unavailable' });
    await limiter.take(NO_TURN, waitsFor(anHour));
  });
});
