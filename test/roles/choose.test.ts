import { describe, expect, it } from '@jest/globals';
import { type Json, type JsonObject, parseJson, isJsonObject } from '../../shared/json.ts';
import { type Role, ROLES, chooseRoles, evidenceOf } from '../../shared/roles/index.ts';

const report = { name: 'order_list' };

const recordsOf = (...texts: string[]): JsonObject[] =>
  texts.map((text) => parseJson(text)).filter(isJsonObject);
const valuesOf = (field: string, ...values: Json[]): JsonObject[] =>
  values.map((value) => ({ [field]: value }));

function chosen(role: Role, records: readonly JsonObject[], basis: object = {}) {
  const choice = chooseRoles(report, { evidence: evidenceOf(records), ...basis }).find(
    (each) => each.role === role,
  );
  if (!choice) throw new Error(`no choice for ${role}`);
  return choice;
}

describe('a role takes a field of the data', () => {
  it.each<[string, Role, JsonObject[], string | undefined]>([
    ['with a known name', 'commission', valuesOf('commission', 1, '2.50'), 'commission'],
    ['with another spelling', 'commission', valuesOf('Sale-Commission', 1.5), 'Sale-Commission'],
    [
      'with digits that a double would lose',
      'amount',
      recordsOf('{"amount": 1.0320000000000003000}'),
      'amount',
    ],
    ['even if some records lack it', 'amount', valuesOf('gmv', null, '', 3), 'gmv'],
    ['not if one value is not a number', 'amount', valuesOf('amount', 1, 'EUR 2'), undefined],
    ['not if two fields fit', 'amount', recordsOf('{"amount": 1, "total": 2}'), undefined],
    [
      'if the other known name does not fit',
      'state',
      recordsOf('{"status": " VOID", "state": "CA"}'),
      'status',
    ],
    ['even if it has other states too', 'state', valuesOf('status', 'Paid', 'new', 'Annulled'), 'status'],
    ['not if most states are unknown', 'state', valuesOf('status', '4', 'İ', 'new'), undefined],
    ['not if it is nested', 'commission', recordsOf('{"commission": {"value": "1.20"}}'), undefined],
    ['with currencies in any case', 'currency', valuesOf('currency', 'usd', 'EUR '), 'currency'],
    ['not if a currency has another name', 'currency', valuesOf('unit', 'EUR'), undefined],
    ['not if the currency is a symbol', 'currency', valuesOf('currency', '$'), undefined],
    ['not if its name belongs to another role', 'line_state', valuesOf('status', 'new'), undefined],
  ])('depending on its name and values: %s', (_name, role, records, field) => {
    expect(chosen(role, records).field).toBe(field);
  });
});

describe('a choice', () => {
  const two = recordsOf('{"commission": 1, "sale_commission": 2}');
  it('has its evidence and the settings line', () => {
    const records = [...valuesOf('sale_commission', 1, '2'), { other: true }];
    expect(chosen('commission', records, { brand: 'acme' })).toMatchObject({
      by: 'data',
      evidence: '`sale_commission`: numeric in 2 of 3 records',
      setting: '"fields": { "commission": "sale_commission" } in brands.acme.reports.order_list',
    });
  });

  it('proposes fields of a nested object, the likeliest first', () => {
    const nested = recordsOf('{"commission": {"value": "1.20", "currency": "EUR"}}');
    expect(chosen('commission', nested)).toMatchObject({
      by: 'none',
      candidates: [{ path: 'commission.value' }, { path: 'commission' }],
    });
    expect(chosen('currency', nested).candidates).toMatchObject([{ path: 'commission.currency' }]);
  });

  it('follows the setting first, then the stored choice, whatever the data contains', () => {
    expect(
      chosen('commission', two, {
        fields: { commission: 'saleCommission' },
        stored: { commission: 'commission' },
      }),
    ).toMatchObject({ field: 'saleCommission', by: 'setting', setting: undefined });
    expect(chosen('commission', two, { fields: { commission: null } })).toMatchObject({
      field: undefined,
      by: 'setting',
    });
    expect(chosen('commission', two, { stored: { commission: 'commission' } }).field).toBe('commission');
  });

  it('names the field of a setting that no record has', () => {
    const fields = { commission: 'sale_comission.value' };
    expect(chosen('commission', valuesOf('sale_commission', 1), { fields, brand: 'acme' })).toMatchObject({
      field: undefined,
      by: 'none',
      evidence: 'the setting `fields` has `sale_comission.value`, which none of 1 records has',
      setting: '"fields": { "commission": "sale_commission" } in brands.acme.reports.order_list',
    });
  });

  it('is made for every role, even without records', () => {
    const choices = chooseRoles(report, { evidence: [] });
    expect(choices.map(({ role }) => role)).toEqual([...ROLES]);
    expect(
      choices.every(({ by, evidence }) => by === 'none' && evidence === 'no field has a known name'),
    ).toBe(true);
  });
});
