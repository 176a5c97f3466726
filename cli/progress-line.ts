import { type Log, type LogEvent, levelOf } from '../shared/log-events.ts';
import { ERASE_LINE, count, counted, note } from './output.ts';
import { oneLine, truncate } from './terminal-text.ts';

const REDRAW_MS = 100;

export interface Progress {
  log: Log;
  /** Takes the line away. */
  end: () => void;
}

/** Shows how a run gets on, on standard error: one line that changes on a terminal, elsewhere a line for each day that ended. */
export function showProgress(): Progress {
  return process.stderr.isTTY ? changingLine() : plainLines();
}

function plainLines(): Progress {
  const log: Log = (event) => {
    const line = lineOf(event);
    if (line !== undefined) note(line);
  };
  return { log, end() {} };
}

function changingLine(): Progress {
  const startedMs = Date.now();
  const total = { due: 0, days: 0, pages: 0, rows: 0 };
  let doing = 'looking at what is due';
  let waiting: { for: string; untilMs: number } | undefined;
  let drawnMs = 0;

  const draw = () => {
    drawnMs = Date.now();
    const rate = Math.round(total.rows / Math.max(1, (drawnMs - startedMs) / 1000));
    const waits =
      waiting && waiting.untilMs > drawnMs
        ? ` · waiting ${waitText(waiting.untilMs - drawnMs)}: ${waiting.for}`
        : '';
    const done = `${count(total.days)} of ${counted(total.due, 'day')} · ${counted(total.pages, 'page')} · ${counted(total.rows, 'row')} · ${count(rate)}/s`;
    showLine(`${doing}${waits} · ${done}`);
  };
  const timer = setInterval(draw, REDRAW_MS * 5).unref();

  const take = (event: LogEvent) => {
    switch (event.event) {
      case 'report_planned':
        total.due += event.dueDays;
        return;
      case 'day_claimed':
        doing = subjectOf(event);
        return;
      case 'page_fetched':
        doing = `${subjectOf(event)} page ${event.page}`;
        total.pages += 1;
        total.rows += event.rows;
        waiting = undefined;
        return;
      case 'request_retried':
        waiting = {
          for: oneLine(`${event.action} ${event.code}`),
          untilMs: Date.now() + event.waitMs,
        };
        return;
      case 'day_ended':
        total.days += 1;
    }
  };
  const log: Log = (event) => {
    take(event);
    const isError = levelOf(event) === 'error';
    if (isError) note(remarkOn(event));
    if (isError || Date.now() - drawnMs >= REDRAW_MS) draw();
  };
  return {
    log,
    end() {
      clearInterval(timer);
      showLine('');
    },
  };
}

/** Puts the text in the place of the line of progress, on a terminal. */
export function showLine(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE + truncate(text, process.stderr.columns - 1));
}

/** What somebody who watches without a terminal should know: days that ended, waits, and what went wrong. */
function lineOf(event: LogEvent): string | undefined {
  switch (event.event) {
    case 'day_ended': {
      const { outcome, rows } = event;
      const size = outcome === 'published' || outcome === 'unchanged' ? `, ${counted(rows, 'row')}` : '';
      return `${subjectOf(event)} ${outcome}${size}`;
    }
    case 'request_retried':
      return `${oneLine(`${event.brand} ${event.action}: ${event.code}`)}, asking again in ${waitText(event.waitMs)}`;
    default:
      return ['warn', 'error'].includes(levelOf(event)) ? remarkOn(event) : undefined;
  }
}

function remarkOn(event: LogEvent): string {
  const message = 'message' in event ? `: ${oneLine(event.message)}` : '';
  return `${subjectOf(event)} ${event.event.replaceAll('_', ' ')}${message}`.trim();
}

function subjectOf(event: LogEvent): string {
  return [
    'brand' in event ? event.brand : undefined,
    'report' in event ? event.report : undefined,
    'day' in event ? event.day : undefined,
  ]
    .filter((part) => part !== undefined)
    .map(oneLine)
    .join(' ');
}

function waitText(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
