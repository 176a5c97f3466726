import { describe, expect, it } from '@jest/globals';
import { type StateRules, mayChange, unknownStates } from '../../shared/planning/states.ts';

const words = { Annulled: 'void', '4': 'paid', Offen: 'new' };
const rulesOf = (state?: string | string[] | null): StateRules => ({
  fields: state === undefined ? {} : { state },
  words,
});
type Rows = Readonly<Record<string, number>>;
/** A version of five records, by column the rows of each word. */
const version = (columns: Readonly<Record<string, Rows | undefined>>, filled: Rows = {}) => ({
  rows: 5,
  values: {
    filled,
    words: Object.fromEntries(
      Object.entries(columns).map(([name, rows]) => [name, { ...(rows && { rows }) }]),
    ),
  },
});

describe('a record may still change', () => {
  it.each<[string, boolean, ReturnType<typeof version>, StateRules]>([
    ['not in final states', false, version({ status: { paid: 3, VOID: 2 } }), rulesOf()],
    ['in another state', true, version({ status: { paid: 4, new: 1 } }), rulesOf()],
    [
      'not by words of the settings',
      false,
      version({ status: { annulled: 2, '4.000000000': 3 } }),
      rulesOf(),
    ],
    ['by words of the settings', true, version({ status: { paid: 4, offen: 1 } }), rulesOf()],
    ['without a state', true, version({ status: { paid: 4 } }), rulesOf()],
    ['with an empty state', true, version({ status: { paid: 4, '': 1 } }), rulesOf()],
    [
      'if its field was not counted',
      true,
      version({ status: { paid: 5 } }, { fulfilment: 5 }),
      rulesOf('fulfilment'),
    ],
    ['if its field has too many words', true, version({ status: undefined }, { status: 5 }), rulesOf()],
    ['if no field has the role', true, version({ status: { paid: 5 } }), rulesOf(null)],
    [
      'not if the first field of a list has no values',
      false,
      version({ status: { paid: 5 } }),
      rulesOf(['gone', 'status']),
    ],
    [
      'if two fields of a list have values',
      true,
      version({ st: { paid: 2 }, status: { paid: 3 } }),
      rulesOf(['st', 'status']),
    ],
    [
      'if the first field was not counted',
      true,
      version({ status: { paid: 5 } }, { other: 2 }),
      rulesOf(['other', 'status']),
    ],
    [
      'not at a path',
      false,
      version({ state: { '{"code":"paid","by":1}': 2, '{"code":"void"}': 3 } }),
      rulesOf('state.code'),
    ],
    ['at a path', true, version({ state: { '{"code":"paid"}': 4, '{}': 1 } }), rulesOf('state.code')],
    ['not if there is no record', false, { ...version({}), rows: 0 }, rulesOf()],
    ['not if the report has no states', false, version({}), { fields: {} }],
  ])('or not: %s', (_name, expected, of, rules) => {
    expect(mayChange(of, rules)).toBe(expected);
  });

  it('by the field of the setting if its column has another name', () => {
    const values = {
      words: { order_state_2: { field: 'orderState', rows: { paid: 5 } }, order_state: { rows: { new: 5 } } },
    };
    expect(mayChange({ rows: 5, values }, rulesOf('orderState'))).toBe(false);
  });
});

it('a state is unknown if neither the interface nor the settings have it', () => {
  const { values } = version({
    status: { Annulled: 1, new: 2, Lost: 3, '': 1 },
    sku_status: { Lost: 1, İptal: 1 },
  });
  expect([...unknownStates(values, rulesOf())]).toEqual([
    ['Lost', 4],
    ['İptal', 1],
  ]);
});
