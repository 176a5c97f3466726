import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PERIOD_HOURS, failureWindow, missingDataHours } from '../../infra/alarm-windows.ts';
import { HOUR_MS, intervalMs } from '../../shared/days.ts';

const rates = fc
  .tuple(fc.integer({ min: 1, max: 300 }), fc.constantFrom('minute', 'hour', 'day'))
  .map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`);

describe('the hours for which no data is normal', () => {
  it.each<[string, number | undefined]>([
    ['rate(15 minutes)', 3],
    ['rate(1 hour)', 3],
    ['rate(90 minutes)', 4],
    ['rate(6 hours)', 8],
    ['rate(1 day)', 26],
    ['cron(5 6 * * ? *)', 26],
    ['cron(5 * * * ? *)', 3],
    ['cron(5 0/6 * * ? *)', 8],
    ['cron(0 6,18 * * ? *)', 14],
    ['cron(5 6 ? * MON-FRI *)', 74],
    ['cron(5 6 ? * MON *)', undefined],
    ['cron(5 6 1 * ? *)', undefined],
    ['rate(6 days)', 146],
    ['rate(7 days)', undefined],
    ['rate(30 days)', undefined],
  ])('for the schedule %s: %s', (schedule, hours) => {
    expect(missingDataHours(schedule)).toBe(hours);
  });

  it('are never more than the week that CloudWatch allows, and unknown only for gaps about as long', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        const hours = missingDataHours(`rate(${rate})`);
        if (hours === undefined) expect(intervalMs(rate)).toBeGreaterThan(166 * HOUR_MS);
        else expect(hours * PERIOD_HOURS).toBeLessThanOrEqual(168);
      }),
    );
  });

  it('are more than the time between two runs, wherever in the hour they are and up to an hour late', () => {
    fc.assert(
      fc.property(
        rates,
        fc.integer({ min: 0, max: HOUR_MS - 1 }),
        fc.integer({ min: 0, max: HOUR_MS }),
        (rate, firstMs, lateMs) => {
          const hours = missingDataHours(`rate(${rate})`);
          const nextMs = firstMs + intervalMs(rate) + lateMs;
          const silent = Math.floor(nextMs / HOUR_MS) - Math.floor(firstMs / HOUR_MS);
          expect(hours ?? Number.POSITIVE_INFINITY).toBeGreaterThan(silent);
        },
      ),
    );
  });
});

describe('failures that raise no alarm', () => {
  it.each<[string, string[], object]>([
    ['one, where runs are hourly', ['rate(1 hour)'], { evaluationPeriods: 3, datapointsToAlarm: 2 }],
    [
      'one, where runs are more frequent',
      ['rate(15 minutes)'],
      { evaluationPeriods: 3, datapointsToAlarm: 2 },
    ],
    ['none, where runs are daily', ['cron(5 6 * * ? *)'], { evaluationPeriods: 1, datapointsToAlarm: 1 }],
    [
      'none, where one of several schedules is slow',
      ['rate(1 hour)', 'rate(2 hours)'],
      { evaluationPeriods: 1, datapointsToAlarm: 1 },
    ],
  ])('are %s', (_name, schedules, window) => {
    expect(failureWindow(schedules)).toEqual(window);
  });
});
