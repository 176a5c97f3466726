import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ColumnType } from '../../shared/base/column-types.ts';
import type { JsonObject } from '../../shared/base/json.ts';
import {
  type Observations,
  type TableSchema,
  baseSchema,
  growSchema,
  observe,
} from '../../shared/table/columns.ts';
import { recordsOfRows } from '../../shared/table/typed-columns.ts';
import { recordListOf } from '../../shared/records/record-list.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyRecord } from './records.ts';
import { typedRows } from './typed-rows.ts';

const TYPES: readonly ColumnType[] = [
  'bigint',
  'double',
  'string',
  'timestamp',
  'date',
  'boolean',
  'decimal(9,2)',
];

function grown(
  before: TableSchema,
  records: readonly JsonObject[],
  types: Readonly<Record<string, ColumnType>> = {},
): TableSchema {
  const all: Observations = {};
  observe(all, recordListOf(records));
  return growSchema(before, all, types);
}

/** Another column of this type beside each column of the records. */
function beside(schema: TableSchema, records: readonly JsonObject[], type: ColumnType): TableSchema {
  return grown(schema, records, Object.fromEntries(schema.columns.map(({ name }) => [name, type])));
}

function again(schema: TableSchema, records: readonly JsonObject[]): JsonObject[] {
  return typedRows(schema, records).map(recordsOfRows(schema.columns));
}

describe('the record of a row', () => {
  it('I6: leads to the same row', () => {
    fc.assert(
      fc.property(
        fc.array(anyRecord, { maxLength: 12 }),
        fc.array(anyRecord, { maxLength: 4 }),
        fc.subarray([...TYPES]),
        (records, known, types) => {
          const first = grown(baseSchema([{ field: 'dpv', type: 'bigint' }]), known);
          const schema = types.reduce((before, type) => beside(before, records, type), first);
          expect(typedRows(schema, again(schema, records))).toEqual(typedRows(schema, records));
        },
      ),
      runs(75),
    );
  });

  it.each<[string, JsonObject]>([
    ['a number without its zeros', { amount: 1.5 }],
    ['a value that its column cannot hold', { amount: 'many' }],
    ['a text that its column holds in another form', { amount: '1.50000000000' }],
    ['a field without a column', { other: [{ a: 1 }] }],
  ])('has %s', (_name, record) => {
    const schema = grown(baseSchema([]), [{ amount: 1 }]);
    expect(JSON.stringify(again(schema, [record]))).toBe(JSON.stringify([record]));
  });
});
