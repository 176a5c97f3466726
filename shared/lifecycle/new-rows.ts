/*
 * Makes the lifecycle rows of records that have no row yet, as columns. Most columns are constant or copies of the version's
 * columns. `rowAfter` decides the values of a row once for all records that have the same state and lack the same values.
 */
import type { Column, Value } from '../column-types.ts';
import type { CodedColumn, NamedColumn } from '../lake/table/coded-rows.ts';
import { countOf, readerOf, withValues } from '../lake/table/column-facts.ts';
import type { Row } from '../lake/table/columns.ts';
import type { Now, NowColumns } from './records.ts';
import { type Moment, rowAfter } from './rows.ts';

const AMOUNTS = ['amount', 'commission'] as const;
const COUNTED = ['counted_amount', 'counted_commission'] as const;
/** Placeholders for a value that is copied from a column of the version; no real amount is so large. */
const COPIED = new Map<Value, keyof Now>([
  ...[...AMOUNTS, ...COUNTED].map((name, index) => [2n ** 200n + BigInt(index), name] as const),
  ...(['key', 'order_id', 'product', 'kind', 'publisher_id', 'publisher_name', 'currency'] as const).map(
    (name) => [`\0${name}`, name] as const,
  ),
]);

/** @param columns of the table @param group its records, of which each becomes a row of its own */
export function newRows(columns: readonly Column[], group: NowColumns, moment: Moment): NamedColumn[] {
  const { rows, columns: now } = group;
  const read = (['state', ...AMOUNTS] as const).map((name) => {
    const column = now.get(name);
    return column ? readerOf(column) : () => undefined;
  });
  const [stateOf = () => undefined, ...amountsOf] = read;
  const kindOf = new Map<string, number>();
  const made: Row[] = [];
  const kinds = new Uint32Array(rows);
  for (let row = 0; row < rows; row += 1) {
    const state = stateOf(row);
    const missing = AMOUNTS.filter((_, index) => amountsOf[index]?.(row) === undefined);
    const name = `${missing.length === 0 ? '' : missing.join()} ${typeof state === 'string' ? `=${state}` : ''}`;
    let kind = kindOf.get(name);
    if (kind === undefined) {
      kind = kindOf.size;
      kindOf.set(name, kind);
      const values = [...COPIED].map(([value, of]) => [
        of,
        missing.some((each) => each === of) ? undefined : value,
      ]);
      const record = { ...Object.fromEntries(values), records: 1n, state } as Now;
      made.push(rowAfter(undefined, record, moment) ?? {});
    }
    kinds[row] = kind;
  }
  return columns.flatMap(({ name, type }): NamedColumn[] => {
    const column = columnOf(
      kinds,
      made.map((row) => row[name] ?? undefined),
      now,
      type,
    );
    return column ? [[name, column]] : [];
  });
}

/** @param values by kind of row */
function columnOf(
  kinds: Uint32Array,
  values: readonly (Value | undefined)[],
  now: NowColumns['columns'],
  type: Column['type'],
): CodedColumn | undefined {
  const sources = values.map((value) => (value === undefined ? undefined : COPIED.get(value)));
  const source = sources.find((each) => each !== undefined);
  const copied = source && now.get(source);
  const isCopy = sources.map((each) => each !== undefined);
  if (copied && isCopy.every(Boolean)) return copied;
  const first = copied ? countOf(copied) : 1;
  const added = [...new Set(values.filter((value, kind) => value !== undefined && !isCopy[kind]))];
  if (!copied && added.length === 0) return undefined;
  const codeOf = values.map((value, kind) =>
    value === undefined || isCopy[kind] ? 0 : first + added.indexOf(value),
  );
  const codes = new Uint32Array(kinds.length);
  for (let row = 0; row < codes.length; row += 1) {
    const kind = kinds[row] ?? 0;
    codes[row] = (isCopy[kind] ? copied?.codes[row] : codeOf[kind]) ?? 0;
  }
  return withValues(copied, codes, added, type);
}
