/* Selects the sums of a day by currency, as the ledger has them. */
import { isDeepStrictEqual } from 'node:util';
import { AMOUNT_ROLES, type ChosenFields, isRole } from '../../roles/index.ts';
import type { Committed } from './ledger.ts';

/** By currency, empty for no currency: the sum of each role, as text. */
export type CurrencyTotals = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * The amounts of a day by currency; `pending`: the roles now have other fields than those that were summed, so that the
 * next reading sums them.
 * @param roles the fields of each role; missing: not known
 */
export function totalsOf(
  { values }: Pick<Committed, 'values'>,
  roles: ChosenFields | undefined,
): CurrencyTotals | 'pending' | undefined {
  const { fields, byCurrency } = values?.totals ?? {};
  if (!fields || !byCurrency) return undefined;
  const isSame = ([...AMOUNT_ROLES, 'currency'] as const).every(
    (role) => !roles || isDeepStrictEqual(roles[role] ?? [], fields[role] ?? []),
  );
  return isSame ? byCurrency : 'pending';
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
