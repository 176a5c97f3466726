import { BY_CHECK } from '../../base/command-line.ts';
import { instantText } from '../../base/days.ts';
import type { Message } from '../../ports.ts';
import { problemText, together } from '../problems.ts';
import type { Controls } from '../remedies.ts';
import { type Change, type OpenProblem, shortLine } from './news.ts';

export interface MessageOptions {
  /** The name of the pipeline, e.g. the name of the stack. */
  pipeline: string;
  /** The address of the page with all days. */
  page: string;
  nowMs: number;
  controls: Controls;
}

/** A message describes at most so many problems; the page shows all. */
const MAX_PROBLEMS = 30;

export function changeMessage(
  { opened, remaining, leaving, solved }: Change,
  { pipeline, page, nowMs, controls }: MessageOptions,
): Message {
  const [problems, findings] = partition(opened);
  const still = partition(remaining)[0];
  const gone = partition(leaving)[0];
  const described = ({ brand, report, since, why, remedy: { sentence, start }, ...problem }: OpenProblem) => {
    const { text, url } = start ? controls(start, [report], brand) : {};
    return [
      `- ${brand} ${report}: ${foreign(problemText(problem))}`,
      `  since ${instantText(since)}`,
      // What to do names the check, by a command or an event.
      `  Why: ${foreign(why.replaceAll(BY_CHECK, ''))}`,
      `  What to do: ${[sentence, text].filter(Boolean).join(': ')}${text === undefined ? '.' : ''}`,
      ...(url === undefined ? [] : [`  ${url}`]),
    ];
  };
  const named = ({ brand, report, what, since }: Change['solved'][number]) => [
    `- ${foreign(`${brand} ${report}: ${what}`)} (since ${instantText(since)})`,
  ];
  const headline = headlineOf({ opened: problems, remaining: still, leaving: gone, solved }, findings.length);
  return {
    subject: `${pipeline}: ${headline}`,
    text: [
      `${pipeline}, ${instantText(new Date(nowMs).toISOString())}: ${headline}.`,
      ...section('NEW', problems, described),
      ...section('STILL OPEN', still, described),
      ...section('GONE FOR THE FIRST TIME', gone, named),
      ...section('FINDINGS', together(findings), described),
      ...section('SOLVED', solved, named),
      '',
      `All days: ${page}`,
      '',
    ].join('\n'),
  };
}

/** `problems: 1 new, 2 solved, 3 open; findings: 1 new` */
function headlineOf({ opened, remaining, leaving, solved }: Change, newFindings: number): string {
  const [problems, findings] = partition(solved);
  const open = opened.length + remaining.length + leaving.length;
  const ofProblems = countsText({ new: opened.length, solved: problems.length, open });
  const ofFindings = countsText({ new: newFindings, solved: findings.length });
  const parts = [
    ...(open > 0 ? [`problems: ${ofProblems}`] : problems.length > 0 ? [ALL_WELL] : []),
    ...(ofFindings === '' ? [] : [`findings: ${ofFindings}`]),
  ];
  return parts.join('; ') || ALL_WELL;
}

const ALL_WELL = 'all is well again';

function countsText(counts: Record<string, number>): string {
  return Object.entries(counts)
    .flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []))
    .join(', ');
}

function partition<T extends { finding?: unknown } | { kind: string }>(
  all: readonly T[],
): [problems: T[], findings: T[]] {
  const isFinding = (each: T) => ('kind' in each ? each.kind === 'finding' : each.finding !== undefined);
  return [all.filter((each) => !isFinding(each)), all.filter(isFinding)];
}

function section<T>(title: string, all: readonly T[], linesOf: (one: T) => string[]): string[] {
  if (all.length === 0) return [];
  const rest = all.length - MAX_PROBLEMS;
  const shown = all.slice(0, MAX_PROBLEMS).flatMap(linesOf);
  return ['', title, ...shown, ...(rest > 0 ? [`- and ${rest} more`] : [])];
}

/** The characters that browsers accept as a full stop in the name of a host. */
const STOP = '[.․。．｡]';

/**
 * The characters by which mail programs recognise links: of a scheme, of `www.`, before a possible top-level domain, in an
 * IP address, and of a network share. Names of files in a lake stay as they are, and so does `file://secret.json`, which people
 * paste from a message.
 */
const SIGNS_OF_LINKS = new RegExp(
  [
    String.raw`(?!(?<=\bfile):\/\/secret\.json(?:\s|$)):(?=[/?])`,
    String.raw`(?<=\b(?:mailto|tel|sms|sips?|callto|skype|facetime|facetime-audio|xmpp)):(?=\S)`,
    String.raw`(?<=\bwww)${STOP}`,
    String.raw`${STOP}(?!(?<!@\S*)(?:json(?:-seq)?|zst|parquet|html)(?![\p{L}\p{N}/@-]))(?=\p{L}[\p{L}\p{M}\p{N}-])`,
    String.raw`(?<=\b\d{1,3}\.\d{1,3}\.\d{1,3})\.(?=\d{1,3}\b)`,
    String.raw`\\(?=\\[\p{L}\p{N}])`,
  ].join('|'),
  'giu',
);

/**
 * Text that a service may have written. It is put on one line, because the message is read line by line. Links are broken,
 * because people trust a mail of their own pipeline: `https[:]//evil[.]example`. Unpaired surrogates, which a service may
 * send and cutting may leave, are replaced: the client of SNS would reject the whole message.
 */
function foreign(text: string): string {
  return shortLine(text).replaceAll(SIGNS_OF_LINKS, '[$&]');
}
