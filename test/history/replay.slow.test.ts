import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Column, typeSpec } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { runs } from '../fixtures/property-runs.ts';
import { beforeShape, rowsAt } from '../../shared/history/index.ts';
import { orders as report } from '../../shared/reports/orders.ts';
import { keySql } from '../../shared/reports/views/key-sql.ts';
import { inDuckDb } from '../../shared/reports/views/view-sql.ts';
import { duckdb, duckdbRows, parquetOf } from '../table/parquet-files.ts';
import { DAY, dayOf } from './day.ts';

const COLUMNS: readonly Column[] = [
  { name: 'transid', type: 'string', field: 'transid' },
  { name: 'order_id', type: 'bigint', field: 'order_id' },
  { name: 'at', type: 'timestamp', field: 'at' },
  { name: 'sku', type: 'string', field: 'sku' },
  { name: 'box', type: 'string', field: 'box' },
  { name: 'amount', type: 'decimal(38,9)', field: 'amount' },
  { name: 'note', type: 'string', field: 'note' },
  { name: 'note_bigint', type: 'bigint', field: 'note' },
  { name: '_rescued', type: 'string' },
];
const TYPE_OF = new Map(COLUMNS.map(({ name, type }) => [name, type]));
/** The texts of a row. */
function contentOf(row: Row): string {
  return JSON.stringify([...TYPE_OF.keys()].map((name) => textOf(row, name) ?? null));
}

function textOf(row: Row, name: string): string | undefined {
  const value = row[name];
  const type = TYPE_OF.get(name);
  return value === null || value === undefined || type === undefined
    ? undefined
    : typeSpec(type).texts(value)[0];
}

const placed = (file: string) => `(SELECT *, 'acme' AS brand, '${DAY}' AS dt FROM ${file})`;

/** The records of the day at a place, in SQL. */
async function recordsAt(place: number, name: string, files: readonly Uint8Array[]): Promise<string[]> {
  const rows = rowsAt({
    columns: COLUMNS.map((column) => `"${column.name}"`),
    ...{ current: placed('{file}'), before: placed('{file1}') },
    at: `(SELECT 'acme' AS brand, '${DAY}' AS dt, ${place} AS _at, '${name}' AS _chain)`,
    key: inDuckDb(keySql(name, COLUMNS)),
  });
  return (await duckdbRows(files, COLUMNS, `(${rows})`)).map(contentOf).sort();
}

const few = (...values: readonly string[]) => fc.option(fc.constantFrom(...values), { freq: 4 });
const record: fc.Arbitrary<Row> = fc.record({
  transid: few('a', 'b', 'c', ''),
  order_id: fc.option(fc.constantFrom(1n, 2n, 9_007_199_254_740_993n), { freq: 4 }),
  at: fc.option(fc.constantFrom(new Date(0), new Date(1_700_000_000_123)), { freq: 2 }),
  sku: few('x', 'y'),
  box: few('{"id":"k1"}', '{"id":12345678901234567890}', '{"id":{}}', 'no json', '[1]'),
  amount: fc.constantFrom(1_500_000_000n, 1_234_567_890_123_456_789_000_000_000n),
  note: few('1', '2'),
  _rescued: few('{"amount":"a"}', '{"x":[1]}'),
});
/** Readings share most of their records, and have copies of some. */
const life = fc
  .record({
    pool: fc.array(record, { minLength: 1, maxLength: 6 }),
    steps: fc.array(
      fc.record({
        picks: fc.array(fc.nat(5), { maxLength: 8 }),
        isRetyped: fc.boolean(),
        cause: fc.constantFrom('reading' as const, 'rollback' as const, 'rebuild' as const),
      }),
      { minLength: 2, maxLength: 7 },
    ),
  })
  .map(({ pool, steps }) =>
    steps.map(({ picks, ...step }) => ({
      ...step,
      rows: picks.map((pick): Row => pool[pick % pool.length] ?? {}),
    })),
  );
const keys = fc.constantFrom<string | string[]>(
  'transid',
  ['order_id', 'sku'],
  'order_id',
  'at',
  'box.id',
  'amount',
  'none',
);

// A run writes keys and changes in TypeScript, and a query computes the keys of current records and goes back in SQL.
describe('the records of a day at each place of its chain of changes', () => {
  it('are in SQL exactly those of the reading, whatever changed since', async () => {
    await fc.assert(
      fc.asyncProperty(life, keys, async (readings, key) => {
        const day = await dayOf(COLUMNS);
        const atPlace = new Map<number, string[]>();
        let last: { place: number; by: string } | undefined;
        for (const { rows, isRetyped, cause } of readings) {
          const typed = rows.map((row) =>
            isRetyped && typeof row.note === 'string' ? { ...row, note_bigint: BigInt(row.note) } : row,
          );
          await day.replaceBy({ rows: typed, cause, settings: { key, fields: {} } });
          const { place = -1, lastBy = '' } = day.committed?.history ?? {};
          const contents = typed.map(contentOf).sort();
          const isKnown = atPlace.has(place);
          if (isKnown) expect(atPlace.get(place)).toEqual(contents);
          atPlace.set(place, contents);
          if (last && !isKnown) {
            expect(place).toBe(last.place + 1);
            expect(lastBy > last.by).toBe(true);
          }
          last = { place, by: lastBy };
        }
        const { history } = day.committed ?? {};
        const name = history?.key ?? '';
        const ofChanges = beforeShape(report, COLUMNS).columns;
        const files = [await day.bytes(), (await day.bytesBefore()) ?? (await parquetOf(ofChanges, []))];
        for (const [place, contents] of atPlace)
          expect(await recordsAt(place, name, files)).toEqual(contents);
        const keyOf = inDuckDb(keySql(name, COLUMNS));
        const [counts] = await duckdb(
          files,
          `SELECT count(*) AS rows, count(*) FILTER (_what <> 'added' AND _key IS DISTINCT FROM ${keyOf}) AS others FROM {file1}`,
        );
        expect(counts).toEqual({ rows: BigInt(history?.object?.rows ?? 0), others: 0n });
      }),
      runs(75),
    );
  });
});
