/** Pure functions over the union of all events, so a renamed event does not compile. An event with a message is a problem. */
import { type LogEvent, levelOf } from '../shared/log-events.ts';
import { count, counted } from './output.ts';
import { oneLine } from './terminal-text.ts';

export interface RunProgress {
  startedMs: number;
  dueDays: number;
  endedDays: number;
  pages: number;
  rows: number;
  /** What the run is doing: `acme order_list 2026-01-31 page 4`. */
  current: string;
  retry?: { reason: string; atMs: number };
}

export function startOfRun(startedMs: number): RunProgress {
  return { startedMs, dueDays: 0, endedDays: 0, pages: 0, rows: 0, current: 'planning' };
}

export function afterEvent(progress: RunProgress, event: LogEvent, nowMs: number): RunProgress {
  switch (event.event) {
    case 'report_planned':
      return { ...progress, dueDays: progress.dueDays + event.dueDays };
    case 'day_claimed':
      return { ...progress, current: subjectOf(event) };
    case 'page_fetched': {
      const { retry: _answered, ...rest } = progress;
      const current = `${subjectOf(event)} page ${event.page}`;
      return { ...rest, current, pages: progress.pages + 1, rows: progress.rows + event.rows };
    }
    case 'request_retried':
      return { ...progress, retry: { reason: reasonOf(event), atMs: nowMs + event.waitMs } };
    case 'day_ended':
      return { ...progress, endedDays: progress.endedDays + 1 };
    case 'day_rebuilt':
      return {
        ...progress,
        current: subjectOf(event),
        endedDays: progress.endedDays + 1,
        rows: progress.rows + event.rows,
      };
    default:
      return progress;
  }
}

/** `acme order_list 2026-01-31 page 4 · 3 of 12 days, 9 left, about 4 min · 40 pages · 4,000 rows · 1,200 rows/s` */
export function progressText(progress: RunProgress, nowMs: number): string {
  const { startedMs, dueDays, endedDays, pages, rows, current, retry } = progress;
  const rowsPerSecond = Math.round(rows / Math.max(1, (nowMs - startedMs) / 1000));
  return [
    current,
    ...(retry && retry.atMs > nowMs ? [`${retry.reason}, retrying in ${seconds(retry.atMs - nowMs)}`] : []),
    `${count(endedDays)} of ${counted(dueDays, 'day')}${leftText(progress, nowMs)}`,
    counted(pages, 'page'),
    counted(rows, 'row'),
    `${count(rowsPerSecond)} rows/s`,
  ].join(' · ');
}

/** The remaining days and their time: `, 9 left, about 4 min`; empty before the first day ends and after the last. */
export function leftText({ startedMs, dueDays, endedDays }: RunProgress, nowMs: number): string {
  const left = dueDays - endedDays;
  if (left <= 0 || endedDays === 0) return '';
  return `, ${count(left)} left, about ${durationText(((nowMs - startedMs) / endedDays) * left)}`;
}

export function durationText(ms: number): string {
  if (ms < 90_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return ms < 90 * 60_000 ? `${Math.round(ms / 60_000)} min` : `${Number((ms / 3_600_000).toFixed(1))} h`;
}

/** The line for an event without a terminal: ended days, retries and problems. @returns `undefined` for other events */
export function lineOf(event: LogEvent): string | undefined {
  const text = textOf(event);
  const stack = 'stack' in event && event.stack !== undefined ? `\n${event.stack}` : '';
  return text === undefined ? undefined : oneLine(`${subjectOf(event)} ${text}${stack}`.trim());
}

function textOf(event: LogEvent): string | undefined {
  switch (event.event) {
    case 'day_ended': {
      const { outcome, rows } = event;
      if (outcome === 'failed') return undefined; // The event `day_failed` has already shown the reason.
      return outcome === 'published' || outcome === 'unchanged'
        ? `${outcome}, ${counted(rows, 'row')}`
        : outcome;
    }
    case 'day_rebuilt':
      return `rebuilt: ${event.outcome}, ${counted(event.rows, 'row')}`;
    case 'day_changed':
      return `changed: ${changedCounts(event)}`;
    case 'request_retried':
      return `${reasonOf(event)}, retrying in ${seconds(event.waitMs)}`;
    case 'day_restarted':
      return 'restarted from its first page';
    case 'attempt_dropped':
      return 'read from its first page, because its progress document is damaged';
    case 'credentials_not_reread':
      return 'the rejected credentials could not be read again';
    case 'brand_awaited':
      return `waiting for another run of the brand: ${event.holder}`;
    case 'report_failed':
    case 'day_failed':
      return `failed: ${event.message}`;
    case 'day_finding':
      return `${event.check}: ${event.message}`;
    case 'check_not_made':
      return `${event.check} not checked: ${event.message}`;
    case 'view_failed':
      return `view ${event.view} not created: ${event.message}`;
    case 'watch_ended':
      return undefined;
    default:
      return 'message' in event ? `${event.event.replaceAll('_', ' ')}: ${event.message}` : undefined;
  }
}

/** The line above the progress line for an event on a terminal: errors have one, and what changes all numbers. */
export function errorLineOf(event: LogEvent): string | undefined {
  return levelOf(event) === 'error' || event.event === 'meaning_changed' ? lineOf(event) : undefined;
}

function subjectOf(event: LogEvent): string {
  return [
    'brand' in event ? event.brand : undefined,
    'report' in event ? event.report : undefined,
    'day' in event ? event.day : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(' ');
}

function changedCounts({
  rowsBefore,
  rows,
  added,
  removed,
  altered,
}: Extract<LogEvent, { event: 'day_changed' }>) {
  const size = `${count(rowsBefore)} → ${counted(rows, 'row')}`;
  if (added === undefined || removed === undefined || altered === undefined) return size;
  return `${size}, +${count(added)} −${count(removed)} ~${count(altered)}`;
}

function reasonOf({ action, code }: Extract<LogEvent, { event: 'request_retried' }>): string {
  return `${action}: ${code}`;
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
