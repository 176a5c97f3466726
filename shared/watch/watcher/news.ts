/*
 * Decides which problems are news. Without it, every watcher run would send the same message, and people would stop reading
 * them. A watcher run compares the problems with the problems that the last message left open. It claims news in the record
 * before it sends the message, so that two overlapping runs send one message, and marks it as sent afterwards. If a run dies
 * in between, it is unknown what people have read: the next run, an hour later, sends the current state.
 */
import { isDeepStrictEqual } from 'node:util';
import { MINUTE_MS, earlier } from '../../base/days.ts';
import type { WatchRecord } from '../../lake/watch-record.ts';
import { type Problem, problemText } from '../problems.ts';

/** A problem that has lasted longer than its grace period, or a finding that is to be reported. */
export type OpenProblem = Problem & { since: string };

/** The least time between two messages. In minutes, because schedules start to the minute. */
export const MINUTES_BETWEEN_MESSAGES = 60;

/** The difference from the last message; a problem that came and went since is left out. Findings are included. */
export interface Change {
  opened: OpenProblem[];
  remaining: OpenProblem[];
  /** Gone for the first time. They count as open, because otherwise an intermittent problem would send a message each time. */
  leaving: Told[];
  solved: Told[];
}

type Known = WatchRecord['open'][string];
/** As its first event described it. */
type Told = Pick<Known['opened'], 'kind' | 'brand' | 'report' | 'what' | 'since'>;

export interface WatcherRun {
  id: string;
  nowMs: number;
}

/** The content of a message. `opened` and `solved` are empty if the last message listed the same problems. */
export function changeFrom({ open }: WatchRecord, problems: readonly OpenProblem[], nowMs: number): Change {
  const told = new Map(Object.entries(open).filter(([, { isTold }]) => isTold));
  const gone = [...told.values()].filter(({ goneAt }) => goneAt !== undefined);
  const detailsOf = (all: readonly Known[]) => all.map(({ opened }) => opened);
  return {
    opened: problems.filter(({ id }) => !told.has(id)),
    remaining: problems.filter(({ id }) => told.has(id)),
    leaving: detailsOf(gone.filter((problem) => !isSolved(problem, nowMs))),
    solved: detailsOf(gone.filter((problem) => isSolved(problem, nowMs))),
  };
}

/** A finding that is too old to be reported is not solved. */
function isOver({ until }: Known, nowMs: number): boolean {
  return until !== undefined && nowMs >= Date.parse(until);
}

/** Whether two watcher runs in a row did not see it. */
function isSolved({ goneAt }: Known, nowMs: number): boolean {
  return goneAt !== undefined && Date.parse(goneAt) !== nowMs;
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

/**
 * The record after a watcher run has found the candidates, with the events that are due. If there is news and a message may
 * be sent, the run claims it. Events need no hour between them, unlike messages. The record keeps them until they are
 * received: they are added in the same write, sent afterwards, and removed last. So a run that dies sends them late or
 * twice, with the same `sequence`, and if the topic for messages fails, they are still sent.
 */
export function afterWatch(
  record: WatchRecord,
  candidates: readonly Problem[],
  { id, nowMs }: WatcherRun,
): WatchRecord {
  const now = new Date(nowMs).toISOString();
  // A time that is later than now was recorded by a clock that was ahead, and would keep the problem back until then.
  // The grace period of a reported problem does not begin anew while it is gone for one watcher run.
  const leaving = Object.entries(record.open).filter(([, problem]) => !isSolved(problem, nowMs));
  const ids = [...candidates.map((candidate) => candidate.id), ...leaving.map(([each]) => each)];
  const seen = Object.fromEntries(ids.map((each) => [each, earlier(record.seen[each] ?? now, now)]));
  const problems = openProblems(candidates, seen, nowMs);
  const after = { ...record, seen, ...withEvents(record, problems, nowMs) };
  const { opened, solved } = changeFrom(after, problems, nowMs);
  const isUncertain = record.telling !== undefined && !record.telling.isTold;
  if (mayNotify(record, nowMs) && (isUncertain || opened.length + solved.length > 0))
    return { ...after, telling: { by: id, at: now, isTold: false } };
  return isDeepStrictEqual(after, record) ? record : after;
}

/** An event names at most the newest so many days: a history that is not read yet has thousands. */
const MAX_DAYS = 100;
/** The newest so many events of earlier runs are kept: a bus that refuses all of them must not let the record grow. */
const MAX_PENDING = 1_000;

function withEvents(
  record: WatchRecord,
  problems: readonly OpenProblem[],
  nowMs: number,
): Pick<WatchRecord, 'open' | 'sequence' | 'pending'> {
  const at = new Date(nowMs).toISOString();
  // Based on the clock, so that a lost record does not lead to numbers that were used before.
  let sequence = Math.max(record.sequence, nowMs - 1);
  const news: WatchRecord['pending'] = [];
  const open = new Map(Object.entries(record.open));
  for (const problem of problems) {
    const { goneAt: _goneAt, isSolved: wasSolved, ...known } = open.get(problem.id) ?? { isSolved: true };
    const isNew = !('opened' in known) || wasSolved;
    const opened = isNew ? { ...facts(problem), at, sequence: ++sequence } : known.opened;
    open.set(problem.id, { ...known, opened, ...untilOf(problem) });
    if (isNew) news.push({ type: 'Problem Opened', detail: opened });
  }
  const ids = new Set(problems.map(({ id }) => id));
  for (const [id, before] of open) {
    if (ids.has(id)) continue;
    const known = { ...before, goneAt: earlier(before.goneAt ?? at, at) };
    const isEnd = isSolved(known, nowMs) && !known.isSolved && !isOver(known, nowMs);
    if (isEnd) news.push({ type: 'Problem Solved', detail: { ...known.opened, at, sequence: ++sequence } });
    // If a message listed it, a message also has to list its end.
    if (isOver(known, nowMs) || (isSolved(known, nowMs) && !known.isTold)) open.delete(id);
    else open.set(id, isSolved(known, nowMs) ? { ...known, isSolved: true } : known);
  }
  return {
    open: Object.fromEntries(open),
    sequence: news.length > 0 ? sequence : record.sequence,
    pending: news.length > 0 ? [...record.pending.slice(-MAX_PENDING), ...news] : record.pending,
  };
}

function facts({ id, brand, report, table, days, why, since, settings, ...problem }: OpenProblem) {
  return {
    ...{ id, kind: problem.finding ? ('finding' as const) : ('problem' as const), brand, report, table },
    days: days.slice(-MAX_DAYS),
    what: shortLine(problemText({ ...problem, days })),
    ...{ why: shortLine(why), since, settings },
  };
}

/** Of a finding. */
function untilOf({ finding }: OpenProblem): Pick<Known, 'until'> {
  return finding ? { until: new Date(finding.untilMs).toISOString() } : {};
}

export function afterMessage(
  record: WatchRecord,
  problems: readonly OpenProblem[],
  { id, nowMs }: WatcherRun,
): WatchRecord {
  if (record.telling?.by !== id) return record;
  const ids = new Set(problems.map((problem) => problem.id));
  const open = Object.entries(record.open).flatMap(([of, known]): [string, Known][] => {
    if (ids.has(of)) return [[of, { ...known, isTold: true }]];
    return known.isTold && isSolved(known, nowMs) ? [] : [[of, known]];
  });
  return { ...record, open: Object.fromEntries(open), telling: { ...record.telling, isTold: true } };
}

export function withoutEvents(record: WatchRecord, received: WatchRecord['pending']): WatchRecord {
  const sequences = new Set(received.map(({ detail }) => detail.sequence));
  const pending = record.pending.filter(({ detail }) => !sequences.has(detail.sequence));
  return pending.length === record.pending.length ? record : { ...record, pending };
}

function mayNotify({ telling }: WatchRecord, nowMs: number): boolean {
  return !telling || Math.abs(minuteOf(nowMs) - minuteOf(Date.parse(telling.at))) >= MINUTES_BETWEEN_MESSAGES;
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

const MAX_FOREIGN = 400;

/** Separators of words, including characters that would control the reader's screen or hide a link. */
const BETWEEN_WORDS = /[\s\p{Cc}\p{Cf}]+/gu;

export function shortLine(text: string): string {
  const line = text.replaceAll(BETWEEN_WORDS, ' ');
  return (line.length <= MAX_FOREIGN ? line : `${line.slice(0, MAX_FOREIGN)}…`).toWellFormed();
}
