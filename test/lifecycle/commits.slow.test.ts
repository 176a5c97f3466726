import { expect, it } from '@jest/globals';
import { HOUR_MS } from '../../shared/days.ts';
import { versionKey } from '../../shared/lake/paths.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import { orders } from '../../shared/reports/orders.ts';
import { alter, ledgerEntry, rowsOf } from '../sync/lake-contents.ts';
import type { SampleLake } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

const DAY = '2026-03-08';
const scope = { reports: ['order_list'] };
const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: DAY, clicksPerDay: 6 });
const entryOf = (lake: SampleLake) => ledgerEntry(lake, 'order_list', DAY);

async function becameOf(lake: SampleLake) {
  const { lifecycle, rows = 0 } = (await entryOf(lake)).committed ?? {};
  const found = await rowsOf(lake, versionKey('order_states', 'acme', DAY, lifecycle?.snapshot ?? ''));
  expect(found.reduce((sum, { records }) => sum + Number(records), 0)).toBe(rows);
  return found;
}

/** An order that is read as new, then as void. */
async function restated(): Promise<SampleLake> {
  const lake = sample.emptyLake();
  for (const status of ['new', 'void']) {
    alter(lake, 'order_list', DAY, { status });
    await lake.sync({ scope: { ...scope, from: DAY, to: DAY } });
    lake.nowMs += HOUR_MS;
  }
  return lake;
}

it('an equal reading writes no lifecycle rows, and a rollback restores the records but keeps their history', async () => {
  const lake = await restated();
  const { committed: before, superseded } = await entryOf(lake);
  const [known = {}] = await becameOf(lake);
  expect(known).toMatchObject({ state: 'void', void_after: expect.any(Date), void_by: expect.any(Date) });
  await lake.sync({ scope: { ...scope, from: DAY, to: DAY } });
  expect((await entryOf(lake)).committed?.lifecycle).toEqual(before?.lifecycle);
  const options = { ...lake.access(), settings: lake.settings(), report: orders, day: DAY };
  await rollBack(options, superseded?.[0]?.snapshot ?? '');
  const [row = {}] = await becameOf(lake);
  const { amount, commission } = known;
  const counted = { counted_amount: amount, counted_commission: commission };
  expect(row).toEqual({ ...known, state: 'new', ...counted, commission_0: row.commission_0 });
  expect((await entryOf(lake)).superseded?.at(-1)?.lifecycle).toBe(before?.lifecycle?.snapshot);
});

it('a rebuild with other state words writes the lifecycle rows anew, and invents no time', async () => {
  const lake = await restated();
  const before = await becameOf(lake);
  const brandSettings = {
    reports: { order_list: { fields: { state: 'status' }, states: { words: { void: 'paid' } } } },
  };
  const { days } = (await lake.rebuild({ ...scope, from: DAY, to: DAY }, { brandSettings })).reports[0] ?? {};
  expect(days).toMatchObject([{ outcome: 'unchanged' }]);
  const after = await becameOf(lake);
  expect(after).toHaveLength(before.length);
  for (const row of after) {
    expect(row).toMatchObject({ state: 'paid', void_by: before[0]?.void_by });
    expect(row.paid_after).toEqual(row.seen_after);
  }
  const { lifecycle } = (await entryOf(lake)).committed ?? {};
  await lake.rebuild({ ...scope, from: DAY, to: DAY }, { brandSettings });
  expect((await entryOf(lake)).committed?.lifecycle).toEqual(lifecycle);
});

it('the first reading with a currency writes it into the lifecycle rows before a run has stored the role', async () => {
  const lake = sample.emptyLake();
  for (const currency of [null, 'SEK']) {
    alter(lake, 'order_list', DAY, { currency });
    await lake.sync({ scope: { ...scope, from: DAY, to: DAY } });
    lake.nowMs += HOUR_MS;
    const found = await becameOf(lake);
    expect(new Set(found.map((row) => row.currency ?? null))).toEqual(new Set([currency]));
  }
});
