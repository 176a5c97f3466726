import type { RunLog } from '../shared/ports.ts';
import { ERASE_LINE, count, counted, note } from './output.ts';
import { cut, oneLine } from './terminal-text.ts';

const REDRAW_MS = 100;

export interface Progress {
  log: RunLog;
  /** Takes the line away. */
  end: () => void;
}

type Entry = Parameters<RunLog>[0];

/** Shows how a run gets on, on standard error: one line that changes on a terminal, elsewhere a line for each day that ended. */
export function showProgress(): Progress {
  return process.stderr.isTTY ? changingLine() : plainLines();
}

function plainLines(): Progress {
  const log: RunLog = (entry) => {
    const line = entry.event.startsWith('day_') ? ended(entry) : remark(entry);
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

  const log: RunLog = (entry) => {
    if (entry.event === 'report_planned') total.due += Number(entry.due);
    if (entry.event === 'day_claimed') doing = subject(entry);
    if (entry.event === 'page') {
      doing = `${subject(entry)} page ${text(entry.page)}`;
      total.pages += 1;
      total.rows += Number(entry.rows);
      waiting = undefined;
    }
    if (entry.event === 'request_retried')
      waiting = {
        for: `${text(entry.action)} ${text(entry.code)}`,
        untilMs: Date.now() + Number(entry.waitMs),
      };
    if (ended(entry) !== undefined) total.days += 1;
    if (entry.level === 'error') note(remark(entry) ?? entry.event);
    if (entry.level === 'error' || Date.now() - drawnMs >= REDRAW_MS) draw();
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
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE + cut(text, process.stderr.columns - 1));
}

/** The line of a day that is over for this run. */
function ended(entry: Entry): string | undefined {
  const [, outcome] = /^day_(published|unchanged|pending|busy|failed)$/.exec(entry.event) ?? [];
  if (outcome === undefined) return undefined;
  const size =
    outcome === 'published' || outcome === 'unchanged' ? `, ${counted(Number(entry.rows), 'row')}` : '';
  return `${subject(entry)} ${outcome}${size}`;
}

/** What somebody who watches should know: waits, and what went wrong. */
function remark(entry: Entry): string | undefined {
  if (entry.event === 'request_retried')
    return `${text(entry.brand)} ${text(entry.action)}: ${text(entry.code)}, asking again in ${waitText(Number(entry.waitMs))}`;
  if (entry.level !== 'warn' && entry.level !== 'error') return undefined;
  const message = entry.message === undefined ? '' : `: ${text(entry.message)}`;
  return `${subject(entry)} ${entry.event.replaceAll('_', ' ')}${message}`.trim();
}

function subject({ brand, report, day }: Entry): string {
  return [brand, report, day]
    .filter((part) => part !== undefined)
    .map(text)
    .join(' ');
}

function waitText(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? oneLine(value) : `${Number(value)}`;
}
