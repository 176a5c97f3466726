import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Turn } from '../../shared/ports.ts';
import { NO_TURN, createRequestQueue } from '../../shared/service/request-queue.ts';

const turns: fc.Arbitrary<Turn> = fc.record({
  urgent: fc.boolean(),
  report: fc.constantFrom('clicks', 'orders', 'transactions'),
  rank: fc.integer({ min: 0, max: 3 }),
});

const steps = fc.array(
  fc.oneof({ weight: 3, arbitrary: turns }, { weight: 2, arbitrary: fc.constant('serve' as const) }),
  {
    maxLength: 60,
  },
);

interface Asked {
  number: number;
  turn: Turn;
}

/** What a queue serves: at each `serve` the item, and what else was waiting. */
function servedOf(sequence: readonly (Turn | 'serve')[]) {
  const queue = createRequestQueue<Asked>();
  let waiting: Asked[] = [];
  const served: { item: Asked | undefined; waiting: Asked[] }[] = [];
  for (const [number, step] of sequence.entries()) {
    if (step === 'serve') {
      const item = queue.next();
      served.push({ item, waiting });
      waiting = waiting.filter((other) => other !== item);
    } else {
      const item = { number, turn: step };
      queue.add(step, item);
      waiting = [...waiting, item];
    }
    expect(queue.size).toBe(waiting.length);
  }
  return served;
}

const of = (report: string, rank: number, urgent = false): Turn => ({ urgent, report, rank });

/** Ranks are unique here, so that each name is one request. */
function orderOf(...asked: Turn[]): string[] {
  const queue = createRequestQueue<string>();
  for (const turn of asked) queue.add(turn, `${turn.report} ${turn.rank}${turn.urgent ? '!' : ''}`);
  return Array.from({ length: asked.length }, () => queue.next() ?? 'nothing');
}

describe('waiting requests', () => {
  it('do not use a turn of their report if they are urgent', () => {
    expect(orderOf(of('clicks', 0, true), of('clicks', 2), of('orders', 1))).toEqual([
      'clicks 0!',
      'clicks 2',
      'orders 1',
    ]);
  });

  it('are the most urgent if they have no turn', () => {
    expect(orderOf(of('clicks', 0), of('orders', 1, true), NO_TURN)).toEqual([
      ' 0!',
      'orders 1!',
      'clicks 0',
    ]);
  });

  it('are each served once, and never before a more urgent request or an earlier request of the same report', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        for (const { item, waiting } of servedOf(sequence)) {
          expect(item === undefined).toBe(waiting.length === 0);
          if (!item) continue;
          expect(waiting).toContain(item);
          for (const { number, turn } of waiting) {
            if (turn.urgent) expect(item.turn.urgent).toBe(true);
            const isSameLine = turn.urgent
              ? item.turn.urgent
              : !item.turn.urgent && turn.report === item.turn.report;
            if (!isSameLine) continue;
            expect(turn.rank).toBeGreaterThanOrEqual(item.turn.rank);
            if (turn.rank === item.turn.rank) expect(number).toBeGreaterThanOrEqual(item.number);
          }
        }
      }),
    );
  });

  it('are overtaken at most once by each other report, except by urgent requests', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const passedBy = new Map<string, Set<string>>();
        for (const { item, waiting } of servedOf(sequence)) {
          if (!item || item.turn.urgent) continue;
          const { report } = item.turn;
          passedBy.delete(report);
          const others = waiting.filter(({ turn }) => !turn.urgent && turn.report !== report);
          const reports = new Set(others.map(({ turn }) => turn.report));
          for (const other of reports) {
            const passed = passedBy.get(other) ?? new Set();
            expect(passed.has(report)).toBe(false);
            passedBy.set(other, passed.add(report));
          }
          for (const other of passedBy.keys()) if (!reports.has(other)) passedBy.delete(other);
        }
      }),
    );
  });
});
