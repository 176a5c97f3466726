import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type JsonObject, stringifyJson } from '../../shared/base/json.ts';
import { RecordColumns } from '../../shared/table/record-columns.ts';
import { readRecords } from '../../shared/records/read-records.ts';
import { recordListOf } from '../../shared/records/record-list.ts';
import { runs } from '../fixtures/property-runs.ts';

const unlimited = { rows: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** The slow twin: a map for each row. */
class Rows {
  rows: Map<string, string>[] = [];

  append(records: readonly JsonObject[], kept?: Uint8Array): void {
    for (const [index, record] of records.entries())
      if (kept?.[index] !== 0)
        this.rows.push(
          new Map(Object.entries(record).map(([field, value]) => [field, stringifyJson(value)])),
        );
  }

  /** By field: the distinct literals in the order of their first occurrence, and a code for each row. */
  columns(): Record<string, { literals: string[]; codes: number[] }> {
    const fields = [...new Set(this.rows.flatMap((row) => [...row.keys()]))];
    return Object.fromEntries(
      fields.map((field) => {
        const cells = this.rows.map((row) => row.get(field));
        const literals = [...new Set(cells)].filter((literal) => literal !== undefined);
        const codes = new Map(literals.map((literal, index) => [literal, index + 1]));
        return [field, { literals, codes: cells.map((cell) => codes.get(cell ?? '') ?? 0) }];
      }),
    );
  }
}

function columnsOf(columns: RecordColumns): ReturnType<Rows['columns']> {
  return Object.fromEntries(
    columns.fields.map((field) => {
      const column = columns.column(field);
      const codes = Array.from({ length: column?.count ?? 0 }, (_, index) => index + 1);
      return [
        field,
        {
          literals: codes.map(
            (code) => column?.bytes.toString('utf8', column.ends[code - 1], column.ends[code]) ?? '',
          ),
          codes: [...(column?.codes(new Uint32Array(columns.rows).fill(7)) ?? [])],
        },
      ];
    }),
  );
}

const field = fc.constantFrom('a', 'b', 'c', 'é', '__proto__', 'constructor', '');
const value = fc.oneof(
  fc.constantFrom('', 'x', 'xy', 'USD', 'EUR', 'abcd', 'abcde', null, true, 1, 12.5),
  fc.nat(300),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.array(fc.nat(2), { maxLength: 9 }),
);
const records = fc.array(
  fc
    .array(fc.tuple(field, value), { maxLength: 5 })
    .map((entries): JsonObject => Object.fromEntries(entries)),
  { maxLength: 120 },
);
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      records,
      kept: fc.option(fc.uint8Array({ max: 1, minLength: 120, maxLength: 120 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.constant('clear' as const) },
);

describe('records as columns', () => {
  it('I6: have the values of a field that first hardly repeats, and then repeats', () => {
    const values = Array.from({ length: 12_000 }, (_, row) => (row < 9_000 ? `id ${row}` : `id ${row % 2}`));
    const columns = new RecordColumns(unlimited);
    for (const group of ['first', 'second']) {
      columns.append(recordListOf(values.map((id) => ({ id, group }))));
      const { id, group: groups } = columnsOf(columns);
      expect(id?.codes.map((code) => id.literals[code - 1])).toEqual(values.map((text) => `"${text}"`));
      expect(groups?.literals).toEqual([`"${group}"`]);
      columns.clear();
    }
  });

  it('I12: stop at the rows of a row group, and continue the next one at the first record left', () => {
    const list = recordListOf(Array.from({ length: 10 }, (_, index) => ({ a: index })));
    const columns = new RecordColumns({ ...unlimited, rows: 4 });
    const kept = Uint8Array.of(1, 1, 0, 1, 1, 1, 1, 1, 0, 1);
    const groups: string[][] = [];
    for (let next = 0; next < list.count; ) {
      next = columns.append(list, next, kept);
      groups.push(columnsOf(columns).a?.literals ?? []);
      columns.clear();
    }
    expect(groups).toEqual([
      ['0', '1', '3', '4'],
      ['5', '6', '7', '9'],
    ]);
  });

  it('I12: stop at the bytes of a row group, within one record of it', () => {
    const text = 'x'.repeat(1_000);
    const list = recordListOf(Array.from({ length: 200 }, (_, index) => ({ a: `${text}${index}` })));
    const columns = new RecordColumns({ ...unlimited, bytes: 100_000 });
    const next = columns.append(list);
    expect(columns.isFull).toBe(true);
    expect(columns.rows).toBe(next);
    expect(next).toBeGreaterThan(80);
    expect(next).toBeLessThan(100);
    expect(columns.append(list, next)).toBe(next);
  });

  it('I6: have all values of a page that is too long to be copied at once', () => {
    const list = Array.from({ length: 4_000 }, (_, index) => ({
      long: `${index} ${'x'.repeat(index % 4_000)}`,
      [`field_${index % 7}`]: index % 100,
      last: index % 3 === 0 ? null : index,
    }));
    list[2_000] = { long: 'y'.repeat(5 * 2 ** 20), last: 0 };
    const kept = Uint8Array.from(list.keys(), (index) => (index % 5 === 0 ? 0 : 1));
    const columns = new RecordColumns(unlimited);
    const twin = new Rows();
    expect(columns.append(recordListOf(list), 0, kept)).toBe(list.length);
    twin.append(list, kept);
    expect(columnsOf(columns)).toEqual(twin.columns());
  });

  it('I12: count each of thousands of fields, but a field only if it occurs', () => {
    const bytesOf = (rows: number, fieldsPerRow: number) => {
      const columns = new RecordColumns(unlimited);
      for (let row = 0; row < rows; row += 1)
        columns.append(
          recordListOf([
            Object.fromEntries(
              Array.from({ length: fieldsPerRow }, (_, index) => [
                `${String(row).padStart(3, '0')}_${index}`,
                1,
              ]),
            ),
          ]),
        );
      return columns.bytes;
    };
    expect(bytesOf(1, 4_000)).toBeGreaterThan(4_000 * 1_000);
    // Twice the rows, each with its own fields, take twice the memory, not four times.
    expect(bytesOf(800, 2)).toBe(2 * bytesOf(400, 2));
  });

  it('I12: count a record in every row, because a value that fits no column is written for each row', () => {
    const bytesOf = (records: readonly JsonObject[]) => {
      const columns = new RecordColumns(unlimited);
      columns.append(recordListOf(records));
      return columns.bytes;
    };
    const long = 'x'.repeat(1_000);
    expect(bytesOf(Array.from({ length: 1_000 }, () => ({ a: long })))).toBeGreaterThan(1_000_000);
    expect(bytesOf(Array.from({ length: 1_000 }, () => ({ [long]: 1 })))).toBeGreaterThan(1_000_000);
    expect(bytesOf(Array.from({ length: 1_000 }, () => ({ a: 1 })))).toBeLessThan(20_000);
  });

  it('I12: keep no memory for fields of a page that are not in the row group', () => {
    const columns = new RecordColumns({ ...unlimited, rows: 1 });
    const fields = Array.from({ length: 60_000 }, (_, index): [string, number] => [`f${index}`, index]);
    const list = recordListOf([{ a: 1 }, Object.fromEntries(fields)]);
    columns.append(list);
    expect(columns.fields).toEqual(['a']);
    // Only the list itself is copied; 60,000 columns would take 90 MB.
    expect(columns.column('a')?.bytes.buffer.byteLength).toBeLessThan(2 ** 23);
  });

  it('I6: have every value of every row, like maps of rows, whatever is read in the meantime', () => {
    const several = [0, 1, 2].map(() => ({ columns: new RecordColumns(unlimited), twin: new Rows() }));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), step), { maxLength: 12 }), (steps) => {
        for (const [index, one] of steps) {
          const { columns, twin } = several[index] ?? {
            columns: new RecordColumns(unlimited),
            twin: new Rows(),
          };
          if (one === 'clear') {
            columns.clear();
            twin.rows = [];
            expect(columns.bytes).toBe(0);
          } else {
            const list = readRecords(Buffer.from(stringifyJson(one.records)));
            expect(columns.append(list, 0, one.kept)).toBe(one.records.length);
            twin.append(one.records, one.kept);
          }
          expect(columns.rows).toBe(twin.rows.length);
          for (const each of several) expect(columnsOf(each.columns)).toEqual(each.twin.columns());
        }
      }),
      runs(50),
    );
  });

  it('I12: keep no memory of the huge values of many fields for the next row group', () => {
    const columns = new RecordColumns(unlimited);
    const fields = Array.from({ length: 8 }, (_, index) => `f${index}`);
    const huge = 'x'.repeat(2 ** 20);
    columns.append(recordListOf([Object.fromEntries(fields.map((field) => [field, huge]))]));
    columns.clear();
    columns.append(recordListOf([Object.fromEntries(fields.map((field) => [field, 'x']))]));
    const kept = fields.map((field) => columns.column(field)?.bytes.buffer.byteLength ?? 0);
    expect(Math.max(...kept)).toBeLessThan(2 ** 22);
  });

  it('I12: keep no memory for the pages from which they were read', () => {
    const record = { id: 'y'.repeat(1_000) };
    const page = Buffer.from(stringifyJson(Array.from({ length: 4_000 }, () => record)));
    const pending = Array.from({ length: 10 }, () => new RecordColumns(unlimited));
    for (const columns of pending) columns.append(readRecords(page));
    const kept = pending.map((columns) => columns.column('id')?.bytes.buffer.byteLength ?? Infinity);
    expect(Math.max(...kept)).toBeLessThan(2 ** 21);
    for (const columns of pending) columns.clear();
  });
});
