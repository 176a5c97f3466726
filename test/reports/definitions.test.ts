import { describe, expect, it } from '@jest/globals';
import { intervalMs } from '../../shared/base/days.ts';
import type { Filter } from '../../shared/reports/definition.ts';
import { reports } from '../../shared/reports/index.ts';
import { documented } from '../fixtures/documented-reports.ts';

const all = Object.values(reports);
const named = all.map((report) => [report.name, report] as const);

const text: Filter = { kind: 'text' };
const oneOf = (values: string): Filter => ({ kind: 'enum', values: values.split(' ') });

/** The filters of docs/explanation/interface.md, sections 4.1 to 4.5, without fields for paging and the range. */
const DOCUMENTED_FILTERS = {
  clicks_list: { publisher_id: text, channel_id: text },
  clicks_detail: {},
  order_list: {
    status: oneOf('new void effective'),
    type: oneOf('trans manual_trans bonus campaign_proposal_pay campaign_bonus campaign_proposal_bonus'),
    publisher_id: text,
    channel_id: text,
  },
  transaction_list: {
    order_status: oneOf('new void mixed locked paid'),
    sku_status: oneOf('new void locked paid'),
    transaction_type: oneOf('bonus manually_added normal campaign_bonus campaign_payment performance_bonus'),
    amazon_country: text,
    amazon_brand: text,
    order_id: text,
    sku: text,
    publisher_id: text,
    group_id: text,
  },
  amazon_attribution_report: { publisher_uid: { kind: 'integer', min: 0 }, country_code: text, asin: text },
};

describe('the reports', () => {
  it('are the five documented reports, named by the last part of their action', () => {
    expect(Object.values(documented).map(({ name, action, table }) => [name, action, table])).toEqual([
      ['clicks_list', 'report/clicks_list', 'clicks'],
      ['clicks_detail', 'report/clicks_detail', 'click_details'],
      ['order_list', 'report/order_list', 'orders'],
      ['transaction_list', 'report/transaction_list', 'transactions'],
      ['amazon_attribution_report', 'report/amazon_attribution_report', 'attribution'],
    ]);
    expect(Object.keys(reports)).toEqual(all.map(({ name }) => name));
  });

  it('have exactly the documented filters, enumerations and bounds', () => {
    expect(Object.fromEntries(Object.values(documented).map(({ name, filters }) => [name, filters]))).toEqual(
      DOCUMENTED_FILTERS,
    );
  });

  it.each(named)('%s has ascending refresh tiers', (_name, { refresh }) => {
    const ages = refresh.map(({ untilAgeDays }) => untilAgeDays);
    expect(ages.length).toBeGreaterThan(0);
    expect(ages).toEqual([...new Set(ages)].sort((a, b) => a - b));
    for (const { every } of refresh) expect(intervalMs(every)).toBeGreaterThanOrEqual(0);
  });

  it('look up text columns of earlier reports', () => {
    for (const [index, { day, paging }] of all.entries()) {
      expect(paging.style === 'lookup').toBe(day.by === 'upstream');
      if (paging.style !== 'lookup' || day.by !== 'upstream') continue;
      const upstream = all.slice(0, index).find(({ name }) => name === day.report);
      const texts = upstream?.columns.filter(({ type }) => type === 'string').map(({ field }) => field);
      for (const { column } of [paging.lookup.key, ...paging.lookup.optional])
        expect(texts).toContain(column);
    }
  });
});
