import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HOUR_MS, MINUTE_MS } from '../../../shared/base/days.ts';
import { parseWatchRecord } from '../../../shared/lake/watch-record.ts';
import type { Problem } from '../../../shared/watch/problems.ts';
import {
  MINUTES_BETWEEN_MESSAGES,
  type OpenProblem,
  afterWatch,
  afterMessage,
  changeFrom,
  openProblems,
} from '../../../shared/watch/watcher/news.ts';

import { type HistoricWatch, START_MS, candidate, histories, liveThrough, wrong } from './live-through.ts';

/** How a watcher run ends: `unsent` dies before the message, `unrecorded` after it. */
type Fate = 'ends' | 'unsent' | 'unrecorded';

/** A watcher with its record, and the messages that people have received. */
function startWatcher() {
  let record = parseWatchRecord('watch.json')(undefined);
  let runs = 0;
  const messages: { atMs: number; opened: string[]; open: string[]; solved: string[] }[] = [];
  const ids = (problems: readonly OpenProblem[]) => problems.map(({ id }) => id);
  return {
    messages,
    record: () => record,
    run: (nowMs: number, candidates: readonly Problem[], fate: Fate = 'ends') => {
      const watcherRun = { id: `run-${++runs}`, nowMs };
      record = afterWatch(record, candidates, watcherRun);
      const problems = openProblems(candidates, record.seen, nowMs);
      if (record.telling?.by !== watcherRun.id || fate === 'unsent') return;
      const change = changeFrom(record, problems, nowMs);
      const [leaving, solved] = [change.leaving, change.solved].map((reported) =>
        reported.map(({ what }) => what.replace(/ is wrong$/, '')),
      );
      const open = [...ids([...change.opened, ...change.remaining]), ...(leaving ?? [])].sort();
      messages.push({ atMs: nowMs, opened: ids(change.opened), open, solved: solved ?? [] });
      if (fate === 'ends') record = afterMessage(record, problems, watcherRun);
    },
  };
}

const FATES: Fate[] = ['ends', 'ends', 'ends', 'unsent', 'unrecorded'];
const livedThrough = (history: readonly HistoricWatch<Fate>[]) => liveThrough(startWatcher(), history);

describe('the watcher, whatever goes wrong and whenever it runs', () => {
  it('sends at most one message an hour', () => {
    fc.assert(
      fc.property(histories(1, ...FATES), (history) => {
        const { messages } = livedThrough(history);
        for (const [index, { atMs }] of messages.entries()) {
          const before = messages[index - 1];
          if (before) expect(atMs - before.atMs).toBeGreaterThan((MINUTES_BETWEEN_MESSAGES - 1) * MINUTE_MS);
        }
      }),
    );
  });

  it('sends no message without a change since the last one', () => {
    fc.assert(
      fc.property(histories(1, ...FATES), (history) => {
        const { messages } = livedThrough(history.map((each) => ({ ...each, fate: 'ends' as const })));
        let before: string[] = [];
        for (const { opened, open, solved } of messages) {
          expect(open).not.toEqual(before);
          expect(opened.filter((id) => before.includes(id))).toEqual([]);
          expect(solved.toSorted()).toEqual(before.filter((id) => !open.includes(id)));
          before = open;
        }
      }),
    );
  });

  it('solves a problem only if two runs in a row did not see it', () => {
    fc.assert(
      fc.property(histories(1, ...FATES), (history) => {
        const { messages } = livedThrough(history);
        const atMs = history.map((_, index) => timeOf(history, index));
        for (const message of messages) {
          const index = atMs.indexOf(message.atMs);
          const lastTwo = history.slice(Math.max(0, index - 1), index + 1).flatMap((each) => each.wrong);
          expect(message.solved.filter((id) => lastTwo.includes(id))).toEqual([]);
        }
      }),
    );
  });

  it('loses no change: two hours after runs end normally again, the last message lists the open problems', () => {
    fc.assert(
      fc.property(histories(1, ...FATES), wrong, (history, last) => {
        const { run, nowMs, messages } = livedThrough(history);
        for (const hours of [1, 2, 3])
          run(
            nowMs + hours * HOUR_MS,
            last.map((id) => candidate(id)),
          );
        expect(messages.at(-1)?.open ?? []).toEqual([...last].sort());
      }),
    );
  });
});

function timeOf(history: readonly { afterMinutes: number }[], index: number): number {
  return history
    .slice(0, index + 1)
    .reduce((ms, { afterMinutes }) => ms + afterMinutes * MINUTE_MS, START_MS);
}

describe('a watcher run', () => {
  it('reports within hours what a clock 40 days ahead has seen, reported or missed', () => {
    const { run, messages } = startWatcher();
    const aheadMs = START_MS + 40 * 24 * HOUR_MS;
    run(aheadMs, [candidate('a'), candidate('b')]);
    run(aheadMs + 3 * HOUR_MS, [candidate('a'), candidate('c')]);
    for (let hour = 0; hour < 4; hour += 1) run(START_MS + hour * HOUR_MS, [candidate('b'), candidate('c')]);
    const { atMs = 0, open } = messages.at(-1) ?? {};
    expect(atMs).toBeLessThan(START_MS + 4 * HOUR_MS);
    expect(open).toEqual(['b', 'c']);
  });

  it('sends a message an hour later by the schedule’s minute, even if the last message was late within its minute', () => {
    const { run, messages } = startWatcher();
    run(START_MS + 58_000, [candidate('a')]);
    run(START_MS + HOUR_MS + 1_000, [candidate('b')]);
    expect(messages.map(({ opened }) => opened)).toEqual([['a'], ['b']]);
  });

  it('ignores that a problem is gone for one run, and does not begin its grace period anew', () => {
    const { run, messages } = startWatcher();
    const wrong = [candidate('a', { graceMs: HOUR_MS })];
    for (const [hours, seen] of [wrong, wrong, [], wrong, [], wrong, [], []].entries())
      run(START_MS + hours * HOUR_MS, seen);
    expect(messages.map(({ opened, solved }) => [opened, solved])).toEqual([
      [['a'], []],
      [[], ['a']],
    ]);
  });

  it('leaves the record as it is if nothing is new', () => {
    const { run, record } = startWatcher();
    run(START_MS, [candidate('a')]);
    const before = record();
    run(START_MS + 2 * HOUR_MS, [candidate('a')]);
    expect(record()).toBe(before);
  });

  it('does not record the message of another run as its own', () => {
    const claimed = afterWatch(parseWatchRecord('w')(undefined), [candidate('a')], {
      id: 'one',
      nowMs: START_MS,
    });
    const other = { id: 'two', nowMs: START_MS + MINUTE_MS };
    expect(afterWatch(claimed, [candidate('a')], other)).toBe(claimed);
    expect(afterMessage(claimed, [], other)).toBe(claimed);
  });
});
