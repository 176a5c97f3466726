/*
 * Reads the key, the state and the amounts of a version's records, by the roles and the rules of the views, so that sums
 * over the lifecycle tables equal the sums of views. Each different value of a column is judged once.
 */
import { hash } from 'node:crypto';
import { type Column, RESCUED } from '../column-types.ts';
import type { BrandReport } from '../context/context.ts';
import type { Committed, Lifecycle } from '../lake/documents/ledger.ts';
import { type BrandRoles, rolesOf, rolesOfSettings } from '../lake/documents/brand-settings.ts';
import type { CodedFile } from '../lake/table/coded-columns.ts';
import { type CodedColumn, isNullCode } from '../lake/table/coded-rows.ts';
import { AMOUNT, combined, countOf, readerOf, valuesOf, withValues } from '../lake/table/column-facts.ts';
import { firstAmounts, readColumn, readRescuedColumn, textsIn } from '../lake/table/amounts.ts';
import { type Texts, textsOf } from '../lake/table/texts.ts';
import { keyColumns } from '../planning/primary-key.ts';
import { BONUS_KINDS, comparedState, spellings, withoutSpaces } from '../reports/definition.ts';
import { ROLES, type Role, type RoleColumn, placesOfRole } from '../roles/index.ts';
import type { ReportSettings } from '../settings/settings.ts';

export type LifecycleContext = Pick<
  BrandReport,
  'brand' | 'report' | 'lake' | 'schema' | 'stored' | 'clock' | 'newId' | 'log'
> & { settings?: Pick<ReportSettings, 'key' | 'fields' | 'states' | 'kinds'> };

/** A record's value is the first that is not empty at these places. */
type Places = readonly RoleColumn[];

export interface Rules {
  /** The columns that identify a record, each with the places of its values; empty: nothing identifies it. */
  key: readonly Places[];
  places: ReadonlyMap<Role, Places>;
  /** The states of the interface, by the word of the service in its compared form. */
  words: ReadonlyMap<string, string>;
  /** The words of the service that are bonuses, in their compared form. */
  bonuses: ReadonlySet<string>;
  /** Fingerprints of the key, of the states and of all rules together. */
  basis: string;
}

/** The rules for a version; `undefined` if the report's records have no states. A day keeps its key as long as that key is possible. */
export async function rulesOf(
  ctx: LifecycleContext,
  version: Pick<Committed, 'rows' | 'values' | 'lifecycle'>,
): Promise<Rules | undefined> {
  const { report, settings } = ctx;
  const { values, lifecycle: known } = version;
  if (!report.lifecycle) return undefined;
  const { columns } = await ctx.schema.cached();
  const own: BrandRoles = settings
    ? rolesOfSettings(settings)
    : rolesOf(await ctx.stored.of(ctx.brand), report);
  const placed = ROLES.map((role) => [role, placesOfRole(role, columns, own.fields)] as const);
  const places = new Map(placed.filter(([, own]) => own.length > 0));
  const inOrder = (roles: readonly Role[]) =>
    roles.map((role) => places.get(role) ?? []).filter((own) => own.length > 0);
  const ofColumns = (key: readonly Column[]) => key.map((column): Places => [{ column, path: [] }]);
  const keys = [
    ...keyColumns(ctx, columns, values?.keyIsNone ?? false).map(ofColumns),
    ...(places.has('order_id') ? [inOrder(['order_id', 'product']), inOrder(['order_id'])] : []),
  ];
  const key = keys.find((each) => fingerprint(each) === partsOf(known)[0]) ?? keys[0] ?? [];
  const words = wordsOf(own);
  const bonuses = new Set((own.kinds ?? BONUS_KINDS).map(comparedState).flatMap(spellings));
  const ofStates = [inOrder(report.lifecycle.states), [...words]];
  const basis = [key, ofStates, [...places, [...bonuses]]].map(fingerprint).join('-');
  return { key, places, words, bonuses, basis };
}

function fingerprint(rules: unknown): string {
  return hash('sha256', JSON.stringify(rules), 'hex').slice(0, 16);
}

export function partsOf(of: Pick<Lifecycle, 'basis'> | undefined): readonly string[] {
  return of?.basis.split('-') ?? [];
}

function wordsOf({ words }: BrandRoles): ReadonlyMap<string, string> {
  const entries = Object.entries(words);
  return new Map(entries.flatMap(([word, to]) => spellings(comparedState(word)).map((each) => [each, to])));
}

/** A record of a version, or all its records with one key, kind, publisher and currency, by column of the table. */
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
  /** The parts of both that are not void. */
  counted_amount: bigint;
  counted_commission: bigint;
};

/** The records of a row group as columns; a column without values may be missing. */
export interface NowColumns {
  rows: number;
  columns: ReadonlyMap<string, CodedColumn>;
}

export async function* recordsOf(
  file: CodedFile,
  { key, places, words, bonuses }: Rules,
  states: readonly Role[],
): AsyncGenerator<NowColumns, void, undefined> {
  const used = [...key, ...places.values()].flat().map(({ column }) => column.name);
  for await (const { rows, columns: read } of file.groups([...used, RESCUED])) {
    const columns = new Map(read);
    const at = (own: Places | undefined, of = filled) => judgedColumn(rows, columns, own, of);
    const toState = (text: string) => words.get(comparedState(text)) ?? filled(comparedState(text));
    const toKind = (text: string) => (bonuses.has(comparedState(text)) ? 'bonus' : 'sale');
    const keys = key.map((own) => at(own, nonEmpty));
    const [first, second] = states.map((role) => at(places.get(role), toState));
    const state =
      first && second ? derivedColumn(rows, [first, second], ([a, b]) => a ?? b) : (first ?? second);
    const amount = amountColumn(rows, columns, places.get('amount'));
    const commission = amountColumn(rows, columns, places.get('commission'));
    const now: { [name in keyof Now]: CodedColumn | undefined } = {
      key: keys.length > 1 ? derivedColumn(rows, keys, textOfKey) : keys[0],
      records: { codes: new Uint32Array(rows).fill(1), values: [undefined, 1n] },
      order_id: at(places.get('order_id')),
      product: at(places.get('product')),
      kind: derivedColumn(rows, [at(places.get('kind'), toKind)], ([kind]) => kind ?? 'sale'),
      publisher_id: at(places.get('publisher_id')),
      publisher_name: at(places.get('publisher_name')),
      currency: at(places.get('currency'), (text) => filled(text.toUpperCase())),
      state,
      ...{ amount, commission },
      counted_amount: countedColumn(rows, amount, state),
      counted_commission: countedColumn(rows, commission, state),
    };
    const named = Object.entries(now).flatMap(([name, column]) => (column ? [[name, column] as const] : []));
    yield { rows, columns: new Map(named) };
  }
}

export function recordReader(columns: NowColumns['columns']): (row: number) => Now {
  const text = (name: keyof Now) => textsAt(columns.get(name));
  const amount = (name: keyof Now) => {
    const column = columns.get(name);
    const read = column ? readerOf(column) : () => undefined;
    return (row: number) => {
      const value = read(row);
      return typeof value === 'bigint' ? value : undefined;
    };
  };
  const [key, order, product, kind] = [text('key'), text('order_id'), text('product'), text('kind')];
  const [publisher, name, currency] = [text('publisher_id'), text('publisher_name'), text('currency')];
  const [state, worth, commission] = [text('state'), amount('amount'), amount('commission')];
  const [countedAmount, countedCommission] = [amount('counted_amount'), amount('counted_commission')];
  return (row) => ({
    key: key(row),
    records: 1n,
    order_id: order(row),
    product: product(row),
    kind: kind(row) === 'bonus' ? 'bonus' : 'sale',
    publisher_id: publisher(row),
    publisher_name: name(row),
    currency: currency(row),
    state: state(row),
    amount: worth(row),
    commission: commission(row),
    counted_amount: countedAmount(row) ?? 0n,
    counted_commission: countedCommission(row) ?? 0n,
  });
}

function textsAt(column: CodedColumn | undefined): (row: number) => string | undefined {
  const read = column ? readerOf(column) : () => undefined;
  return (row) => {
    const text = read(row);
    return typeof text === 'string' ? text : undefined;
  };
}

/** A column of texts, each computed once for all rows that have the same texts in the other columns. */
function derivedColumn(
  rows: number,
  columns: readonly (CodedColumn | undefined)[],
  textOf: (texts: readonly (string | undefined)[]) => string | undefined,
): CodedColumn {
  const { codes, firstRows } = combined(rows, columns);
  const read = columns.map((column) => textsAt(column));
  const texts = firstRows.map((row) => textOf(read.map((textAt) => textAt(row))));
  return { codes, texts: textsOf([undefined, ...texts]) };
}

/** The amounts that are not void; 0 for all other rows. */
function countedColumn(
  rows: number,
  worth: CodedColumn | undefined,
  state: CodedColumn | undefined,
): CodedColumn {
  const none = worth ? countOf(worth) : 1;
  const isVoid = state ? valuesOf(state).map((value) => value === 'void') : [];
  const codes = new Uint32Array(rows).fill(none);
  for (let row = 0; worth && row < rows; row += 1) {
    const code = worth.codes[row] ?? 0;
    if (!isNullCode(worth, code) && isVoid[state?.codes[row] ?? 0] !== true) codes[row] = code;
  }
  return withValues(worth, codes, [0n], AMOUNT);
}

/** The text of a key, as in the table `changes`. */
function textOfKey(texts: readonly (string | undefined)[]): string | undefined {
  return texts.some((text) => text) ? JSON.stringify(texts.map((text) => text ?? '')) : undefined;
}

function filled(text: string): string | undefined {
  return withoutSpaces(text) || undefined;
}

function nonEmpty(text: string): string | undefined {
  return text || undefined;
}

type Columns = ReadonlyMap<string, CodedColumn>;

/** The judged texts of records: of several places, the first that has a text. */
function judgedColumn(
  rows: number,
  columns: Columns,
  places: Places = [],
  judged: (text: string) => string | undefined,
): CodedColumn | undefined {
  const [place, ...others] = places;
  if (others.length > 0) {
    const each = places.map((own) => judgedColumn(rows, columns, [own], filled));
    return derivedColumn(rows, each, (texts) => {
      const first = texts.find((text) => text !== undefined);
      return first === undefined ? undefined : judged(first);
    });
  }
  const coded = place && columns.get(place.column.name);
  if (!place || !coded) return undefined;
  const isAsItIs = judged === filled || judged === nonEmpty;
  if (isAsItIs && place.path.length === 0 && 'texts' in coded && arePlain(coded.texts)) return coded;
  const texts = textsIn(coded, place.column, place.path);
  const values = texts.map((text) => (text === undefined ? undefined : judged(text)));
  return { codes: coded.codes, texts: textsOf(values) };
}

/** Whether all texts begin and end with a printable ASCII character, so that nothing is trimmed. */
function arePlain({ bytes, starts, ends }: Texts): boolean {
  const isPrinted = (byte = 0) => byte > 0x20 && byte < 0x7f;
  return starts.every((start, code) => {
    const end = ends[code] ?? 0;
    return start > end || (start < end && isPrinted(bytes[start]) && isPrinted(bytes[end - 1]));
  });
}

/** Amounts as views have them: an amount that its column cannot store exactly is in `_rescued`. */
function amountColumn(rows: number, columns: Columns, places: Places = []): CodedColumn | undefined {
  const rescued = columns.get(RESCUED);
  const read = places.flatMap((place) => {
    const { column, path } = place;
    const coded = columns.get(column.name);
    const isRescued = rescued && path.length === 0 && column.type !== 'string';
    const others = isRescued ? [readRescuedColumn(rows, rescued, column)] : [];
    return [...(coded ? [readColumn(rows, coded, place)] : []), ...others];
  });
  return firstAmounts(rows, read);
}
