import type { Failure } from '../../shared/lake/ledger.ts';
import { addDays, daysFrom } from '../../shared/base/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import type { DayState } from '../../shared/planning/day-state.ts';
import type { DayFacts } from '../../shared/day/day-facts.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import { problemsOf } from '../../shared/watch/problems.ts';
import type { TableStatus } from '../../shared/watch/table-statuses.ts';

export const TODAY = '2026-11-20';
export const NOW_MS = Date.parse(`${TODAY}T15:00:00Z`);

/** Settings with these brands, all in New York. */
export function settingsOf(...brands: string[]) {
  const brand = {
    baseUrl: 'https://service.example/api/brand',
    service: 'ACME',
    timeZone: 'America/New_York',
    startDate: '2026-09-10',
    secretName: 'brand-reports/acme',
  };
  return parseSettings({ brands: Object.fromEntries(brands.map((name) => [name, brand])) }, reports);
}

export const failure: Failure = {
  since: '2026-11-19T06:00:00.000Z',
  lastAt: '2026-11-19T06:00:00.000Z',
  times: 3,
  kind: 'contract',
  code: 'no_list',
  message: 'report/order_list answered without a list',
  retryAt: '2026-11-20T16:00:00.000Z',
};

/** The facts of a day as they would follow from the ledger and the policy. */
export function statusDay(dt: string, state: DayState): DayFacts {
  const isRead = state !== 'missing' && state !== 'in_progress';
  return {
    dt,
    state,
    committedState: isRead ? 'complete' : null,
    rows: isRead ? 1234 : null,
    pages: isRead ? 7 : null,
    refusedLookups: isRead ? 0 : null,
    digest: isRead ? '1:ab' : null,
    overdueAt: null,
    readFrom: isRead ? `${addDays(dt, 1)}T06:02:00.000Z` : null,
    readTo: isRead ? `${addDays(dt, 1)}T05:00:00.000Z` : null,
    timeZone: isRead ? 'Europe/Berlin' : null,
    nextDue: state === 'settled' ? null : `${TODAY}T16:00:00.000Z`,
    ...(state === 'failed' && { failure }),
  };
}

/**
 * A table with all its days from `from` to today, settled up to a month ago and complete from then on, today open.
 * @param but the days with another state
 */
export function madeTable(
  report: string,
  but: Record<string, DayState> = {},
  {
    brand = 'acme',
    from = '2026-09-10',
    ...rest
  }: Partial<Omit<TableStatus, 'problems'>> & { from?: string } = {},
): TableStatus {
  const days = daysFrom(from, TODAY).map((dt) => {
    const usual = dt === TODAY ? 'open' : dt > addDays(TODAY, -30) ? 'complete' : 'settled';
    return statusDay(dt, but[dt] ?? usual);
  });
  const table = reports[report]?.table ?? report;
  const made = {
    brand,
    report,
    table,
    hasReturnedRecords: true,
    newestComplete: addDays(TODAY, -1),
    rows: 1234 * days.length,
    days,
    ...rest,
  };
  const policy = reports[report] && enabledPolicy(settingsOf('acme', 'globex'), brand, reports[report]);
  return { ...made, problems: problemsOf(made, policy, NOW_MS) };
}
