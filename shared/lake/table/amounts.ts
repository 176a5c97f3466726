/**
 * Reads amounts as views do, and counts them while a snapshot is written: the sums of the columns that have roles, by
 * currency, and the values that are no amounts. Each different value is read once.
 */
import { type Column, RESCUED } from '../../column-types.ts';
import { type Json, isJsonObject, parseJson, stringifyJson } from '../../json.ts';
import { withoutSpaces } from '../../reports/definition.ts';
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
} from '../../roles/index.ts';
import {
  type CodedColumn,
  type CodedUnits,
  type CodedValues,
  type NamedColumn,
  beginningOfCode,
} from './coded-rows.ts';
import {
  AMOUNT,
  type Sum,
  addRows,
  createSum,
  countOf,
  isNumeric,
  rowsByCode,
  textsByCode,
} from './column-facts.ts';

/** The sums of a day by currency, as texts with all their places, and the fields that were summed. */
export interface Totals {
  /** By role. */
  fields: Record<string, string[]>;
  /** The key is empty for rows without a currency. */
  byCurrency: Record<string, Record<string, string>>;
}

/** The values of a column, or at a path of a column, that are no amounts. */
export interface Unreadable {
  rows: number;
  /** The beginning of such a value; missing if there is none. */
  example?: string;
}

/** What a value is: an amount in units of nine places, `null` if it is something else, `undefined` if it is empty. */
type Read = bigint | null | undefined;
/** The values of a column by code. */
type ReadColumn = { codes: Uint32Array; values: readonly Read[] } | CodedUnits;

/** If a column has more, its values are not currencies. */
const MAX_CURRENCIES = 20;
/** Columns with such names are read as amounts even if they have no role: a later setting may name them. */
const LIKE_AMOUNT = /amount|amt|comm|price|value|total|revenue|turnover|payout|earning|gmv|gross|net(_|$)/;
/** More columns add nothing to a finding. */
const MAX_COLUMNS = 50;
const MAX_EXAMPLE = 60;
/** A code without a value. */
const NO_CODE = 0xffff_ffff;

export class Amounts {
  readonly #columns: ReadonlyMap<string, Column>;
  readonly #fields: Totals['fields'];
  readonly #places: ReadonlyMap<string, readonly RoleColumn[]>;
  readonly #currencies: readonly RoleColumn[];
  /** The places whose texts are read as amounts, by name of the column: those of roles, and those that a role may get. */
  readonly #texts: ReadonlyMap<string, readonly RoleColumn[]>;
  /** The columns whose values may be in `_rescued`, by field. */
  readonly #rescuing: ReadonlyMap<string, Column>;
  /** By currency and role. */
  readonly #sums = new Map<string, Map<string, Sum>>();
  readonly #unreadable = new Map<string, Unreadable>();
  #hasTotals: boolean;

  /** @param fields the setting `fields` */
  constructor(columns: readonly Column[], fields: RoleFields = {}) {
    this.#columns = new Map(columns.map((column) => [column.name, column]));
    const chosen = fieldsIn(columns, fields);
    const found = ([...AMOUNT_ROLES, 'currency'] as const).map((role) => [role, [...(chosen[role] ?? [])]]);
    this.#fields = Object.fromEntries(found.filter(([, own]) => own?.length));
    this.#places = new Map(AMOUNT_ROLES.map((role) => [role, placesOf(columns, chosen[role] ?? [])]));
    this.#currencies = placesOf(columns, chosen.currency ?? []);
    const similar = columns.filter(({ name, type }) => type === 'string' && LIKE_AMOUNT.test(name));
    const read = [
      ...similar.slice(0, MAX_COLUMNS).map((column) => ({ column, path: [] })),
      ...this.#ofRoles(),
    ];
    const texts = new Map(read.filter(isText).map((place) => [keyOf(place), place]));
    for (const key of texts.keys()) this.#unreadable.set(key, { rows: 0 });
    this.#texts = Map.groupBy(texts.values(), ({ column }) => column.name);
    const others = columns.filter(({ type, field }) => type !== 'string' && field !== undefined);
    this.#rescuing = new Map(others.map((column) => [column.field ?? '', column]));
    this.#hasTotals = !isCurrencyOpen(columns, fields);
  }

  /** Counts the columns of rows and passes them on. */
  *count(rows: number, columns: Iterable<NamedColumn>): Generator<NamedColumn, void, undefined> {
    const held: Held = { currencies: [], parts: new Map() };
    for (const named of columns) {
      const [name, coded] = named;
      const column = this.#columns.get(name);
      if (name === RESCUED) this.#readRescued(rows, coded, held);
      else if (column) this.#read(rows, column, coded, held);
      yield named;
    }
    this.#addTotals(rows, held);
  }

  /** Each part is missing if it would be empty. */
  get values(): { totals?: Totals; unreadable?: Record<string, Unreadable> } {
    const textsOfKey = (sums: ReadonlyMap<string, Sum>) =>
      Object.fromEntries([...sums].map(([role, sum]) => [role, sum.text()]));
    const byCurrency = Object.fromEntries([...this.#sums].map(([key, sums]) => [key, textsOfKey(sums)]));
    const isSummed = this.#hasTotals && AMOUNT_ROLES.some((role) => this.#fields[role]);
    return {
      ...(isSummed && { totals: { fields: this.#fields, byCurrency } }),
      ...(this.#unreadable.size > 0 && { unreadable: Object.fromEntries(this.#unreadable) }),
    };
  }

  #ofRoles(): RoleColumn[] {
    return [...this.#places.values()].flat();
  }

  #read(rows: number, column: Column, coded: CodedColumn, held: Held): void {
    const { name, type } = column;
    for (const [place, { column: own, path }] of this.#currencies.entries())
      if (own.name === name)
        held.currencies[place] = {
          codes: coded.codes.slice(0, rows),
          keys: textsIn(coded, column, path).map(currencyKey),
        };
    const read = new Map<string, ReadColumn>();
    const readAt = (place: RoleColumn) => {
      const known = read.get(keyOf(place)) ?? readColumn(rows, coded, place);
      read.set(keyOf(place), known);
      return known;
    };
    const isLarge = type === AMOUNT && 'values' in coded;
    for (const place of isLarge ? [{ column, path: [] }] : (this.#texts.get(name) ?? []))
      this.#countUnreadable(rows, keyOf(place), coded, readAt(place));
    for (const [role, places] of this.#places)
      for (const [at, place] of places.entries())
        if (place.column.name === name) partsOf(held, role)[2 * at] = readAt(place);
  }

  #countUnreadable(rows: number, key: string, coded: CodedColumn, read: ReadColumn): void {
    if ('units' in read || !read.values.includes(null)) return;
    const counts = rowsByCode(rows, coded, countOf(coded));
    for (const [code, value] of read.values.entries())
      if (value === null && (counts[code] ?? 0) > 0)
        this.#note(
          key,
          counts[code] ?? 0,
          () => textsByCode(coded, this.#columns.get(key)?.type ?? 'string')[code]?.[0],
        );
  }

  /** Reads the values that their columns cannot store: amounts with many places, and values that are no amounts. */
  #readRescued(rows: number, coded: CodedColumn, held: Held): void {
    const counts = rowsByCode(rows, coded, countOf(coded));
    const values = new Map<string, Read[]>();
    for (const [code, record] of rescuedIn(coded).entries())
      for (const [field, value] of Object.entries(record ?? {})) {
        const column = this.#rescuing.get(field);
        if (!column) continue;
        const read = readRescued(field, value);
        if (read === null && isNumeric(column.type))
          this.#note(column.name, counts[code] ?? 0, () => textOf(value) ?? stringifyJson(value));
        const ofColumn = values.get(column.name) ?? [];
        values.set(column.name, ofColumn);
        ofColumn[code] = read;
      }
    for (const [role, places] of this.#places)
      for (const [at, { column, path }] of places.entries()) {
        const own = path.length === 0 ? values.get(column.name) : undefined;
        if (own) partsOf(held, role)[2 * at + 1] = { codes: coded.codes.slice(0, rows), values: own };
      }
  }

  #note(key: string, rows: number, exampleOf: () => string | undefined): void {
    const known = this.#unreadable.get(key);
    if (rows === 0 || (!known && this.#unreadable.size >= MAX_COLUMNS)) return;
    const example = known?.example ?? exampleOf()?.slice(0, MAX_EXAMPLE).toWellFormed();
    this.#unreadable.set(key, { rows: (known?.rows ?? 0) + rows, ...(example !== undefined && { example }) });
  }

  #addTotals(rows: number, { currencies, parts }: Held): void {
    const currency = firstKeys(rows, currencies);
    const keyOfRow = (row: number) => currency?.keys[currency.codes[row] ?? 0] ?? '';
    const counts = currency ? rowsByCode(rows, currency, currency.keys.length) : [];
    const met = currency ? currency.keys.map((key = '') => key).filter((_, code) => counts[code] ?? 0) : [''];
    const keys = new Set(met);
    if (keys.has(NOT_A_CURRENCY) || keys.size > MAX_CURRENCIES) this.#hasTotals = false;
    if (!this.#hasTotals) return;
    for (const [role, own] of parts) {
      const coded = firstAmounts(rows, own);
      if (!coded) continue;
      for (const key of keys) {
        const codes =
          keys.size > 1
            ? coded.codes.map((code, row) => (keyOfRow(row) === key ? code : NO_CODE))
            : coded.codes;
        const sums = this.#sums.get(key) ?? new Map<string, Sum>();
        const sum = sums.get(role) ?? createSum(AMOUNT);
        if (addRows(sum, rows, { ...coded, codes })) this.#sums.set(key, sums.set(role, sum));
      }
    }
  }
}

/** The columns of a row group from which its totals are computed: copies, because a column is valid only until the next. */
interface Held {
  /** By place. */
  currencies: Keys[];
  /** By role: two for each place, the column and the values in `_rescued`. */
  parts: Map<string, ReadColumn[]>;
}

interface Keys {
  codes: Uint32Array;
  keys: readonly (string | undefined)[];
}

function partsOf({ parts }: Held, role: string): ReadColumn[] {
  const own = parts.get(role) ?? [];
  parts.set(role, own);
  return own;
}

/** By row, the first currency of several places. */
function firstKeys(rows: number, places: readonly Keys[]): Keys | undefined {
  const [only, ...others] = places.filter(Boolean);
  if (!only || others.length === 0) return only;
  const all = [only, ...others];
  const keyOfRow = (row: number) =>
    all.map(({ codes, keys }) => keys[codes[row] ?? 0]).find((key) => key !== undefined);
  const keys = Array.from({ length: rows }, (_, row) => keyOfRow(row));
  return { codes: Uint32Array.from(keys, (_, row) => row), keys };
}

/**
 * The amounts of rows: of several columns, the first that has a value in the row, whether or not that value is an amount.
 * @returns `undefined` without columns
 */
export function firstAmounts(
  rows: number,
  columns: readonly ReadColumn[],
): CodedUnits | CodedValues | undefined {
  const [only, ...others] = columns.filter(Boolean);
  if (!only) return undefined;
  if ('units' in only && others.length === 0) return only;
  if (others.length === 0 && 'values' in only)
    return { codes: only.codes, values: only.values.map((value) => value ?? undefined) };
  const all = [only, ...others];
  const values = Array.from({ length: rows }, (_, row) => {
    for (const column of all) {
      const value = readAt(column, column.codes[row] ?? 0);
      if (value !== undefined) return value ?? undefined;
    }
    return undefined;
  });
  // Code 0 is NULL: rows that have not reached a state get it as the amount of that state.
  return { codes: Uint32Array.from(values, (_, row) => row + 1), values: [undefined, ...values] };
}

function readAt(column: ReadColumn, code: number): Read {
  if ('values' in column) return column.values[code];
  const units = column.units[code] ?? Number.NaN;
  return Number.isNaN(units) ? undefined : BigInt(units);
}

/** A column's amounts in units of nine places, as in views. The codes are a copy. */
export function readColumn(
  rows: number,
  coded: CodedColumn,
  { column: { type }, path }: RoleColumn,
): ReadColumn {
  const codes = coded.codes.slice(0, rows);
  if (type === AMOUNT && 'units' in coded) return { codes, units: coded.units.slice() };
  if (type === AMOUNT && 'values' in coded)
    return {
      codes,
      values: coded.values.map((value) => (typeof value === 'bigint' ? bounded(value) : undefined)),
    };
  const read = (text: string) => readValue(path.length > 0 ? jsonAt(text, path) : text);
  return {
    codes,
    values: textsByCode(coded, type).map(([text]) => (text === undefined ? undefined : read(text))),
  };
}

/** The values of a column in `_rescued`. The codes are a copy. */
export function readRescuedColumn(rows: number, coded: CodedColumn, { field = '' }: Column): ReadColumn {
  const values = rescuedIn(coded).map((record) => readRescued(field, record?.[field]));
  return { codes: coded.codes.slice(0, rows), values };
}

/** By code: the fields in `_rescued`. */
function rescuedIn(coded: CodedColumn): (Readonly<Record<string, Json>> | undefined)[] {
  return Array.from({ length: countOf(coded) }, (_, code) => {
    const text = beginningOfCode(coded, code, Number.POSITIVE_INFINITY);
    const record = text === undefined ? undefined : parseJson(text);
    return isJsonObject(record) ? record : undefined;
  });
}

/** SQL finds a field in `_rescued` only by a plain name. */
function readRescued(field: string, value: Json | undefined): Read {
  const read = readValue(value);
  return read !== undefined && !/^\w+$/.test(field) ? null : read;
}

/** The amount of a value; `undefined` if it is empty, `null` if it cannot be read. */
export function readValue(value: Json | undefined): Read {
  if (value === undefined || value === null) return undefined;
  const text = textOf(value);
  if (text === undefined) return null;
  return withoutSpaces(text) === '' ? undefined : amountOf(text);
}

/** The key of a place in the ledger: the column and the path. */
export function keyOf({ column, path }: RoleColumn): string {
  return [column.name, ...path].join('.');
}

/** Whether the values are texts: a column of numbers has other values in `_rescued`. */
export function isText({ column, path }: RoleColumn): boolean {
  return path.length > 0 || !isNumeric(column.type);
}

const NOT_A_CURRENCY = '?';

/**
 * The key of a currency in totals. An unreadable currency has its own key, so that its sums are not added to sums
 * without a currency.
 */
function currencyKey(text: string | undefined): string | undefined {
  const key = text?.trim().toUpperCase();
  if (key === undefined || key === '') return undefined;
  return /^[A-Z0-9$€£¥]{1,8}$/.test(key) ? key : NOT_A_CURRENCY;
}

const PLACES = 9;

/** 10^20: a larger number is no amount, so that no sum of amounts reaches the limit of `decimal(38,9)`. */
const MAX_UNITS = 10n ** 29n;

function bounded(units: bigint): bigint | null {
  return units < MAX_UNITS && units > -MAX_UNITS ? units : null;
}

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
  return bounded(sign === '-' ? -units : units);
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
