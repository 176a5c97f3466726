/** Reads amounts as views do, and each different value once. */
import { type Column, RESCUED, type Value } from '../base/column-types.ts';
import { type Json, isJsonObject, parseJson, stringifyJson } from '../base/json.ts';
import { withoutSpaces } from '../reports/definition.ts';
import {
  AMOUNT_ROLES,
  type RoleColumn,
  type RoleFields,
  fieldsIn,
  isCurrencyOpen,
  jsonAt,
  placesOf,
  textAt,
  textOf,
} from '../reports/roles.ts';
import { type CodedColumn, type NamedColumn, valuesOf } from './coded-rows.ts';
import { AMOUNT, isNumeric, rowsByCode, sumText, textReader } from './column-facts.ts';
import { plainReader } from './plain-values.ts';

/** The sums of a day by currency, as texts with all their places, and the fields that were summed. */
export interface Totals {
  fields: Record<string, string[]>;
  /** The key is empty for rows without a currency. */
  byCurrency: Record<string, Record<string, string>>;
}

/** The values of a column, or at a path of a column, that are no amounts. */
export interface Unreadable {
  rows: number;
  example?: string;
}

/** What a value is: an amount in units of nine places, `null` if it is something else, `undefined` if it is empty. */
type Read = bigint | null | undefined;
interface Coded<T> {
  codes: Uint32Array;
  values: readonly (T | undefined)[];
}
type ReadColumn = Coded<bigint | null>;

const SUMMED = [...AMOUNT_ROLES, 'currency'] as const;
/** If a column has more, its values are not currencies. */
const MAX_CURRENCIES = 20;
/** Columns with such names are read as amounts even if they have no role: a later setting may name them. */
const LIKE_AMOUNT = /amount|amt|comm|price|value|total|revenue|turnover|payout|earning|gmv|gross|net(_|$)/;
/** More columns add nothing to a finding. */
const MAX_COLUMNS = 50;
const MAX_EXAMPLE = 60;

export class Amounts {
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #fields: Totals['fields'];
  readonly #places: ReadonlyMap<string, readonly RoleColumn[]>;
  readonly #ofRoles: ReadonlySet<string>;
  readonly #read: ReadonlyMap<string, readonly RoleColumn[]>;
  readonly #sums = new Map<string, Map<string, bigint>>();
  readonly #unreadable = new Map<string, Unreadable>();
  #hasTotals: boolean;

  constructor(columns: readonly Column[], fields: RoleFields = {}) {
    this.#columns = new Map(columns.map((column) => [column.name, column]));
    const chosen = fieldsIn(columns, fields);
    this.#fields = Object.fromEntries(
      SUMMED.flatMap((role) => (chosen[role] ? [[role, [...chosen[role]]]] : [])),
    );
    this.#places = new Map(SUMMED.map((role) => [role, placesOf(columns, chosen[role] ?? [])]));
    const ofRoles = AMOUNT_ROLES.flatMap((role) => this.#places.get(role) ?? []);
    this.#ofRoles = new Set(ofRoles.map(keyOf));
    const others = columns
      .filter(({ name, type }) => type === AMOUNT || (type === 'string' && LIKE_AMOUNT.test(name)))
      .map((column) => ({ column, path: [] }));
    const read = new Map([...others.slice(0, MAX_COLUMNS), ...ofRoles].map((place) => [keyOf(place), place]));
    this.#read = Map.groupBy(read.values(), ({ column }) => column.name);
    for (const [key, place] of read) if (isText(place)) this.#unreadable.set(key, { rows: 0 });
    this.#hasTotals = !isCurrencyOpen(columns, fields);
  }

  *count(rows: number, columns: Iterable<NamedColumn>): Generator<NamedColumn, void, undefined> {
    const held: Held = { currencies: new Map(), amounts: new Map() };
    for (const named of columns) {
      const [name, coded] = named;
      if (name === RESCUED) this.#readRescued(rows, coded, held);
      else this.#readColumn(rows, name, coded, held);
      yield named;
    }
    this.#addTotals(rows, held);
  }

  get values(): { totals?: Totals; unreadable?: Record<string, Unreadable> } {
    const textsOfKey = (sums: ReadonlyMap<string, bigint>) =>
      Object.fromEntries([...sums].map(([role, sum]) => [role, sumText(sum, AMOUNT)]));
    const byCurrency = Object.fromEntries([...this.#sums].map(([key, sums]) => [key, textsOfKey(sums)]));
    const isSummed = this.#hasTotals && AMOUNT_ROLES.some((role) => this.#fields[role]);
    return {
      ...(isSummed && { totals: { fields: this.#fields, byCurrency } }),
      ...(this.#unreadable.size > 0 && { unreadable: Object.fromEntries(this.#unreadable) }),
    };
  }

  #readColumn(rows: number, name: string, coded: CodedColumn, { currencies, amounts }: Held): void {
    for (const place of this.#places.get('currency') ?? [])
      if (place.column.name === name) {
        const values = textsIn(coded, place.path).map(currencyKey);
        currencies.set(keyOf(place), { codes: coded.codes.slice(0, rows), values });
      }
    for (const place of this.#read.get(name) ?? []) {
      const key = keyOf(place);
      const read = readColumn(rows, coded, place);
      if (this.#ofRoles.has(key)) amounts.set(key, read);
      if (!read.values.includes(null)) continue;
      const counts = rowsByCode(rows, coded, read.values.length);
      const textsOf = textReader(coded);
      for (const [code, value] of read.values.entries())
        if (value === null) this.#note(key, counts[code] ?? 0, () => textsOf(code)[0]);
    }
  }

  #readRescued(rows: number, coded: CodedColumn, { amounts }: Held): void {
    const counts = rowsByCode(rows, coded, coded.values.starts.length);
    const read = plainReader(coded.type, coded.values);
    const numeric = [...this.#columns.values()].filter(({ type }) => isNumeric(type));
    const columnsOf = Map.groupBy(numeric, ({ field }) => field);
    const found = new Map<Column, Read[]>();
    // I12: one record at a time, because a parsed record needs many times the memory of its text.
    for (const [code, count] of counts.entries()) {
      const record = rescuedIn(read(code));
      for (const field in record)
        for (const column of columnsOf.get(field) ?? []) {
          const value = readRescued(column, record);
          const values = found.get(column) ?? [];
          found.set(column, values);
          values[code] = value;
          if (value === null) this.#note(column.name, count, () => shown(record[field]));
        }
    }
    for (const [column, values] of found)
      if (this.#ofRoles.has(column.name) && values.some((value) => value !== undefined))
        amounts.set(rescuedKey(column), { codes: coded.codes.slice(0, rows), values });
  }

  #note(key: string, rows: number, exampleOf: () => string | undefined): void {
    const known = this.#unreadable.get(key);
    if (rows === 0 || (!known && this.#unreadable.size >= 2 * MAX_COLUMNS)) return;
    const example = known?.example ?? exampleOf()?.slice(0, MAX_EXAMPLE).toWellFormed();
    this.#unreadable.set(key, { rows: (known?.rows ?? 0) + rows, ...(example !== undefined && { example }) });
  }

  #addTotals(rows: number, { currencies, amounts }: Held): void {
    const placed = (role: string) => this.#places.get(role) ?? [];
    const currencyAt = firstAt(placed('currency').map((place) => currencies.get(keyOf(place))));
    const keys = Array.from({ length: rows }, (_, row) => currencyAt(row) ?? '');
    const different = new Set(keys);
    if (different.has(NOT_A_CURRENCY) || different.size > MAX_CURRENCIES) this.#hasTotals = false;
    if (!this.#hasTotals) return;
    for (const role of AMOUNT_ROLES) {
      const keysOfPlaces = placed(role).flatMap((place) => [keyOf(place), rescuedKey(place.column)]);
      const amountAt = firstAt(keysOfPlaces.map((key) => amounts.get(key)));
      for (const [row, key] of keys.entries()) {
        const amount = amountAt(row);
        if (amount === undefined || amount === null) continue;
        const sums = this.#sums.get(key) ?? new Map<string, bigint>();
        this.#sums.set(key, sums.set(role, (sums.get(role) ?? 0n) + amount));
      }
    }
  }
}

/** Copies of a row group's columns by the key of the place, because a column is valid only until the next. */
interface Held {
  currencies: Map<string, Coded<string>>;
  amounts: Map<string, ReadColumn>;
}

/** Of several columns, the first that has a value in a row counts, even if the value is no amount. */
function firstAt<T>(columns: readonly (Coded<T> | undefined)[]): (row: number) => T | undefined {
  const known = columns.filter((column) => column !== undefined);
  return (row) => {
    for (const { codes, values } of known) {
      const value = values[codes[row] ?? 0];
      if (value !== undefined) return value;
    }
    return undefined;
  };
}

/** A column's amounts in units of nine places, as in views. The codes are a copy. */
function readColumn(rows: number, coded: CodedColumn, { path }: RoleColumn): ReadColumn {
  const codes = coded.codes.slice(0, rows);
  if (coded.type === AMOUNT)
    return {
      codes,
      values: valuesOf(coded).map((units) => (typeof units === 'bigint' ? within(units) : undefined)),
    };
  const textsOf = textReader(coded);
  const values = Array.from(coded.values.starts, (_, code) => {
    const [text] = textsOf(code);
    return readValue(path.length > 0 && text !== undefined ? jsonAt(text, path) : text);
  });
  return { codes, values };
}

type Rescued = Readonly<Record<string, Json>> | undefined;

function rescuedIn(text: Value | undefined): Rescued {
  const record = typeof text === 'string' ? parseJson(text) : undefined;
  return isJsonObject(record) ? record : undefined;
}

/** SQL finds a field in `_rescued` only by a plain name. */
function readRescued({ field = '' }: Column, record: Rescued): Read {
  const read = record && Object.hasOwn(record, field) ? readValue(record[field]) : undefined;
  return read !== undefined && !/^\w+$/.test(field) ? null : read;
}

function shown(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : (textOf(value) ?? stringifyJson(value));
}

export function readValue(value: Json | undefined): Read {
  if (value === undefined || value === null) return undefined;
  const text = textOf(value);
  if (text === undefined) return null;
  return withoutSpaces(text) === '' ? undefined : amountOf(text);
}

export function keyOf({ column, path }: RoleColumn): string {
  return [column.name, ...path].join('.');
}

function rescuedKey({ name }: Column): string {
  return `${RESCUED}.${name}`;
}

/** Whether the values are texts: a column of numbers has other values in `_rescued`. */
export function isText({ column, path }: RoleColumn): boolean {
  return path.length > 0 || !isNumeric(column.type);
}

const NOT_A_CURRENCY = '?';

/** An unreadable currency has its own key, so that its sums are not added to sums without a currency. */
function currencyKey(text: string | undefined): string | undefined {
  const key = text?.trim().toUpperCase();
  if (key === undefined || key === '') return undefined;
  return /^[A-Z0-9$€£¥]{1,8}$/.test(key) ? key : NOT_A_CURRENCY;
}

const PLACES = 9;

/** 10^20: a larger number is no amount, so that no sum of amounts reaches the limit of `decimal(38,9)`. */
const MAX_UNITS = 10n ** 29n;

/** Units of nine places. Further places, as in floats such as 1.0320000000000003, are rounded. */
function amountOf(text: string): bigint | null {
  const [found, sign, whole = '', places = '', exponent] =
    /^ *([+-]?)(?=\.?\d)0*(\d{0,29})(?:\.(\d*))?(e[+-]?\d{1,3})? *$/i.exec(text) ?? [];
  if (found === undefined) return null;
  if (exponent !== undefined) {
    const point = whole.length + Number(exponent.slice(1));
    const digits = `${'0'.repeat(Math.max(1 - point, 0))}${whole}${places}`.padEnd(point, '0');
    return amountOf(`${sign}${digits.slice(0, Math.max(point, 1))}.${digits.slice(Math.max(point, 1))}`);
  }
  const padded = places.padEnd(PLACES + 1, '0');
  const units = BigInt(whole + padded.slice(0, PLACES)) + (padded.charAt(PLACES) >= '5' ? 1n : 0n);
  return within(sign === '-' ? -units : units);
}

function within(units: bigint): bigint | null {
  return -MAX_UNITS < units && units < MAX_UNITS ? units : null;
}

/** The text of each code's value, or at a path of it. */
function textsIn(coded: CodedColumn, path: readonly string[]): (string | undefined)[] {
  const textsOf = textReader(coded);
  return Array.from(coded.values.starts, (_, code) => {
    const [text] = textsOf(code);
    return path.length > 0 && text !== undefined ? textAt(text, path) : text;
  });
}
