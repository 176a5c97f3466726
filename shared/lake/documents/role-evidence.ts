/* Collects the evidence for the roles of a report's fields from the ledgers and the stored roles of a lake. */
import {
  type FieldEvidence,
  type Role,
  type RoleChoice,
  type RoleFields,
  chooseRoles,
  isRole,
  kindOfRole,
  noEvidence,
  roleOfName,
} from '../../roles/index.ts';
import {
  type ReportDefinition,
  type ReportRegistry,
  namesUsedBy,
  viewsOf,
} from '../../reports/definition.ts';
import { type Committed, type Ledger, hasRows } from './ledger.ts';
import type { BrandRoles } from './roles.ts';

/** The ledgers and the stored roles of a report of a brand. */
export interface RoleSource {
  brand: string;
  report: ReportDefinition;
  ledgers: ReadonlyMap<string, Ledger>;
  /** Missing before the first run that stored them. */
  roles?: BrandRoles | undefined;
}

/** Chooses the field of each role, from the setting `fields`, the stored roles and all committed days. */
export function roleChoices(
  { brand, report, ledgers, roles }: RoleSource,
  fields: RoleFields | undefined = roles?.fields,
): RoleChoice[] {
  const entries = [...ledgers.values()].flatMap(({ days }) => Object.values(days));
  return chooseRoles(report, {
    fields,
    stored: roles?.chosen,
    evidence: evidenceOfVersions(entries.flatMap(({ committed }) => committed ?? [])),
    brand,
  });
}

/** What the values of each column show in these versions, by the column's name in the table. */
export function evidenceOfVersions(days: readonly Pick<Committed, 'rows' | 'values'>[]): FieldEvidence[] {
  const records = days.reduce((sum, { rows }) => sum + rows, 0);
  const found = new Map<string, FieldEvidence>();
  const of = (path: string) => {
    const evidence = found.get(path) ?? noEvidence(path, records);
    found.set(path, evidence);
    return evidence;
  };
  for (const { values } of days) if (values) addDay(of, values);
  return [...found.values()];
}

function addDay(
  of: (path: string) => FieldEvidence,
  { filled = {}, fitting, empty = {}, sums = {} }: NonNullable<Committed['values']>,
): void {
  for (const [name, count] of Object.entries({ ...fitting, ...filled })) {
    const evidence = of(name);
    const full = count - (empty[name] ?? 0);
    evidence.filled += full;
    const role = roleOfName(name);
    const kind = role ? kindOfRole(role) : 'currencies';
    if (Object.hasOwn(sums, name)) {
      evidence.numeric += full;
    } else if (kind && fitting) evidence[kind] += fitting[name] ?? 0;
    // An older program counted nothing for texts, so its days contradict no name.
    else if (kind && role) evidence[kind] += full;
  }
}

/** A role without a field that views use, so that their columns are NULL. */
export interface RoleGap extends Pick<RoleChoice, 'role' | 'candidates' | 'evidence' | 'setting'> {
  brand: string;
  report: string;
  table: string;
  /** The names of the views. */
  views: readonly string[];
}

/** Roles that a service may lack without a loss: a line without a state has the state of its order. */
const OPTIONAL: readonly Role[] = ['line_state'];

/**
 * The roles without a field, if the report has records.
 * @param fields the setting; missing: the setting of the last run
 */
export function roleGaps(source: RoleSource, reports: ReportRegistry, fields?: RoleFields): RoleGap[] {
  const { brand, report } = source;
  return roleChoices(source, fields).flatMap(({ role, by, candidates, evidence, setting }) => {
    if (by !== 'none' || OPTIONAL.includes(role) || !hasRows(source.ledgers.values())) return [];
    const uses = (table: string, name: string) => table === report.table && name === role;
    const views = viewsOf(reports, report)
      .filter((view) => namesUsedBy(view).some(({ table, name }) => uses(table, name)))
      .map(({ name }) => name);
    if (views.length === 0) return [];
    return [{ brand, report: report.name, table: report.table, role, views, candidates, evidence, setting }];
  });
}

/** e.g. `acme order_list: no field has the role channel_id (no field has a known name), so it is NULL in … . To set it: "fields": …` */
export function gapText({ brand, report, role, views, candidates, evidence, setting }: RoleGap): string {
  const isUnclear = role === 'currency' && candidates.length > 0;
  const effect = isUnclear ? 'amounts are NULL' : 'it is NULL';
  return `${brand} ${report}: no field has the role ${role} (${evidence}), so ${effect} in ${views.join(', ')}. ${whenToSet({ candidates })}: ${setting}`;
}

/**
 * The words that introduce the line of settings. Without a candidate, the line only states that the service has no
 * such field.
 */
export function whenToSet({ candidates }: Pick<RoleGap, 'candidates'>): string {
  return candidates.length > 0 ? 'To set it' : 'If the service lacks it';
}

/** By currency, empty for no currency: the sum of each role, as text. */
export type CurrencyTotals = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * The amounts of a day by currency, if they were summed from the fields that have the roles now.
 * @param decided the field of each role, as far as it is decided
 */
export function totalsOf(
  { values }: Pick<Committed, 'values'>,
  decided: RoleFields,
): CurrencyTotals | undefined {
  const { fields, byCurrency } = values?.totals ?? {};
  if (!fields || !byCurrency) return undefined;
  const isSame = (['amount', 'commission', 'currency'] as const).every(
    (role) => decided[role] === undefined || (decided[role] ?? undefined) === fields[role],
  );
  return isSame ? byCurrency : undefined;
}

/**
 * The sum that represents a day: of a column, or of a role whose amounts have one currency.
 * @returns `undefined` if the day has no such sum, or has several currencies
 */
export function measured(values: Committed['values'], measure: string | undefined): string | undefined {
  if (measure === undefined) return undefined;
  if (!isRole(measure)) return values?.sums?.[measure];
  const [only, other] = Object.values(values?.totals?.byCurrency ?? {});
  return other ? undefined : only?.[measure];
}

/** Whether a day has one sum of the measure; without a value the sum is 0. */
export function isMeasured(values: Committed['values'], measure: string | undefined): boolean {
  if (measure === undefined || !isRole(measure)) return measure !== undefined;
  return values?.totals !== undefined && Object.keys(values.totals.byCurrency).length <= 1;
}
