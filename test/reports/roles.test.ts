import { describe, expect, it } from '@jest/globals';
import type { Column } from '../../shared/base/column-types.ts';
import { type Role, type RoleFields, placesOfRole } from '../../shared/reports/roles.ts';

function nameOf(role: Role, names: readonly string[], fields: RoleFields = {}): string | undefined {
  const columns = names.map((name): Column => ({ name, type: 'string', field: name }));
  const places = placesOfRole(role, columns, fields);
  return places.map(({ column, path }) => [column.name, ...path].join('.')).join(' ') || undefined;
}

describe('a role', () => {
  it.each<[string, Role, string[], RoleFields, string | undefined]>([
    ['the first of its names that is a column', 'state', ['order_status', 'state', 'status'], {}, 'status'],
    ['a name with other separators', 'order_id', ['orderId'], {}, 'orderId'],
    ['no column of another name', 'commission', ['comm', 'currency'], {}, undefined],
    ['the field of the settings', 'state', ['status', 'stage'], { state: 'stage' }, 'stage'],
    [
      'a path of the settings',
      'publisher_id',
      ['publisher'],
      { publisher_id: 'publisher.id' },
      'publisher.id',
    ],
    [
      'those of a list of the settings that are columns',
      'commission',
      ['comm', 'sale'],
      { commission: ['comm', 'gone', 'sale.value'] },
      'comm sale.value',
    ],
    ['the kind of a transaction', 'kind', ['type', 'transaction_type'], {}, 'transaction_type'],
    ['no column if the settings have null', 'state', ['status'], { state: null }, undefined],
    ['no other column if the settings are misspelt', 'state', ['status'], { state: 'stauts' }, undefined],
  ])('takes %s', (_name, role, names, fields, column) => {
    expect(nameOf(role, names, fields)).toBe(column);
  });

  it.each<[string, string[], RoleFields, string | undefined]>([
    ['without a currency', ['amount', 'sku'], {}, 'amount'],
    ['beside a column that may be the currency', ['amount', 'payout_unit'], {}, undefined],
    ['with a misspelt currency', ['amount', 'currency'], { currency: 'curency' }, undefined],
    ['with a currency', ['amount', 'currency'], {}, 'amount'],
    ['with a currency of the settings', ['amount', 'unit'], { currency: 'unit' }, 'amount'],
    ['of a service without currencies', ['amount'], { currency: null }, 'amount'],
  ])('of an amount %s has its place only if no sum adds two currencies', (_name, names, fields, column) => {
    expect(nameOf('amount', names, fields)).toBe(column);
  });
});
