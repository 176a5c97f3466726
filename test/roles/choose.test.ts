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
  const rows: { name: string; role: Role; records: JsonObject[]; field: string | undefined }[] = [
    {
      name: 'of a known name',
      role: 'commission',
      records: valuesOf('commission', 1, '2.50'),
      field: 'commission',
    },
    {
      name: 'spelt in another way',
      role: 'commission',
      records: valuesOf('Sale-Commission', 1.5),
      field: 'Sale-Commission',
    },
    {
      name: 'whose digits a double loses',
      role: 'amount',
      records: recordsOf('{"amount": 1.0320000000000003000}'),
      field: 'amount',
    },
    { name: 'that some records lack', role: 'amount', records: valuesOf('gmv', null, '', 3), field: 'gmv' },
    {
      name: 'not if one value is no number',
      role: 'amount',
      records: valuesOf('amount', 1, 'EUR 2'),
      field: undefined,
    },
    {
      name: 'not if two fields fit',
      role: 'amount',
      records: recordsOf('{"amount": 1, "total": 2}'),
      field: undefined,
    },
    {
      name: 'if the other known name does not fit',
      role: 'state',
      records: recordsOf('{"status": " VOID", "state": "CA"}'),
      field: 'status',
    },
    {
      name: 'with states of its own beside',
      role: 'state',
      records: valuesOf('status', 'Paid', 'new', 'Annulled'),
      field: 'status',
    },
    {
      name: 'not if most states are unknown',
      role: 'state',
      records: valuesOf('status', '4', 'İ', 'new'),
      field: undefined,
    },
    {
      name: 'not if it is nested',
      role: 'commission',
      records: recordsOf('{"commission": {"value": "1.20"}}'),
      field: undefined,
    },
    {
      name: 'with currencies in any case',
      role: 'currency',
      records: valuesOf('currency', 'usd', 'EUR '),
      field: 'currency',
    },
    {
      name: 'not a currency of another name',
      role: 'currency',
      records: valuesOf('unit', 'EUR'),
      field: undefined,
    },
    {
      name: 'not a symbol as the currency',
      role: 'currency',
      records: valuesOf('currency', '$'),
      field: undefined,
    },
    {
      name: 'not one of another role',
      role: 'line_state',
      records: valuesOf('status', 'new'),
      field: undefined,
    },
  ];
  it.each(rows)('decides for a field: $name', ({ role, records, field }) => {
    expect(chosen(role, records).field).toBe(field);
  });
});

describe('a choice', () => {
  const two = recordsOf('{"commission": 1, "sale_commission": 2}');
  it('has its evidence and the line of settings', () => {
    const records = [...valuesOf('sale_commission', 1, '2'), { other: true }];
    expect(chosen('commission', records, { brand: 'acme' })).toMatchObject({
      by: 'data',
      evidence: '`sale_commission`: numeric in 2 of 3 records',
      setting: '"fields": { "commission": "sale_commission" } in brands.acme.reports.order_list',
    });
  });

  it('proposes what a nested object has, the likeliest first', () => {
    const nested = recordsOf('{"commission": {"value": "1.20", "currency": "EUR"}}');
    expect(chosen('commission', nested)).toMatchObject({
      by: 'none',
      candidates: [{ path: 'commission.value' }, { path: 'commission' }],
    });
    expect(chosen('currency', nested).candidates).toMatchObject([{ path: 'commission.currency' }]);
  });

  it('is the setting, then what was stored, whatever the data has', () => {
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

  it('names a field of the settings that no record has', () => {
    const fields = { commission: 'sale_comission.value' };
    expect(chosen('commission', valuesOf('sale_commission', 1), { fields, brand: 'acme' })).toMatchObject({
      field: undefined,
      by: 'none',
      evidence: 'the setting `fields` has `sale_comission.value`, which none of 1 records has',
      setting: '"fields": { "commission": "sale_commission" } in brands.acme.reports.order_list',
    });
  });

  it('names the field that fits better than the stored one', () => {
    const stored = { commission: 'commission' };
    expect(chosen('commission', valuesOf('sale_commission', 1), { stored })).toMatchObject({
      field: 'commission',
      better: 'sale_commission',
    });
    expect(chosen('commission', two, { stored }).better).toBeUndefined();
  });

  it('is made for every role, also without a record', () => {
    const choices = chooseRoles(report, { evidence: [] });
    expect(choices.map(({ role }) => role)).toEqual([...ROLES]);
    expect(
      choices.every(({ by, evidence }) => by === 'none' && evidence === 'no field has a known name'),
    ).toBe(true);
  });
});
