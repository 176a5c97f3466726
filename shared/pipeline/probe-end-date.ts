import { addDays, dayOf } from '../days.ts';
import { BrandReportsError, rethrowBugs } from '../errors.ts';
import type { CasDocument } from '../lake/documents/cas-document.ts';
import type { MonthIndex } from '../lake/documents/month-index.ts';
import { dateFields } from '../planning/day-queries.ts';
import { fetchFirstPage } from './fetch.ts';
import type { RunContext } from './context.ts';

type EndDateMeaning = 'whole_day' | 'midnight' | undefined;

/**
 * Whether `end_date` means the whole day or its midnight is not documented (section 4.4): a report's first sync
 * measures it on days that have ended. @throws BrandReportsError `config` where the setting would lose records
 */
export async function probeEndDate(run: RunContext, index: CasDocument<MonthIndex>): Promise<void> {
  const { report, brandSettings, brand } = run;
  const setting = brandSettings.endDate;
  if (report.day.by !== 'dates' || setting === 'midnight') return;
  if ((await index.cached()).endDate === setting) return;
  const measured = await measure(run);
  if (measured === 'midnight' && (await measure(run)) === 'midnight')
    throw new BrandReportsError(
      'config',
      'end_date',
      `${report.name} of brand "${brand}": the setting endDate is "whole_day", but the service takes end_date as that day's midnight, so every day would come back empty or cut; set "endDate": "midnight" for this brand`,
    );
  if (measured === 'whole_day') await index.update((current) => ({ ...current, endDate: setting }));
}

/** A service that fails at this is left unmeasured: the days themselves will tell what is wrong. */
async function measure(run: RunContext): Promise<EndDateMeaning> {
  try {
    return await observeEndDate(run);
  } catch (thrown) {
    const { message } = rethrowBugs(thrown);
    run.log({ event: 'end_date_not_probed', message });
  }
}

/**
 * Compares a day and the next, asked one by one, with both asked together: only whole days add up.
 * @returns undefined where the days hold no records, which says nothing
 */
export async function observeEndDate(run: RunContext): Promise<EndDateMeaning> {
  const day = addDays(dayOf(run.clock.now().getTime(), run.policy.timeZone), -2);
  const next = addDays(day, 1);
  const first = await countFirst(run, day, day);
  const second = await countFirst(run, next, next);
  const both = await countFirst(run, day, next);
  if (both.records === 0 && !both.more) return undefined;
  if (first.more || second.more) return 'whole_day';
  const sum = first.records + second.records;
  const addsUp = both.more ? sum > both.records : sum >= both.records;
  return addsUp ? 'whole_day' : 'midnight';
}

async function countFirst(
  run: RunContext,
  from: string,
  to: string,
): Promise<{ records: number; more: boolean }> {
  const page = await fetchFirstPage(run, { ...run.settings.filters, ...dateFields(from, to) });
  return { records: page.records.length, more: page.next !== null };
}
