/*
 * Stores which fields of a brand's records have which roles. The data may decide only if the ledgers of all its days
 * can be read: a sample may lack the second field that makes a choice unclear. A stored choice is never changed.
 */
import { isDeepStrictEqual } from 'node:util';
import { hasRows, undamagedLedgers } from '../lake/documents/ledger.ts';
import { roleChoices } from '../lake/documents/role-evidence.ts';
import type { BrandRoles } from '../lake/documents/roles.ts';
import { isCurrencyUnclear } from '../roles/index.ts';
import type { RunContext } from '../context/context.ts';

/**
 * Stores the roles of the brand's fields, from the settings and from the data.
 * @param months all months that have a ledger
 * @param isNew whether new fields, or days that this run has not read, may decide
 * @returns whether a view may differ from now on
 */
export async function storeRoles(
  ctx: RunContext,
  months: readonly string[],
  isNew: boolean,
): Promise<boolean> {
  const { brand, settings } = ctx;
  const { [brand]: before } = (await ctx.roles.cached()).brands;
  const fromSettings = { fields: settings.fields, words: settings.states?.words ?? {} };
  const decided = before && !isNew ? before : await decide(ctx, months, before);
  const next = decided && { ...decided, ...fromSettings };
  if (!next || isDeepStrictEqual(next, before)) return false;
  await ctx.roles.update((current) => {
    const { [brand]: other } = current.brands;
    const own = { ...next, chosen: { ...next.chosen, ...other?.chosen } };
    return { ...current, brands: { ...current.brands, [brand]: own } };
  });
  return true;
}

/** The choices that all ledgers lead to. If no ledger has rows, or a ledger cannot be read, the earlier roles stay. */
async function decide(
  { brand, report, ledger }: RunContext,
  months: readonly string[],
  before: BrandRoles | undefined,
): Promise<Pick<BrandRoles, 'chosen' | 'isCurrencyUnclear'> | undefined> {
  const ledgers = await undamagedLedgers(months.map((month) => ledger(month).cached()));
  if (ledgers.size < months.length || !hasRows(ledgers.values())) return before;
  const choices = roleChoices({ brand, report, ledgers, roles: before }, {});
  const chosen = choices.flatMap(({ role, field, by }) => (by === 'data' ? [[role, field]] : []));
  return {
    chosen: { ...Object.fromEntries(chosen), ...before?.chosen },
    isCurrencyUnclear: isCurrencyUnclear(choices),
  };
}
