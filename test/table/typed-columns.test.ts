import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type JsonObject, isJsonObject } from '../../shared/base/json.ts';
import {
  type Observations,
  type TableSchema,
  baseSchema,
  growSchema,
  observe,
} from '../../shared/table/columns.ts';
import { recordListOf } from '../../shared/records/record-list.ts';
import { runs } from '../fixtures/property-runs.ts';
import { anyRecord } from './records.ts';
import { rowMapper } from './row-mapper.ts';
import { typedRows } from './typed-rows.ts';

function observed(records: readonly JsonObject[]): Observations {
  const all: Observations = {};
  observe(all, recordListOf(records));
  return all;
}

function schemaOf(
  records: readonly JsonObject[],
  fixed: Parameters<typeof growSchema>[2] = {},
  before: TableSchema = baseSchema([{ field: 'dpv', type: 'bigint' }]),
): TableSchema {
  return growSchema(before, observed(records), fixed);
}

const TYPES = ['bigint', 'double', 'string', 'timestamp', 'date', 'boolean', 'decimal(9,2)'] as const;

describe('typed columns', () => {
  it('I6: have the rows that the slow twin builds from each record alone', () => {
    fc.assert(
      fc.property(
        fc.array(anyRecord, { maxLength: 12 }),
        fc.array(anyRecord, { maxLength: 4 }),
        fc.array(fc.nat(11), { maxLength: 12 }),
        fc.constantFrom(...TYPES),
        (records, known, repeated, type) => {
          const all = [...records, ...repeated.map((index) => records[index]).filter(isJsonObject)];
          const first = schemaOf(known);
          // Every column of the records gets another column of this type beside it.
          const retyped = Object.fromEntries(first.columns.map(({ name }) => [name, type]));
          const schema = schemaOf(records, retyped, first);
          const toRow = rowMapper(schema);
          const rows = all.map((record) => {
            const { _synced_at, ...row } = toRow(record, new Date(0));
            return row;
          });
          expect(typedRows(schema, all)).toEqual(rows);
        },
      ),
      runs(125),
    );
  });

  it.each<[string, JsonObject[], Record<string, number>]>([
    ['all values fit', [{ amount: 2 }, { amount: null }, {}], {}],
    [
      'a column cannot hold some values',
      [{ amount: 'many' }, { amount: 2 }, { amount: 'many' }],
      { amount: 2 },
    ],
    ['a column can hold the number, but not the text', [{ amount: '2.5000000000' }], { amount: 1 }],
    ['a field has no column', [{ amount: 2, other: 'x' }], {}],
    ['two columns cannot hold values', [{ amount: 'many', dpv: 'few' }, { dpv: [] }], { amount: 1, dpv: 2 }],
  ])('count the rows of each column whose value is rescued if %s', (_name, records, expected) => {
    const rescued: Record<string, number> = {};
    typedRows(schemaOf([{ amount: 1 }]), records, (column, rows) => {
      rescued[column] = rows;
    });
    expect(rescued).toEqual(expected);
  });
});
