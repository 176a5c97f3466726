import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Json, type JsonObject, numberText, parseJson, stringifyJson } from '../../shared/base/json.ts';
import {
  MAX_DISCOVERED,
  MAX_DISCOVERED_OF_DAY,
  type Observations,
  type Row,
  type TableSchema,
  baseSchema,
  fieldsWithoutColumn,
  growSchema,
  mergeObservations,
  observe,
} from '../../shared/table/columns.ts';
import { type Column, type ColumnType, type Value, typeSpec } from '../../shared/base/column-types.ts';
import { recordListOf } from '../../shared/records/record-list.ts';
import { anyRecord, awkwardFields } from './records.ts';
import { typedRows } from './typed-rows.ts';
import { runs } from '../fixtures/property-runs.ts';

const syncedAt = new Date('2026-02-01T06:00:00Z');

const documented = [
  { field: 'adGroupId', type: 'string' },
  { field: 'dpv', type: 'bigint' },
  { field: 'date', type: 'date' },
  { field: 'created_time', type: 'timestamp' },
] as const;

function observations(...records: JsonObject[]): Observations {
  const all: Observations = {};
  for (const record of records) observe(all, recordListOf([record]));
  return all;
}

function grown(records: JsonObject[], fixed: Record<string, ColumnType> = {}): TableSchema {
  return growSchema(baseSchema(documented), observations(...records), fixed);
}

function discovered(...records: JsonObject[]): Column[] {
  return grown(records).columns.slice(documented.length + 2);
}

function json(text: string): JsonObject {
  const value = parseJson(`{${text}}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(text);
  return value as JsonObject;
}

describe('base schema', () => {
  it('has the documented columns in snake_case, then _synced_at and _rescued', () => {
    expect(baseSchema(documented).columns).toEqual([
      { name: 'ad_group_id', type: 'string', field: 'adGroupId' },
      { name: 'dpv', type: 'bigint', field: 'dpv' },
      { name: 'date', type: 'date', field: 'date' },
      { name: 'created_time', type: 'timestamp', field: 'created_time' },
      { name: '_synced_at', type: 'timestamp' },
      { name: '_rescued', type: 'string' },
    ]);
    expect(baseSchema([]).columns[0]?.name).toBe('_synced_at');
  });
});

describe('the type of a discovered column', () => {
  it.each([
    ['text', ['"x":"a"', '"x":"12"'], 'string'],
    ['numbers with cents', ['"x":1', '"x":2.5'], 'decimal(38,9)'],
    ['true and false', ['"x":true', '"x":false'], 'boolean'],
    ['objects', ['"x":{}'], 'string'],
    ['text and numbers', ['"x":"a"', '"x":1'], 'string'],
    ['null and numbers', ['"x":null', '"x":1'], 'decimal(38,9)'],
  ])('follows from all values of the day: %s', (_name, records, type) => {
    expect(discovered(...records.map(json))).toEqual([{ name: 'x', type, field: 'x' }]);
  });

  it.each(['id', 'transid', 'orderId', 'publisher_uid', 'paid', 'order_no', 'orderNumber', 'ID'])(
    'numbers in the field %s keep their digits as text',
    (field) => {
      expect(discovered({ [field]: 7 })).toMatchObject([{ type: 'string', field }]);
    },
  );

  it.each(['identity', 'no', 'number', 'amount', 'idle'])('numbers in the field %s are decimals', (field) => {
    expect(discovered({ [field]: 7 })).toMatchObject([{ type: 'decimal(38,9)', field }]);
  });

  it('is taken from the setting if the setting has a type', () => {
    expect(grown([{ orderTotal: 1 }], { order_total: 'decimal(18,2)' }).columns.at(-1)).toEqual({
      name: 'order_total',
      type: 'decimal(18,2)',
      field: 'orderTotal',
    });
  });

  it('is not decided while the field is only null', () => {
    const base = baseSchema(documented);
    expect(growSchema(base, observations({ x: null }), {})).toBe(base);
  });
});

describe('the name of a discovered column', () => {
  it.each([
    ['adSetID', 'ad_set_id'],
    ['HTTPStatus', 'http_status'],
    ['amount2Pay', 'amount2_pay'],
    ['a b-c.d', 'a_b_c_d'],
    ['größe', 'gro_e'],
    ['naïve', 'naive'],
    ['日付', 'field'],
    ['', 'field'],
    ['_private', 'private'],
    ['_rescued', 'rescued'],
    ['brand', 'brand_2'],
    ['dt', 'dt_2'],
    ['constructor', 'constructor_2'],
    ['dpv_', 'dpv_2'],
  ])('turns %j into %s', (field, name) => {
    expect(discovered({ [field]: 'a' })).toEqual([{ name, type: 'string', field }]);
  });

  it('gets a number if two fields would have the same name, in the order of the fields', () => {
    const record = { order_id: 'c', ORDER_ID: 'a', orderId: 'b' };
    expect(discovered(record).map(({ field, name }) => [field, name])).toEqual([
      ['ORDER_ID', 'order_id'],
      ['orderId', 'order_id_2'],
      ['order_id', 'order_id_3'],
    ]);
  });

  it('is not given to a field that cannot be a column; that field is rescued instead', () => {
    const record = json(`"__proto__":"a","${'k'.repeat(10_000)}":"b"`);
    expect(discovered(record)).toEqual([]);
    const base = baseSchema([]);
    expect(growSchema(base, JSON.parse('{"__proto__":1}'), {})).toBe(base);
    expect(Object.entries(parseJson(String(map(grown([record]), record)._rescued)) ?? {})).toEqual([
      ['__proto__', 'a'],
      ['k'.repeat(10_000), 'b'],
    ]);
  });

  it('has up to 255 characters, cut so that a number fits after it', () => {
    const [longest, alike, tooLong] = ['k'.repeat(255), `${'k'.repeat(250)}z`, 'k'.repeat(256)];
    expect(discovered({ [longest]: 'a', [alike]: 'b', [tooLong]: 'c' })).toEqual([
      { name: 'k'.repeat(250), type: 'string', field: longest },
      { name: `${'k'.repeat(250)}_2`, type: 'string', field: alike },
    ]);
  });

  it('follows the order of the fields, whatever their frequency', () => {
    expect(discovered({ b: 'x', c: 'x' }, { c: 'x' }, { a: 'x', c: 'x' }).map(({ name }) => name)).toEqual([
      'a',
      'b',
      'c',
    ]);
  });

  it('is a plain identifier for every field, and unique', () => {
    fc.assert(
      fc.property(fc.array(anyRecord), (records) => {
        const names = grown(records).columns.map(({ name }) => name);
        for (const name of names) expect(name).toMatch(/^[a-z0-9_]{1,255}$/);
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});

describe('I7: a table only grows', () => {
  it('I7: keeps every column unchanged, and appends new ones', () => {
    fc.assert(
      fc.property(fc.array(anyRecord), fc.array(anyRecord), (before, after) => {
        const first = grown(before);
        const second = growSchema(first, observations(...after), {});
        expect(second.columns.slice(0, first.columns.length)).toEqual(first.columns);
      }),
    );
  });

  it('I7: a value of another kind does not change the type', () => {
    const first = grown([{ amount: 1 }]);
    expect(growSchema(first, observations({ amount: 'n/a' }), {})).toBe(first);
    expect(growSchema(first, observations({ amount: 'n/a' }), { amount: 'decimal(38,9)' })).toBe(first);
  });

  it('I7: a later setting adds a column of its type beside the first column, once', () => {
    const first = grown([{ orderTotal: 1, amount: '2' }]);
    const fixed = { order_total: 'decimal(18,2)', created_time: 'string', never_met: 'bigint' } as const;
    const observed = observations({ orderTotal: 2, created_time: 'x' });
    const second = growSchema(first, observed, fixed);
    expect(second.columns.slice(0, first.columns.length)).toEqual(first.columns);
    expect(second.columns.slice(first.columns.length)).toEqual([
      { name: 'order_total_decimal_18_2', type: 'decimal(18,2)', field: 'orderTotal' },
      { name: 'created_time_string', type: 'string', field: 'created_time' },
    ]);
    expect(growSchema(second, observed, fixed)).toBe(second);
    expect(growSchema(second, observed, {})).toBe(second);
  });

  it('I7: a column beside another column waits until a record has a value of its field', () => {
    const first = grown([{ amount: 1 }]);
    expect(growSchema(first, observations({ amount: null }), { amount: 'string' })).toBe(first);
  });

  it('I7: a column beside another column takes no name that is taken or too long', () => {
    const long = 'k'.repeat(255);
    const first = grown([{ amount: 1, amount_string: 'a', [long]: 1 }]);
    const fixed = { amount: 'string', ['k'.repeat(250)]: 'decimal(38,10)' } as const;
    const names = growSchema(first, observations({ amount: 1, [long]: 1 }), fixed).columns.slice(-2);
    expect(names.map(({ name }) => name)).toEqual(['amount_string_2', `${'k'.repeat(236)}_decimal_38_10`]);
  });

  it('I7: gives the same columns whatever the order of the records', () => {
    fc.assert(
      fc.property(fc.array(anyRecord), fc.infiniteStream(fc.nat()), (records, random) => {
        const shuffled = records
          .map((record) => ({ record, at: random.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ record }) => record);
        expect(grown(shuffled)).toEqual(grown(records));
      }),
    );
  });

  const manyFields = (count: number, letter = 'f') =>
    Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(4, '0')}`);
  const recordOf = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, 'a']));
  const discoveredIn = (schema: TableSchema) =>
    schema.columns.slice(documented.length + 2).map(({ field }) => field);

  it(`I7: stops at ${MAX_DISCOVERED_OF_DAY} discovered columns of a day, the same columns in any order; other fields are rescued`, () => {
    const fields = manyFields(3_000);
    const records = Array.from({ length: 10 }, (_, part) =>
      recordOf(fields.slice(part * 300, part * 300 + 300)),
    );
    const schema = grown(records);
    expect(discoveredIn(schema)).toEqual(fields.slice(0, 250));
    expect(grown(records.toReversed())).toEqual(schema);
    expect(map(schema, { f0249: 'in', f0250: 'out' })).toMatchObject({
      f0249: 'in',
      _rescued: '{"f0250":"out"}',
    });
    expect(fieldsWithoutColumn(schema, observations(...records))).toHaveLength(2_750);
  });

  it('I7: adds nothing if the same day is read again, however often', () => {
    const odd = observations(recordOf(manyFields(2_000)), { amount: 1 }, { amount: 2 });
    const first = growSchema(baseSchema(documented), odd, {});
    expect(growSchema(first, odd, {})).toBe(first);
    const grownDay = mergeObservations(odd, observations({ amount: 3 }));
    expect(growSchema(first, grownDay, {})).toBe(first);
  });

  it('I7: prefers the fields that most records have, and the fields in the settings', () => {
    const odd = recordOf(manyFields(2_000, 'a'));
    const schema = grown([odd, { transid: '1' }, { transid: '2' }, { zone: 'x' }], { zone: 'string' });
    expect(discoveredIn(schema)).toHaveLength(252);
    expect(discoveredIn(schema)).toEqual(expect.arrayContaining(['transid', 'zone', 'a0000']));
  });

  it('I7: gives the fields of roles and keys a column before all others, one for each well-known name', () => {
    const spelled = manyFields(300, 'c').map((_, at) => `c${'_'.repeat(at + 1)}ommission`);
    const odd = observations(
      recordOf(manyFields(500, 'a')),
      recordOf(manyFields(1_000, 'b')),
      { commission: '1', saleState: 'new', ref: 'x', paid: { value: '2' }, number: '1' },
      recordOf(spelled),
      { commission: '2' },
      recordOf(manyFields(1_000, 'a')),
      recordOf(manyFields(1_000, 'a')),
    );
    const wanted = ['sale_state', 'ref', 'paid.value', 'number', 'missing'];
    const first = growSchema(baseSchema(documented), odd, {}, wanted);
    expect(discoveredIn(first)).toEqual(
      expect.arrayContaining(['commission', 'saleState', 'ref', 'paid', 'number', 'a0000']),
    );
    expect(discoveredIn(first).length).toBeLessThanOrEqual(255);
    expect(discoveredIn(first).filter((name) => name?.startsWith('c'))).toHaveLength(1);
    expect(growSchema(first, odd, {}, wanted)).toBe(first);
    const flood = Array.from({ length: 6 }, (_, at) => recordOf(manyFields(1_000, `a${at}`)));
    const all = observations({ commission: '1' }, ...flood);
    expect(discoveredIn(growSchema(baseSchema(documented), all, {}))).toContain('commission');
  });

  it('I7: prefers frequent fields even after many records with odd fields', () => {
    const odd = Array.from({ length: 9 }, (_, index) => recordOf(manyFields(900, `a${index}`)));
    const real = Array.from({ length: 5 }, () => ({ transid: '1', status: 'new' }));
    expect(discoveredIn(grown([...odd, ...real]))).toEqual(expect.arrayContaining(['status', 'transid']));
    expect(Object.keys(observations(...odd, ...real)).length).toBeLessThanOrEqual(5_000);
  });

  it(`I7: stops at ${MAX_DISCOVERED} discovered columns in all`, () => {
    const days = ['a', 'b', 'c', 'd', 'e'].map((letter) => observations(recordOf(manyFields(300, letter))));
    const schema = days.reduce((current, day) => growSchema(current, day, {}), baseSchema(documented));
    expect(discoveredIn(schema)).toHaveLength(1_000);
    expect(growSchema(schema, observations({ another: 'a' }), {})).toBe(schema);
    expect(growSchema(schema, observations({ another: 'a' }), { another: 'string' })).toBe(schema);
    expect(growSchema(schema, observations({ a0000: 'a' }), { a0000: 'bigint' })).toBe(schema);
    const beyond = { columns: [...schema.columns, { name: 'z', type: 'string' as const, field: 'z' }] };
    expect(growSchema(beyond, observations({ another: 'a' }), {})).toBe(beyond);
    const withRoom = { columns: schema.columns.slice(0, -1) };
    const last = growSchema(withRoom, observations({ one: 'a', other: 'a' }), {});
    expect(discoveredIn(last).slice(-2)).toEqual(['d0248', 'one']);
  });

  it('I7: the fields in the settings come first if there is little room', () => {
    const days = ['a', 'b', 'c', 'd'].map((letter) => observations(recordOf(manyFields(250, letter))));
    const full = days.reduce((current, day) => growSchema(current, day, {}), baseSchema(documented));
    const withRoom = { columns: full.columns.slice(0, -1) };
    const day = observations({ first: 'a', named: 'a' }, { first: 'a' });
    expect(discoveredIn(growSchema(withRoom, day, { named: 'string' })).at(-1)).toBe('named');
    expect(discoveredIn(growSchema(withRoom, day, {})).at(-1)).toBe('first');
  });
});

describe('observations', () => {
  it.each<[string, JsonObject[], Observations]>([
    ['nothing for a field that is null', [{ x: null }], {}],
    ['a text', [{ x: 'a' }], { x: 16 + 1 }],
    ['a number', [json('"x":1')], { x: 16 + 2 }],
    ['a number of many digits', [json('"x":1.10')], { x: 16 + 2 }],
    ['true and false', [{ x: false }], { x: 16 + 4 }],
    ['an object', [{ x: {} }], { x: 16 + 8 }],
    ['two kinds', [{ x: 'a' }, { x: 1 }], { x: 32 + 3 }],
    ['nothing for a field that cannot be a column', [json('"__proto__":1,"x":1,"x":2')], { x: 16 + 2 }],
  ])('count records and note kinds: %s', (_name, records, all) => {
    expect(observations(...records)).toEqual(all);
  });

  it('are in the order of the fields after a merge', () => {
    expect(Object.keys(mergeObservations({ c: 17, a: 17 }, { b: 17, a: 17 }))).toEqual(['a', 'b', 'c']);
    expect(mergeObservations({ a: 17 }, { a: 18 })).toEqual({ a: 32 + 3 });
  });

  const fields = (count: number) =>
    Array.from({ length: count }, (_, index) => `f${String(index).padStart(4, '0')}`);
  const odd = (count: number): JsonObject => Object.fromEntries(fields(count).map((field) => [field, 'a']));

  it('of a day keep the most frequent half once there are more than 5,000', () => {
    const all = observations(odd(5_000));
    expect(Object.keys(all)).toHaveLength(5_000);
    observe(all, recordListOf([{ f4999: 'a' }]));
    expect(Object.keys(all)).toHaveLength(5_000);
    observe(all, recordListOf([{ another: 'a', f4998: 'a' }]));
    expect(Object.keys(all).sort()).toEqual(['another', ...fields(2_497), 'f4998', 'f4999']);
  });

  it('keep the 2,500 most frequent fields after a merge', () => {
    const merged = mergeObservations(observations(odd(2_500)), {});
    expect(Object.keys(merged)).toEqual(fields(2_500));
    const more = mergeObservations(merged, observations({ z: 'a', f0000: 'a' }, { z: 'a' }));
    expect(Object.keys(more)).toEqual([...fields(2_499), 'z']);
    expect([more.z, more.f0000, more.f0001]).toEqual([33, 33, 17]);
  });

  it('name the fields that have no column', () => {
    const schema = grown([{ a: 1, b: 1 }]);
    expect(fieldsWithoutColumn(schema, { c: 17, b: 17, dpv: 17, d: 17 })).toEqual(['c', 'd']);
  });

  const some = fc.array(anyRecord, { maxLength: 4 }).map((records) => observations(...records));

  it('merge in any order and grouping to the same result', () => {
    fc.assert(
      fc.property(some, some, some, (a, b, c) => {
        expect(mergeObservations(a, b)).toEqual(mergeObservations(b, a));
        expect(mergeObservations(mergeObservations(a, b), c)).toEqual(
          mergeObservations(a, mergeObservations(b, c)),
        );
      }),
    );
  });

  it('of more fields than are kept do not depend on the order of merging', () => {
    const parts = ['c', 'a', 'b'].map((letter) =>
      observations(Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`${letter}${index}`, 'a']))),
    );
    const merged = parts.reduce(mergeObservations);
    expect(Object.keys(merged)).toHaveLength(2_500);
    expect(parts.toReversed().reduce(mergeObservations)).toEqual(merged);
  });

  it('survive a round trip through JSON', () => {
    const all = observations(Object.fromEntries(awkwardFields.map((field) => [field, 'a'])));
    expect(JSON.parse(JSON.stringify(all))).toEqual(all);
    expect(Object.keys(all)).toContain('toString');
  });
});

function map(schema: TableSchema, record: JsonObject): Row {
  const [row] = typedRows(schema, [record]);
  return { ...row, _synced_at: syncedAt };
}

describe('I6: nothing in a record is dropped', () => {
  it('I6: the record can be restored from its row, also if other records have fixed the columns', () => {
    const known = fc.tuple(fc.array(anyRecord), anyRecord, fc.boolean());
    fc.assert(
      fc.property(known, fc.constantFrom(...fixedTypes), ([others, record, isKnown], fixed) => {
        const schema = grown(isKnown ? [...others, record] : others, fixed);
        expectTold(schema, map(schema, record), record);
      }),
      runs(500),
    );
  });

  const both = 'both';
  const column = 'column';
  const rescue = 'rescue';
  const sat = new Date('2026-01-31T10:00:00Z');
  // exact-values.test.ts tests which literals a type can hold exactly.
  it.each<[ColumnType, string, typeof both | typeof column | typeof rescue, Value?]>([
    ['string', '"a"', column, 'a'],
    ['string', '9007199254740993', column, '9007199254740993'],
    ['string', '1.10', column, '1.10'],
    ['string', '{"b":1.10,"a":[]}', column, '{"b":1.10,"a":[]}'],
    ['string', '"\\ud800"', rescue],
    ['string', '["\\ud800"]', column, '["\\ud800"]'],
    ['bigint', '12', column, 12n],
    ['bigint', '"1e2"', both, 100n],
    ['bigint', '1.5', rescue],
    ['decimal(18,2)', '12.5', column, 1250n],
    ['decimal(18,2)', '"12.5"', column, 1250n],
    ['decimal(18,2)', '"12.500"', both, 1250n],
    ['decimal(18,2)', '12.505', rescue],
    ['decimal(38,9)', `1.${'0'.repeat(200)}`, rescue],
    ['double', '0.1', column, 0.1],
    ['double', '-0', column, -0],
    ['boolean', 'true', column, true],
    ['boolean', '"true"', column, true],
    ['boolean', '0', rescue],
    ['date', '"20260131"', column, new Date('2026-01-31')],
    ['date', '"2026-01-31T00:00:00Z"', rescue],
    ['timestamp', '"Sat, 31 Jan 2026 10:00:00 GMT"', column, sat],
    ['timestamp', '"Fri, 31 Jan 2026 10:00:00 GMT"', both, sat],
    ['timestamp', '"2026-01-31T10:00:00Z"', column, sat],
    ['timestamp', '"2026-01-31T10:00:00.2500000Z"', both, new Date(sat.getTime() + 250)],
    ['timestamp', '1769853600', column, sat],
    ['timestamp', '"1769853600"', column, sat],
    ['timestamp', '"1769853600250"', column, new Date(sat.getTime() + 250)],
    ['timestamp', 'true', rescue],
  ])('I6: a %s column and %s: %s', (type, text, where, ...[held]) => {
    const value = json(`"x":${text}`);
    const row = map({ columns: [{ name: 'x', type, field: 'x' }] }, value);
    expect(row).toEqual({
      ...(where !== rescue && { x: held }),
      ...(where !== column && { _rescued: stringifyJson(value) }),
      _synced_at: syncedAt,
    });
  });

  it('I6: earlier values of a repeated key are rescued, and become no column', () => {
    const record = json('"amount":1,"amount":"2"');
    const schema = grown([record]);
    expect(schema.columns.map(({ name }) => name)).not.toContain('_duplicates');
    expect(map(schema, record)).toMatchObject({ amount: '2', _rescued: '{"_duplicates":{"amount":[1]}}' });
  });

  it('I6: null is NULL and leaves no trace', () => {
    expect(map(grown([{ x: 1 }]), { x: null, dpv: null, unknown: null })).toEqual({ _synced_at: syncedAt });
  });

  it('I6: _rescued does not depend on the order of the fields', () => {
    const schema = baseSchema([]);
    expect(map(schema, { b: 1, a: 2 })).toEqual(map(schema, { a: 2, b: 1 }));
  });
});

const fixedTypes: Record<string, ColumnType>[] = [
  {},
  ...(['bigint', 'double', 'date', 'timestamp', 'boolean', 'decimal(18,2)'] as const).map((type) => ({
    id: type,
    order_id: type,
    paid: type,
    private: type,
  })),
];

function expectTold(schema: TableSchema, row: Row, record: JsonObject): void {
  const rescued = parseJson(String(row._rescued ?? '{}')) as JsonObject;
  for (const [field, value] of Object.entries(record)) {
    if (value === null) continue;
    const column = schema.columns.find((candidate) => candidate.field === field);
    const held = column && row[column.name];
    if (Object.hasOwn(rescued, field))
      expect(stringifyJson(rescued[field] ?? null)).toBe(stringifyJson(value));
    else if (!column || held === undefined || held === null) throw new Error(`${field} is lost`);
    else expect(storedText(column.type, held)).toBe(meant(column.type, value));
  }
}

/** The record that a column stands for, by value. */
function storedText(type: ColumnType, held: Value): string {
  if (held instanceof Date) return held.toISOString();
  return type.startsWith('decimal') || type === 'double' || type === 'bigint'
    ? byValue(typeSpec(type).texts(held)[0])
    : String(held);
}

/** The content of the record, by value, computed without the code under test. */
function meant(type: ColumnType, value: Json): string {
  const text = typeof value === 'string' ? value : (numberText(value) ?? stringifyJson(value));
  if (type === 'timestamp') return new Date(text).toISOString();
  if (type === 'date') return new Date(text.replace(/^(....)(..)(..)$/, '$1-$2-$3')).toISOString();
  return type.startsWith('decimal') || type === 'double' || type === 'bigint' ? byValue(text) : text;
}

function byValue(literal: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  let digits = BigInt(whole + fraction);
  if (digits === 0n) return '0';
  let power = Number(exponent) - fraction.length;
  for (; digits % 10n === 0n; digits /= 10n) power += 1;
  return `${sign}${digits}e${power}`;
}
