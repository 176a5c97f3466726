import { describe, expect, it } from '@jest/globals';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { staggered, startsOf } from '../../shared/settings/staggered.ts';

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
  ])('get a window if no cron expression equals %s', (schedule, expression, windowMinutes) => {
    expect(staggered(schedule, 1, 5)).toEqual({ expression, windowMinutes });
  });
});

describe('the starts of a deployment', () => {
  const brand = (timeZone: string, more: object = {}) => ({
    ...{ baseUrl: 'https://service.example/api', service: 'ACME', startDate: '2026-01-01', timeZone },
    reports: more,
  });
  const startsIn = (brands: object) => startsOf(parseSettings({ brands }, reports), reports);

  it('include one start per enabled report of a brand, in its zone, and never at the same moment', () => {
    const starts = startsIn({
      acme: brand('America/New_York', { clicks_list: { enabled: false } }),
      globex: brand('Europe/Berlin', {
        order_list: { schedule: 'rate(1 day)' },
        transaction_list: { enabled: false },
      }),
    });
    expect(starts.map((one) => [one.report, one.brand, one.timeZone, one.expression])).toEqual([
      ['amazon_attribution_report', 'globex', 'Europe/Berlin', 'cron(0 * * * ? *)'],
      ['order_list', 'acme', 'America/New_York', 'cron(10 * * * ? *)'],
      ['clicks_list', 'globex', 'Europe/Berlin', 'cron(20 * * * ? *)'],
      ['transaction_list', 'acme', 'America/New_York', 'cron(30 * * * ? *)'],
      ['amazon_attribution_report', 'acme', 'America/New_York', 'cron(40 * * * ? *)'],
      ['order_list', 'globex', 'Europe/Berlin', 'cron(50 4 * * ? *)'],
    ]);
  });

  it('fill each minute of an hour evenly, with different reports', () => {
    const brands = Array.from({ length: 300 }, (_, index) => [`brand-${index}`, brand('UTC')]);
    const perMinute = Map.groupBy(startsIn(Object.fromEntries(brands)), ({ expression }) => expression);
    expect([...perMinute.values()].map(({ length }) => length)).toEqual(Array(60).fill(20));
    for (const starts of perMinute.values())
      expect(new Set(starts.map(({ report }) => report)).size).toBeGreaterThan(1);
  });
});
