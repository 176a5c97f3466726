/** One line that is redrawn on a terminal, and lines for days that changed, retries and problems. An event with a message is a problem. */
import { type Log, type LogEvent, levelOf } from '../shared/base/log-events.ts';
import { counted, exactNumber } from '../shared/base/exact-number.ts';
import type { ErrorSummary } from '../shared/base/outcome.ts';
import { note, showLine } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { oneLine } from './terminal-text.ts';

/** A fast run would spend its time redrawing. */
const MIN_REDRAW_MS = 100;
/** Of a brand, so that the rate shows when the service becomes slower. */
const RATE_REQUESTS = 20;
/** Before, too few days have ended for an estimate. */
const ESTIMATE_AFTER_MS = 5_000;
const LONG_MS = 60_000;

/** @param showsNewDays whether a day that is read for the first time has a line; a day that changed always has one */
export function showProgress(showsNewDays = !process.stderr.isTTY): { log: Log; end: () => void } {
  const startedMs = Date.now();
  let [dueDays, endedDays, records, drawnMs] = [0, 0, 0, 0];
  let [current, isEstimated] = ['', false];
  const requestsOf = new Map<string, number[]>();
  const changed = new Set<string>();
  const said = new Set<string>();
  const isSaid: IsSaid = ({ brand, code, message }) => {
    const reason = `${brand} ${reasonOf(message)}`;
    const isKnown = said.has(reason);
    said.add(reason);
    return isKnown || ALIKE.test(code);
  };
  const leftMs = () =>
    endedDays === 0 ? 0 : ((Date.now() - startedMs) / endedDays) * Math.max(0, dueDays - endedDays);
  /** `4.8 of 5 requests/s` */
  let rate: string | undefined;
  const countRequest = (brand: string, limit: number) => {
    const nowMs = Date.now();
    const before = requestsOf.get(brand)?.slice(-RATE_REQUESTS) ?? [];
    requestsOf.set(brand, [...before, nowMs]);
    const [firstMs] = before;
    if (firstMs === undefined) return;
    const perSecond = Math.min(limit, (before.length * 1000) / Math.max(1, nowMs - firstMs));
    rate = `${exactNumber(Number(perSecond.toFixed(1)))} of ${counted(limit, 'request')}/s`;
  };
  const noteEstimate = () => {
    if (isEstimated || rate === undefined || Date.now() - startedMs < ESTIMATE_AFTER_MS) return;
    if (leftMs() < LONG_MS) return;
    isEstimated = true;
    note(
      `About ${durationText(leftMs())} left at ${rate}, the newest days first. The setting requestsPerSecond decides. Ctrl-C stops the run; the same command continues it.`,
    );
  };
  /** `acme order_list 2026-01-31 · 3 of 12 days · about 4 min left · 4.8 of 5 requests/s · 4,000 records` */
  const draw = () => {
    drawnMs = Date.now();
    const days = dueDays > 0 ? `${exactNumber(endedDays)} of ${counted(dueDays, 'day')}` : undefined;
    const left = leftMs() > 0 ? `about ${durationText(leftMs())} left` : undefined;
    // A narrow terminal cuts the end.
    const parts = [current, days, left, rate, counted(records, 'record')];
    showLine(parts.filter((part) => part !== undefined).join(' · '));
  };
  const hasLine = (event: LogEvent) => {
    if (event.event === 'day_ended' || event.event === 'day_rebuilt')
      return showsNewDays && !changed.has(subjectOf(event));
    const isAlwaysShown = event.event === 'day_changed' || event.event === 'meaning_changed';
    return !process.stderr.isTTY || isAlwaysShown || levelOf(event) === 'error';
  };
  return {
    log(event) {
      if (event.event === 'report_planned') dueDays += event.dueDays;
      if (event.event === 'page_fetched' || event.event === 'day_rebuilt') records += event.rows;
      if (event.event === 'day_ended' || event.event === 'day_rebuilt') endedDays += 1;
      if (event.event === 'day_changed') changed.add(subjectOf(event));
      if (event.event === 'request_sent') countRequest(event.brand, event.requestsPerSecond);
      const line = lineOf(event, isSaid);
      const hasDay = event.event === 'page_fetched' || event.event === 'day_ended';
      if (hasDay) current = subjectOf(event);
      else if (line !== undefined) current = line;
      const isNoted = line !== undefined && hasLine(event);
      if (isNoted) note(withRunnableCommands(line));
      noteEstimate();
      if (process.stderr.isTTY && (isNoted || Date.now() - drawnMs >= MIN_REDRAW_MS)) draw();
    },
    end: () => showLine(''),
  };
}

/** Failures of most days alike, whose message the outcome shows once. */
const ALIKE = /^(refused|service_code|http_40[13]|tls|unknown_host)$/;

/** Whether the message of a failure was shown before, or will be. */
type IsSaid = (failed: ErrorSummary & { brand: string }) => boolean;

/** The message without the brand and the action that it begins with. */
export function reasonOf(message: string): string {
  return message.replace(/^[\w-]+ [\w/]+: /, '');
}

function durationText(ms: number): string {
  if (ms < 90_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return ms < 90 * 60_000 ? `${Math.round(ms / 60_000)} min` : `${Number((ms / 3_600_000).toFixed(1))} h`;
}

function lineOf(event: LogEvent, isSaid: IsSaid): string | undefined {
  const text = textOf(event, isSaid);
  const stack = 'stack' in event && event.stack !== undefined ? `\n${event.stack}` : '';
  return text === undefined ? undefined : oneLine(`${subjectOf(event)} ${text}${stack}`.trim());
}

function textOf(event: LogEvent, isSaid: IsSaid): string | undefined {
  switch (event.event) {
    case 'day_ended':
    case 'day_rebuilt':
      return event.outcome === 'published' ? `published, ${counted(event.rows, 'record')}` : undefined;
    case 'day_changed':
      return `changed: ${changeText(event)}`;
    case 'request_retried':
      return `${event.action}: ${event.code}, retrying in ${durationText(event.waitMs)}`;
    case 'brand_awaited':
      return `waiting for another run of the brand: ${event.holder}`;
    case 'day_restarted':
    case 'attempt_dropped':
    case 'credentials_not_reread':
      return event.event.replaceAll('_', ' ');
    case 'watch_ended':
      return undefined;
    case 'day_failed':
    case 'report_failed':
      return `${event.event.replaceAll('_', ' ')}: ${isSaid(event) ? event.code : event.message}`;
    default:
      return 'message' in event ? `${event.event.replaceAll('_', ' ')}: ${event.message}` : undefined;
  }
}

type DayChanged = LogEvent & { event: 'day_changed' };

/** `2 added, 5 altered`; without the numbers of records that differ, `60 → 61 records` */
function changeText({ rowsBefore, rows, added = 0, removed = 0, altered = 0 }: DayChanged): string {
  const parts = Object.entries({ added, removed, altered }).filter(([, number]) => number > 0);
  if (parts.length === 0) return `${exactNumber(rowsBefore)} → ${counted(rows, 'record')}`;
  return parts.map(([what, number]) => `${exactNumber(number)} ${what}`).join(', ');
}

function subjectOf(event: object): string {
  const { brand, report, day, check, view }: Record<string, unknown> = { ...event };
  return [brand, report, day, check, view].filter((part) => typeof part === 'string').join(' ');
}
