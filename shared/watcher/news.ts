/*
 * What of the problems is news. Without it every look would send the same message, and people would stop reading them.
 * A look compares the problems with those that the last message left open. News is claimed in the record before it is
 * told, so that of two looks one tells it, and counts as told only behind the message. Where a look died in between,
 * nobody knows what people have read: the next one, an hour later, says how it is then.
 */
import { MINUTE_MS } from '../days.ts';
import type { WatchRecord } from '../lake/documents/watch-record.ts';
import { type OpenProblem, type Suspect, openProblems } from './open-problems.ts';

/** At least so long after a message comes the next one. In minutes, because schedules start to the minute. */
export const MINUTES_BETWEEN_MESSAGES = 60;

/** What is different from what the last message said; nothing of it came and went since. Findings are among the problems. */
export interface Change {
  opened: OpenProblem[];
  remaining: OpenProblem[];
  /** As the message put it that told of them. */
  solved: WatchRecord['told'][string][];
}

/** One look of the watcher. */
export interface Look {
  id: string;
  nowMs: number;
}

/**
 * What a message has to say; nothing is opened or solved where the problems are those that were told. A finding that is
 * too old to be told of is not solved.
 */
export function changeFrom(
  told: WatchRecord['told'],
  problems: readonly OpenProblem[],
  nowMs: number,
): Change {
  const isOver = ({ finding }: WatchRecord['told'][string]) =>
    finding !== undefined && nowMs >= Date.parse(finding.until);
  const open = new Set(problems.map(({ id }) => id));
  return {
    opened: problems.filter(({ id }) => !Object.hasOwn(told, id)),
    remaining: problems.filter(({ id }) => Object.hasOwn(told, id)),
    solved: Object.entries(told).flatMap(([id, problem]) =>
      open.has(id) || isOver(problem) ? [] : [problem],
    ),
  };
}

/** The record after a look has seen what looks wrong. Where there is news and it may be told, the look claims to tell it. */
export function afterLook(
  record: WatchRecord,
  suspects: readonly Suspect[],
  { id, nowMs }: Look,
): WatchRecord {
  const now = new Date(nowMs).toISOString();
  const seen = Object.fromEntries(suspects.map(({ id }) => [id, record.seen[id] ?? now]));
  const isSame =
    Object.keys(seen).length === Object.keys(record.seen).length &&
    Object.entries(seen).every(([suspect, at]) => record.seen[suspect] === at);
  const { opened, solved } = changeFrom(record.told, openProblems(suspects, seen, nowMs), nowMs);
  const isUncertain = record.telling !== undefined && !record.telling.isTold;
  const isNews = mayTell(record, nowMs) && (isUncertain || opened.length + solved.length > 0);
  if (isSame && !isNews) return record;
  return { ...record, seen, ...(isNews && { telling: { by: id, at: now, isTold: false } }) };
}

/** The record when the look's message was sent. */
export function afterMessage(
  record: WatchRecord,
  problems: readonly OpenProblem[],
  { id }: Look,
): WatchRecord {
  if (record.telling?.by !== id) return record;
  const told = problems.map((problem) => {
    const since = new Date(problem.sinceMs).toISOString();
    const what = `${problem.brand} ${problem.report}: ${problem.what}`;
    return [problem.id, { since, what, ...storedFinding(problem) }] as const;
  });
  return { ...record, told: Object.fromEntries(told), telling: { ...record.telling, isTold: true } };
}

function storedFinding({ finding }: OpenProblem): Pick<WatchRecord['told'][string], 'finding'> {
  return finding ? { finding: { day: finding.day, until: new Date(finding.untilMs).toISOString() } } : {};
}

function mayTell({ telling }: WatchRecord, nowMs: number): boolean {
  return !telling || minuteOf(nowMs) - minuteOf(Date.parse(telling.at)) >= MINUTES_BETWEEN_MESSAGES;
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}
