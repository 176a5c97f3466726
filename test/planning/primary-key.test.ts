import { expect, it } from '@jest/globals';
import { primaryKeyField } from '../../shared/planning/primary-key.ts';
import { reports } from '../../shared/reports/index.ts';

it.each<[string, string | undefined, string | undefined]>([
  ['clicks_list', undefined, 'id'],
  ['order_list', undefined, 'transid'],
  ['order_list', 'order_no', 'order_no'],
  ['transaction_list', undefined, undefined],
  ['amazon_attribution_report', undefined, undefined],
])('I1: the primary key of the report %s, with the setting %s, is %s', (name, key, field) => {
  const report = reports[name];
  if (!report) throw new Error(`there is no report ${name}`);
  expect(primaryKeyField({ report, ...(key !== undefined && { settings: { key } }) })).toBe(field);
});
