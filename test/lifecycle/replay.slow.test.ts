import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Row } from '../../shared/lake/table/columns.ts';
import { type Step, lifecycleDay } from './days.ts';

/** A row of the oracle, which works without files: every step compares all rows with all records. */
type Book = Record<string, bigint | string | undefined>;
const STATES = ['effective', 'locked', 'paid', 'void'];
const same = (one: Book, other: Book, names: readonly string[]) =>
  names.every((name) => one[name] === other[name]);
const WHO = ['key', 'kind', 'publisher_id', 'currency'];

function groupsOf(records: readonly Row[]): Book[] {
  const groups: Book[] = [];
  for (const record of records) {
    const text = (name: string) => String(record[name] ?? '').trim() || undefined;
    const amount = (name: string) => (typeof record[name] === 'bigint' ? record[name] : undefined);
    const own: Book = {
      ...{ key: text('transid'), records: 1n, kind: text('type') === 'bonus' ? 'bonus' : 'sale' },
      ...{ publisher_id: text('publisher_id'), currency: text('currency')?.toUpperCase() },
      ...{ state: text('status')?.toLowerCase(), commission: amount('commission') },
    };
    own.counted_commission = own.state === 'void' ? 0n : (amount('commission') ?? 0n);
    const group = groups.find((each) => same(each, own, WHO));
    if (!group) groups.push(own);
    else {
      group.records = BigInt(group.records ?? 0) + 1n;
      if (group.state !== own.state) group.state = 'mixed';
      group.counted_commission = BigInt(group.counted_commission ?? 0) + own.counted_commission;
      if (own.commission !== undefined)
        group.commission = BigInt(group.commission ?? 0) + BigInt(own.commission);
    }
  }
  return groups;
}

function nextBooks(books: Book[], step: Step, before: string | undefined, by: string): Book[] {
  const groups = groupsOf(step.records);
  const count = (all: Book[], key: Book['key']) => all.filter((each) => each.key === key).length;
  const isReading = step.cause !== 'rollback';
  const found = (book: Book) =>
    groups.find((group) => same(group, book, WHO)) ??
    groups.find(
      ({ key }) => key !== undefined && key === book.key && count(books, key) + count(groups, key) === 2,
    );
  const show = (old: Book | undefined, group: Book): Book => {
    const book: Book = {
      seen_currency: group.currency,
      ...old,
      ...group,
      gone_after: undefined,
      gone_by: undefined,
    };
    for (const state of ['seen', ...STATES.filter((each) => each === group.state)]) {
      if (book[`${state}_by`] !== undefined) continue;
      book[`${state}_after`] = isReading ? before : old?.seen_after;
      book[`${state}_by`] = by;
      book[`${state}_commission`] = group.commission;
    }
    return book;
  };
  const continued = books.map((book) => {
    const group = found(book);
    if (group) return show(book, group);
    return book.records === 0n
      ? book
      : { ...book, records: 0n, counted_commission: 0n, gone_after: before, gone_by: by };
  });
  const isNew = (group: Book) => !books.some((book) => found(book) === group);
  return [...continued, ...groups.filter(isNew).map((group) => show(undefined, group))];
}

const plain = (rows: readonly (Row | Book)[]) =>
  rows
    .map((row) =>
      Object.entries(row)
        .filter(([name, value]) => value !== undefined && value !== null && !/amount|^commission_/.test(name))
        .map(([name, value]) => `${name}=${value instanceof Date ? value.toISOString() : String(value)}`)
        .sort()
        .join(' '),
    )
    .sort();

const record = fc.record({
  transid: fc.constantFrom(undefined, 'a', 'b', 'c', 'd'),
  type: fc.constantFrom(undefined, 'trans', 'bonus'),
  publisher_id: fc.constantFrom(undefined, '7', '8'),
  currency: fc.constantFrom(undefined, 'EUR', 'usd'),
  status: fc.constantFrom(undefined, 'new', 'locked', 'paid', 'void', ' Effective'),
  commission: fc.constantFrom(undefined, 0n, 1n, 10n ** 30n, -5n),
});
const steps = fc.array(
  fc.record({
    records: fc.array(record, { maxLength: 7 }),
    cause: fc.constantFrom('reading' as const, 'reading' as const, 'rollback' as const),
  }),
  { minLength: 1, maxLength: 5 },
);

it.each([1, 2, 3, 100])(
  'I12: with %i records in memory, the rows equal the rows of an oracle',
  async (most) => {
    await fc.assert(
      fc.asyncProperty(steps, async (lives) => {
        const day = lifecycleDay({ most });
        let books: Book[] = [];
        for (const [index, { records, cause }] of lives.entries()) {
          const step: Step = {
            at: `2026-02-0${index + 1}T10`,
            records,
            cause: index === 0 ? 'reading' : cause,
          };
          const [before] = [day.committed?.readFrom];
          const rows = await day.replace(step);
          books = nextBooks(books, step, before, `2026-02-0${index + 1}T10:10:00.000Z`);
          expect(plain(rows)).toEqual(plain(books));
          expect(rows.reduce((sum, row) => sum + Number(row.records), 0)).toBe(records.length);
        }
      }),
      { numRuns: 15 },
    );
  },
);
