/*
 * Reads what the records of a version say: key, state, amounts, by the roles and the rules of the views, so that sums over
 * the tables of what became of records equal those of views. Each different value of a column is judged once.
 */
import { hash } from 'node:crypto';
import { type Column, RESCUED } from '../column-types.ts';
import type { BrandReport } from '../context/context.ts';
import type { Committed, Lifecycle } from '../lake/documents/ledger.ts';
import { evidenceOfVersions } from '../lake/documents/role-evidence.ts';
import { type BrandRoles, placeOfRole } from '../lake/documents/roles.ts';
import type { CodedFile } from '../lake/table/coded-columns.ts';
import { type CodedColumn, valueOfCode } from '../lake/table/coded-rows.ts';
import { amountAt, amountsIn, textsIn, wholeTextsOf } from '../lake/table/role-facts.ts';
import { keyColumns } from '../planning/primary-key.ts';
import { comparedState, withoutSpaces } from '../reports/definition.ts';
import {
  ROLES,
  type Role,
  type RoleColumn,
  chooseRoles,
  columnsNamed,
  fieldsIn,
  isCurrencyUnclear,
} from '../roles/index.ts';
import type { ReportSettings } from '../settings/settings.ts';

/** A report of a brand, with its settings where they are known. */
export type LifecycleContext = Pick<
  BrandReport,
  'brand' | 'report' | 'lake' | 'schema' | 'roles' | 'clock' | 'newId' | 'log'
> & { settings?: Pick<ReportSettings, 'key' | 'fields' | 'states'> };

/** How the records of a version are judged. */
export interface Rules {
  /** What identifies a record; empty: nothing does. */
  key: readonly RoleColumn[];
  places: ReadonlyMap<Role, RoleColumn>;
  /** By a word of the service, as compared: the interface's. */
  words: ReadonlyMap<string, string>;
  /** The column that tells bonuses from sales. */
  kind: Column | undefined;
  /** Fingerprints of the key, of the states and of all of it. */
  basis: string;
}

/** The rules for a version; `undefined` where the report's records have no states. A day keeps its key while it may. */
export async function rulesOf(
  ctx: LifecycleContext,
  version: Pick<Committed, 'rows' | 'values' | 'lifecycle'>,
): Promise<Rules | undefined> {
  const { report, settings } = ctx;
  const { values, lifecycle: known } = version;
  if (!report.lifecycle) return undefined;
  const { columns } = await ctx.schema.cached();
  const stored = await rolesOf(ctx, columns, version);
  const own = settings ? { ...stored, fields: settings.fields, words: settings.states?.words ?? {} } : stored;
  const placed = ROLES.map((role) => [role, placeOfRole(role, columns, own)] as const);
  const places = new Map(placed.flatMap(([role, place]) => (place ? [[role, place] as const] : [])));
  const inOrder = (roles: readonly Role[]) => roles.flatMap((role) => places.get(role) ?? []);
  const ofColumns = (key: readonly Column[]) => key.map((column): RoleColumn => ({ column, path: [] }));
  const keys = [
    ...keyColumns(ctx, columns, values?.keyIsNone ?? false).map(ofColumns),
    ...(places.has('order_id') ? [inOrder(['order_id', 'product']), inOrder(['order_id'])] : []),
  ];
  const key = keys.find((each) => fingerprint(each) === partsOf(known)[0]) ?? keys[0] ?? [];
  const words = wordsOf(own);
  const kind = columns.find(({ name }) => name === report.lifecycle?.bonuses.column);
  const ofStates = [inOrder(report.lifecycle.states), [...words]];
  const basis = [key, ofStates, [...places, kind ?? null]].map(fingerprint).join('-');
  return { key, places, words, kind, basis };
}

/**
 * The roles as views have them. A run stores those of new fields when it ends: until then the version decides, or records
 * that have a currency for the first time would have none here, on some days for ever. A currency that all days have left
 * unclear stays so.
 */
async function rolesOf(
  { brand, report, roles }: LifecycleContext,
  columns: readonly Column[],
  version: Pick<Committed, 'rows' | 'values'>,
): Promise<BrandRoles> {
  const byName: BrandRoles = {
    ...{ chosen: fieldsIn(columns, {}), fields: {}, words: {} },
    isCurrencyUnclear: columnsNamed(columns, 'currency').length > 1,
  };
  const { [brand]: known } = (await roles.cached()).brands;
  const stored = known ?? byName;
  const { chosen, isCurrencyUnclear: wasUnclear } = stored;
  const choices = chooseRoles(report, { stored: chosen, evidence: evidenceOfVersions([version]) });
  const isOpen = (role: Role) => role !== 'currency' || !known?.isCurrencyUnclear;
  const found = choices.flatMap(({ role, field, by }) =>
    by === 'data' && isOpen(role) ? [[role, field]] : [],
  );
  return {
    ...stored,
    chosen: { ...Object.fromEntries(found), ...chosen },
    isCurrencyUnclear: wasUnclear || isCurrencyUnclear(choices),
  };
}

function fingerprint(rules: unknown): string {
  return hash('sha256', JSON.stringify(rules), 'hex').slice(0, 16);
}

/** The fingerprints of the key and of the states by which rows were made. */
export function partsOf(of: Pick<Lifecycle, 'basis'> | undefined): readonly string[] {
  return of?.basis.split('-') ?? [];
}

/** As in the SQL of views: a column of decimals has 4 as 4.000000000. */
function wordsOf({ words }: BrandRoles): ReadonlyMap<string, string> {
  const spelt = (word: string) => (/^\d+$/.test(word) ? [word, `${word}.000000000`] : [word]);
  const entries = Object.entries(words);
  return new Map(entries.flatMap(([word, to]) => spelt(comparedState(word)).map((each) => [each, to])));
}

/** What a version says of a record, or of all that have one key, kind, publisher and currency, by column of the table. */
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
  /** What is not void of both. */
  counted_amount: bigint;
  counted_commission: bigint;
};

/** All records of a version, a row group at a time. */
export async function* recordsOf(
  file: CodedFile,
  { key, places, words, kind }: Rules,
  { states, bonuses }: { states: readonly Role[]; bonuses: { values: readonly string[] } },
): AsyncGenerator<Now[], void, undefined> {
  const ofKind = kind && { column: kind, path: [] };
  const used = [...key, ...places.values(), ...(ofKind ? [ofKind] : [])].map(({ column }) => column.name);
  for await (const { rows, columns: read } of file.groups([...used, RESCUED])) {
    const columns = new Map(read);
    const textsAt = (role: Role, of = filled) => textAt(columns, places.get(role), of);
    const toState = (text: string) => words.get(comparedState(text)) ?? filled(comparedState(text));
    const stateAt = states.map((role) => textsAt(role, toState));
    const [order, product, publisher, name] = [
      ...[textsAt('order_id'), textsAt('product'), textsAt('publisher_id'), textsAt('publisher_name')],
    ] as const;
    const currency = textsAt('currency', (text) => filled(text.toUpperCase()));
    const keyAt = key.map((place) => textAt(columns, place, (text) => text || undefined));
    const type = textAt(columns, ofKind, filled);
    const [amount, commission] = [
      amountOf(columns, places.get('amount')),
      amountOf(columns, places.get('commission')),
    ];
    yield Array.from({ length: rows }, (_, row) => {
      const state = stateAt[0]?.(row) ?? stateAt[1]?.(row);
      const worth = { amount: amount(row), commission: commission(row) };
      const isVoid = state === 'void';
      return {
        key: keyAt.length === 1 ? keyAt[0]?.(row) : textOfKey(keyAt.map((part) => part(row))),
        records: 1n,
        order_id: order?.(row),
        product: product?.(row),
        kind: bonuses.values.includes(type(row) ?? '') ? 'bonus' : 'sale',
        publisher_id: publisher?.(row),
        publisher_name: name?.(row),
        currency: currency(row),
        state,
        ...worth,
        counted_amount: isVoid ? 0n : (worth.amount ?? 0n),
        counted_commission: isVoid ? 0n : (worth.commission ?? 0n),
      };
    });
  }
}

/** As in the table `changes`. */
function textOfKey(texts: readonly (string | undefined)[]): string | undefined {
  return texts.some((text) => text) ? JSON.stringify(texts.map((text) => text ?? '')) : undefined;
}

function filled(text: string): string | undefined {
  return withoutSpaces(text) || undefined;
}

type Columns = ReadonlyMap<string, CodedColumn>;

function textAt(
  columns: Columns,
  place: RoleColumn | undefined,
  judged: (text: string) => string | undefined,
): (row: number) => string | undefined {
  const coded = place && columns.get(place.column.name);
  if (!place || !coded) return () => undefined;
  const texts = textsIn(coded, place.column, place.path);
  const values = texts.map((text) => (text === undefined ? undefined : judged(text)));
  return (row) => values[coded.codes[row] ?? 0];
}

/** As views have amounts: one that its column cannot hold exactly is in `_rescued`. */
function amountOf(columns: Columns, place: RoleColumn | undefined): (row: number) => bigint | undefined {
  if (!place) return () => undefined;
  const { column, path } = place;
  const { name, type, field = '' } = column;
  const coded = columns.get(name);
  const amounts = coded && { codes: coded.codes, ...amountsIn(coded, column, path) };
  const isRescued = path.length === 0 && type !== 'string' && /^\w+$/.test(field);
  const rescued = isRescued ? columns.get(RESCUED) : undefined;
  const others = rescued && wholeTextsOf(rescued).map((text) => amountAt(text, [field]));
  return (row) => {
    const own = amounts && valueOfCode(amounts, amounts.codes[row] ?? 0);
    return typeof own === 'bigint' ? own : others?.[rescued?.codes[row] ?? 0];
  };
}
