/** One line that is redrawn on a terminal, and lines for days that ended, retries and problems. An event with a message is a problem. */
import { type Log, type LogEvent, levelOf } from '../shared/log-events.ts';
import { counted, exactNumber } from '../shared/exact-number.ts';
import type { ErrorSummary } from '../shared/outcome.ts';
import { note, redraw } from './output.ts';
import { withRunnableCommands } from './printed-command.ts';
import { oneLine, truncate } from './terminal-text.ts';

/** A fast run would spend its time redrawing. */
const MIN_REDRAW_MS = 100;

export function showProgress(): { log: Log; end: () => void } {
  const startedMs = Date.now();
  let [dueDays, endedDays, pages, rows, drawnMs] = [0, 0, 0, 0, 0];
  const said = new Set<string>();
  const isSaid: IsSaid = ({ brand, code, message }) => {
    const reason = `${brand} ${reasonOf(message)}`;
    const isKnown = said.has(reason);
    said.add(reason);
    return isKnown || ALIKE.test(code);
  };
  const left = () => {
    const days = dueDays - endedDays;
    if (days <= 0 || endedDays === 0) return '';
    return `, ${exactNumber(days)} left, about ${durationText(((Date.now() - startedMs) / endedDays) * days)}`;
  };
  /** `acme order_list 2026-01-31 page 4 · 3 of 12 days, 9 left, about 4 min · 40 pages · 4,000 rows · 1,200 rows/s` */
  const draw = (current: string) => {
    drawnMs = Date.now();
    const perSecond = Math.round(rows / Math.max(1, (drawnMs - startedMs) / 1000));
    const days = `${exactNumber(endedDays)} of ${counted(dueDays, 'day')}${left()}`;
    const sums = [counted(pages, 'page'), counted(rows, 'row'), `${exactNumber(perSecond)} rows/s`];
    showLine([current, days, ...sums].join(' · '));
  };
  return {
    log(event) {
      if (event.event === 'report_planned') dueDays += event.dueDays;
      if (event.event === 'page_fetched') pages += 1;
      if (event.event === 'page_fetched' || event.event === 'day_rebuilt') rows += event.rows;
      if (event.event === 'day_ended' || event.event === 'day_rebuilt') endedDays += 1;
      const line = lineOf(event, isSaid);
      const isShown =
        !process.stderr.isTTY || levelOf(event) === 'error' || event.event === 'meaning_changed';
      const isNoted = isShown && line !== undefined;
      if (isNoted) note(withRunnableCommands(line) + (event.event === 'day_ended' ? left() : ''));
      if (process.stderr.isTTY && (isNoted || Date.now() - drawnMs >= MIN_REDRAW_MS))
        draw(
          event.event === 'page_fetched'
            ? `${subjectOf(event)} page ${event.page}`
            : (line ?? subjectOf(event)),
        );
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

/** Replaces the progress line by the text; does nothing if standard error is not a terminal. */
export function showLine(text: string): void {
  if (process.stderr.isTTY) redraw(truncate(oneLine(text), process.stderr.columns - 1));
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
      // The event `day_failed` has already shown the reason.
      return event.outcome === 'failed' ? undefined : `${event.outcome}, ${counted(event.rows, 'row')}`;
    case 'day_rebuilt':
      return `rebuilt: ${event.outcome}, ${counted(event.rows, 'row')}`;
    case 'day_changed':
      return `changed: ${exactNumber(event.rowsBefore)} → ${counted(event.rows, 'row')}`;
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

function subjectOf(event: object): string {
  const { brand, report, day, check, view }: Record<string, unknown> = { ...event };
  return [brand, report, day, check, view].filter((part) => typeof part === 'string').join(' ');
}
