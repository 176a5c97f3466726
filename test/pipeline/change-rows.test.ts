import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChangedRecord } from '../../shared/lake/table/diff.ts';
import { type Change, changeRows, changesOfRows } from '../../shared/pipeline/change-rows.ts';

const word = fc.constantFrom('a', 'b', '__proto__', '', 'größe', '"{');
const column = fc.constantFrom('status', 'amount');
const value = fc.option(word);
const sums = fc.dictionary(fc.constantFrom('amount', 'clicks'), fc.constantFrom('1', '-0.5'));
const some = fc.tuple(
  fc.constantFrom<('added' | 'removed')[]>('added', 'removed'),
  fc.option(word, { nil: undefined }),
  fc.integer({ min: 1, max: 3 }),
  fc.dictionary(column, word),
);
const single = some.map(([what, key, copies, record]): ChangedRecord => ({ what, key, copies, record }));
const altered = fc
  .uniqueArray(fc.tuple(word, fc.tuple(column, value, value)), { selector: ([key]) => key, maxLength: 3 })
  .map((records) =>
    records.map(
      ([key, [name, before, after]]): ChangedRecord => ({
        what: 'altered',
        key,
        columns: [
          { name, before, after },
          { name: 'other', before: null, after: 'x' },
        ],
      }),
    ),
  );
const diff = fc
  .tuple(fc.nat(9), fc.nat(9), fc.nat(9), fc.option(fc.tuple(fc.array(single), altered)))
  .map(([added, removed, changed, records]) => ({
    ...{ added, removed, altered: changed },
    ...(records && { records: records.flat() }),
  }));
const change: fc.Arbitrary<Change> = fc.record({
  id: word,
  previousId: word,
  at: fc.constantFrom(new Date(0), new Date(1_772_500_000_000)),
  cause: fc.constantFrom('reading', 'rollback', 'rebuild'),
  rowsBefore: fc.nat(9),
  rowsAfter: fc.nat(9),
  sumsBefore: sums,
  sumsAfter: sums,
  diff: fc.option(diff, { nil: undefined }),
});

describe('the rows of changes', () => {
  it('say all that the changes say', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 4 }), (changes) => {
        const rows = changes.flatMap((each) => [...changeRows(each)]);
        expect(changesOfRows(rows)).toEqual(changes);
      }),
    );
  });

  it('are refused where they do not begin with a change', () => {
    expect(() => changesOfRows([{ what: 'sum', column_name: 'amount', old_value: '1' }])).toThrow('begin');
  });
});
