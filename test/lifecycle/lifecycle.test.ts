import { describe, expect, it } from '@jest/globals';
import type { Row } from '../../shared/lake/table/columns.ts';
import { type Step, lifecycleDay } from './days.ts';

const order = (transid: string, status: string, commission: number, more: Row = {}): Row => ({
  ...{ transid, order_id: `o-${transid}`, status, publisher_id: '7', currency: 'EUR' },
  ...{
    amount: BigInt(commission) * 10_000_000_000n,
    commission: BigInt(commission) * 1_000_000_000n,
    ...more,
  },
});

/** Times without the year and the seconds, amounts as numbers. */
function shown(row: Row): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Date
        ? value.toISOString().slice(5, 16)
        : typeof value === 'bigint'
          ? Number(name === 'records' ? value : value / 1_000_000n) / (name === 'records' ? 1 : 1000)
          : value,
    ]),
  );
}

async function lives(steps: readonly Step[], options?: Parameters<typeof lifecycleDay>[0]) {
  const day = lifecycleDay(options);
  let rows: Row[] = [];
  for (const step of steps) rows = await day.replace(step);
  return rows.map(shown);
}

const [READ_1, READ_2, READ_3] = ['2026-02-01T10', '2026-02-02T10', '2026-02-03T10'];
const AFTER_1 = '02-01T10:00';
const [BY_1, BY_2, BY_3] = ['02-01T10:10', '02-02T10:10', '02-03T10:10'];
const at = (readings: readonly (readonly Row[])[]): Step[] =>
  [READ_1, READ_2, READ_3].flatMap((when, index) => {
    const records = readings[index];
    return records ? [{ at: when, records }] : [];
  });
const absent = (...names: string[]) => Object.fromEntries(names.map((name) => [name, undefined]));

describe('lifecycle rows', () => {
  it.each<[string, Step[], Record<string, unknown>[]]>([
    [
      'of the first reading has no reading before it',
      at([[order('1', 'locked', 2)]]),
      [
        {
          ...{ key: '1', records: 1, kind: 'sale', publisher_id: '7', state: 'locked' },
          ...{
            currency: 'EUR',
            seen_currency: 'EUR',
            amount: 20,
            commission: 2,
            seen_by: BY_1,
            locked_by: BY_1,
          },
          ...{ seen_amount: 20, seen_commission: 2, locked_amount: 20, locked_commission: 2 },
        },
      ],
    ],
    [
      'has for each state the first reading that showed it, the reading before, and the amounts at that time',
      at([[order('1', 'new', 1)], [order('1', ' Locked ', 2)], [order('1', 'paid', 3)]]),
      [
        {
          ...{ state: 'paid', commission: 3, seen_by: BY_1, seen_commission: 1 },
          ...{ locked_after: AFTER_1, locked_by: BY_2, locked_amount: 20, locked_commission: 2 },
          ...{ paid_after: '02-02T10:00', paid_by: BY_3, paid_commission: 3 },
          ...absent('seen_after', 'effective_by', 'void_by', 'gone_by'),
        },
      ],
    ],
    [
      'keeps the first time when it became effective if it becomes effective again',
      at([[order('1', 'effective', 1)], [order('1', 'new', 2)], [order('1', 'effective', 3)]]),
      [{ state: 'effective', effective_by: BY_1, effective_commission: 1, commission: 3 }],
    ],
    [
      'of a later reading was absent in the reading before',
      at([[], [order('1', 'new', 1)]]),
      [{ key: '1', seen_after: AFTER_1, seen_by: BY_2 }],
    ],
    [
      'that is gone keeps its values, and counts as 0',
      at([[order('1', 'paid', 4)], [], []]),
      [
        {
          ...{ key: '1', records: 0, state: 'paid', commission: 4, paid_by: BY_1 },
          ...{ gone_after: AFTER_1, gone_by: BY_2, commission_0: 4 },
        },
      ],
    ],
    [
      'that comes back is present since it was first seen',
      at([[order('1', 'new', 4)], [], [order('1', 'void', 5)]]),
      [
        {
          ...{ records: 1, seen_by: BY_1, void_after: '02-02T10:00', void_by: BY_3 },
          ...absent('gone_after', 'gone_by'),
        },
      ],
    ],
    [
      'with another currency and publisher continues its row',
      at([[order('1', 'new', 1)], [order('1', 'new', 2, { currency: 'usd ', publisher_id: '8' })]]),
      [{ records: 1, currency: 'USD', seen_currency: 'EUR', publisher_id: '8', seen_by: BY_1 }],
    ],
    [
      'continues no row if its key had several rows',
      at([
        [order('1', 'new', 1), order('1', 'new', 2, { publisher_id: '8' })],
        [order('1', 'new', 1), order('1', 'new', 2, { publisher_id: '9' })],
      ]),
      [
        { records: 1, publisher_id: '7', seen_by: BY_1 },
        { records: 0, publisher_id: '8', gone_by: BY_2 },
        { records: 1, publisher_id: '9', seen_after: AFTER_1, seen_by: BY_2 },
      ],
    ],
    [
      'shares one row, in a mixed state, with records of the same key, publisher and currency',
      at([[order('1', 'new', 1), order('1', 'void', 2), order('2', 'void', 3), order('2', 'void', 4)]]),
      [
        { key: '1', records: 2, state: 'mixed', commission: 3, counted_commission: 1, ...absent('void_by') },
        { key: '2', records: 2, state: 'void', commission: 7, counted_commission: 0, void_commission: 7 },
      ],
    ],
    [
      'with several parts counts the parts that are not void, at each age too',
      at([[order('1', 'new', 1), order('1', 'void', 2)], [order('1', 'void', 1), order('1', 'paid', 2)], []]),
      [{ records: 0, commission: 3, counted_commission: 0, counted_amount: 0, commission_0: 1 }],
    ],
    [
      'without a key shares one row with all such records of its publisher, kind and currency',
      at([
        [order('', 'new', 1), { ...order('', 'new', 2), transid: undefined }],
        [order('', 'paid', 1), order('', 'paid', 2, { transaction_type: 'bonus' }), order('', 'paid', 5)],
      ]),
      [
        { key: undefined, records: 1, kind: 'bonus', state: 'paid', commission: 2, paid_by: BY_2 },
        { key: undefined, records: 2, kind: 'sale', state: 'paid', commission: 6, seen_commission: 3 },
      ],
    ],
    [
      'has its amount from _rescued if no column can store it, rounded as in views',
      at([
        [
          {
            ...order('1', 'new', 1, { _rescued: '{"commission":1.0320000000000003}' }),
            commission: undefined,
          },
          order('2', 'locked', 2),
        ],
      ]),
      [
        { amount: 10, commission: 1.032, ...absent('locked_by', 'locked_commission') },
        { commission: 2, locked_commission: 2 },
      ],
    ],
  ])('follow the versions of a day: a record %s', async (_name, steps, expected) => {
    const rows = await lives(steps);
    expect(rows).toHaveLength(expected.length);
    for (const [index, row] of rows.entries())
      expect({ ...absent(...Object.keys(expected[index] ?? {})), ...row }).toMatchObject(
        expected[index] ?? {},
      );
  });

  it.each([1, 2, 7])('I12: are the same with %i records in memory', async (most) => {
    const days = [0, 9, 18].map((first) =>
      Array.from({ length: 30 }, (_, index) =>
        order(String(first + (index % 27)), index % 4 === 0 ? 'void' : 'new', first + index),
      ),
    );
    expect(await lives(at(days), { most })).toEqual(await lives(at(days)));
  });

  it('have the state of the line if the line has a state', async () => {
    const line = { ...order('1', 'mixed', 1), sku: 'B0' };
    const roles = {
      fields: {
        state: 'status',
        line_state: 'type',
        commission: 'commission',
        order_id: 'order_id',
        product: 'sku',
      },
      words: {},
    } as const;
    const steps = [
      {
        at: READ_1,
        records: [
          { ...line, type: 'PAID' },
          { ...line, sku: 'B1' },
        ],
        roles,
      },
    ];
    expect(await lives(steps, { report: 'transaction_list' })).toMatchObject([
      { key: '["o-1","B0"]', product: 'B0', state: 'paid' },
      { key: '["o-1","B1"]', state: 'mixed' },
    ]);
  });
});

describe('the ages of a day', () => {
  const change = (at: string, commission: number): Step => ({ at, records: [order('1', 'new', commission)] });
  it.each([
    [
      '0 comes from the first reading after the end of the day',
      ['2026-01-31T12', '2026-02-01T06', '2026-02-01T07'],
      { commission_0: 2 },
    ],
    ['0 is not yet stored while that reading is current', ['2026-01-31T12', '2026-02-01T06'], {}],
    [
      '30 comes from the version that was current an hour before',
      ['2026-02-01T06', '2026-03-03T04', '2026-03-03T05'],
      { commission_0: 1, commission_30: 2 },
    ],
    ['30 is not reached an hour before', ['2026-02-01T06', '2026-03-03T04'], { commission_0: 1 }],
    [
      '60 and 90 are reached together if nothing was read between',
      ['2026-02-01T06', '2026-03-15T06', '2026-05-02T04'],
      { commission_0: 1, commission_30: 1, commission_60: 2, commission_90: 2 },
    ],
    [
      '90 is not reached an hour before',
      ['2026-02-01T06', '2026-05-02T02'],
      { commission_0: 1, commission_30: 1, commission_60: 1 },
    ],
  ])('store the commission: age %s', async (_name, times, expected) => {
    const [row = {}] = await lives(times.map((when, index) => change(when, index + 1)));
    const kept = Object.entries(row).filter(([name]) => /^commission_\d/.test(name));
    expect(Object.fromEntries(kept)).toEqual(expected);
  });

  it('count void and absent records as 0', async () => {
    const steps = at([[order('1', 'void', 5)], [order('1', 'void', 6), order('2', 'new', 7)]]);
    expect(await lives(steps)).toMatchObject([{ commission_0: 0 }, { key: '2', commission_0: 0 }]);
  });
});

describe('versions without a reading', () => {
  const before = at([[order('1', 'new', 1), order('2', 'paid', 2)]]);
  const later = (cause: Step['cause'], records: Row[]) => [
    ...before,
    { at: READ_2, records, ...(cause && { cause }) },
  ];

  it('a rollback keeps the history, and has the records of its version', async () => {
    const rows = await lives(later('rollback', [order('2', 'locked', 3), order('3', 'new', 4)]));
    expect(rows).toMatchObject([
      { key: '1', records: 0, gone_by: BY_2 },
      { key: '2', state: 'locked', commission: 3, paid_by: BY_1, paid_commission: 2, locked_by: BY_2 },
      { key: '3', seen_by: BY_2 },
    ]);
    expect(rows[1]).not.toHaveProperty('locked_after');
    expect(rows[2]).not.toHaveProperty('seen_after');
  });
});

describe('other settings', () => {
  const fields = { fields: {}, states: { words: { Bezahlt: 'paid' } } };

  it('with other state words write the rows anew, without times of the states', async () => {
    const day = lifecycleDay();
    await day.replace({
      at: READ_1,
      records: [order('1', 'new', 1), order('1', 'new', 1, { publisher_id: '8' })],
    });
    const paid = [order('1', 'Bezahlt', 1)];
    await day.replace({ at: READ_2, records: paid });
    const withNew = [...paid, order('2', 'Bezahlt', 1)];
    const rows = await day.replace({ at: READ_3, records: withNew, settings: fields });
    const [row = {}] = rows;
    expect(shown(row)).toMatchObject({ state: 'paid', paid_by: BY_3, seen_by: BY_1 });
    expect(row).not.toHaveProperty('paid_after');
    // The order is new in this reading, so the time of its state is known.
    expect(rows.find(({ key }) => key === '2')).toMatchObject({
      paid_after: new Date(`${READ_2}:00:00.000Z`),
    });
  });

  it('with another key begin the rows anew, unless the day may keep its key', async () => {
    const day = lifecycleDay({ report: 'transaction_list' });
    const records = [{ ...order('1', 'paid', 1), sku: 'B0' }];
    const fields = { order_id: 'order_id', product: null };
    const settings = { fields, states: { words: {} } };
    await day.replace({ at: READ_1, records, settings });
    // The product has a role from now on, but a row is still an order.
    const withProduct = { ...settings, fields: { ...fields, product: 'sku' } };
    const kept = await day.replace({ at: READ_2, records, settings: withProduct });
    expect(kept.map(shown)).toMatchObject([{ key: 'o-1', product: 'B0', seen_by: BY_1 }]);
    const other = { ...settings, fields: {}, key: 'transid' };
    const begun = await day.replace({ at: READ_3, records, settings: other });
    expect(begun.map(shown)).toMatchObject([{ key: '1', seen_by: BY_2 }]);
  });

  it('with an unclear currency give no amounts, as in views', async () => {
    const roles = { fields: { currency: 'curency' }, words: {} };
    const [row] = await lives([{ at: READ_1, records: [order('1', 'new', 1)], roles }]);
    expect(row).toMatchObject({ key: '1', state: 'new' });
    expect(row).not.toHaveProperty('commission');
  });
});

describe('a lifecycle object', () => {
  const [first, second, third] = [[order('1', 'new', 1)], [order('1', 'locked', 1)], [order('1', 'paid', 1)]];

  it.each([
    ['missing', (body: Uint8Array) => body.subarray(0, 0)],
    ['cut off', (body: Uint8Array) => body.subarray(0, body.length - 8)],
  ])('begins anew with the version that was current if it is %s', async (_name, damage) => {
    const day = lifecycleDay();
    await day.replace({ at: READ_1, records: first });
    await day.replace({ at: READ_2, records: second });
    const key = day.keyOf(day.committed?.lifecycle);
    const object = day.store.objects.get(key);
    if (object) day.store.objects.set(key, { ...object, body: damage(object.body) });
    const [row = {}] = await day.replace({ at: READ_3, records: third });
    expect(shown(row)).toMatchObject({
      seen_by: BY_2,
      locked_by: BY_2,
      paid_after: '02-02T10:00',
      paid_by: BY_3,
    });
    expect(row).not.toHaveProperty('seen_after');
    expect(day.events.map(({ event }) => event)).toEqual(['lifecycle_lost']);
  });

  it('keeps the rows of the version before if the new version cannot be read; the next reading writes them anew', async () => {
    const day = lifecycleDay();
    await day.replace({ at: READ_1, records: first });
    const { lifecycle } = day.committed ?? {};
    const create = day.store.create.bind(day.store);
    const cut = (key: string) => ({
      ...create(key),
      ...(key.includes('orders') && { write: async () => {} }),
    });
    Object.assign(day.store, { create: cut });
    await day.replace({ at: READ_2, records: second });
    expect(day.committed?.lifecycle).toEqual({
      ...lifecycle,
      basis: expect.stringMatching(/^[0-9a-f]{16}--$/),
    });
    expect(day.events.map(({ event }) => event)).toEqual(['lifecycle_not_made']);
    Object.assign(day.store, { create });
    const [row = {}] = await day.replace({ at: READ_3, records: third });
    // The order may have been paid in the version that could not be read.
    expect(shown(row)).toMatchObject({ seen_by: BY_1, paid_by: BY_3 });
    expect(row).not.toHaveProperty('paid_after');
  });
});
