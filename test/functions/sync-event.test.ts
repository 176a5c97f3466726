import { describe, expect, it } from '@jest/globals';
import { parseSyncEvent } from '../../functions/sync-event.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

const brand = {
  baseUrl: 'https://service.example',
  service: 'ACME',
  timeZone: 'UTC',
  startDate: '2026-01-01',
};
const settings = parseSettings(
  { brands: { acme: brand, globex: { ...brand, reports: { order_list: { enabled: false } } } } },
  reports,
);
const parse = (event: unknown) => parseSyncEvent(event, settings, reports);
const REPORTS = 'clicks_list, order_list, transaction_list, amazon_attribution_report';

describe('the event of the sync function', () => {
  it.each([
    ['of all brands', {}],
    ['of one brand', { brand: 'globex' }],
    ['of some reports of all brands', { reports: ['clicks_list', 'order_list'] }],
    [
      'to read a range again',
      { brand: 'acme', reports: ['order_list'], from: '2026-01-01', to: '2026-01-31' },
    ],
    ['to accept fewer records of a range', { brand: 'acme', from: '2026-01-01', acceptFewer: true }],
    ['to accept fewer records up to a day', { to: '2026-01-31', acceptFewer: true }],
    ['to accept fewer records of no day', { acceptFewer: false }],
    ['to check the connection', { check: true }],
  ])('is accepted: %s', (_name, event) => {
    expect(parse(event)).toEqual(event);
  });

  it('names reports by the names of their tables too', () => {
    expect(parse({ reports: ['orders', 'order_list', 'clicks'] })).toEqual({
      reports: ['order_list', 'clicks_list'],
    });
  });

  it('is a rebuild if it has "rebuild"', () => {
    const days = { brand: 'acme', from: '2026-01-01', to: '2026-01-31' };
    expect(parse({ rebuild: true, ...days })).toEqual({ rebuild: true, ...days });
  });

  it.each<[string, unknown, string]>([
    ['a rebuild that is false', { rebuild: false }, 'rebuild is false; allowed: true'],
    [
      'a rebuild of no brand',
      { rebuild: true, from: '2026-01-01', to: '2026-01-01' },
      'rebuild is true; allowed: true only together with "brand"',
    ],
    ['a rebuild of no days', { rebuild: true, brand: 'acme' }, 'allowed: true only together with "from"'],
    [
      'a rebuild backwards',
      { rebuild: true, brand: 'acme', from: '2026-02-02', to: '2026-02-01' },
      'from is "2026-02-02"; allowed: a day not after 2026-02-01',
    ],
    ['not an object', null, 'the top level is null; allowed: an object'],
    [
      'an unknown key',
      { brands: 'acme' },
      'brands is unknown; allowed: brand, reports, from, to, acceptFewer, check, rebuild',
    ],
    ['an unknown brand', { brand: 'acne' }, 'brand is "acne"; allowed: acme, globex'],
    ['a day that does not exist', { from: '2026-02-30' }, 'from is "2026-02-30"; allowed: a day, YYYY-MM-DD'],
    [
      'a range backwards',
      { from: '2026-02-02', to: '2026-02-01' },
      'from is "2026-02-02"; allowed: a day not after 2026-02-01',
    ],
    [
      'fewer records without a range of days',
      { brand: 'acme', acceptFewer: true },
      'acceptFewer is true; allowed: true only together with "from" or "to"',
    ],
    [
      'a rebuild that accepts fewer records',
      { rebuild: true, brand: 'acme', from: '2026-01-01', to: '2026-01-01', acceptFewer: true },
      'acceptFewer is true; allowed: true only without "rebuild"',
    ],
    ['an unknown report', { reports: ['order'] }, `reports.0 is "order"; allowed: ${REPORTS}`],
    ['a report that no brand has enabled', { reports: ['clicks_detail'] }, 'is "clicks_detail"; allowed: '],
    [
      'a report that the brand has not enabled',
      { brand: 'globex', reports: ['clicks_list', 'orders'] },
      'reports.1 is "order_list"; allowed: clicks_list, transaction_list',
    ],
  ])('is refused: %s', (_name, event, message) => {
    expect(() => parse(event)).toThrow(message);
  });

  it('I9: is refused without repeating a credential', () => {
    expect(() => parse({ token: 'SENSITIVE' })).toThrow(/^(?!.*SENSITIVE).*\n- token is unknown/s);
  });
});
