import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Column, typeSpec } from '../../shared/base/column-types.ts';
import type { Row } from '../../shared/table/columns.ts';
import { runs } from '../fixtures/property-runs.ts';
import { dayOf } from './day.ts';
import { keyTextOf, recordsAt } from './places.ts';

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
const PLACES: Readonly<Record<string, (row: Row) => string | undefined>> = {
  transid: (row) => textOf(row, 'transid'),
  order_id: (row) => textOf(row, 'order_id'),
  at: (row) => (row.at instanceof Date ? String(row.at.getTime()) : undefined),
  sku: (row) => textOf(row, 'sku'),
  amount: (row) => textOf(row, 'amount'),
  'box.id': (row) => (typeof row.box === 'string' ? /"id":"?([a-z0-9]+)/.exec(row.box)?.[1] : undefined),
};

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

const keyOf = (name: string, row: Row) => keyTextOf(name, (place) => PLACES[place]?.(row));

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

describe('the records of a day at each place of its chain of changes', () => {
  it('are exactly those of the reading, whatever changed since', async () => {
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
        const before = await day.before();
        const name = history?.key ?? '';
        const current = (await day.rows()).map((row) => ({ key: keyOf(name, row), content: contentOf(row) }));
        const rows = before.map((row) => ({
          ...{ key: typeof row._key === 'string' ? row._key : undefined, what: String(row._what) },
          ...{ place: Number(row._place), content: contentOf(row) },
        }));
        for (const [place, contents] of atPlace)
          expect(recordsAt(place, current, rows).sort()).toEqual(contents);
        expect(before.length).toBe(history?.object?.rows ?? 0);
        for (const row of before) if (row._what !== 'added') expect(row._key).toBe(keyOf(name, row));
      }),
      runs(75),
    );
  });
});
