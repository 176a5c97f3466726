import { describe, expect, it } from '@jest/globals';
import { coverageRows } from '../../shared/catalog/coverage.ts';
import type { DayEntry } from '../../shared/lake/ledger.ts';
import { entriesIn } from '../../shared/findings/findings.ts';
import { NOW, NOW_MS, ledgersOf, policy, readAt } from '../planning/entries.ts';

const before = { rows: 100, state: 'closed' as const, at: NOW };
const DAYS: Record<string, DayEntry> = {
  '2026-03-12': readAt(NOW),
  '2026-03-13': readAt(NOW, { rows: 40, comparedWith: before }),
  '2026-03-14': readAt(NOW, { rows: 0, comparedWith: before, refusedLookups: { count: 2, empty: 3 } }),
  '2026-03-15': {},
};

function rowsOfMonth(days = DAYS) {
  const ledgers = ledgersOf(days);
  const facts = {
    report: { name: 'order_list', day: { by: 'timestamps' as const } },
    policy,
    hasReturnedRecords: true,
  };
  return [...ledgers.values()].flatMap((ledger) =>
    coverageRows(ledger, { ...facts, entryOn: entriesIn(ledgers) }, NOW_MS),
  );
}

describe('the findings of coverage', () => {
  it('are names with details, and null if there are no findings', () => {
    expect(rowsOfMonth().map(({ dt, findings }) => [dt, findings])).toEqual([
      ['2026-03-12', null],
      ['2026-03-13', 'rows_fell (100 rows before, 40 now)'],
      ['2026-03-14', 'rows_fell (100 rows before, 0 now); lookups_given_up (2); clicks_without_detail (3)'],
      ['2026-03-15', null],
    ]);
  });
});

it('a row of coverage has each fact of the day and of its history, in the type of its column', () => {
  const [at, anewBy] = ['2026-03-16T01:02:03.000Z', '2026-03-17T00:00:00.000Z'];
  const history = { after: at, by: NOW, place: 2, key: 'id', timeZone: 'UTC', anewPlace: 1, anewBy };
  const failure = { kind: 'config' as const, code: 'x', message: 'm', since: at, lastAt: NOW, retryAt: at };
  const day = {
    ...readAt(NOW, { rows: 5, timeZone: 'Asia/Tokyo', history }),
    failure: { ...failure, times: 1 },
  };
  expect(rowsOfMonth({ '2026-03-12': { ...day, firstCommittedAt: at } })).toMatchObject([
    {
      ...{ report: 'order_list', month: '2026-03', dt: '2026-03-12', state: 'failed', rows: 5n, pages: 1n },
      ...{ read_from: new Date(NOW), failed_since: new Date(at), failure: 'config: m', findings: null },
      ...{ time_zone: 'Asia/Tokyo', start_date: policy.startDate, first_committed_at: new Date(at) },
      ...{ first_after: new Date(at), first_by: new Date(NOW), key: 'id', place: 2n, anew_place: 1n },
      ...{ anew_by: new Date(anewBy), age_30: new Date('2026-04-12T00:00:00.000Z') },
    },
  ]);
});
