import { fetchFirstPage } from '../attempt/fetch.ts';
import type { RunContext } from '../context/context.ts';
import { addDays, dayOf } from '../days.ts';
import { rethrowBugs } from '../errors.ts';
import { dayQueries, windowToRead } from '../planning/day-queries.ts';
import { clocksText } from '../service/client.ts';
import { concernsNoDay } from '../service/retry.ts';
import { LARGE_SKEW_MS } from '../service/server-clock.ts';

/**
 * Sends one request, so that the run has the service's time before it plans a day or writes any time: a machine that is
 * ahead would close a day too early. Even a refusal shows the time; without a `Date` in it, the machine's clock counts.
 * @param reports of one brand. If the service refuses the request for the report that is read last, the refusal may concern
 * this report alone. A second refusal ends the run, so the second request is for another report
 * @throws BrandReportsError `config` `clocks_differ`; the failure of the request if no response arrived
 */
export async function learnServiceTime(reports: readonly RunContext[]): Promise<void> {
  const paged = reports.filter(({ upstream }) => !upstream);
  const [ctx = reports.at(-1), other] = [...new Set([paged.at(-1), paged[0]])];
  if (!ctx) return;
  const { brand, clock, log } = ctx;
  let failure = await requestPage(ctx).then(() => undefined, rethrowBugs);
  if (other && failure?.kind === 'auth')
    failure = await requestPage(other).then(() => undefined, rethrowBugs);
  const { clockSkewMs } = ctx.service;
  const isUnanswered = failure && failure.kind !== 'contract' && failure.context.status === undefined;
  if (failure && (concernsNoDay(failure) || (isUnanswered && clockSkewMs === undefined))) throw failure;
  // The requests of the days fail or succeed by themselves.
  const why = failure?.code ?? `no response of ${brand} has a Date header`;
  if (clockSkewMs === undefined) log({ event: 'service_time_unknown', message: why });
  else if (Math.abs(clockSkewMs) > LARGE_SKEW_MS)
    log({ event: 'clocks_differ', message: clocksText(brand, clock.wallMs(), clockSkewMs) });
}

/** The first page of yesterday, which services refuse less often than the present day. */
async function requestPage(ctx: RunContext): Promise<void> {
  const { brandSettings, clock, policy, upstream } = ctx;
  const report = upstream?.report ?? ctx.report;
  const settings = brandSettings.reports[report.name] ?? ctx.settings;
  const nowMs = clock.now().getTime();
  const day = addDays(dayOf(nowMs, policy.timeZone), -1);
  const window = windowToRead(brandSettings, day, nowMs, undefined);
  const [query] = dayQueries(report, brandSettings, settings, day, window);
  const service = ctx.service.inOrder({ urgent: true, report: report.name, rank: 0, asksTime: true });
  if (query) await fetchFirstPage({ ...ctx, report, settings, service }, query.fields);
}
