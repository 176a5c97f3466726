import { describe, expect, it } from '@jest/globals';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { findingsOf, judgeBrand } from '../../shared/check/check.ts';
import { settingsText } from '../../shared/check/finding.ts';
import type { BrandSample, ReportSample } from '../../shared/check/sample.ts';
import { clicks } from '../../shared/reports/clicks.ts';
import { reports } from '../../shared/reports/index.ts';
import { orders } from '../../shared/reports/orders.ts';
import { loadSettings, parseSettings } from '../../shared/settings/settings.ts';

const ACME = {
  ...{ baseUrl: 'https://api.example.com/acme', service: 'ACME' },
  ...{ startDate: '2026-01-01', timeZone: 'Europe/Berlin' },
};
const ORDER = { amount: 10, commission: 1, currency: 'EUR', status: 'new', publisher_id: 'p1' };
const SHOWN = { firstPage: 1, timestampUnit: 'seconds', endDate: 'whole_day' } as const;
const settings = parseSettings({ brands: { acme: ACME } }, reports);
const { acme: defaults } = settings.brands;

function written({ shown, ...found }: Partial<ReportSample>, sample: Partial<BrandSample> = {}) {
  const clock = systemClock(new Date('2026-11-25T12:00:00Z'));
  // The clicks are too few to show anything.
  const sampled = [
    { report: clicks, records: [], shown: {} },
    { report: orders, records: [], ...found, shown: { ...SHOWN, ...shown } },
  ];
  const judged = judgeBrand({ settings, reports, scope: {}, clock }, 'acme', { reports: sampled, ...sample });
  const text = settingsText('acme', ACME, findingsOf(judged), clock.wallMs());
  return { text, brand: loadSettings(text, 'it', reports).brands.acme };
}

const records = (make: (index: number) => ReportSample['records'][number]) =>
  Array.from({ length: 30 }, (_, index) => ({ ...ORDER, transid: index, ...make(index) }));

describe('the settings that init writes', () => {
  it.each<[Partial<ReportSample>, Partial<BrandSample>, object]>([
    [{}, {}, {}],
    [{ shown: { timestampUnit: 'milliseconds' } }, {}, { timestampUnit: 'milliseconds' }],
    [{ shown: { firstPage: 0 } }, {}, { firstPage: 0 }],
    [{ shown: { endTime: 'inclusive' } }, {}, { endTime: 'inclusive' }],
    [{}, { method: 'GET' }, { method: 'GET' }],
  ])('contain what the service showed, and no default: %j %j', (found, sample, differs) => {
    const { brand, text } = written(found, sample);
    expect(brand).toEqual({ ...defaults, ...differs });
    for (const name of ['pageSize', 'lateMinutes', 'refresh', 'bid']) expect(text).not.toContain(name);
  });

  it.each<[Partial<ReportSample>, string]>([
    [{ shown: { firstPage: undefined as never } }, '// "firstPage": 0,'],
    [{ records: records(() => ({ commission: 'low' })) }, '// "commission": null,'],
    [
      { records: records((index) => ({ status: index < 20 ? 'Void' : 'Voided' })) },
      '// "states": {"words":{"Voided":"new"}},',
    ],
  ])('contain in a comment what a person has to decide: %#', (found, line) => {
    const { brand, text } = written(found);
    expect(text).toContain(line);
    expect(brand).toEqual(defaults);
  });

  it('contain no setting that the name of a field or a state would add', () => {
    const hostile = 'commission\n"startDate": "2000-01-01", //\u2028\r';
    const make = (index: number) => ({
      ...{ [hostile]: index, status: index < 20 ? 'new' : hostile, id: `${hostile}${index}` },
    });
    expect(written({ records: records(make) }).brand).toEqual(defaults);
  });
});
