/*
 * Makes the lifecycle rows of records that have no row yet, as columns. Most columns are constant or copies of the version's
 * columns. `rowAfter` decides the values of a row once for all records that have the same state.
 */
import type { Column, Value } from '../column-types.ts';
import type { CodedColumn, NamedColumn } from '../lake/table/coded-rows.ts';
import { countOf, valuesOf, withValues } from '../lake/table/column-facts.ts';
import type { NowColumns } from './records.ts';
import { type Moment, rowAfter } from './rows.ts';

/** An object of its own stands for the values of a column of the version, so that no value can be mistaken for it. */
const STAND_INS = {
  ...{ key: new Date(0), order_id: new Date(0), product: new Date(0), kind: new Date(0) },
  ...{ publisher_id: new Date(0), publisher_name: new Date(0), currency: new Date(0) },
  ...{ amount: new Date(0), commission: new Date(0) },
  ...{ counted_amount: new Date(0), counted_commission: new Date(0) },
};
const COPIED = new Map<Value, string>(Object.entries(STAND_INS).map(([name, value]) => [value, name]));

/** @param columns of the table @param group its records, of which each becomes a row of its own */
export function newRows(columns: readonly Column[], group: NowColumns, moment: Moment): NamedColumn[] {
  const { rows, columns: now } = group;
  const states: CodedColumn = now.get('state') ?? { codes: new Uint32Array(rows), values: [undefined] };
  const rowsOfStates = valuesOf(states).map((state) =>
    rowAfter(undefined, { ...STAND_INS, records: 1n, state }, moment),
  );
  return columns.flatMap(({ name, type }): NamedColumn[] => {
    const values = rowsOfStates.map((row) => row[name] ?? undefined);
    const column = columnOf(states, values, now, type);
    return column ? [[name, column]] : [];
  });
}

/** @param values by code of the state: the value of its rows, or what stands for a column */
function columnOf(
  states: CodedColumn,
  values: readonly (Value | undefined)[],
  now: NowColumns['columns'],
  type: Column['type'],
): CodedColumn | undefined {
  const sources = values.map((value) => (value === undefined ? undefined : COPIED.get(value)));
  const source = sources.find((each) => each !== undefined);
  const copied = source === undefined ? undefined : now.get(source);
  if (copied && sources.every((each) => each === source)) return copied;
  const first = copied ? countOf(copied) : 1;
  const added = new Set(values.filter((value, state) => value !== undefined && !sources[state]));
  if (!copied && added.size === 0) return undefined;
  const codeOfAdded = new Map([...added].map((value, index) => [value, first + index]));
  // No code of a value: the row has the code that it has in the copied column.
  const copy = first + added.size;
  const codeOf = Uint32Array.from(values, (value, state) =>
    copied && sources[state] ? copy : (codeOfAdded.get(value) ?? 0),
  );
  const codes = states.codes.map((state) => codeOf[state] ?? 0);
  for (let row = 0; copied && row < codes.length; row += 1)
    if (codes[row] === copy) codes[row] = copied.codes[row] ?? 0;
  return withValues(copied, codes, [...added], type);
}
