import { isDeepStrictEqual } from 'node:util';
import {
  LIKE_CURRENCY,
  type Role,
  type RoleFields,
  ROLES,
  fieldsIn,
  isAmountRole,
  placesOf,
  wellKnown,
} from '../reports/roles.ts';
import { type ReportRegistry, allViews, isBaseView, rolesUsedBy, viewsOf } from '../reports/definition.ts';
import { MAX_FILLED } from '../table/column-facts.ts';
import { type Committed, hasRows } from './ledger.ts';
import { rolesOf } from './brand-settings.ts';
import type { ReportLedgers } from './read.ts';

export interface RoleGap {
  brand: string;
  report: string;
  table: string;
  role: Role;
  views: readonly string[];
  /** The columns with values that could have the role by their names, the likeliest first. */
  candidates: readonly string[];
  evidence: string;
  /** The settings line that decides, with its place. */
  setting: string;
}

/** Roles that a service may lack without a loss: a line without a state has the state of its order. */
const OPTIONAL: readonly Role[] = ['line_state'];
/** Roles without which sums are NULL. */
const OF_SUMS: readonly Role[] = ['amount', 'commission', 'state'];

/** Also the roles of sums that the settings exclude with null. @param set `fields`; missing: the setting of the last run */
export function roleGaps(
  { brand, report, ledgers, inLake, columns }: ReportLedgers,
  reports: ReportRegistry,
  set: RoleFields | undefined = rolesOf(inLake?.settings, report).fields,
): RoleGap[] {
  if (!columns || !hasRows(ledgers.values())) return [];
  const days = [...ledgers.values()]
    .flatMap((ledger) => Object.values(ledger.days))
    .flatMap(({ committed }) => (committed && committed.rows > 0 ? [committed] : []));
  const filled = new Set(days.flatMap(({ values }) => Object.keys(values?.filled ?? {})));
  const all = allViews(reports);
  const names = columns.map(({ name }) => name).filter((name) => filled.has(name));
  const fields = fieldsIn(columns, set ?? {});
  return ROLES.flatMap((role): RoleGap[] => {
    const { [role]: own = [] } = fields;
    const isExcluded = set?.[role] === null;
    const isShown = OF_SUMS.includes(role) && !(role === 'state' && fields.line_state);
    if (OPTIONAL.includes(role) || (isExcluded && !isShown)) return [];
    // Without a currency the place of an amount is open, and the gap of the currency reports that.
    const places = placesOf(columns, own);
    const read = places.map(({ column }) => column.name);
    const evidence = isExcluded ? 'by its settings' : whyEmpty({ role, fields: own, columns: read }, days);
    if (evidence === undefined) return [];
    const using = viewsOf(reports, report).filter((view) =>
      rolesUsedBy(all, view).some(({ table, name }) => table === report.table && name === role),
    );
    if (using.every(isBaseView)) return [];
    const views = using.map(({ name }) => name);
    const similar = role === 'currency' ? names.filter((name) => LIKE_CURRENCY.test(name)) : [];
    const known = [...wellKnown(role, names), ...similar].filter((name) => !own.includes(name));
    const candidates = [...new Set(known)];
    const setting = `"fields": { "${role}": ${JSON.stringify(candidates[0] ?? null)} } in brands.${brand}.reports.${report.name}`;
    return [{ brand, report: report.name, table: report.table, role, views, candidates, evidence, setting }];
  });
}

/** Why a role has no values; `undefined` if some day has a value, or may have one. */
function whyEmpty(
  { role, fields, columns }: { role: Role; fields: readonly string[]; columns: readonly string[] },
  days: readonly Pick<Committed, 'values'>[],
): string | undefined {
  const named = fields.map((field) => `\`${field}\``).join(', ');
  if (fields.length === 0) return 'no column has one of its names';
  if (columns.length === 0) return `the setting \`fields\` has ${named}, which is not a column`;
  // A ledger has the fullest columns only.
  const mayHave = ({ values: { filled } = {} }: Pick<Committed, 'values'>) =>
    !filled ||
    columns.some((column) => Object.hasOwn(filled, column)) ||
    Object.keys(filled).length >= MAX_FILLED;
  if (!days.some(mayHave)) return `${columns.map((column) => `\`${column}\``).join(', ')} has no values`;
  if (!isAmountRole(role)) return undefined;
  const isUnread = days.every(({ values }) => {
    const { fields: summed, byCurrency = {} } = values?.totals ?? {};
    const hasSum = Object.values(byCurrency).some((sums) => sums[role] !== undefined);
    return !hasSum && isDeepStrictEqual(summed?.[role], fields);
  });
  return isUnread ? `no value of ${named} is a number` : undefined;
}

/** Ends before `setting`: `acme order_list: no field has the role channel_id (…), so it is NULL in payouts. To set it` */
export function gapText({ brand, report, role, views, evidence, candidates }: RoleGap): string {
  const of = `${brand} ${report}: no field has the role ${role}`;
  const where = `in ${views.join(', ')}`;
  const nullText = role === 'currency' && candidates.length > 0 ? 'amounts are NULL' : 'it is NULL';
  const effect = role === 'kind' ? 'every record is a sale' : nullText;
  // Without a candidate, the line of settings only states that the service has no such field.
  const next = candidates.length > 0 ? 'To set it' : 'If the service lacks it';
  return `${of} (${evidence}), so ${effect} ${where}. ${next}`;
}
