import { addDays, monthOf } from '../base/days.ts';
import { BrandReportsError, rethrowBugs } from '../base/errors.ts';
import { dateFields } from '../planning/day-queries.ts';
import { type FetchContext, type RunContext, todayIn } from '../context/context.ts';
import { fetchFirstPage } from './fetch.ts';

type EndDateMeaning = 'whole_day' | 'midnight' | undefined;

/**
 * Checks the setting `endDate` against days that have ended, in a report's first sync. The interface does not document
 * whether `end_date` means the whole day or its midnight (docs/explanation/interface.md, section 4.4). With the wrong
 * setting every day would be read empty or cut.
 * @throws BrandReportsError `config` if the setting would lose records
 */
export async function probeEndDate(ctx: RunContext): Promise<void> {
  const { report, brandSettings, brand, reportState } = ctx;
  const setting = brandSettings.endDate;
  if (report.day.by !== 'dates' || setting === 'midnight') return;
  if ((await reportState.cached()).probedEndDate === setting) return;
  for (const day of probedDays(ctx))
    if ((await ctx.ledger(monthOf(day)).cached()).days[day]?.erasedAt !== undefined) return;
  // If a request fails, reading the days will show the problem.
  const observe = () => observeEndDate(ctx).catch((thrown: unknown) => void rethrowBugs(thrown));
  const meaning = await observe();
  if (meaning === 'midnight' && (await observe()) === 'midnight')
    throw new BrandReportsError(
      'config',
      'end_date',
      `${report.name} of brand "${brand}": the setting endDate is "whole_day", but the service takes end_date as that day's midnight, so every day would be read empty or cut; set "endDate": "midnight" for this brand`,
    );
  if (meaning === 'whole_day')
    await reportState.update((current) => ({ ...current, probedEndDate: setting }));
}

/**
 * Compares three consecutive days, queried separately, with one query of all three: only whole days add up. Two days
 * are not enough: if one day is empty and the other begins with a record at midnight, midnights add up too.
 */
export async function observeEndDate(ctx: FetchContext): Promise<EndDateMeaning> {
  const days = probedDays(ctx);
  const [first = '', , last = ''] = days;
  let sum = 0;
  for (const day of days) {
    const { records, more } = await countOnFirstPage(ctx, day, day);
    if (more) return 'whole_day';
    sum += records;
  }
  const all = await countOnFirstPage(ctx, first, last);
  if (all.records === 0 && !all.more) return undefined;
  const addsUp = all.more ? sum > all.records : sum >= all.records;
  return addsUp ? 'whole_day' : 'midnight';
}

function probedDays(ctx: FetchContext): string[] {
  return [-3, -2, -1].map((ago) => addDays(todayIn(ctx), ago));
}

async function countOnFirstPage(
  ctx: FetchContext,
  from: string,
  to: string,
): Promise<{ records: number; more: boolean }> {
  const page = await fetchFirstPage(ctx, { ...ctx.settings.filters, ...dateFields(from, to) });
  return { records: page.records.count, more: page.next !== null };
}
