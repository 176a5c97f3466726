import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HOUR_MS, addDays } from '../../../shared/base/days.ts';
import { type WatchRecord, parseWatchRecord } from '../../../shared/lake/watch-record.ts';
import type { Problem } from '../../../shared/watch/problems.ts';
import { afterWatch, withoutEvents } from '../../../shared/watch/watcher/news.ts';

import { type HistoricWatch, START_MS, candidate, histories, liveThrough, wrong } from './live-through.ts';

type Pending = WatchRecord['pending'];

/** How a watcher run ends: `unsent` dies before it sends the events, `unconfirmed` after that. `lost`: the record is damaged afterwards. */
type Fate = 'ends' | 'unsent' | 'unconfirmed' | 'lost';

/** A watcher with its record, and the events that the bus received. */
function startWatcher() {
  let record = parseWatchRecord('watch.json')(undefined);
  const received: Pending = [];
  return {
    received,
    record: () => record,
    run: (nowMs: number, candidates: readonly Problem[], fate: Fate = 'ends') => {
      record = afterWatch(record, candidates, { id: String(nowMs), nowMs });
      const { pending } = record;
      if (fate === 'unsent') return;
      received.push(...pending);
      if (fate === 'ends') record = withoutEvents(record, pending);
      // As the watcher stores it.
      record = parseWatchRecord('watch.json')(
        fate === 'lost' ? undefined : JSON.parse(JSON.stringify(record)),
      );
    },
  };
}

/** The open problems for a consumer: for each `id` the event with the highest `sequence` counts, in whatever order events arrive. */
function openByEvents(events: Pending): string[] {
  const newest = new Map<string, Pending[number]>();
  for (const event of events)
    if (event.detail.sequence > (newest.get(event.detail.id)?.detail.sequence ?? 0))
      newest.set(event.detail.id, event);
  return [...newest].flatMap(([id, { type }]) => (type === 'Problem Opened' ? [id] : [])).sort();
}

const livedThrough = (history: readonly HistoricWatch<Fate>[]) => liveThrough(startWatcher(), history);

describe('the events of problems, whenever the watcher dies', () => {
  it('show the open problems in the end, in whatever order and however often they arrive', () => {
    fc.assert(
      fc.property(
        histories<Fate>(0, 'ends', 'unsent', 'unconfirmed'),
        wrong,
        fc.nat(),
        (history, last, turn) => {
          const { run, nowMs, received, record } = livedThrough(history);
          for (const hours of [1, 2])
            run(
              nowMs + hours * HOUR_MS,
              last.map((id) => candidate(id)),
            );
          const turned = [...received.slice(turn % (received.length + 1)), ...received];
          expect(openByEvents(turned.reverse())).toEqual([...last].sort());
          expect(record().pending).toEqual([]);
        },
      ),
    );
  });

  it('open and solve a problem in turn by their numbers, and equal numbers are the same event', () => {
    fc.assert(
      fc.property(histories<Fate>(0, 'ends', 'unsent', 'unconfirmed'), (history) => {
        const bySequence = new Map<number, Pending[number]>();
        for (const event of livedThrough(history).received) {
          expect(bySequence.get(event.detail.sequence) ?? event).toEqual(event);
          bySequence.set(event.detail.sequence, event);
        }
        const inOrder = [...bySequence.values()].sort((a, b) => a.detail.sequence - b.detail.sequence);
        for (const events of Map.groupBy(inOrder, ({ detail }) => detail.id).values())
          for (const [index, { type }] of events.entries())
            expect(type).toBe(index % 2 === 0 ? 'Problem Opened' : 'Problem Solved');
      }),
    );
  });

  it('have numbers that were never used, even after the record was lost', () => {
    fc.assert(
      fc.property(histories<Fate>(1, 'ends', 'lost'), (history) => {
        const { received } = livedThrough(history);
        const numbers = received.map(({ detail }) => detail.sequence);
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      }),
    );
  });
});

describe('an event of a problem', () => {
  it('has the texts of the message on one line, and the newest hundred days', () => {
    const days = Array.from({ length: 101 }, (_, index) => addDays('2026-01-01', index));
    const { run, received } = startWatcher();
    run(START_MS, [candidate('acme order_list failed x', { days, why: 'said\n\ud83d' })]);
    expect(received).toEqual([
      {
        type: 'Problem Opened',
        detail: {
          ...{
            id: 'acme order_list failed x',
            kind: 'problem',
            brand: 'acme',
            report: 'order_list',
            table: 'orders',
          },
          ...{
            days: days.slice(1),
            what: expect.stringMatching(/^101 days .* is wrong: 2026-01-01 to/),
            why: 'said \ufffd',
          },
          ...{ since: '2026-03-01T00:50:00.000Z', at: '2026-03-01T00:50:00.000Z', sequence: START_MS },
        },
      },
    ]);
  });

  it('is not sent if a finding becomes too old', () => {
    const { run, received, record } = startWatcher();
    const finding = { untilMs: START_MS + HOUR_MS, isCertain: true };
    run(START_MS, [candidate('a', { finding, days: ['2026-02-27'] })]);
    expect(received).toMatchObject([{ detail: { kind: 'finding', days: ['2026-02-27'] } }]);
    for (const hours of [1, 2, 3]) run(START_MS + hours * HOUR_MS, []);
    expect(received).toHaveLength(1);
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
