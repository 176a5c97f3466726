/*
 * What of the problems is news. Without it every look would send the same message, and people would stop reading them.
 * A look compares the problems with those that the last message left open. News is claimed in the record before it is
 * told, so that of two looks one tells it, and counts as told only behind the message. Where a look died in between,
 * nobody knows what people have read: the next one, an hour later, says how it is then.
 */
import { isDeepStrictEqual } from 'node:util';
import { MINUTE_MS } from '../days.ts';
import type { WatchRecord } from '../lake/documents/watch-record.ts';
import { type OpenProblem, type Candidate, openProblems } from './open-problems.ts';

/** At least so long after a message comes the next one. In minutes, because schedules start to the minute. */
export const MINUTES_BETWEEN_MESSAGES = 60;

/** What is different from what the last message said; nothing of it came and went since. Findings are among the problems. */
export interface Change<T extends Lasting = Reported> {
  opened: OpenProblem[];
  remaining: OpenProblem[];
  /** Gone for the first time: they count as open, because a problem that comes and goes would else send a message each time. */
  leaving: T[];
  /** As the message put it that told of them. */
  solved: T[];
}

type Reported = WatchRecord['told'][string];

/** What decides whether a problem that was told is solved. */
type Lasting = Pick<Reported, 'goneAt' | 'finding'>;

/** One look of the watcher. */
export interface WatcherRun {
  id: string;
  nowMs: number;
}

/**
 * What a message has to say; nothing is opened or solved where the problems are those that were told. A problem is solved
 * if two watcher runs in a row do not see it. A finding that is too old to be told of is not solved.
 */
export function changeFrom<T extends Lasting>(
  told: Record<string, T>,
  problems: readonly OpenProblem[],
  nowMs: number,
): Change<T> {
  const open = new Set(problems.map(({ id }) => id));
  const gone = Object.entries(told).flatMap(([id, problem]) =>
    open.has(id) || isOver(problem, nowMs) ? [] : [problem],
  );
  return {
    opened: problems.filter(({ id }) => !Object.hasOwn(told, id)),
    remaining: problems.filter(({ id }) => Object.hasOwn(told, id)),
    leaving: gone.filter((problem) => !isSolved(problem, nowMs)),
    solved: gone.filter((problem) => isSolved(problem, nowMs)),
  };
}

function isOver({ finding }: Lasting, nowMs: number): boolean {
  return finding !== undefined && nowMs >= Date.parse(finding.until);
}

/** Whether an earlier watcher run did not see it either. */
function isSolved({ goneAt }: Lasting, nowMs: number): boolean {
  return goneAt !== undefined && Date.parse(goneAt) < nowMs;
}

/** What was told, with the time since when it is gone. */
export function reportedSince<T extends Lasting>(
  told: Record<string, T>,
  open: readonly OpenProblem[],
  now: string,
): Record<string, T> {
  const ids = new Set(open.map(({ id }) => id));
  const since = Object.entries(told).map(([id, problem]): [string, T] => {
    if (!ids.has(id)) return [id, { ...problem, goneAt: problem.goneAt ?? now }];
    return [id, problem.goneAt === undefined ? problem : { ...problem, goneAt: undefined }];
  });
  return Object.fromEntries(since);
}

/** The record after a look has seen what looks wrong. Where there is news and it may be told, the look claims to tell it. */
export function afterWatch(
  record: WatchRecord,
  candidates: readonly Candidate[],
  { id, nowMs }: WatcherRun,
): WatchRecord {
  const now = new Date(nowMs).toISOString();
  // The grace period of a problem that was told does not begin anew while it is gone for one watcher run.
  const told = [record.told, record.events?.open ?? {}].flatMap((each) => Object.entries<Lasting>(each));
  const leaving = told.filter(([, problem]) => !isSolved(problem, nowMs));
  const kept = leaving.flatMap(([id]) => (record.seen[id] === undefined ? [] : [id]));
  const ids = [...candidates.map(({ id }) => id), ...kept];
  const seen = Object.fromEntries(ids.map((id) => [id, record.seen[id] ?? now]));
  const open = openProblems(candidates, seen, nowMs);
  const stillReported = reportedSince(record.told, open, now);
  const isSame = isDeepStrictEqual([seen, stillReported], [record.seen, record.told]);
  const { opened, solved } = changeFrom(stillReported, open, nowMs);
  const isUncertain = record.telling !== undefined && !record.telling.isTold;
  const isNews = mayNotify(record, nowMs) && (isUncertain || opened.length + solved.length > 0);
  if (isSame && !isNews) return record;
  return {
    ...record,
    seen,
    told: stillReported,
    ...(isNews && { telling: { by: id, at: now, isTold: false } }),
  };
}

/** The record when the look's message was sent. */
export function afterMessage(
  record: WatchRecord,
  problems: readonly OpenProblem[],
  { id, nowMs }: WatcherRun,
): WatchRecord {
  if (record.telling?.by !== id) return record;
  const { leaving } = changeFrom(record.told, problems, nowMs);
  const kept = Object.entries(record.told).filter(([, problem]) => leaving.includes(problem));
  const told = problems.map((problem): [string, Reported] => {
    const since = new Date(problem.sinceMs).toISOString();
    const what = `${problem.brand} ${problem.report}: ${problem.what}`;
    return [problem.id, { since, what, ...storedFinding(problem) }];
  });
  return {
    ...record,
    told: Object.fromEntries([...kept, ...told]),
    telling: { ...record.telling, isTold: true },
  };
}

export function storedFinding({ finding }: OpenProblem): Pick<Reported, 'finding'> {
  return finding ? { finding: { day: finding.day, until: new Date(finding.untilMs).toISOString() } } : {};
}

function mayNotify({ telling }: WatchRecord, nowMs: number): boolean {
  return !telling || minuteOf(nowMs) - minuteOf(Date.parse(telling.at)) >= MINUTES_BETWEEN_MESSAGES;
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}
