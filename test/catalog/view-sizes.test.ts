import { describe, expect, it } from '@jest/globals';
import { prestoView } from '../../shared/adapters/aws/glue-tables.ts';
import { tableRoles, viewOver } from '../../shared/catalog/view-roles.ts';
import type { Column } from '../../shared/base/column-types.ts';
import { allViews } from '../../shared/reports/definition.ts';
import { baseSchema } from '../../shared/table/columns.ts';
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

/** In bytes, by name, if the records have every field of the settings. */
function viewSizes(brands: number, meanings: number): Map<string, number> {
  const all = Object.values(reports);
  const names = ['kind', 'publisher', 'order_no'].concat(
    ...['order_amount', 'money', 'currency', 'stage'].map((name) =>
      Array.from({ length: meanings }, (_, of) => `${name}_${of}`),
    ),
  );
  const own = names.map((name): Column => ({ name, type: 'decimal(38,9)', field: name }));
  const schemas = new Map(
    all.map(({ table, columns }) => {
      const schema = { columns: [...baseSchema(columns).columns, ...own], keys: ['order_no'] };
      return [table, schema] as const;
    }),
  );
  const roles = tableRoles(all, settingsOf(brands, meanings));
  return new Map(
    allViews(reports).map((view) => {
      const { ViewOriginalText = '' } = prestoView(viewOver(view, schemas, roles), 'x'.repeat(38), '0.0.0');
      return [view.name, ViewOriginalText.length];
    }),
  );
}

describe('the views of a lake', () => {
  it('of 300 brands with 20 different settings have less than 300 kB in Glue', () => {
    const sum = [...viewSizes(300, 20).values()].reduce((total, bytes) => total + bytes, 0);
    expect(sum).toBeLessThan(300_000);
  });

  it('are no larger for more brands with the same settings, but for the names', () => {
    const sizeOf = (brands: number) => viewSizes(brands, 2).get('order_history') ?? 0;
    expect(sizeOf(300) - sizeOf(10)).toBeLessThan(290 * 2 * 40);
  });
});
