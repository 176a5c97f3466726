import { describe, expect, it } from '@jest/globals';
import {
  type KeyEvidence,
  comparableKeys,
  keyProblem,
  primaryKeyField,
} from '../../shared/planning/primary-key.ts';
import { reports } from '../../shared/reports/index.ts';

it.each<[string, string | string[] | undefined, string | string[] | undefined]>([
  ['clicks_list', undefined, 'id'],
  ['order_list', undefined, 'transid'],
  ['order_list', 'order_no', 'order_no'],
  ['transaction_list', undefined, undefined],
  ['transaction_list', ['order_id', 'sku'], ['order_id', 'sku']],
  ['amazon_attribution_report', undefined, undefined],
])('I1: the primary key of the report %s, with the setting %s, is %s', (name, key, field) => {
  const report = reports[name];
  if (!report) throw new Error(`there is no report ${name}`);
  expect(primaryKeyField({ report, ...(key !== undefined && { settings: { key } }) })).toEqual(field);
});

it.each<[string, string | undefined, boolean, unknown[]]>([
  ['order_list', undefined, false, ['transid']],
  ['order_list', undefined, true, []],
  ['transaction_list', undefined, false, ['transaction_id', 'id']],
  ['transaction_list', 'line', false, ['line', 'transaction_id', 'id']],
  ['transaction_list', 'line', true, ['transaction_id', 'id']],
])(
  'versions of %s with the setting %s, whose key is disproven: %s, are compared by %j',
  (name, key, keyIsNone, keys) => {
    const report = reports[name];
    if (!report) throw new Error(`there is no report ${name}`);
    expect(comparableKeys({ report, ...(key !== undefined && { settings: { key } }) }, keyIsNone)).toEqual(
      keys,
    );
  },
);

describe('a key of the settings', () => {
  const fields = ['amount', 'order_id', 'sku', '\u001b[31mx'];
  const MANY = Array.from({ length: 30 }, (_, index) => `field_${index}`);
  const evidence = { records: 9, withoutKey: 0, fields, keyIsNone: false };

  it.each<[string, string | string[], Partial<KeyEvidence>, string | undefined]>([
    ['identifies every record', 'order_id', {}, undefined],
    [
      'is one of many fields',
      'x_1',
      { withoutKey: 9, fields: MANY },
      `no record has "x_1" (fields: ${MANY.slice(0, 20).join(', ')} and 10 more)`,
    ],
  ])('has its problem named if it %s', (_name, key, found, problem) => {
    expect(keyProblem(key, { ...evidence, ...found })).toEqual(problem);
  });
});
