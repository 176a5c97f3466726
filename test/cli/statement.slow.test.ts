import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { lakeAccess } from '../../cli/run-options.ts';
import { statementPage } from '../../cli/statement-page.ts';
import { type Fact, readStatements } from '../../cli/statement.ts';
import { daysOfMonth, monthOf } from '../../shared/days.ts';
import type { ClosedDay } from '../../shared/lake/documents/close.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { runs } from '../fixtures/property-runs.ts';
import { BRAND, type StateRow, writeClose, writeLedgers, writeVersion } from './lifecycle-lake.ts';
import { runCli } from './run-cli.ts';

const MUG: StateRow = {
  ...{ key: 't1', order_id: 'o1', product: 'Mug', state: 'locked', amount: '100', commission: '10.125' },
  ...{ publisher_id: '1012', publisher_name: 'O’Brien & "Sons"', currency: 'USD' },
};
const LAMP: StateRow = { ...MUG, key: 't2', order_id: 'o2', state: 'new', commission: '5' };
const SOCKS: StateRow = { ...MUG, key: 't3', order_id: 'o3', publisher_id: '1013', currency: 'EUR' };
const BONUS: StateRow = {
  key: null,
  records: 3,
  kind: 'bonus',
  currency: 'USD',
  state: 'paid',
  commission: '7',
};

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let versions = 0;

beforeAll(async () => {
  temporary = await temporaryFolder();
});
afterAll(() => temporary.remove());

function version(
  folder: string,
  day: string,
  rows: StateRow[],
  report: ClosedDay['report'] = 'transaction_list',
) {
  versions += 1;
  return writeVersion(
    folder,
    report === 'order_list' ? report : 'transaction_list',
    day,
    `s${versions}`,
    rows,
  );
}

/** A day with rows; the other days of its month are empty. */
async function wholeMonth(folder: string, day: string, rows: StateRow[]): Promise<ClosedDay[]> {
  const empty = daysOfMonth(monthOf(day)).filter((each) => each !== day);
  const days = [version(folder, day, rows), ...empty.map((each) => version(folder, each, []))];
  return (await Promise.all(days)).sort((one, other) => (one.day < other.day ? -1 : 1));
}

async function statementOf(folder: string, month: string, publisher?: string) {
  const access = await lakeAccess({ lake: folder }, () => {});
  const { connection, statements } = await readStatements(
    { ...access, settings: undefined, month },
    publisher,
  );
  const [statement] = statements;
  if (!statement) throw new Error('it has a statement');
  const publishers = await Array.fromAsync(statement.publishers);
  const html = (
    await Array.fromAsync(statementPage([{ ...statement, publishers: listed(publishers) }]))
  ).join('');
  connection.closeSync();
  return { ...statement, publishers, entries: publishers.flatMap(({ entries }) => entries), html };
}

async function* listed<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

/** `publisher currency` → the counted commission, in units of 9 places. */
type Books = Record<string, bigint>;

function units(amount: unknown): bigint {
  const [, sign = '', whole = '0', places = ''] = /^(-?)(\d+)\.?(\d*)$/.exec(String(amount)) ?? [];
  return BigInt(`${sign}${whole}${places.padEnd(9, '0')}`);
}

function add(books: Books, publisher: unknown, currency: unknown, amount: bigint): void {
  const name = `${String(publisher)} ${String(currency)}`;
  const sum = (books[name] ?? 0n) + amount;
  if (sum === 0n) delete books[name];
  else books[name] = sum;
}

function booksOf(entries: readonly Fact[]): Books {
  const books: Books = {};
  for (const { publisher_id: publisher, currency, counted } of entries)
    if (counted !== null) add(books, publisher, currency, units(counted));
  return books;
}

function isSum({ entry }: Fact): boolean {
  return entry === 'total';
}

function byHand(rows: readonly StateRow[]): Books {
  const books: Books = {};
  for (const { publisher_id: publisher, currency, state, records, commission } of rows)
    if (state !== 'void' && records !== 0 && commission !== null)
      add(books, publisher, currency, units(commission));
  return books;
}

function together(all: readonly Books[]): Books {
  const books: Books = {};
  for (const [name, sum] of all.flatMap((each) => Object.entries(each))) {
    const [publisher, currency] = name.split(' ');
    add(books, publisher, currency, sum);
  }
  return books;
}

const rowsOfDay = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom(null, 'a', 'b', 'c'),
    publisher_id: fc.constantFrom(null, '1', '2'),
    currency: fc.constantFrom(null, 'USD', 'EUR'),
    state: fc.constantFrom(null, 'new', 'locked', 'void', 'mixed'),
    records: fc.constantFrom(0, 1, 2),
    commission: fc.constantFrom('0.1', '-12.5', '99999999999999.123456789', '3'),
  }),
  { selector: ({ key, publisher_id, currency }) => `${key} ${publisher_id} ${currency}`, maxLength: 8 },
);

describe('statements add up', () => {
  it('each equals the sum by hand, and together they equal the current commission after any restatements', async () => {
    const days = ['2026-08-10', '2026-09-10', '2026-10-10'];
    const mayStay = fc.option(rowsOfDay, { nil: undefined, freq: 2 });
    const states = fc.array(fc.tuple(mayStay, mayStay, mayStay), { minLength: 3, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(states, async (stages) => {
        const folder = await mkdtemp(join(temporary.path, 'lake-'));
        // By stage: each day's version and rows, the same as before if it stays.
        const held: { named: ClosedDay; rows: StateRow[] }[][] = [];
        for (const stage of stages) {
          const before = held.at(-1) ?? [];
          const ofStage = days.map(async (day, index) => {
            const { [index]: last } = before;
            const { [index]: rows = [] } = stage;
            return last && stage[index] === undefined
              ? last
              : { named: await version(folder, day, rows), rows };
          });
          held.push(await Promise.all(ofStage));
        }
        await writeLedgers(
          folder,
          (held.at(-1) ?? []).map(({ named }) => named),
        );
        for (const [index, stage] of held.entries()) {
          const versionsOf = (each: typeof stage) => each.map(({ named }) => named);
          const isNew = ({ day, snapshot }: ClosedDay) =>
            day < (days[index] ?? '') &&
            versionsOf(held[index - 1] ?? []).every((last) => last.snapshot !== snapshot);
          const named = versionsOf(stage).filter(({ day }) => day === days[index]);
          await writeClose(folder, monthOf(days[index] ?? ''), {
            days: named,
            carried: versionsOf(stage).filter(isNew),
          });
        }
        const statements = await Promise.all(days.map((day) => statementOf(folder, monthOf(day))));
        for (const [index, { entries }] of statements.entries())
          expect(booksOf(entries.filter(({ entry }) => entry === 'record'))).toEqual(
            byHand(held[index]?.[index]?.rows ?? []),
          );
        expect(together(statements.map(({ entries }) => booksOf(entries)))).toEqual(
          together((held[2] ?? []).map(({ rows }) => byHand(rows))),
        );
        for (const { publishers, totals } of statements) {
          const sums = publishers.flatMap((each) => each.totals).filter(isSum);
          expect(booksOf(sums)).toEqual(together(publishers.map(({ entries }) => booksOf(entries))));
          const ofAll = sums.map((sum) => ({ ...sum, publisher_id: null }));
          expect(booksOf(totals.filter(isSum))).toEqual(booksOf(ofAll));
        }
      }),
      runs(8),
    );
  });
});

describe('the statement of a month', () => {
  let folder: string;
  let september: ClosedDay[];
  let october: ClosedDay[];

  beforeAll(async () => {
    folder = join(temporary.path, "a shop's lake");
    september = await wholeMonth(folder, '2026-09-10', [MUG, LAMP]);
    october = await wholeMonth(folder, '2026-10-02', [{ ...MUG, product: '<script>"&' }, LAMP, SOCKS, BONUS]);
    const sameMoney = await version(folder, '2026-10-02', [{ ...MUG, commission: '77' }], 'order_list');
    const restated = await version(folder, '2026-09-10', [
      { ...MUG, state: 'void' },
      { ...LAMP, records: 0 },
      SOCKS,
    ]);
    await writeClose(folder, '2026-09', { days: september });
    const named = [...september.filter(({ day }) => day !== restated.day), restated];
    await writeLedgers(folder, [...named, ...october, sameMoney]);
  });

  it('that is not closed has its records once and the changes in closed months, and lists what it lacks', async () => {
    const { notes, entries, publishers, completeAsOf } = await statementOf(folder, '2026-10');
    expect(notes).toEqual([
      'not closed: may still change. To close it: npx brand-reports close 2026-10 --brand acme',
      'complete as of 2026-10-01 23:00 UTC',
      'from transactions',
    ]);
    expect(completeAsOf).toBe('2026-10-01T23:00:00.000Z');
    expect(publishers.map(({ totals }) => totals[0]?.publisher_id)).toEqual(['1012', '1013', null]);
    const shown = entries.map((entry) => [
      entry.entry,
      entry.order_id,
      entry.state_then,
      entry.state,
      entry.counted_then,
      entry.counted_now,
      entry.counted,
      entry.currency,
    ]);
    expect(shown.map((cells) => cells.map((cell) => String(cell).replace(/\.?0+$/, '')).join(' '))).toEqual([
      'record o1 null locked null 10.125 10.125 USD',
      'record o2 null new null 5 5 USD',
      'carried o1 locked void 10.125 0 -10.125 USD',
      'carried o2 new gone 5 0 -5 USD',
      'record o3 null locked null 10.125 10.125 EUR',
      'carried o3 null locked 0 10.125 10.125 EUR',
      'record null null paid null 7 7 USD',
    ]);
  });

  it('that is closed stays unchanged, and notes later changes', async () => {
    const { notes, entries, closedAt } = await statementOf(folder, '2026-09');
    expect(closedAt).toBe('2026-09-28T12:00:00.000Z');
    expect(entries.map(({ order_id, state }) => [order_id, state])).toEqual([
      ['o1', 'locked'],
      ['o2', 'new'],
    ]);
    expect(notes).toEqual([
      'closed: 2026-09-28 12:00 UTC',
      'complete as of 2026-09-01 23:00 UTC',
      'from transactions',
      "changed since it was closed: npx brand-reports query 'FROM since_close ORDER BY ALL'",
    ]);
  });

  it('of one publisher has no records of others; an unknown publisher is refused', async () => {
    const { publishers } = await statementOf(folder, '2026-10', '1013');
    expect(publishers.map(({ totals }) => totals[0]?.publisher_id)).toEqual(['1013']);
    await expect(statementOf(folder, '2026-10', '9')).rejects.toThrow('of the publisher "9"');
    await expect(statementOf(folder, '2031-01')).rejects.toThrow(
      'has no order and no transaction of 2031-01',
    );
  });

  it('is printed on pages that run nothing, load nothing and escape everything', async () => {
    const { html } = await statementOf(folder, '2026-10');
    expect(html).not.toMatch(/<script|<link|<img|https?:|@import|url\(/i);
    expect(html).toContain('&lt;script&gt;&quot;&amp;');
    expect([...html.matchAll(/<h1>(.*)<\/h1>/g)].map(([, title]) => title)).toEqual([
      'Statement 2026-10: acme, all publishers',
      'Statement 2026-10: acme, publisher 1012, O’Brien &amp; &quot;Sons&quot;',
      'Statement 2026-10: acme, publisher 1013, O’Brien &amp; &quot;Sons&quot;',
      'Statement 2026-10: acme, without a publisher',
    ]);
  });

  it('is CSV, JSON, a page or a table, and the ending of a file decides its format', async () => {
    const run = (...more: string[]) => runCli(['statement', '--lake', folder, '--month', '2026-10', ...more]);
    const csv = await run('--publisher', '1013', '--format', 'csv');
    expect(csv.stderr).toMatch(/^acme: not closed: may still change/);
    expect(csv.stdout.split('\n').slice(0, 2)).toEqual([
      'brand,month,closed_at,publisher_id,publisher_name,entry,day,order_id,product,kind,records,state_then,state,amount,commission,counted_then,counted_now,counted,currency',
      'acme,2026-10,,1013,"O’Brien & ""Sons""",record,2026-10-02,o3,Mug,sale,1,,locked,100.000000000,10.125000000,,10.125000000,10.125000000,EUR',
    ]);
    const file = join(temporary.path, 'statement.json');
    expect(await run('--output', file)).toMatchObject({ code: 0, stdout: '' });
    const { statements } = JSON.parse(await readFile(file, 'utf8'));
    expect(statements).toMatchObject([
      { brand: BRAND, month: '2026-10', closedAt: null, source: 'transactions', missing: [] },
    ]);
    expect(statements[0].publishers[0].entries[0]).toMatchObject({ order_id: 'o1', counted: '10.125000000' });
    expect((await run()).stdout).toMatch(
      /^acme 2026-10\nnot closed: may still change[\s\S]*\n1012 +O’Brien & "Sons" +USD +total/,
    );
    expect(await run('--output', join(temporary.path, 'x.txt'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('.csv, .json and .html'),
    });
  });

  const HUGE = { ...MUG, commission: '9'.repeat(29), counted_commission: '9'.repeat(29) };
  it.each<[string, rows: StateRow[], total: (string | null)[]]>([
    ['all amounts', [MUG, LAMP], ['200.000000000', '15.125000000', '15.125000000', '0']],
    [
      'a bonus without an amount',
      [MUG, { ...BONUS, publisher_id: '1012' }],
      ['100.000000000', '17.125000000', '17.125000000', '0'],
    ],
    ['a missing commission', [MUG, { ...LAMP, commission: null }], ['200.000000000', null, null, '1']],
    [
      'a missing void commission',
      [MUG, { ...LAMP, state: 'void', commission: null }],
      ['200.000000000', null, '10.125000000', '1'],
    ],
    ['a missing amount', [MUG, { ...LAMP, amount: null }], [null, '15.125000000', '15.125000000', '1']],
    [
      'amounts near the limit of decimals',
      [HUGE, { ...HUGE, key: 't9' }],
      ['200.000000000', null, null, '2'],
    ],
    ['no field for the state', [{ ...MUG, state: null }], ['100.000000000', '10.125000000', null, '1']],
  ])('adds up %s', async (name, rows, expected) => {
    const isStateless = name === 'no field for the state';
    const own = join(temporary.path, name);
    await writeLedgers(own, await wholeMonth(own, '2026-10-02', rows), isStateless ? [] : undefined);
    const { totals, notes } = await statementOf(own, '2026-10');
    const total = totals.find(isSum);
    expect(['amount', 'commission', 'counted', 'unknown_amounts'].map((sum) => total?.[sum])).toEqual(
      expected,
    );
    const unknown = notes.filter((note) => note.startsWith('unknown amounts'));
    expect(unknown).toHaveLength(expected[3] === '0' ? 0 : 1);
    expect(notes.some((note) => note.includes('no field has the role state'))).toBe(isStateless);
  });

  it('carries a month over as unknown if one of its commissions became unknown', async () => {
    const own = join(temporary.path, 'carried');
    const then = await version(own, '2026-09-10', [MUG]);
    const now = await version(own, '2026-09-10', [{ ...MUG, commission: null }]);
    await writeClose(own, '2026-09', { days: [then] });
    await writeLedgers(own, [now, ...(await wholeMonth(own, '2026-10-02', []))]);
    const { entries, totals } = await statementOf(own, '2026-10');
    expect(entries).toMatchObject([{ entry: 'carried', counted_then: '10.125000000', counted: null }]);
    expect(totals.find(isSum)).toMatchObject({ counted: null, amount: null, unknown_amounts: '1' });
  });

  it('is refused if it would lack rows', async () => {
    const broken = join(temporary.path, 'broken');
    const [first, ...others] = await wholeMonth(broken, '2026-10-01', [MUG]);
    if (!first) throw new Error('the month has days');
    const { lifecycle: _lifecycle, ...older } = first;
    await writeLedgers(broken, [older, ...others]);
    await expect(statementOf(broken, '2026-10')).rejects.toThrow(
      'rebuild transaction_list --brand acme --from 2026-10-01 --to 2026-10-01',
    );
    await writeLedgers(broken, [first, ...others]);
    await rm(join(broken, 'snapshots'), { recursive: true });
    await expect(statementOf(broken, '2026-10')).rejects.toThrow('cannot be read');
  });
});
