import type { Message } from '../ports.ts';
import type { Change } from './changes.ts';
import type { OpenProblem } from './open-problems.ts';

/** How a reader of a message starts an action, in plain text. */
export interface TextControls {
  /** How to read what is due. */
  sync(report: string, brand: string): string;
  /** How to test the connection. */
  check(report: string, brand: string): string;
}

/** What a message names beside the problems. */
export interface MessageOptions {
  /** What it calls the pipeline, e.g. the name of the stack. */
  pipeline: string;
  /** Where all days are shown. */
  page: string;
  nowMs: number;
  controls: TextControls;
}

/** Problems put in full: of more the page shows all. */
const MAX_PROBLEMS = 30;
const MAX_WHY = 400;

/** The message that tells of a change: what is new, what is still open, what is solved. */
export function changeMessage({ opened, remaining, solved }: Change, options: MessageOptions): Message {
  const { pipeline, page, nowMs } = options;
  const open = opened.length + remaining.length;
  const counts = [
    ...(opened.length > 0 ? [`${opened.length} new`] : []),
    ...(solved.length > 0 ? [`${solved.length} solved`] : []),
    ...(open > 0 ? [`${open} open`] : []),
  ];
  const headline = open === 0 ? 'all is well again' : `problems: ${counts.join(', ')}`;
  return {
    subject: `${pipeline}: ${headline}`,
    text: [
      `${pipeline}, ${timeText(nowMs)}: ${headline}.`,
      ...section('NEW', opened, options),
      ...section('STILL OPEN', remaining, options),
      ...solvedSection(solved),
      '',
      `All days: ${page}`,
      '',
    ].join('\n'),
  };
}

function section(title: string, problems: readonly OpenProblem[], { controls }: MessageOptions): string[] {
  if (problems.length === 0) return [];
  const shown = problems.slice(0, MAX_PROBLEMS);
  return [
    '',
    title,
    ...shown.flatMap(({ brand, report, what, sinceMs, why, remedy: { sentence, start } }) => [
      `- ${brand} ${report}: ${what}`,
      `  since ${timeText(sinceMs)}`,
      `  Why: ${shortened(why)}`,
      `  What to do: ${start ? `${sentence}: ${controls[start](report, brand)}` : `${sentence}.`}`,
    ]),
    ...andMore(problems.length),
  ];
}

function solvedSection(solved: Change['solved']): string[] {
  if (solved.length === 0) return [];
  const shown = solved.slice(0, MAX_PROBLEMS);
  return [
    '',
    'SOLVED',
    ...shown.map(({ what, since }) => `- ${what} (since ${timeText(Date.parse(since))})`),
    ...andMore(solved.length),
  ];
}

function andMore(count: number): string[] {
  return count > MAX_PROBLEMS ? [`- and ${count - MAX_PROBLEMS} more`] : [];
}

/** What stands between words: also what would steer the reader's screen. */
const BETWEEN_WORDS = /[\s\p{Cc}\u202A-\u202E\u2066-\u2069]+/gu;

/**
 * On one line, because the text is read line by line. Half a surrogate pair, which a service may send and cutting may
 * leave, is no text: the client of SNS throws it back, and with it the whole message.
 */
function shortened(text: string): string {
  const line = text.replaceAll(BETWEEN_WORDS, ' ');
  const kept = line.length <= MAX_WHY ? line : `${line.slice(0, MAX_WHY)}…`;
  return kept.toWellFormed();
}

/** `2026-11-20 15:05 UTC` */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
