/*
 * Finds the columns by which records are told apart and judged: those of their key and of their roles, by the rules of the
 * views, so that sums over the tables of what became of records equal the sums of views.
 */
import { hash } from 'node:crypto';
import type { Column } from '../column-types.ts';
import type { BrandReport } from '../context/context.ts';
import { monthOf } from '../days.ts';
import type { Committed } from '../lake/documents/ledger.ts';
import { roleChoices } from '../lake/documents/role-evidence.ts';
import { type BrandRoles, placeOfRole } from '../lake/documents/roles.ts';
import { keyColumns } from '../planning/primary-key.ts';
import { comparedState } from '../reports/definition.ts';
import { type Role, type RoleColumn, isCurrencyUnclear } from '../roles/index.ts';
import type { ReportSettings } from '../settings/settings.ts';

/** A report of a brand, with its settings where they are known. */
export type LifecycleContext = Pick<
  BrandReport,
  'brand' | 'report' | 'lake' | 'schema' | 'roles' | 'clock' | 'newId' | 'log'
> & { settings?: Pick<ReportSettings, 'key' | 'fields' | 'states'> };

const USED_ROLES = [
  'amount',
  'commission',
  'currency',
  'state',
  'line_state',
  'publisher_id',
  'publisher_name',
  'order_id',
  'product',
] as const satisfies readonly Role[];

type UsedRole = (typeof USED_ROLES)[number];

/** How the records of a version are judged. */
export interface Rules {
  /** What identifies a record; empty: nothing does. */
  key: readonly RoleColumn[];
  places: Readonly<Partial<Record<UsedRole, RoleColumn>>>;
  /** The roles that have the state: the first one with a value. */
  states: readonly UsedRole[];
  /** By a word of the service, as compared: the interface's. */
  words: ReadonlyMap<string, string>;
  /** The column that decides whether a record is a bonus, and by which values; missing: the table has no such column. */
  kind: Column | undefined;
  bonuses: readonly string[];
  /** Fingerprints of the key, of the states and of all roles. */
  basis: string;
}

/** The present layout and meaning of the rows. Where it changes, all rows are made again. */
const VERSION = 1;

/** The rules for a version; `undefined` where the report's records have no states. */
export async function rulesOf(
  ctx: LifecycleContext,
  day: string,
  version: Committed,
): Promise<Rules | undefined> {
  const { report } = ctx;
  const { lifecycle } = report;
  if (!lifecycle) return undefined;
  const { columns } = await ctx.schema.cached();
  const own = await rolesOf(ctx, day, version);
  const places: Partial<Record<UsedRole, RoleColumn>> = {};
  for (const role of USED_ROLES) {
    const place = placeOfRole(role, columns, own);
    if (place) places[role] = place;
  }
  const [proven] = keyColumns(ctx, columns, version.values?.keyIsNone ?? false);
  const ofOrder = [places.order_id, places.product].flatMap((place) => place ?? []);
  const key = proven?.map((column): RoleColumn => ({ column, path: [] })) ?? ofOrder;
  const words = wordsOf(own);
  const { column, values: bonuses } = lifecycle.bonuses;
  const kind = columns.find(({ name }) => name === column);
  const ofStates = [lifecycle.states.map((role) => places[role] ?? null), [...words]];
  const all = [VERSION, Object.entries(places), kind ?? null];
  return {
    ...{ key, places, states: lifecycle.states, words, kind, bonuses },
    basis: [key, ofStates, all].map(fingerprint).join('-'),
  };
}

type Basis = Pick<Rules, 'basis'>;

/** Whether both rows have keys, or states, by the same rules. */
export function haveSame(part: 'key' | 'states', one: Basis, other: Basis): boolean {
  const partOf = ({ basis }: Basis) => basis.split('-')[part === 'key' ? 0 : 1];
  return partOf(one) === partOf(other);
}

/** The basis of rows that are those of an earlier version: the next reading makes them again. */
export function outdated({ basis }: Basis): string {
  return `${basis.split('-')[0]}--`;
}

function fingerprint(rules: unknown): string {
  return hash('sha256', JSON.stringify(rules), 'hex').slice(0, 16);
}

/**
 * The roles of the brand as views have them. A run stores those of new fields when it ends: until then this version
 * decides, or records that name a currency for the first time would have none.
 */
async function rolesOf(
  { brand, report, roles, settings }: LifecycleContext,
  day: string,
  version: Committed,
): Promise<BrandRoles> {
  const said = settings && { fields: settings.fields, words: settings.states?.words ?? {} };
  const { [brand]: stored } = (await roles.cached()).brands;
  const ledgers = new Map([[monthOf(day), ledgerOf()]]);
  const choices = roleChoices({ brand, report, ledgers, roles: stored }, {});
  const found = choices.flatMap(({ role, field, by }) => (by === 'data' ? [[role, field]] : []));
  return {
    ...{ fields: {}, words: {}, ...stored, ...said },
    chosen: { ...Object.fromEntries(found), ...stored?.chosen },
    isCurrencyUnclear: stored?.isCurrencyUnclear === true || isCurrencyUnclear(choices),
  };

  function ledgerOf() {
    const days = { [day]: { committed: version } };
    return { version: 1 as const, report: report.name, brand, month: monthOf(day), days, recentWrites: [] };
  }
}

/** As in the SQL of views: a column of decimals has 4 as 4.000000000. */
function wordsOf({ words }: Pick<BrandRoles, 'words'>): ReadonlyMap<string, string> {
  const spelt = (word: string) => (/^\d+$/.test(word) ? [word, `${word}.000000000`] : [word]);
  return new Map(
    Object.entries(words).flatMap(([word, to]) =>
      spelt(comparedState(word)).map((each) => [each, to] as const),
    ),
  );
}
