/**
 * Counts the columns that have roles while a snapshot is written: amounts by currency, rows whose state can change, and
 * unknown states. Each different value is judged once.
 */
import { type Column, RESCUED } from '../../column-types.ts';
import {
  FINAL_STATES,
  STATE_WORDS,
  type States,
  comparedState,
  withoutSpaces,
} from '../../reports/definition.ts';
import {
  type RoleColumn,
  type RoleFields,
  columnOfField,
  fieldsIn,
  isCurrencyOpen,
  textAt,
} from '../../roles/index.ts';
import {
  type CodedColumn,
  type CodedUnits,
  type CodedValues,
  type NamedColumn,
  beginningOfCode,
} from './coded-rows.ts';
import { AMOUNT, type Sum, addRows, countOf, createSum, rowsByCode, textsByCode } from './column-facts.ts';

/** The sums of a day by currency, as texts with all their places, and the fields that were summed. */
export interface Totals {
  fields: Record<string, string>;
  /** The key is empty for rows without a currency. */
  byCurrency: Record<string, Record<string, string>>;
}

/** Decides which columns are counted. */
export interface RoleBasis {
  /** The setting `fields`. */
  fields?: RoleFields;
  /** If the report has states. */
  states?: States | undefined;
}

/** If a column has more, its values are not currencies. */
const MAX_CURRENCIES = 20;
const MAX_UNKNOWN = 10;
const MAX_STATE_LENGTH = 60;
/** A code without a value. */
const NO_CODE = 0xffff_ffff;

/**
 * The columns of a row group from which its totals are computed: copies, because a column is valid only until the
 * next is requested.
 */
interface Held {
  currency?: { codes: Uint32Array; keys: readonly (string | undefined)[] };
  amounts: { role: string; coded: CodedUnits | CodedValues }[];
}

/** By word of the service: the word of the interface, both in the form that comparisons use. */
type StateRules = ReadonlyMap<string, string>;

export class AmountsAndStates {
  readonly #types: ReadonlyMap<string, Column>;
  /** By role: its field. `#places` has the column of the field. */
  readonly #fields: Partial<Record<string, string>>;
  readonly #places: readonly (readonly [role: string, place: RoleColumn])[];
  readonly #states: StateRules | undefined;
  /** By currency and role. */
  readonly #sums = new Map<string, Map<string, Sum>>();
  readonly #unknown = new Map<string, number>();
  #rows = 0;
  #final = 0;
  #hasTotals: boolean;

  constructor(columns: readonly Column[], { fields = {}, states }: RoleBasis = {}) {
    this.#types = new Map(columns.map((column) => [column.name, column]));
    this.#fields = fieldsIn(columns, fields);
    this.#places = Object.entries(this.#fields).flatMap(([role, field = '']) => {
      const place = columnOfField(columns, field);
      return place ? [[role, place] as const] : [];
    });
    this.#states =
      states && new Map(Object.entries(states.words).map(([word, to]) => [comparedState(word), to]));
    this.#hasTotals = !isCurrencyOpen(columns, fields);
  }

  /** Counts the columns of rows and passes them on. */
  *count(rows: number, columns: Iterable<NamedColumn>): Generator<NamedColumn, void, undefined> {
    const held: Held = { amounts: [] };
    for (const named of columns) {
      const [name, coded] = named;
      const column = this.#types.get(name);
      if (column) this.#hold(held, column, rows, coded);
      yield named;
    }
    this.#rows += rows;
    this.#addTotals(rows, held);
  }

  /** Each part is missing if it would be empty. */
  get values() {
    return {
      ...totalsOf(this.#fields, this.#hasTotals ? this.#sums : undefined),
      /** By state that is neither a state of the interface nor mapped to one: its rows. */
      ...(this.#unknown.size > 0 && { unknownStates: Object.fromEntries(this.#unknown) }),
    };
  }

  /** The rows whose state can change; `undefined` if the report has no states. */
  get unsettled(): number | undefined {
    return this.#states && this.#rows - this.#final;
  }

  #hold(held: Held, column: Column, rows: number, coded: CodedColumn): void {
    const codes = () => coded.codes.slice(0, rows);
    for (const [role, place] of this.#places) {
      const { column: own, path } = place;
      const isAmount = role === 'amount' || role === 'commission';
      if (isAmount && column.name === RESCUED && path.length === 0 && own.field !== undefined) {
        const values = wholeTextsOf(coded).map((text) => amountAt(text, [own.field ?? '']));
        if (values.some((value) => value !== undefined))
          held.amounts.push({ role, coded: { codes: codes(), values } });
      }
      if (own.name !== column.name) continue;
      if (isAmount) held.amounts.push({ role, coded: { codes: codes(), ...amountsIn(coded, column, path) } });
      if (role === 'currency')
        held.currency = { codes: codes(), keys: textsIn(coded, column, path).map(currencyKey) };
      if ((role === 'state' || role === 'line_state') && this.#states)
        this.#countStates(this.#states, role, rows, coded, place);
    }
  }

  #countStates(
    words: StateRules,
    role: 'state' | 'line_state',
    rows: number,
    coded: CodedColumn,
    { column, path }: RoleColumn,
  ): void {
    const counts = rowsByCode(rows, coded, countOf(coded));
    for (const [code, alike] of textsByCode(coded, column.type).entries()) {
      const count = counts[code] ?? 0;
      // A number is compared by each of its texts: a column of decimals shows 4 as 4.000000000.
      const states = (path.length > 0 ? alike.map((text) => textAt(text, path) ?? '') : alike).map(
        comparedState,
      );
      const isFinal = states.some((state) => FINAL_STATES.includes(words.get(state) ?? state));
      // A line may be final before its order is: only the order's state decides whether a day is watched.
      if (isFinal) this.#final += role === 'state' ? count : 0;
      else if (
        count > 0 &&
        !states.some((state) => state === '' || words.has(state) || STATE_WORDS.includes(state))
      ) {
        const [shown] = path.length > 0 ? states : alike;
        const state = withoutSpaces(shown ?? '').slice(0, MAX_STATE_LENGTH);
        if (state !== '' && (this.#unknown.has(state) || this.#unknown.size < MAX_UNKNOWN))
          add(this.#unknown, state, count);
      }
    }
  }

  #addTotals(rows: number, { currency, amounts }: Held): void {
    const keyOf = (row: number) => currency?.keys[currency.codes[row] ?? 0] ?? '';
    const counts = currency ? rowsByCode(rows, currency, currency.keys.length) : [];
    const met = currency ? currency.keys.map((key = '') => key).filter((_, code) => counts[code] ?? 0) : [''];
    const keys = new Set(met);
    if (keys.has(NOT_A_CURRENCY) || keys.size > MAX_CURRENCIES) this.#hasTotals = false;
    if (!this.#hasTotals) return;
    for (const key of keys)
      for (const { role, coded } of amounts) {
        const codes =
          keys.size > 1 ? coded.codes.map((code, row) => (keyOf(row) === key ? code : NO_CODE)) : coded.codes;
        const sums = this.#sums.get(key) ?? new Map<string, Sum>();
        const sum = sums.get(role) ?? createSum(AMOUNT);
        if (addRows(sum, rows, { ...coded, codes })) this.#sums.set(key, sums.set(role, sum));
      }
  }
}

function totalsOf(
  { amount, commission, currency }: Partial<Record<string, string>>,
  sums: ReadonlyMap<string, ReadonlyMap<string, Sum>> | undefined,
): { totals?: Totals } {
  if (!sums || (amount === undefined && commission === undefined)) return {};
  const textsOfKey = (ofKey: ReadonlyMap<string, Sum>) =>
    Object.fromEntries([...ofKey].map(([role, sum]) => [role, sum.text()]));
  const fields = Object.entries({ amount, commission, currency }).flatMap(([role, field]) =>
    field === undefined ? [] : [[role, field]],
  );
  return {
    totals: {
      fields: Object.fromEntries(fields),
      byCurrency: Object.fromEntries([...sums].map(([key, ofKey]) => [key, textsOfKey(ofKey)])),
    },
  };
}

const NOT_A_CURRENCY = '?';

/**
 * The key of a currency in totals. An unreadable currency has its own key, so that its sums are not added to sums
 * without a currency.
 */
function currencyKey(text: string | undefined): string | undefined {
  const key = text?.trim().toUpperCase();
  return key === undefined || key === '' || /^[A-Z0-9$€£¥]{1,8}$/.test(key) ? key : NOT_A_CURRENCY;
}

/** A column's amounts in units of nine places, as in views. */
export function amountsIn(
  coded: CodedColumn,
  { type }: Column,
  path: readonly string[],
): Omit<CodedUnits, 'codes'> | Omit<CodedValues, 'codes'> {
  if (type === AMOUNT && 'units' in coded) return { units: coded.units.slice() };
  if (type === AMOUNT && 'values' in coded) return { values: coded.values.slice() };
  return {
    values: textsByCode(coded, type).map(([text]) =>
      path.length > 0 ? amountAt(text, path) : amountOf(text),
    ),
  };
}

export function amountAt(text: string | undefined, path: readonly string[]): bigint | undefined {
  return amountOf(text === undefined ? undefined : textAt(text, path));
}

const PLACES = 9;

const MAX_UNITS = 10n ** 38n;

/** Units of nine places. Further places, as in floats such as 1.0320000000000003, are rounded. */
export function amountOf(text: string | undefined): bigint | undefined {
  const [found, sign, whole = '', places = '', exponent] =
    /^ *([+-]?)(?=\.?\d)0*(\d{0,29})(?:\.(\d*))?(e[+-]?\d{1,3})? *$/i.exec(text ?? '') ?? [];
  if (found === undefined) return undefined;
  if (exponent !== undefined) {
    const point = whole.length + Number(exponent.slice(1));
    const digits = `${'0'.repeat(Math.max(1 - point, 0))}${whole}${places}`.padEnd(point, '0');
    return amountOf(`${sign}${digits.slice(0, Math.max(point, 1))}.${digits.slice(Math.max(point, 1))}`);
  }
  const padded = places.padEnd(PLACES + 1, '0');
  const units = BigInt(whole + padded.slice(0, PLACES)) + (padded.charAt(PLACES) >= '5' ? 1n : 0n);
  if (units >= MAX_UNITS) return undefined;
  return sign === '-' ? -units : units;
}

export function textsIn(
  coded: CodedColumn,
  { type }: Column,
  path: readonly string[],
): (string | undefined)[] {
  return textsByCode(coded, type).map(([text]) =>
    path.length > 0 && text !== undefined ? textAt(text, path) : text,
  );
}

/** By code. The amounts in the texts are summed wherever they stand, so the texts are whole. */
export function wholeTextsOf(coded: CodedColumn): (string | undefined)[] {
  return Array.from({ length: countOf(coded) }, (_, code) =>
    beginningOfCode(coded, code, Number.POSITIVE_INFINITY),
  );
}

function add(counts: Map<string, number>, name: string, rows: number): void {
  counts.set(name, (counts.get(name) ?? 0) + rows);
}
