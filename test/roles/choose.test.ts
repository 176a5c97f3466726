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
      name: 'with a known name',
      role: 'commission',
      records: valuesOf('commission', 1, '2.50'),
      field: 'commission',
    },
    {
      name: 'with another spelling',
      role: 'commission',
      records: valuesOf('Sale-Commission', 1.5),
      field: 'Sale-Commission',
    },
    {
      name: 'with digits that a double would lose',
      role: 'amount',
      records: recordsOf('{"amount": 1.0320000000000003000}'),
      field: 'amount',
    },
    {
      name: 'even if some records lack it',
      role: 'amount',
      records: valuesOf('gmv', null, '', 3),
      field: 'gmv',
    },
    {
      name: 'not if one value is not a number',
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
      name: 'even if it has other states too',
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
      name: 'not if a currency has another name',
      role: 'currency',
      records: valuesOf('unit', 'EUR'),
      field: undefined,
    },
    {
      name: 'not if the currency is a symbol',
      role: 'currency',
      records: valuesOf('currency', '$'),
      field: undefined,
    },
    {
      name: 'not if its name belongs to another role',
      role: 'line_state',
      records: valuesOf('status', 'new'),
      field: undefined,
    },
  ];
  it.each(rows)('depending on its name and values: $name', ({ role, records, field }) => {
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
