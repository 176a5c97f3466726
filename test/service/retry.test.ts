import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/base/errors.ts';
import {
  SERVICE_RETRY,
  isEndOfRun,
  pause,
  refusalOfPause,
  retryAfterMs,
  sleepUnlessAborted,
  stopped,
  throwIfStopped,
} from '../../shared/service/retry.ts';

const now = Date.parse('2026-11-03T15:20:00Z');

describe('retries', () => {
  it.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['seconds with a fraction', { 'retry-after': '1.25' }, 1_250],
    ['no header', {}, undefined],
    ['a date', { 'retry-after': 'Tue, 03 Nov 2026 15:21:00 GMT' }, 60_000],
    [
      'a date, by the clock of the same response',
      { 'retry-after': 'Tue, 03 Nov 2026 15:21:00 GMT', date: 'Tue, 03 Nov 2026 15:20:50 GMT' },
      10_000,
    ],
    ['a date in the past', { 'retry-after': 'Tue, 03 Nov 2026 15:00:00 GMT' }, 0],
    ['a negative number', { 'retry-after': '-5' }, undefined],
    ['other text', { 'retry-after': 'soon' }, undefined],
  ])('read Retry-After: %s', (_name, headers, expected) => {
    expect(retryAfterMs(headers, now)).toBe(expected);
  });

  it('wait at most a quarter of an hour for the service', () => {
    expect(SERVICE_RETRY).toMatchObject({ maxAttempts: 6, baseMs: 500, capMs: 30_000, maxWaitMs: 900_000 });
  });
});

describe('a pause that the service requests', () => {
  const limits = { maxWaitMs: 900_000 };
  const time = (leftMs: number) => ({ leftMs: () => leftMs });

  it.each([
    { shows: 'as long as any run waits', pauseMs: 900_000, left: time(Infinity) },
    { shows: 'as long as this run has left', pauseMs: 60_000, left: time(60_000) },
    { shows: 'none', pauseMs: 0, left: time(0) },
  ])('is waited for if it is $shows', ({ pauseMs, left }) => {
    expect(refusalOfPause(limits, left)(pauseMs)).toBeUndefined();
  });

  it.each([
    {
      shows: 'longer than any run waits',
      pauseMs: 900_001,
      left: time(Infinity),
      message: /in 901 s .*but this run waits at most 900 s; a later run continues$/,
    },
    {
      shows: 'longer than this run has left',
      pauseMs: 60_001,
      left: time(60_000),
      message: /in 61 s .*but this run waits at most 60 s; a later run continues$/,
    },
  ])('is not waited for if it is $shows', ({ pauseMs, left, message }) => {
    expect(refusalOfPause(limits, left)(pauseMs)).toMatchObject({
      kind: 'transient',
      code: 'out_of_time',
      message: expect.stringMatching(message),
    });
  });
});

describe('a wait', () => {
  it('ends when its time is over', async () => {
    const slept: [number, AbortSignal | undefined][] = [];
    const stop = new AbortController();
    await pause(250, async (ms, signal) => void slept.push([ms, signal]), stop.signal);
    await pause(0, async (ms, signal) => void slept.push([ms, signal]), undefined);
    expect(slept).toEqual([
      [250, stop.signal],
      [0, undefined],
    ]);
  });

  it('takes the longest time of a timer if it is longer', async () => {
    const slept: number[] = [];
    await sleepUnlessAborted(1e12, async (ms) => void slept.push(ms), undefined);
    await sleepUnlessAborted(2 ** 31 - 2, async (ms) => void slept.push(ms), undefined);
    expect(slept).toEqual([2 ** 31 - 1, 2 ** 31 - 2]);
  });

  it('uses no timer if it is infinite, and ends when the run is stopped', async () => {
    const stop = new AbortController();
    let isOver = false;
    const asleep = sleepUnlessAborted(
      Number.POSITIVE_INFINITY,
      () => Promise.reject(new Error('asleep')),
      stop.signal,
    ).then(() => {
      isOver = true;
    });
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    stop.abort();
    await asleep;
  });

  it('ends when the run is stopped, whatever its sleep does', async () => {
    const stop = new AbortController();
    const asleep = pause(1e9, () => new Promise(() => undefined), stop.signal);
    stop.abort();
    await expect(asleep).rejects.toMatchObject({ kind: 'transient', code: 'stopped' });
    await expect(pause(1, async () => undefined, stop.signal)).rejects.toMatchObject({ code: 'stopped' });
  });

  it('does not begin in a stopped run', async () => {
    const slept: number[] = [];
    const sleep = async (ms: number) => void slept.push(ms);
    await expect(pause(1, sleep, AbortSignal.abort())).rejects.toMatchObject({ code: 'stopped' });
    expect(slept).toEqual([]);
  });

  it('ends without an error if its sleep fails because the run was stopped', async () => {
    const stop = new AbortController();
    const asleep = sleepUnlessAborted(
      1,
      async () => {
        stop.abort();
        throw new Error('aborted');
      },
      stop.signal,
    );
    await expect(asleep).resolves.toBeUndefined();
  });

  it.each([
    { shows: 'a run that can be stopped', signal: new AbortController().signal },
    { shows: 'a run that cannot be stopped', signal: undefined },
  ])('fails with its sleep in $shows', async ({ signal }) => {
    const asleep = sleepUnlessAborted(1, () => Promise.reject(new RangeError('no timer')), signal);
    await expect(asleep).rejects.toThrow('no timer');
  });

  it.each([
    { shows: 'ended', sleep: async () => {} },
    { shows: 'failed', sleep: () => Promise.reject(new Error('no timer')) },
  ])('removes its listener after its sleep $shows', async ({ sleep }) => {
    const stop = new AbortController();
    await sleepUnlessAborted(1, sleep, stop.signal).catch(() => undefined);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});

describe('a stopped run', () => {
  it('names the next step in its error: start it again', () => {
    expect(() => throwIfStopped(AbortSignal.abort())).toThrow(/was stopped.*start it again/);
    expect(stopped()).toMatchObject({ kind: 'transient', code: 'stopped' });
  });

  it.each([
    { shows: 'a signal that has not aborted', signal: new AbortController().signal },
    { shows: 'no signal', signal: undefined },
  ])('is not detected with $shows', ({ signal }) => {
    expect(() => throwIfStopped(signal)).not.toThrow();
  });

  it.each([
    { code: 'stopped' as const, isEnd: true },
    { code: 'out_of_time' as const, isEnd: true },
    { code: 'http_503' as const, isEnd: false },
    { code: 'network' as const, isEnd: false },
  ])('is recognized by the code of its error, or not: $code', ({ code, isEnd }) => {
    expect(isEndOfRun(new BrandReportsError('transient', code, 'm'))).toBe(isEnd);
  });
});
