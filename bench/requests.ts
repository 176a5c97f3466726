/** Prints what a quarter's hourly runs ask of the service, beside the least that the refresh policy needs and a fixed lookback. */
import { DAY_MS, HOUR_MS } from '../shared/days.ts';
import { LOOKBACK_DAYS, leastRequests, lookbackRequests, plannedRequests } from './requests/quarter.ts';
import { simulatedReports } from './requests/simulated.ts';

const QUARTER = { from: '2026-07-01', to: '2026-09-30' };
const SEED = 7;

const number = (value: number) => value.toLocaleString('en').padStart(11);
const heads = ['requests', 'least', 'more', 'daily', 'hourly'].map((head) => head.padStart(11)).join(' ');
process.stdout.write(
  `${QUARTER.from} to ${QUARTER.to}; daily, hourly: a lookback of ${LOOKBACK_DAYS} days\n`,
);
process.stdout.write(`${'report'.padEnd(26)} ${heads}\n`);
for (const simulated of simulatedReports(QUARTER, SEED)) {
  const planned = plannedRequests(simulated).requests;
  const least = leastRequests(simulated).requests;
  const [daily, hourly] = [DAY_MS, HOUR_MS].map((everyMs) => lookbackRequests(simulated, everyMs).requests);
  const more = `${((planned / least - 1) * 100).toFixed(1)} %`.padStart(11);
  const cells = [number(planned), number(least), more, number(daily ?? 0), number(hourly ?? 0)];
  process.stdout.write(`${simulated.report.name.padEnd(26)} ${cells.join(' ')}\n`);
}
