/*
 * Decides which problems are news. Without it, every watcher run would send the same message, and people would stop reading
 * them. A watcher run compares the problems with the problems that the last message left open. It claims news in the record
 * before it sends the message, so that two overlapping runs send one message, and marks it as sent afterwards. If a run dies
 * in between, it is unknown what people have read: the next run, an hour later, sends the current state.
 */
import { isDeepStrictEqual } from 'node:util';
import { MINUTE_MS, earlier } from '../days.ts';
import type { WatchRecord } from '../lake/documents/watch-record.ts';
import { type Problem, problemText } from '../status/problems.ts';

/** A problem that has lasted longer than its grace period, or a finding that is to be reported. */
export type OpenProblem = Problem & { since: string };

/** The least time between two messages. In minutes, because schedules start to the minute. */
export const MINUTES_BETWEEN_MESSAGES = 60;

/** The difference from the last message; a problem that came and went since is left out. Findings are included. */
export interface Change<T extends Lasting = Reported> {
  opened: OpenProblem[];
  remaining: OpenProblem[];
  /** Gone for the first time. They count as open, because otherwise an intermittent problem would send a message each time. */
  leaving: T[];
  /** As the earlier message described them. */
  solved: T[];
}

type Reported = WatchRecord['told'][string];

/** The facts that decide whether a reported problem is solved. */
type Lasting = Pick<Reported, 'goneAt' | 'finding'>;

export interface WatcherRun {
  id: string;
  nowMs: number;
}

/**
 * The content of a message. `opened` and `solved` are empty if the problems are those already reported. A problem is solved
 * if two watcher runs in a row do not see it. A finding that is too old to be reported is not solved.
 */
export function changeFrom<T extends Lasting>(
  reported: Record<string, T>,
  problems: readonly OpenProblem[],
  nowMs: number,
): Change<T> {
  const open = new Set(problems.map(({ id }) => id));
  const gone = Object.entries(reported).flatMap(([id, problem]) =>
    open.has(id) || isOver(problem, nowMs) ? [] : [problem],
  );
  return {
    opened: problems.filter(({ id }) => !Object.hasOwn(reported, id)),
    remaining: problems.filter(({ id }) => Object.hasOwn(reported, id)),
    leaving: gone.filter((problem) => !isSolved(problem, nowMs)),
    solved: gone.filter((problem) => isSolved(problem, nowMs)),
  };
}

function isOver({ finding }: Lasting, nowMs: number): boolean {
  return finding !== undefined && nowMs >= Date.parse(finding.until);
}

/** Whether an earlier watcher run did not see it either. */
function isSolved({ goneAt }: Lasting, nowMs: number): boolean {
  return goneAt !== undefined && Date.parse(goneAt) !== nowMs;
}

/** The reported problems, with the time since when they are gone. */
export function reportedSince<T extends Lasting>(
  reported: Record<string, T>,
  open: readonly OpenProblem[],
  now: string,
): Record<string, T> {
  const ids = new Set(open.map(({ id }) => id));
  const since = Object.entries(reported).map(([id, problem]): [string, T] => {
    if (!ids.has(id)) return [id, { ...problem, goneAt: earlier(problem.goneAt ?? now, now) }];
    return [id, problem.goneAt === undefined ? problem : { ...problem, goneAt: undefined }];
  });
  return Object.fromEntries(since);
}

/** The candidates that are reported. @param seen by id: when a watcher run first saw it, ISO 8601 */
export function openProblems(
  candidates: readonly Problem[],
  seen: Readonly<Record<string, string>>,
  nowMs: number,
): OpenProblem[] {
  const now = new Date(nowMs).toISOString();
  return candidates.flatMap((candidate) => {
    const since = earlier(candidate.since ?? seen[candidate.id] ?? now, now);
    return nowMs - Date.parse(since) >= candidate.graceMs ? [{ ...candidate, since }] : [];
  });
}

/** The record after a watcher run has found the candidates. If there is news and a message may be sent, the run claims it. */
export function afterWatch(
  record: WatchRecord,
  candidates: readonly Problem[],
  { id, nowMs }: WatcherRun,
): WatchRecord {
  const now = new Date(nowMs).toISOString();
  // A time that is later than now was recorded by a clock that was ahead, and would keep the problem back until then.
  // The grace period of a reported problem does not begin anew while it is gone for one watcher run.
  const reported = [record.told, record.events?.open ?? {}].flatMap((each) => Object.entries<Lasting>(each));
  const leaving = reported.filter(([, problem]) => !isSolved(problem, nowMs));
  const kept = leaving.flatMap(([id]) => (record.seen[id] === undefined ? [] : [id]));
  const ids = [...candidates.map(({ id }) => id), ...kept];
  const seen = Object.fromEntries(ids.map((id) => [id, earlier(record.seen[id] ?? now, now)]));
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

export function afterMessage(
  record: WatchRecord,
  problems: readonly OpenProblem[],
  { id, nowMs }: WatcherRun,
): WatchRecord {
  if (record.telling?.by !== id) return record;
  const { leaving } = changeFrom(record.told, problems, nowMs);
  const kept = Object.entries(record.told).filter(([, problem]) => leaving.includes(problem));
  const reported = problems.map((problem): [string, Reported] => {
    const what = `${problem.brand} ${problem.report}: ${problemText(problem)}`;
    return [problem.id, { since: problem.since, what, ...storedFinding(problem) }];
  });
  return {
    ...record,
    told: Object.fromEntries([...kept, ...reported]),
    telling: { ...record.telling, isTold: true },
  };
}

function storedFinding({ finding, days: [day = ''] }: OpenProblem): Pick<Reported, 'finding'> {
  return finding ? { finding: { day, until: new Date(finding.untilMs).toISOString() } } : {};
}

function mayNotify({ telling }: WatchRecord, nowMs: number): boolean {
  return !telling || Math.abs(minuteOf(nowMs) - minuteOf(Date.parse(telling.at))) >= MINUTES_BETWEEN_MESSAGES;
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

/*
 * The record keeps the events of problems until they are received. A watcher run adds them in the same write as the problems
 * that it has seen, sends them afterwards, and removes them last. So a run that dies sends them late or twice, with the same
 * `sequence`. If the topic for messages fails, events are still sent. Events need no hour between them, unlike messages.
 */

type Events = NonNullable<WatchRecord['events']>;
type Pending = Events['pending'];

/** An event names at most the newest so many days: a history that is not read yet has thousands. */
const MAX_DAYS = 100;
/** The newest so many events of earlier runs are kept: a bus that refuses all of them must not let the record grow. */
const MAX_PENDING = 1_000;

/** The record with the events that are due after a watcher run has found these problems. */
export function withEvents(
  record: WatchRecord,
  problems: readonly OpenProblem[],
  nowMs: number,
): WatchRecord {
  const before: Events = record.events ?? { sequence: 0, open: {}, pending: [] };
  const at = new Date(nowMs).toISOString();
  const known = reportedSince(before.open, problems, at);
  const { opened, leaving, solved, remaining } = changeFrom(known, problems, nowMs);
  // Based on the clock, so that a lost record does not lead to numbers that were used before.
  let sequence = Math.max(before.sequence, nowMs - 1);
  const next = () => ({ at, sequence: ++sequence });
  const openings = opened.map((problem) => ({ problem, detail: { ...facts(problem), ...next() } }));
  const stays = new Set<unknown>([...leaving, ...remaining.map(({ id }) => id)]);
  const kept = Object.entries(known).filter((entry) => entry.some((part) => stays.has(part)));
  const open: Events['open'] = Object.fromEntries(kept);
  for (const { problem, detail } of openings)
    open[problem.id] = { opened: detail, ...storedFinding(problem) };
  const news: Pending = [
    ...openings.map(({ detail }) => ({ type: 'Problem Opened' as const, detail })),
    ...solved.map((each) => ({ type: 'Problem Solved' as const, detail: { ...each.opened, ...next() } })),
  ];
  if (news.length === 0 && isDeepStrictEqual(open, before.open)) return record;
  const pending = [...before.pending.slice(-MAX_PENDING), ...news];
  return { ...record, events: { sequence: news.length > 0 ? sequence : before.sequence, open, pending } };
}

function facts({ id, brand, report, table, days, why, since, settings, ...problem }: OpenProblem) {
  return {
    ...{ id, kind: problem.finding ? ('finding' as const) : ('problem' as const), brand, report, table },
    days: days.slice(-MAX_DAYS),
    what: shortLine(problemText({ ...problem, days })),
    ...{ why: shortLine(why), since, settings },
  };
}

export function withoutEvents(record: WatchRecord, received: Pending): WatchRecord {
  const sequences = new Set(received.map(({ detail }) => detail.sequence));
  const { events } = record;
  if (!events || sequences.size === 0) return record;
  const pending = events.pending.filter(({ detail }) => !sequences.has(detail.sequence));
  return { ...record, events: { ...events, pending } };
}

const MAX_FOREIGN = 400;

/** Separators of words, including characters that would control the reader's screen or hide a link. */
const BETWEEN_WORDS = /[\s\p{Cc}\p{Cf}]+/gu;

export function shortLine(text: string): string {
  const line = text.replaceAll(BETWEEN_WORDS, ' ');
  return (line.length <= MAX_FOREIGN ? line : `${line.slice(0, MAX_FOREIGN)}…`).toWellFormed();
}
