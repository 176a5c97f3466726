import { describe, expect, it } from '@jest/globals';
import {
  ALLOWED_TYPES,
  type ColumnType,
  parseColumnType,
  typeOfElement,
  typeSpec,
} from '../shared/column-types.ts';

describe('the name of a column type in settings and schemas', () => {
  it.each([
    'string',
    'bigint',
    'double',
    'boolean',
    'date',
    'timestamp',
    'decimal(38,9)',
    'decimal(1,0)',
    'decimal(5,5)',
  ])('%s is accepted', (text) => expect(parseColumnType(text)).toBe(text));

  it.each([
    '',
    'text',
    'int',
    'STRING',
    'decimal',
    'decimal(39,0)',
    'decimal(0,0)',
    'decimal(2,3)',
    'decimal(2)',
    'toString',
  ])('%j is refused', (text) => expect(parseColumnType(text)).toBeUndefined());
});

describe('a column type', () => {
  it.each<[ColumnType, { trino: string; hive: string; duckdb: string }]>([
    ['string', { trino: 'varchar', hive: 'string', duckdb: 'VARCHAR' }],
    ['bigint', { trino: 'bigint', hive: 'bigint', duckdb: 'BIGINT' }],
    ['double', { trino: 'double', hive: 'double', duckdb: 'DOUBLE' }],
    ['boolean', { trino: 'boolean', hive: 'boolean', duckdb: 'BOOLEAN' }],
    ['date', { trino: 'date', hive: 'date', duckdb: 'DATE' }],
    ['timestamp', { trino: 'timestamp(3)', hive: 'timestamp', duckdb: 'TIMESTAMP' }],
    ['decimal(38,9)', { trino: 'decimal(38,9)', hive: 'decimal(38,9)', duckdb: 'DECIMAL(38,9)' }],
  ])('%s has a name in every engine', (type, names) => {
    expect(typeSpec(type)).toMatchObject(names);
  });

  it.each<ColumnType>([
    'string',
    'bigint',
    'double',
    'boolean',
    'date',
    'timestamp',
    'decimal(38,9)',
    'decimal(1,0)',
  ])('%s is known again from its Parquet element', (type) => {
    expect(typeOfElement(typeSpec(type).parquet.element)).toBe(type);
  });

  it('no type is guessed for an element that we never write', () => {
    expect(typeOfElement({ type: 'INT96' })).toBeUndefined();
    expect(typeOfElement({ type: 'INT64', converted_type: 'TIME_MICROS' })).toBeUndefined();
  });

  it('messages name all types that a setting may have', () => {
    expect(ALLOWED_TYPES).toBe(
      'string, bigint, double, boolean, date, timestamp, decimal(p,s) with s <= p <= 38',
    );
  });
});
