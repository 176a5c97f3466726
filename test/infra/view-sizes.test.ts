import { describe, expect, it } from '@jest/globals';
import { assertViewsFit, viewSizes } from '../../infra/view-sizes.ts';
import { documented as reports } from '../fixtures/documented-reports.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

const BRAND = {
  ...{
    baseUrl: 'https://brand.example',
    service: 'ACME',
    timeZone: 'Europe/Berlin',
    startDate: '2026-01-01',
  },
};

/** Settings of brands that have so many different meanings of orders and transactions. */
function settingsOf(brands: number, meanings: number) {
  const brand = (index: number) => {
    const of = index % meanings;
    const own = {
      fields: {
        ...{
          amount: [`order_amount_${of}`, 'amount'],
          commission: `money_${of}.due`,
          currency: `currency_${of}`,
        },
        ...{ state: `stage_${of}`, kind: 'kind', publisher_id: `publisher.id_${of}` },
        ...{ publisher_name: 'publisher.name', order_id: 'order_no' },
      },
      states: {
        words: { open: 'new', [`ok ${of}`]: 'effective', settled: 'paid', Annulled: 'void', '4': 'locked' },
      },
      kinds: ['bonus', `campaign ${of}`],
    };
    return [`brand-${index}`, { ...BRAND, reports: { order_list: own, transaction_list: own } }] as const;
  };
  return parseSettings(
    { brands: Object.fromEntries(Array.from({ length: brands }, (_, index) => brand(index))) },
    reports,
    'settings',
  );
}

describe('the views of a deployment', () => {
  it('of 300 brands with 20 different settings have less than 300 kB in Glue', () => {
    const sizes = viewSizes(reports, settingsOf(300, 20));
    const sum = [...sizes.values()].reduce((total, bytes) => total + bytes, 0);
    expect(sum).toBeLessThan(300_000);
  });

  it('are no larger for more brands with the same settings, but for the names', () => {
    const sizeOf = (brands: number) => viewSizes(reports, settingsOf(brands, 2)).get('order_history') ?? 0;
    expect(sizeOf(300) - sizeOf(10)).toBeLessThan(290 * 2 * 40);
  });

  it('that Glue would refuse are an error that names the view, its size and what to do', () => {
    expect(() => assertViewsFit(reports, settingsOf(200, 200))).toThrow(
      /^The view order_history would have \d{6,} bytes; Glue accepts 409600\. .* Give brands the same, or deploy/,
    );
    expect(() => assertViewsFit(reports, settingsOf(300, 20))).not.toThrow();
  });
});
