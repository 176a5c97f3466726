import { describe, expect, it } from '@jest/globals';
import {
  ALLOWED_TYPES,
  type ColumnType,
  type Value,
  parseColumnType,
  typeOfElement,
  typeSpec,
} from '../../shared/base/column-types.ts';

const TYPES: ColumnType[] = [
  'string',
  'bigint',
  'double',
  'boolean',
  'date',
  'timestamp',
  'decimal(38,9)',
  'decimal(1,0)',
];

describe('the name of a column type in settings and schemas', () => {
  it.each([...TYPES, 'decimal(5,5)', 'decimal(12,10)'])('%s is accepted', (text) =>
    expect(parseColumnType(text)).toBe(text),
  );

  it.each([
    '',
    'int',
    'decimal',
    'decimal(39,0)',
    'decimal(2,3)',
    'decimal(2)',
    'toString',
    'decimal(9,123)',
    'decimal(9, 2)',
    'decimal(9,x)',
    'decimal(9,2) or so',
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

  it.each(TYPES)('%s is recognised from its Parquet element', (type) => {
    expect(typeOfElement(typeSpec(type).parquet.element)).toBe(type);
  });

  it('guesses no type for an element that the program never writes', () => {
    expect(typeOfElement({ type: 'INT96' })).toBeUndefined();
    expect(typeOfElement({ type: 'INT64', converted_type: 'TIME_MICROS' })).toBeUndefined();
    expect(typeOfElement({ type: 'INT32' })).toBeUndefined();
    expect(typeOfElement({ converted_type: 'DECIMAL' })).toBeUndefined();
    expect(typeOfElement({ converted_type: 'DECIMAL', precision: 9 })).toBe('decimal(9,0)');
  });

  it.each<[ColumnType, ReturnType<typeof typeSpec>['parquet']['element']]>([
    ['string', { type: 'BYTE_ARRAY', converted_type: 'UTF8' }],
    ['bigint', { type: 'INT64' }],
    ['double', { type: 'DOUBLE' }],
    ['boolean', { type: 'BOOLEAN' }],
    ['date', { type: 'INT32', converted_type: 'DATE' }],
    ['timestamp', { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' }],
    ['decimal(38,9)', decimalElement(16, 38, 9)],
    ['decimal(18,2)', decimalElement(8, 18, 2)],
    ['decimal(19,2)', decimalElement(9, 19, 2)],
    ['decimal(2,0)', decimalElement(1, 2, 0)],
    ['decimal(3,0)', decimalElement(2, 3, 0)],
  ])('%s is written as its Parquet element', (type, element) => {
    expect(typeSpec(type).parquet.element).toEqual(element);
  });

  const bytes = (...values: number[]) => Uint8Array.from(values);
  it.each<[ColumnType, unknown, Value | undefined]>([
    ['string', Buffer.from('ä'), 'ä'],
    ['string', Buffer.from('\ufeffa'), '\ufeffa'],
    ['string', 'ä', undefined],
    ['bigint', 12n, 12n],
    ['bigint', 12, undefined],
    ['double', 1.5, 1.5],
    ['double', '1.5', undefined],
    ['boolean', false, false],
    ['boolean', 0, undefined],
    ['date', 20_484, new Date('2026-01-31')],
    ['date', 20_484n, undefined],
    ['timestamp', 1_769_853_600_250_000n, new Date('2026-01-31T10:00:00.250Z')],
    ['timestamp', -62_135_596_799_999_000n, new Date('0001-01-01T00:00:00.001Z')],
    ['timestamp', 253_402_300_799_999_000n, new Date('9999-12-31T23:59:59.999Z')],
    ['timestamp', 1_769_853_600_250_000, undefined],
    ['decimal(4,2)', bytes(0x04, 0xd2), 1234n],
    ['decimal(4,2)', bytes(0xff, 0xfb), -5n],
    ['decimal(2,0)', bytes(0x80), -128n],
    ['decimal(4,2)', 1234, undefined],
  ])('%s is restored from the value that Parquet stores: %j', (type, stored, value) => {
    expect(typeSpec(type).parquet.fromPhysical(stored)).toEqual(value);
  });

  it('rejects a text that is not UTF-8', () => {
    expect(() => typeSpec('string').parquet.fromPhysical(bytes(0xff))).toThrow(
      'not valid for encoding utf-8',
    );
  });

  it.each<[ColumnType, Value, string[]]>([
    ['string', ' a ', [' a ']],
    ['bigint', -12n, ['-12']],
    ['double', 1.5, ['1.5']],
    ['boolean', false, ['false']],
    ['date', new Date('2026-01-31'), ['2026-01-31', '20260131']],
    [
      'timestamp',
      new Date('2026-01-31T10:00:00Z'),
      [
        '2026-01-31T10:00:00.000Z',
        '2026-01-31T10:00:00Z',
        'Sat, 31 Jan 2026 10:00:00 GMT',
        '1769853600',
        '1769853600000',
      ],
    ],
    ['decimal(9,2)', -5n, ['-0.05']],
    ['decimal(9,2)', 1250n, ['12.50', '12.5']],
    ['decimal(9,2)', 10_000n, ['100.00', '100.0', '100']],
    ['decimal(9,0)', 100n, ['100']],
  ])('%s has its texts, the shown text first', (type, held, texts) => {
    expect(typeSpec(type).texts(held)).toEqual(texts);
  });

  it('messages name all types that a setting may have', () => {
    expect(ALLOWED_TYPES).toBe(
      'string, bigint, double, boolean, date, timestamp, decimal(p,s) with s <= p <= 38',
    );
  });
});

function decimalElement(bytes: number, precision: number, scale: number) {
  return {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: bytes,
    converted_type: 'DECIMAL',
    precision,
    scale,
  } as const;
}
