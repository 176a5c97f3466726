import { describe, expect, it } from '@jest/globals';
import { coverageRows } from '../../shared/catalog/coverage.ts';
import type { DayEntry } from '../../shared/lake/documents/ledger.ts';
import { entriesIn } from '../../shared/findings/findings.ts';
import { NOW, NOW_MS, ledgersOf, policy, readAt } from '../planning/entries.ts';

const check = {
  ...{ name: 'link_differs', counts: 'links that differ', advice: 'Ask' },
  ...{ rule: 'one_value' as const, by: 'link', column: 'click' },
};
const before = { rows: 100, state: 'closed' as const, at: NOW };
const DAYS: Record<string, DayEntry> = {
  '2026-03-12': readAt(NOW),
  '2026-03-13': readAt(NOW, { rows: 40, checks: { before } }),
  '2026-03-14': readAt(NOW, { rows: 0, checks: { before, findings: { link_differs: 2 } } }),
  '2026-03-15': {},
};

function rowsOfMonth() {
  const ledgers = ledgersOf(DAYS);
  const facts = {
    report: { name: 'order_list', checks: [check], day: { by: 'timestamps' as const } },
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
      ['2026-03-14', 'rows_fell (100 rows before, 0 now); link_differs (2)'],
      ['2026-03-15', null],
    ]);
  });
});
