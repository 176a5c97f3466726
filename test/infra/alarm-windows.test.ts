import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PERIOD_HOURS, failureWindow, missingDataHours } from '../../infra/alarm-windows.ts';
import { intervalMs } from '../../shared/days.ts';

const HOUR_MS = 3_600_000;

const rates = fc
  .tuple(fc.integer({ min: 1, max: 300 }), fc.constantFrom('minute', 'hour', 'day'))
  .map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`);

describe('how long silence is borne', () => {
  it.each<[string, number | undefined]>([
    ['rate(15 minutes)', 3],
    ['rate(1 hour)', 3],
    ['rate(90 minutes)', 4],
    ['rate(6 hours)', 8],
    ['rate(1 day)', 26],
    ['cron(5 6 * * ? *)', 26],
    ['cron(5 * * * ? *)', 3],
    ['cron(5 0/6 * * ? *)', 8],
    ['cron(5 6 ? * MON-FRI *)', 74],
    ['cron(5 6 ? * MON *)', undefined],
    ['cron(5 6 1 * ? *)', undefined],
    ['rate(6 days)', 146],
    ['rate(7 days)', undefined],
    ['rate(30 days)', undefined],
  ])('with the schedule %s: %s hours', (schedule, hours) => {
    expect(missingDataHours(schedule)).toBe(hours);
  });

  it('is no more than the week that CloudWatch takes, and given up only for turns about as long', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const hours = missingDataHours(`rate(${rate})`);
        if (hours === undefined) expect(intervalMs(rate)).toBeGreaterThan(166 * HOUR_MS);
        else expect(hours * PERIOD_HOURS).toBeLessThanOrEqual(168);
      }),
    );
  });

  it('outlasts the time between two runs, wherever in the hour they are and up to an hour late', () => {
    fc.assert(
      fc.property(
        rates,
        fc.integer({ min: 0, max: HOUR_MS - 1 }),
        fc.integer({ min: 0, max: HOUR_MS }),
        (rate, toldMs, lateMs) => {
          const hours = missingDataHours(`rate(${rate})`);
          const toldAgainMs = toldMs + intervalMs(rate) + lateMs;
          const silent = Math.floor(toldAgainMs / HOUR_MS) - Math.floor(toldMs / HOUR_MS);
          expect(hours ?? Number.POSITIVE_INFINITY).toBeGreaterThan(silent);
        },
      ),
    );
  });
});

describe('how many failures are borne', () => {
  it.each<[string, string[], object]>([
    ['one of hourly runs', ['rate(1 hour)'], { evaluationPeriods: 3, datapointsToAlarm: 2 }],
    ['one of runs within the hour', ['rate(15 minutes)'], { evaluationPeriods: 3, datapointsToAlarm: 2 }],
    ['none of daily runs', ['cron(5 6 * * ? *)'], { evaluationPeriods: 1, datapointsToAlarm: 1 }],
    [
      'none where one of several schedules is slow',
      ['rate(1 hour)', 'rate(2 hours)'],
      { evaluationPeriods: 1, datapointsToAlarm: 1 },
    ],
  ])('%s', (_name, schedules, window) => {
    expect(failureWindow(schedules)).toEqual(window);
  });
});
