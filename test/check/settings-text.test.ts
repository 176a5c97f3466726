import { describe, expect, it } from '@jest/globals';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { settingsOf } from '../../shared/check/answers.ts';
import { judgeBrand } from '../../shared/check/check.ts';
import type { BrandSample, ReportSample } from '../../shared/check/sample.ts';
import { settingsText } from '../../shared/check/settings-text.ts';
import { clicks as clicksList } from '../../shared/reports/clicks.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { loadSettings } from '../../shared/settings/settings.ts';

const ANSWERS = {
  brand: 'acme',
  baseUrl: 'https://api.example.com/acme',
  service: 'ACME',
  startDate: '2026-01-01',
  timeZone: 'Europe/Berlin',
};
const NOW = new Date('2026-11-25T12:00:00Z');
const ORDER = {
  ...{ amount: 10, commission: 1, currency: 'EUR', status: 'new', publisher_id: 'p1', transid: 1 },
};

const SHOWN = { firstPage: 1, timestampUnit: 'seconds', endDate: 'whole_day' } as const;

function written(sample: Partial<BrandSample>) {
  const settings = settingsOf(ANSWERS, reports);
  const options = { settings, reports, scope: {}, clock: systemClock(NOW) };
  const text = settingsText(ANSWERS, judgeBrand(options, 'acme', { reports: [], ...sample }), NOW.getTime());
  return { text, brand: loadSettings(text, 'it', reports).brands.acme, defaults: settings.brands.acme };
}

const ordersWith = (found: Partial<ReportSample>): BrandSample => ({
  reports: [{ report: orders, records: [], ...found, shown: { ...SHOWN, ...found.shown } }],
});
const records = (make: (index: number) => ReportSample['records'][number]) =>
  Array.from({ length: 30 }, (_, index) => ({ ...ORDER, transid: index, ...make(index) }));

describe('the settings that init writes', () => {
  it.each<[string, BrandSample, object]>([
    ['nothing for a service that fits the defaults', ordersWith({}), {}],
    [
      'milliseconds',
      ordersWith({ shown: { timestampUnit: 'milliseconds' } }),
      { timestampUnit: 'milliseconds' },
    ],
    ['the first page', ordersWith({ shown: { firstPage: 0 } }), { firstPage: 0 }],
    ['the end of a range', ordersWith({ shown: { endTime: 'inclusive' } }), { endTime: 'inclusive' }],
    ['the method', { ...ordersWith({}), method: 'GET' }, { method: 'GET' }],
  ])('contain what the service showed: %s', (_name, sample, differs) => {
    const { brand, defaults, text } = written(sample);
    expect(brand).toEqual({ ...defaults, ...differs });
    for (const name of ['pageSize', 'lateMinutes', 'refresh', 'bid']) expect(text).not.toContain(name);
  });

  it('contain what one report has shown, if another has too few records', () => {
    const clicks = { report: clicksList, records: [], shown: {} };
    const { brand } = written({
      reports: [clicks, ...ordersWith({ shown: { timestampUnit: 'milliseconds' } }).reports],
    });
    expect(brand?.timestampUnit).toBe('milliseconds');
  });

  it.each<[string, Partial<ReportSample>, string]>([
    [
      'a first page that too few orders show',
      { shown: { firstPage: undefined as never } },
      '// "firstPage": 0,',
    ],
    [
      'a role that no field has',
      { records: records(() => ({ commission: 'low' })).map(({ commission: _commission, ...rest }) => rest) },
      '// "commission": null,',
    ],
    [
      'a state that the interface does not define',
      { records: records((index) => ({ status: index < 20 ? 'Void' : 'Voided' })) },
      '// "states": {"words":{"Voided":"new"}},',
    ],
  ])('contain %s only in a comment', (_name, found, line) => {
    const { brand, defaults, text } = written(ordersWith(found));
    expect(text).toContain(line);
    expect(brand).toEqual({
      ...defaults,
      reports: { ...defaults?.reports, order_list: brand?.reports.order_list },
    });
    expect(brand?.reports.order_list?.states).toEqual({ words: {} });
    expect(brand?.reports.order_list?.key).toBeUndefined();
  });

  it('contain no setting that the name of a field or a state would add', () => {
    const hostile = 'commission\n"startDate": "2000-01-01", //\u2028\r';
    const { brand, defaults } = written(
      ordersWith({
        records: records((index) => ({
          [hostile]: index,
          status: index < 20 ? 'new' : hostile,
          id: `${hostile}${index}`,
        })),
      }),
    );
    expect(brand).toEqual(defaults);
  });
});
