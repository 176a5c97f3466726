/*
 * Reads what the records of a version say now: key, state, amounts. Each different value of a column is judged once, and
 * only the columns are read that have a role.
 */
import { RESCUED } from '../column-types.ts';
import { type CodedColumn, valueOfCode } from '../lake/table/coded-rows.ts';
import type { CodedFile } from '../lake/table/coded-columns.ts';
import { amountAt, amountsIn, textsIn, wholeTextsOf } from '../lake/table/role-facts.ts';
import { comparedState, withoutSpaces } from '../reports/definition.ts';
import type { RoleColumn } from '../roles/index.ts';
import type { Rules } from './rules.ts';

/** What the version says of a record, or of all records with one key, kind, publisher and currency, by column. */
export type Now = {
  key: string | undefined;
  records: bigint;
  order_id: string | undefined;
  product: string | undefined;
  kind: 'sale' | 'bonus';
  publisher_id: string | undefined;
  publisher_name: string | undefined;
  currency: string | undefined;
  state: string | undefined;
  amount: bigint | undefined;
  commission: bigint | undefined;
};

type Columns = ReadonlyMap<string, CodedColumn>;
/** The value of a row. */
type ValueAt<Value> = (row: number) => Value | undefined;

/** All records of a version, a row group at a time. */
export async function* recordsOf(file: CodedFile, rules: Rules): AsyncGenerator<Now[], void, undefined> {
  const used = [...rules.key, ...Object.values(rules.places)].map(({ column }) => column.name);
  const names = [...used, RESCUED, ...(rules.kind ? [rules.kind.name] : [])];
  for await (const { rows, columns } of file.groups(names))
    yield recordsOfGroup(rows, new Map(columns), rules);
}

function recordsOfGroup(rows: number, columns: Columns, rules: Rules): Now[] {
  const { places, kind, bonuses, words } = rules;
  const text = (role: keyof typeof places) => textAt(columns, places[role], filled);
  const stateOf = (state: string) => words.get(comparedState(state)) ?? filled(comparedState(state));
  const [state, otherState = () => undefined] = rules.states.map((role) =>
    textAt(columns, places[role], stateOf),
  );
  const type = textAt(columns, kind && { column: kind, path: [] }, filled);
  const key = keyAt(columns, rules.key);
  const [orderId, product, publisherId, publisherName] = [
    text('order_id'),
    text('product'),
    text('publisher_id'),
    text('publisher_name'),
  ];
  const currency = textAt(columns, places.currency, (held) => filled(held.toUpperCase()));
  const amount = amountOf(columns, places.amount);
  const commission = amountOf(columns, places.commission);
  return Array.from({ length: rows }, (_, row) => ({
    key: key(row),
    records: 1n,
    order_id: orderId(row),
    product: product(row),
    kind: bonuses.includes(type(row) ?? '') ? 'bonus' : 'sale',
    publisher_id: publisherId(row),
    publisher_name: publisherName(row),
    currency: currency(row),
    state: state?.(row) ?? otherState(row),
    amount: amount(row),
    commission: commission(row),
  }));
}

function filled(text: string): string | undefined {
  return withoutSpaces(text) || undefined;
}

function textAt(
  columns: Columns,
  place: RoleColumn | undefined,
  valueOf: (text: string) => string | undefined,
): ValueAt<string> {
  const coded = place && columns.get(place.column.name);
  if (!place || !coded) return () => undefined;
  const texts = textsIn(coded, place.column, place.path);
  const values = texts.map((text) => (text === undefined ? undefined : valueOf(text)));
  return (row) => values[coded.codes[row] ?? 0];
}

/** As the table `changes` has keys: of several columns a JSON list of their values. */
function keyAt(columns: Columns, key: readonly RoleColumn[]): ValueAt<string> {
  const parts = key.map((place) => textAt(columns, place, (text) => text || undefined));
  const [first = () => undefined, ...others] = parts;
  if (others.length === 0) return first;
  return (row) => {
    const texts = parts.map((part) => part(row));
    return texts.some((text) => text !== undefined)
      ? JSON.stringify(texts.map((text) => text ?? ''))
      : undefined;
  };
}

/** As views have amounts: one that its column cannot hold exactly is in `_rescued`. */
function amountOf(columns: Columns, place: RoleColumn | undefined): ValueAt<bigint> {
  if (!place) return () => undefined;
  const { column, path } = place;
  const { field = '' } = column;
  const isRescued = path.length === 0 && column.type !== 'string' && /^\w+$/.test(field);
  const coded = columns.get(column.name);
  const amounts = coded && { codes: coded.codes, ...amountsIn(coded, column, path) };
  const rescued = isRescued ? columns.get(RESCUED) : undefined;
  const others = rescued && wholeTextsOf(rescued).map((text) => amountAt(text, [field]));
  return (row) => {
    const own = amounts && valueOfCode(amounts, amounts.codes[row] ?? 0);
    return typeof own === 'bigint' ? own : others?.[rescued?.codes[row] ?? 0];
  };
}
