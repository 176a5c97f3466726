import { isDeepStrictEqual } from 'node:util';
import { counted } from '../base/exact-number.ts';
import type { Column } from '../base/column-types.ts';
import { AMOUNT_ROLES, type ChosenFields, placesOf } from '../reports/roles.ts';
import { isText, keyOf } from '../table/amounts.ts';
import type { Committed } from './ledger.ts';

/** By currency, empty for no currency: the sum of each role, as text. */
export type CurrencyTotals = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** `pending`: the roles now have other fields than the ledger has summed. The next reading sums the new fields. */
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

/** Values of a column that has the role of an amount, and that are no amounts. */
export interface UnreadableAmounts {
  role: string;
  /** The column, or the path in a column. */
  column: string;
  rows: number;
  example?: string | undefined;
  /** `false`: the column had no such role in the last reading, so its values were not read as amounts. */
  isRead: boolean;
}

export function unreadableAmounts(
  { values }: Pick<Committed, 'values'>,
  { columns = [], roles = {} }: { columns?: readonly Column[] | undefined; roles?: ChosenFields | undefined },
): UnreadableAmounts[] {
  return AMOUNT_ROLES.flatMap((role) =>
    placesOf(columns, roles[role] ?? []).flatMap((place): UnreadableAmounts[] => {
      const column = keyOf(place);
      const known = values?.unreadable?.[column];
      const filled = isText(place) && !known ? (values?.filled?.[place.column.name] ?? 0) : 0;
      const { rows = filled, example } = known ?? {};
      return rows === 0 ? [] : [{ role, column, rows, example, isRead: known !== undefined }];
    }),
  );
}

/** `commission: 12 values such as "1,500.25"` */
export function unreadableText({ column, rows, example, isRead }: UnreadableAmounts): string {
  if (!isRead) return `${column}: ${rows} values that were never read as amounts`;
  const such = example === undefined ? '' : ` such as ${JSON.stringify(example)}`;
  return `${column}: ${counted(rows, 'value')}${such}`;
}

/** The commission of a day, 0 without a value; `undefined` if it is not summed, or has several currencies. */
export function commissionOf(values: Committed['values']): string | undefined {
  if (!values?.totals) return undefined;
  const [only, other] = Object.values(values.totals.byCurrency);
  return other ? undefined : (only?.commission ?? '0');
}
