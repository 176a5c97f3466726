import { describe, expect, it } from '@jest/globals';
import { staggered } from '../../shared/settings/staggered.ts';

describe('staggered schedules', () => {
  it.each([
    ['hourly rates over the hour', 'rate(1 hour)', ['0 *', '12 *', '24 *', '36 *', '48 *']],
    ['hourly rates written in minutes', 'rate(60 minutes)', ['0 *', '12 *', '24 *', '36 *', '48 *']],
    [
      'rates of minutes over their interval',
      'rate(10 minutes)',
      ['0/10 *', '2/10 *', '4/10 *', '6/10 *', '8/10 *'],
    ],
    ['rates of hours over the hour', 'rate(6 hours)', ['0 0/6', '12 0/6', '24 0/6', '36 0/6', '48 0/6']],
    ['daily rates over an hour of the night', 'rate(1 day)', ['0 4', '12 4', '24 4', '36 4', '48 4']],
    ['daily rates written in hours', 'rate(24 hours)', ['0 4', '12 4', '24 4', '36 4', '48 4']],
  ])('spread %s', (_name, schedule, expected) => {
    const expressions = [0, 1, 2, 3, 4].map((slot) => staggered(schedule, slot, 5));
    expect(expressions).toEqual(
      expected.map((start) => ({ expression: `cron(${start} * * ? *)`, windowMinutes: 0 })),
    );
  });

  it.each([
    ['rate(7 hours)', 'rate(420 minutes)', 15],
    ['rate(7 hour)', 'rate(420 minutes)', 15],
    ['rate(45 minutes)', 'rate(45 minutes)', 15],
    ['rate(7 minutes)', 'rate(7 minutes)', 7],
    ['rate(2 days)', 'rate(2880 minutes)', 15],
    ['rate(1 minute)', 'rate(1 minute)', 1],
  ])('get a window where no cron expression is equal to %s', (schedule, expression, windowMinutes) => {
    expect(staggered(schedule, 1, 5)).toEqual({ expression, windowMinutes });
  });

  it('keep a cron expression as it is', () => {
    expect(staggered('cron(5 6 * * ? *)', 3, 5)).toEqual({
      expression: 'cron(5 6 * * ? *)',
      windowMinutes: 0,
    });
  });
});
