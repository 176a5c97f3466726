import { addDays } from '../../shared/days.ts';
import { policyOf } from '../../shared/planning/policy.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { ATTRIBUTION, ORDERS, type Restatement, TRANSACTIONS, ZONE, heldDays } from './brand.ts';
import type { Simulated } from './quarter.ts';

const RESTATEMENTS: Record<string, Restatement> = {
  order_list: ORDERS,
  transaction_list: TRANSACTIONS,
  amazon_attribution_report: ATTRIBUTION,
};

/** The reports whose records are restated, with the default settings. @param daysBefore how many older days are still being read */
export function simulatedReports(
  counted: { from: string; to: string },
  seed: number,
  daysBefore = 130,
): Simulated[] {
  const startDate = addDays(counted.from, -daysBefore);
  const acme = {
    baseUrl: 'https://service.example/api',
    service: 'ACME',
    timeZone: ZONE,
    startDate,
    secretName: 'acme',
  };
  const brand = parseSettings({ brands: { acme } }, reports).brands.acme;
  return Object.entries(RESTATEMENTS).map(([name, restatement]) => {
    const [report, settings] = [reports[name], brand?.reports[name]];
    if (!brand || !report || !settings) throw new Error(`no report ${name}`);
    const days = heldDays(startDate, counted.to, restatement, seed);
    return { report, policy: policyOf(report, brand, settings), days, counted };
  });
}
