/*
 * The record keeps the events of problems until they are received. A watcher run adds them in the same write as the problems
 * that it has seen, sends them afterwards, and removes them last. So a run that dies sends them late or twice, with the same
 * `sequence`. If the topic for messages fails, events are still sent. Events need no hour between them, unlike messages.
 */
import { isDeepStrictEqual } from 'node:util';
import type { WatchRecord } from '../lake/documents/watch-record.ts';
import { shortLine } from './message.ts';
import { changeFrom, storedFinding, reportedSince } from './news.ts';
import type { OpenProblem } from './open-problems.ts';

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
  tableOf: (report: string) => string,
  nowMs: number,
): WatchRecord {
  const before: Events = record.events ?? { sequence: 0, open: {}, pending: [] };
  const at = new Date(nowMs).toISOString();
  const known = reportedSince(before.open, problems, at);
  const { opened, leaving, solved, remaining } = changeFrom(known, problems, nowMs);
  // Based on the clock, so that a lost record does not lead to numbers that were used before.
  let sequence = Math.max(before.sequence, nowMs - 1);
  const next = () => ({ at, sequence: ++sequence });
  const openings = opened.map((problem) => ({ problem, detail: { ...facts(problem, tableOf), ...next() } }));
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

function facts(
  { id, brand, report, what, days = [], why, sinceMs, finding }: OpenProblem,
  tableOf: (report: string) => string,
) {
  return {
    id,
    kind: finding ? ('finding' as const) : ('problem' as const),
    ...{ brand, report, table: tableOf(report) },
    days: finding ? [finding.day] : days.slice(-MAX_DAYS),
    ...{ what: shortLine(what), why: shortLine(why), since: new Date(sinceMs).toISOString() },
  };
}

export function withoutEvents(record: WatchRecord, received: Pending): WatchRecord {
  const sequences = new Set(received.map(({ detail }) => detail.sequence));
  const { events } = record;
  if (!events || sequences.size === 0) return record;
  const pending = events.pending.filter(({ detail }) => !sequences.has(detail.sequence));
  return { ...record, events: { ...events, pending } };
}
