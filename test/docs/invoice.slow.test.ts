/** The SQL of docs/how-to/compare-an-invoice.md finds each kind of difference in the invoice of a German spreadsheet. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { writeReferenceLake } from '../../bench/reference/sample.ts';
import { runCli } from '../cli/run-cli.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { commandsIn } from './commands.ts';
import { blocksOf } from './pages.ts';

const PAGE = 'docs/how-to/compare-an-invoice.md';
const WORDS: Readonly<Record<string, string>> = { new: 'offen', effective: 'bestätigt', void: 'storniert' };

interface Order {
  order_id: string;
  currency: string;
  state: string;
  commission: string;
  counted: string;
}

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: string;
let sql: string;
let orders: Order[];
const query = (...args: string[]) => runCli(['query', '--json', '--lake', lake, ...args]);

beforeAll(async () => {
  temporary = await temporaryFolder();
  lake = join(temporary.path, 'lake');
  await writeReferenceLake(lake);
  const [block] = blocksOf(PAGE, 'sql');
  const days = "BETWEEN '2026-02-20' AND '2026-02-24'";
  sql = block?.text.replace("BETWEEN '2026-10-01' AND '2026-10-31'", days) ?? '';
  const listed = await query(
    `SELECT order_id, currency, state, round(commission, 2)::VARCHAR AS commission, round(counted_commission, 2)::VARCHAR AS counted
     FROM order_states WHERE brand = 'acme' AND dt ${days} ORDER BY order_id`,
  );
  orders = JSON.parse(listed.stdout);
}, 120_000);
afterAll(() => temporary.remove());

/** An amount as a German spreadsheet writes it. */
function german(amount: string): string {
  const [whole = '', cents = ''] = amount.split('.');
  return `${whole.replaceAll(/\B(?=(\d{3})+$)/g, '.')},${cents.slice(0, 2).padEnd(2, '0')}`;
}

async function invoiceOf(lines: readonly Order[]): Promise<string> {
  const sum = lines.reduce((all, { counted }) => all + Number(counted), 0).toFixed(2);
  const rows = lines.map(({ order_id, currency, state, commission }) =>
    [order_id, currency, WORDS[state] ?? state, german(commission)].join(';'),
  );
  const text = ['Auftrag;Währung;Status;Vergütung', ...rows, `Summe;USD;;${german(sum)}`, ''].join('\r\n');
  const path = join(temporary.path, 'invoice.csv');
  await writeFile(path, text);
  return path;
}

async function differences(lines: readonly Order[]): Promise<Record<string, unknown>[]> {
  const { stdout, stderr } = await query('--csv', `invoice=${await invoiceOf(lines)}`, sql);
  const document = JSON.parse(stdout);
  if (!Array.isArray(document)) throw new Error(stderr);
  return document;
}

describe('the SQL of the page', () => {
  it('finds nothing in an invoice that is the content of the lake', async () => {
    expect(orders.length).toBeGreaterThan(20);
    expect(new Set(orders.map(({ state }) => state))).toEqual(new Set(Object.keys(WORDS)));
    expect(await differences(orders)).toEqual([]);
  });

  it('finds each of the five kinds, and leaves out void orders that the invoice lacks', async () => {
    const counted = orders.filter(({ state }) => state === 'effective');
    const [missing, amount, currency] = counted.map(({ order_id }) => order_id);
    const cancelled = orders.filter(({ state }) => state === 'void').map(({ order_id }) => order_id);
    const lines = orders.flatMap((order) => {
      if (order.order_id === missing || order.order_id === cancelled[1]) return [];
      if (order.order_id === amount) return [{ ...order, commission: '1234567.89' }];
      if (order.order_id === currency) return [{ ...order, currency: 'EUR' }];
      if (order.order_id === cancelled[0]) return [{ ...order, state: 'effective' }];
      return [order];
    });
    const invented = {
      order_id: 'A-1',
      currency: 'USD',
      state: 'effective',
      commission: '5.00',
      counted: '5',
    };
    const found = await differences([...lines, invented]);
    expect(Object.fromEntries(found.map((row) => [row.difference, row.order_id]))).toEqual({
      'only in the invoice': 'A-1',
      'only in the lake': missing,
      'other currency': currency,
      'other state': cancelled[0],
      'other amount': amount,
    });
    expect(found).toHaveLength(5);
    expect(found).toContainEqual(
      expect.objectContaining({ difference: 'other amount', commission: 1234567.89 }),
    );
  });

  it.each<[string, Partial<Order>, RegExp]>([
    ['an amount with a decimal point', { commission: '12.50' }, /not an amount: 12\.50/],
    ['an empty amount', { commission: '' }, /not an amount: \(empty\)/],
    ['an unknown state', { state: 'pending' }, /unknown state: pending/],
  ])('ends with an error for %s', async (_name, changes, message) => {
    const [first, ...rest] = orders;
    const path = await invoiceOf([...rest]);
    const line = { ...first, ...changes };
    const { commission = '', state = '' } = line;
    const cells = [line.order_id, 'USD', WORDS[state] ?? state, changes.commission ?? german(commission)];
    await writeFile(path, `Auftrag;Währung;Status;Vergütung\r\n${cells.join(';')}\r\n`);
    expect((await query('--csv', `invoice=${path}`, sql)).stderr).toMatch(message);
  });

  it('shows a line without an order id', async () => {
    const fee = { order_id: '', currency: 'USD', state: 'effective', commission: '50.00', counted: '50' };
    expect(await differences([...orders, fee])).toEqual([
      expect.objectContaining({ difference: 'only in the invoice', order_id: null, commission: 50 }),
    ]);
  });

  it('adds the lines up to the totals row', async () => {
    const commands = blocksOf(PAGE, 'sh').flatMap(({ text }) => commandsIn(text, 'brand-reports'));
    const totals =
      commands.map((words) => words.at(-1) ?? '').find((text) => text.includes('is_total')) ?? '';
    const { stdout } = await query('--csv', `invoice=${await invoiceOf(orders)}`, totals);
    const sums = JSON.parse(stdout).map((row: object) => Object.values(row).at(-1));
    expect([sums.length, new Set(sums).size]).toEqual([2, 1]);
  });
});
