import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HOUR_MS, MINUTE_MS, addDays } from '../../../shared/base/days.ts';
import { type WatchRecord, parseWatchRecord } from '../../../shared/lake/watch-record.ts';
import type { Problem } from '../../../shared/watch/problems.ts';
import {
  MINUTES_BETWEEN_MESSAGES,
  afterWatch,
  afterMessage,
  changeFrom,
  openProblems,
  withoutEvents,
} from '../../../shared/watch/watcher/news.ts';

type Pending = WatchRecord['pending'];

/** How a watcher run ends: `unsent` dies before it sends, `unrecorded` after that; `lost`: the record is damaged afterwards. */
type Fate = 'ends' | 'unsent' | 'unrecorded' | 'lost';

/** One watcher run in a history: the time since the run before, the ids of the problems, and how the run ends. */
interface HistoricWatch {
  afterMinutes: number;
  wrong: string[];
  fate: Fate;
}

const START_MS = Date.parse('2026-03-01T00:50:00Z');
const parsed = parseWatchRecord('watch.json');

function candidate(id: string, more: Partial<Problem> = {}): Problem {
  const of = { id, brand: 'acme', report: 'order_list', table: 'orders', what: `${id} is wrong`, days: [] };
  return { ...of, why: 'it is', graceMs: 0, remedy: { sentence: 'Wait' }, ...more };
}

/** A watcher with its record, the messages that people have received, and the events that the bus has received. */
function startWatcher() {
  let record = parsed(undefined);
  let runs = 0;
  const messages: { atMs: number; opened: string[]; open: string[]; solved: string[] }[] = [];
  const events: Pending = [];
  const ids = (problems: readonly { id: string }[]) => problems.map(({ id }) => id);
  const told = (problems: readonly { what: string }[]) =>
    problems.map(({ what }) => what.replace(/ is wrong$/, ''));
  return {
    messages,
    events,
    record: () => record,
    run: (nowMs: number, candidates: readonly Problem[], fate: Fate = 'ends') => {
      const watcherRun = { id: `run-${++runs}`, nowMs };
      record = afterWatch(record, candidates, watcherRun);
      if (fate === 'unsent') return;
      const { pending, telling } = record;
      events.push(...pending);
      const problems = openProblems(candidates, record.seen, nowMs);
      if (telling?.by === watcherRun.id) {
        const { opened, remaining, leaving, solved } = changeFrom(record, problems, nowMs);
        const open = [...ids([...opened, ...remaining]), ...told(leaving)].sort();
        messages.push({ atMs: nowMs, opened: ids(opened), open, solved: told(solved) });
      }
      if (fate === 'ends') record = withoutEvents(afterMessage(record, problems, watcherRun), pending);
      // As the watcher stores it.
      record = parsed(fate === 'lost' ? undefined : JSON.parse(JSON.stringify(record)));
    },
  };
}

const wrong = fc.subarray(['a', 'b', 'c', 'd']);

function histories(least: number, ...fates: Fate[]): fc.Arbitrary<HistoricWatch[]> {
  const afterMinutes = fc.integer({ min: least, max: 150 });
  return fc.array(fc.record({ afterMinutes, wrong, fate: fc.constantFrom(...fates) }), { maxLength: 40 });
}
const anyHistory = histories(1, 'ends', 'ends', 'ends', 'unsent', 'unrecorded');

/** Performs the runs one after another. @returns also the time of each run, in milliseconds */
function livedThrough(history: readonly HistoricWatch[]) {
  const watcher = startWatcher();
  const times: number[] = [];
  for (const { afterMinutes, wrong: ids, fate } of history) {
    const nowMs = (times.at(-1) ?? START_MS) + afterMinutes * MINUTE_MS;
    times.push(nowMs);
    watcher.run(
      nowMs,
      ids.map((id) => candidate(id)),
      fate,
    );
  }
  return { ...watcher, times };
}

/** The open problems for a consumer: for each `id` the event with the highest `sequence` counts, in whatever order events arrive. */
function openByEvents(events: Pending): string[] {
  const inOrder = events.toSorted((a, b) => a.detail.sequence - b.detail.sequence);
  const newest = new Map(inOrder.map(({ type, detail }) => [detail.id, type]));
  return [...newest].flatMap(([id, type]) => (type === 'Problem Opened' ? [id] : [])).sort();
}

describe('the watcher, whatever goes wrong and whenever it runs', () => {
  it('sends at most one message an hour', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
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
      fc.property(histories(1, 'ends'), (history) => {
        let before: string[] = [];
        for (const { opened, open, solved } of livedThrough(history).messages) {
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
      fc.property(anyHistory, (history) => {
        const { messages, times } = livedThrough(history);
        for (const message of messages) {
          const index = times.indexOf(message.atMs);
          const lastTwo = history.slice(Math.max(0, index - 1), index + 1).flatMap((each) => each.wrong);
          expect(message.solved.filter((id) => lastTwo.includes(id))).toEqual([]);
        }
      }),
    );
  });

  it('loses no change: hours after runs end normally again, message and events show the open problems', () => {
    fc.assert(
      fc.property(anyHistory, wrong, fc.nat(), (history, last, turn) => {
        const { run, times, messages, events, record } = livedThrough(history);
        for (const hours of [1, 2, 3])
          run(
            (times.at(-1) ?? START_MS) + hours * HOUR_MS,
            last.map((id) => candidate(id)),
          );
        expect(messages.at(-1)?.open ?? []).toEqual(last.toSorted());
        // Events may arrive several times, and in any order.
        const turned = [...events.slice(turn % (events.length + 1)), ...events];
        expect(openByEvents(turned.reverse())).toEqual(last.toSorted());
        expect(record().pending).toEqual([]);
      }),
    );
  });

  it('opens and solves a problem in turn by the numbers of events, and equal numbers are the same event', () => {
    fc.assert(
      fc.property(histories(0, 'ends', 'unsent', 'unrecorded'), (history) => {
        const bySequence = new Map<number, Pending[number]>();
        for (const event of livedThrough(history).events) {
          expect(bySequence.get(event.detail.sequence) ?? event).toEqual(event);
          bySequence.set(event.detail.sequence, event);
        }
        const inOrder = [...bySequence.values()].sort((a, b) => a.detail.sequence - b.detail.sequence);
        for (const own of Map.groupBy(inOrder, ({ detail }) => detail.id).values())
          for (const [index, { type }] of own.entries())
            expect(type).toBe(index % 2 === 0 ? 'Problem Opened' : 'Problem Solved');
      }),
    );
  });

  it('gives events numbers that were never used, even after the record was lost', () => {
    fc.assert(
      fc.property(histories(1, 'ends', 'lost'), (history) => {
        const numbers = livedThrough(history).events.map(({ detail }) => detail.sequence);
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      }),
    );
  });
});

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
    const seen = [candidate('a', { graceMs: HOUR_MS })];
    for (const [hours, candidates] of [seen, seen, [], seen, [], seen, [], []].entries())
      run(START_MS + hours * HOUR_MS, candidates);
    expect(messages.map(({ opened, solved }) => [opened, solved])).toEqual([
      [['a'], []],
      [[], ['a']],
    ]);
  });

  it('leaves the record as it is if nothing is new, or if another run has claimed the news', () => {
    const { run, record } = startWatcher();
    const other = { id: 'other', nowMs: START_MS + 2 * HOUR_MS };
    run(START_MS, [candidate('a')]);
    expect(afterWatch(record(), [candidate('a')], other)).toBe(record());
    const claimed = afterWatch(parsed(undefined), [candidate('a')], { id: 'one', nowMs: START_MS });
    const soon = { id: 'two', nowMs: START_MS + MINUTE_MS };
    expect(afterWatch(claimed, [candidate('a')], soon)).toBe(claimed);
    expect(afterMessage(claimed, [], soon)).toBe(claimed);
  });
});

describe('an event of a problem', () => {
  it('has the texts of the message on one line, and the newest hundred days', () => {
    const days = Array.from({ length: 101 }, (_, index) => addDays('2026-01-01', index));
    const { run, events } = startWatcher();
    run(START_MS, [candidate('x', { days, why: 'said\n\ud83d' })]);
    const { type, detail } = events[0] ?? {};
    expect([events.length, type]).toEqual([1, 'Problem Opened']);
    expect(detail).toEqual({
      ...{ id: 'x', kind: 'problem', brand: 'acme', report: 'order_list', table: 'orders' },
      ...{ days: days.slice(1), what: expect.stringMatching(/^101 days x is wrong: 2026-01-01 to/) },
      ...{ why: 'said \ufffd', since: '2026-03-01T00:50:00.000Z', at: '2026-03-01T00:50:00.000Z' },
      sequence: START_MS,
    });
  });

  it('is not sent if a finding becomes too old', () => {
    const { run, events, record } = startWatcher();
    const finding = { untilMs: START_MS + HOUR_MS, isCertain: true };
    run(START_MS, [candidate('a', { finding, days: ['2026-02-27'] })]);
    expect(events).toMatchObject([{ detail: { kind: 'finding', days: ['2026-02-27'] } }]);
    for (const hours of [1, 2, 3]) run(START_MS + hours * HOUR_MS, []);
    expect(events).toHaveLength(1);
    expect(record().open).toEqual({});
  });

  it('waits for a bus that receives nothing, but only the newest thousand events do', () => {
    const { run, record } = startWatcher();
    const many = Array.from({ length: 1_500 }, (_, index) => candidate(`p${index}`));
    run(START_MS, many, 'unsent');
    expect(record().pending).toHaveLength(1_500);
    run(START_MS + HOUR_MS, [candidate('new')], 'unsent');
    expect(record().pending).toHaveLength(1_001);
  });
});
