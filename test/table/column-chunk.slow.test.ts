import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { type Column, type ColumnType, type Value, typeSpec } from '../../shared/base/column-types.ts';
import { DAY_MS } from '../../shared/base/days.ts';
import { type CodedColumn, coded, readerOf } from '../../shared/table/coded-rows.ts';
import type { Row } from '../../shared/table/columns.ts';
import { readParquetRows } from '../../shared/table/coded-columns.ts';
import { writeParquet } from '../../shared/table/parquet.ts';
import { readWithParquetjs } from '../../shared/table/parquetjs-reader.ts';
import { anyCharacter } from '../fixtures/texts.ts';
import { CollectingWriter, duckdbRows, hyparquetWriterFileOf, readable, types } from './parquet-files.ts';
import { awkwardTexts } from './records.ts';

/** The rows of a row group, and its columns by name. */
interface Group {
  rows: number;
  columns: ReadonlyMap<string, CodedColumn>;
}

const FIRST_MS = Date.parse('0001-01-01');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Every value that a column of the type can hold, with many repetitions and the ends of its range. */
function anyValueOf(type: ColumnType): fc.Arbitrary<Value> {
  if (type === 'string')
    return fc.oneof(
      fc.constantFrom(...awkwardTexts.filter((text) => text.isWellFormed())),
      fc.string({ unit: anyCharacter, maxLength: 40 }),
      fc.nat(100).map((length) => `\uFEFF${'é'.repeat(length)}`),
    );
  if (type === 'bigint') return integer(2n ** 63n - 1n, -(2n ** 63n));
  if (type === 'double') return fc.double({ noNaN: true, noDefaultInfinity: true });
  if (type === 'boolean') return fc.boolean();
  if (type === 'timestamp') return fc.integer({ min: FIRST_MS, max: LAST_MS }).map((ms) => new Date(ms));
  if (type === 'date')
    return fc
      .integer({ min: FIRST_MS / DAY_MS, max: Math.floor(LAST_MS / DAY_MS) })
      .map((day) => new Date(day * DAY_MS));
  const largest = 10n ** BigInt(typeSpec(type).parquet.element.precision ?? 0) - 1n;
  return integer(largest, -largest);
}

function integer(max: bigint, min: bigint): fc.Arbitrary<bigint> {
  return fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(0n, 1n, -1n, max, min));
}

/**
 * A code for each row, and some more codes. The first value is NULL, as are others; some values belong to no row, and
 * some are equal.
 */
function codedColumn(type: ColumnType, rows: number): fc.Arbitrary<CodedColumn | undefined> {
  const values = fc.array(fc.option(anyValueOf(type), { nil: undefined, freq: 10 }), { maxLength: 12 });
  const column = values.chain((some) => {
    const codes = fc.array(fc.nat(some.length), { minLength: rows, maxLength: rows + 3 });
    return codes.map((all) => coded(type, Uint32Array.from(all), [undefined, ...some]));
  });
  const allDifferent = fc
    .uniqueArray(anyValueOf(type), { minLength: 1, maxLength: rows, comparator: 'SameValue' })
    .map((some) =>
      coded(
        type,
        Uint32Array.from({ length: rows }, (_, row) => row % some.length),
        some,
      ),
    );
  return fc.oneof({ weight: 4, arbitrary: column }, allDifferent, fc.constant(undefined));
}

const anyTable = fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 6 }).chain((chosen) => {
  const columns = chosen.map((type, index): Column => ({ name: `c${index}`, type }));
  const group = fc
    .integer({ min: 1, max: 60 })
    .chain((rows) =>
      fc
        .tuple(...columns.map(({ type }) => codedColumn(type, rows)))
        .map((all): Group => ({ rows, columns: byName(columns, all) })),
    );
  return fc.array(group, { maxLength: 3 }).map((groups) => ({ columns, groups }));
});

function byName(columns: readonly Column[], all: readonly (CodedColumn | undefined)[]) {
  return new Map(columns.flatMap(({ name }, index) => (all[index] ? [[name, all[index]] as const] : [])));
}

function valuesOf({ rows, columns }: Group, name: string): (Value | undefined)[] {
  const column = columns.get(name);
  const valueAt = column && readerOf(column);
  return Array.from({ length: rows }, (_, row) => valueAt?.(row));
}

function rowsOf(columns: readonly Column[], groups: readonly Group[]): Row[] {
  return groups.flatMap((group) => {
    const values = columns.map(({ name }) => [name, valuesOf(group, name)] as const);
    return Array.from({ length: group.rows }, (_, row) =>
      Object.fromEntries(values.map(([name, all]) => [name, all[row]])),
    );
  });
}

/** Readers either leave a NULL out, or return null or undefined. */
function withNulls(columns: readonly Column[], rows: readonly Row[]): Row[] {
  return rows.map((row) => Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null])));
}

async function fileOf(columns: readonly Column[], groups: readonly Group[]): Promise<Uint8Array> {
  const output = new CollectingWriter();
  const file = writeParquet(output, columns);
  for (const group of groups) await file.writeGroup(group.rows, group.columns);
  await file.finish();
  return output.bytes();
}

function previousFileOf(columns: readonly Column[], groups: readonly Group[]): Uint8Array {
  return hyparquetWriterFileOf(
    columns,
    groups.map((group) => new Map(columns.map(({ name }) => [name, valuesOf(group, name)]))),
  );
}

/** The footer's facts about each column of each row group, without the places. */
function statisticsOf(bytes: Uint8Array) {
  return parquetMetadata(bytes).row_groups.map(({ num_rows, columns }) => ({
    num_rows,
    columns: columns.map(({ meta_data }) => ({
      type: meta_data?.type,
      codec: meta_data?.codec,
      path: meta_data?.path_in_schema,
      values: meta_data?.num_values,
      min: meta_data?.statistics?.min_value,
      max: meta_data?.statistics?.max_value,
      nulls: meta_data?.statistics?.null_count,
      isMinExact: meta_data?.statistics?.is_min_value_exact,
      isMaxExact: meta_data?.statistics?.is_max_value_exact,
    })),
  }));
}

describe('columns of codes', () => {
  it('I6: are read back by three readers, and have the footer of hyparquet-writer’s own file', async () => {
    await fc.assert(
      fc.asyncProperty(anyTable, async ({ columns, groups }) => {
        const bytes = await fileOf(columns, groups);
        const rows = withNulls(columns, rowsOf(columns, groups));
        expect(withNulls(columns, await Array.fromAsync(readParquetRows(readable(bytes))))).toEqual(rows);
        expect(withNulls(columns, await Array.fromAsync(readWithParquetjs(bytes, columns)))).toEqual(rows);
        expect(withNulls(columns, await duckdbRows(bytes, columns))).toEqual(rows);
        expect(statisticsOf(bytes)).toEqual(statisticsOf(previousFileOf(columns, groups)));
      }),
      { numRuns: 50, endOnFailure: true },
    );
  });

  it('of a wide table cost little if they are empty, and the footer shows that they are empty', async () => {
    const columns = Array.from(
      { length: 1_000 },
      (_, at): Column => ({ name: `c${at}`, type: types[at % types.length] ?? 'string' }),
    );
    const codes = Uint32Array.from({ length: 2_000 }, (_, row) => row % 5);
    const filled = coded('string', codes, [undefined, 'a', 'b', '', 'c']);
    const groups = [0, 9, 900].map((at) => ({ rows: 2_000, columns: new Map([[`c${at}`, filled]]) }));
    const bytes = await fileOf(columns, groups);
    const previous = previousFileOf(columns, groups);
    expect(statisticsOf(bytes)).toEqual(statisticsOf(previous));
    expect(bytes.length).toBeLessThan(previous.length * 1.01);
  });
});
