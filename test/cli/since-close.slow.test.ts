import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Held, restate } from '../../sample/brand.ts';
import { addDays, dayOf, monthOf } from '../../shared/days.ts';
import { runCli } from './run-cli.ts';
import { type SampleBrandForCli, serveSampleBrand } from './sample-brand.ts';

let sample: SampleBrandForCli;
let month: string;
let inLake: string[];
let sync: () => Promise<void>;

beforeAll(async () => {
  // The last two days of the month before.
  const daysBefore = Number(dayOf(Date.now(), 'America/New_York').slice(-2)) + 1;
  sample = await serveSampleBrand({ daysBefore });
  month = monthOf(sample.firstDay);
  inLake = ['--lake', sample.lake];
  const range = ['--from', sample.firstDay, '--to', addDays(sample.firstDay, 1)];
  sync = async () => {
    const reports = ['order_list', 'transaction_list'];
    const { code, stderr } = await runCli(['sync', ...reports, ...range, ...sample.flags]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  };
  await sync();
});
afterAll(() => sample.close());

const change = (of: (held: Held[]) => Held[]) => {
  restate(sample.acme, 'order_list', sample.firstDay, of);
};
const changed = (held: Held, fields: Record<string, string>) => ({
  ...held,
  record: { ...held.record, ...fields },
});

describe('since-close', () => {
  it('names the command that closes a month while no month is closed', async () => {
    const { code, stderr } = await runCli(['since-close', ...inLake]);
    expect(code).toBe(2);
    expect(stderr).toContain('No month is closed');
    expect(stderr).toContain(`close 2026-10 --lake ${sample.lake}`);
  });

  it('has nothing to book before a change, then lists each change, the sums and the corrections', async () => {
    expect(await runCli(['close', month, ...sample.flags.slice(0, 2), ...inLake])).toMatchObject({ code: 0 });
    const before = await runCli(['since-close', ...inLake]);
    expect(before.code).toBe(0);
    expect(before.stdout).toContain(`acme ${month}, closed `);
    expect(before.stdout).toContain(
      'Nothing to book for acme: the same commission counts as at the close.\n',
    );

    change((held) => [
      ...held
        .slice(1, 4)
        .map((one) => changed(one, { publisher_name: '~\u001b[31mred', commission: '1000.5' })),
      ...held.slice(4, 6).map((one) => changed(one, { currency: 'EUR' })),
      ...held.slice(6, 9).map((one) => changed(one, { status: 'void' })),
      ...held.slice(9),
    ]);
    await sync();
    const { code, stdout } = await runCli(['since-close', month, '--brand', 'acme', ...inLake]);
    expect(code).toBe(0);
    expect(stdout).toContain('\\u001b[31mred');
    const { stdout: json } = await runCli(['since-close', '--json', ...inLake]);
    const { closes, changes, totals } = JSON.parse(json);
    expect(closes).toEqual([{ brand: 'acme', month, closedAt: expect.any(String), exceptions: [] }]);
    const kinds = changes.map(({ what }: { what: string }) => what);
    expect(new Set(kinds)).toEqual(new Set(['moved', 'removed', 'repriced', 'voided']));

    // The same by the view of the orders, as of the close and now.
    const sql = `SELECT coalesce(currency, '') AS currency, sum(commission) AS commission FROM publisher_performance WHERE dt LIKE '${month}-%' GROUP BY ALL`;
    const sums = async (...flags: string[]) => {
      const found = JSON.parse((await runCli(['query', sql, '--json', ...flags, ...inLake])).stdout);
      return new Map(found.map((row: Record<string, unknown>) => [row.currency, row.commission]));
    };
    const [then, now] = [await sums('--as-of', month), await sums()];
    expect(totals.length).toBe(2);
    for (const { currency, correction } of totals) {
      expect(correction).toBeCloseTo(Number(now.get(currency)) - Number(then.get(currency) ?? 0), 6);
      const amount = `${correction > 0 ? '+' : '-'}${Math.abs(correction).toLocaleString('en', { maximumFractionDigits: 9 })}`;
      expect(stdout).toMatch(
        new RegExp(
          `^To book for acme: .*${amount.replaceAll(/[.+]/g, '\\$&')} ${currency}.* by orders\\.$`,
          'm',
        ),
      );
    }
  });
});
