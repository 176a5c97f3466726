import { addDays, earlier, monthOf, monthsFrom } from '../base/days.ts';
import { undamaged } from '../lake/cas-document.ts';
import { undamagedLedgers } from '../lake/ledger.ts';
import { newColumnsOf } from '../lake/schema.ts';
import { COMPARED_DAYS } from './field-findings.ts';
import { type FindingFacts, entriesIn, findingsOf } from './findings.ts';
import { fieldsIn } from '../reports/roles.ts';
import type { BrandReport, RunContext } from '../context/context.ts';

/** @param published the days whose content is new since this run */
export async function logFindings(ctx: RunContext, published: readonly string[]): Promise<void> {
  for (const [month, days] of Map.groupBy(published, monthOf)) {
    const ofMonth = await findingFacts(ctx, month);
    for (const day of days)
      for (const { check, title, detail } of findingsOf({ ...ofMonth, day }))
        ctx.log({ event: 'day_finding', day, check, message: `${title}: ${detail}` });
  }
}

/**
 * The input of the findings of a month's days: its ledger, and the ledgers of the weeks before it. A ledger that cannot be
 * read is left out: its days have no findings, and the days after them are compared with fewer weeks.
 */
export async function findingFacts(
  { report, policy, ledger, schema }: BrandReport,
  month: string,
): Promise<Omit<FindingFacts, 'day'>> {
  const first = `${month}-01`;
  const earliest = addDays(first, -COMPARED_DAYS);
  const from = policy && policy.startDate > earliest ? earlier(policy.startDate, first) : earliest;
  const ledgers = await undamagedLedgers(monthsFrom(from, first).map((each) => ledger(each).cached()));
  const stored = await undamaged(schema.cached());
  const newColumns = stored && newColumnsOf(stored);
  const roles = stored && fieldsIn(stored.columns, policy?.fields ?? {});
  return { report, policy, newColumns, columns: stored?.columns, roles, entryOn: entriesIn(ledgers) };
}
