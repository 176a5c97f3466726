import { describe, expect, it } from '@jest/globals';
import { isInSpan } from '../../shared/base/days.ts';
import { readLedgers } from '../../shared/lake/read.ts';
import { brandStateKey, ledgerKey } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { tableStatuses } from '../../shared/watch/table-statuses.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { NOW_MS, TODAY, failure, settingsOf } from './made-statuses.ts';
import { readDay, storeDays } from './stored-ledgers.ts';

const ORDERS = { report: 'order_list', brand: 'acme' };
const settings = settingsOf('acme');
const read = readDay(settings, ORDERS.report);
const unsettled = readDay(settings, ORDERS.report, {
  state: 'closed',
  readFrom: '2026-11-20T14:30:00.000Z',
});

async function statuses(span: { from?: string; to?: string }, damagedKey?: string) {
  const store = memoryStore();
  await storeDays(store, ORDERS, {
    // Before the start date.
    '2026-09-09': { failure },
    '2026-09-30': read,
    '2026-10-31': read,
    '2026-11-18': unsettled,
    '2026-11-19': { ...unsettled, failure },
  });
  const stored = damagedKey === undefined ? undefined : store.objects.get(damagedKey);
  if (damagedKey !== undefined && stored)
    store.objects.set(damagedKey, { ...stored, body: Buffer.from('{') });
  const lake = await readLedgers(store, reports, span);
  const orders = tableStatuses(settings, reports, lake, NOW_MS, (month) => isInSpan(month, span)).find(
    ({ report }) => report === ORDERS.report,
  );
  if (!orders) throw new Error('orders are enabled');
  return { orders, day: (dt: string) => orders.days.find((day) => day.dt === dt) };
}

/** The settings of acme with fields of the orders. */
function withFields(fields: object) {
  const { brands, ...rest } = settings;
  const { acme } = brands;
  const { order_list: orders } = acme?.reports ?? {};
  if (!acme || !orders) throw new Error('acme reads orders');
  const own = { ...acme, reports: { ...acme.reports, order_list: { ...orders, fields } } };
  return { ...rest, brands: { acme: own } };
}

describe('the statuses of some months', () => {
  it('have the days of these months alone', async () => {
    const { orders } = await statuses({ from: '2026-10', to: '2026-10' });
    expect([orders.days[0]?.dt, orders.days.length, orders.days.at(-1)?.state]).toEqual([
      '2026-10-01',
      31,
      'settled',
    ]);
  });

  it('are known for the other months if the ledger of one month is damaged', async () => {
    const key = ledgerKey('order_list', 'acme', '2026-10');
    const { orders, day } = await statuses({}, key);
    expect(orders.damaged).toMatchObject([{ key, month: '2026-10' }]);
    const states = ['2026-09-30', '2026-10-01', '2026-10-31', '2026-11-18'].map((dt) => day(dt)?.state);
    expect(states).toEqual(['settled', 'failed', 'failed', 'complete']);
    expect(day('2026-10-31')).toMatchObject({
      rows: null,
      failure: { kind: 'config', code: 'damaged_document', message: expect.stringContaining(key) },
    });
  });

  it('are known if the report state is damaged', async () => {
    const key = brandStateKey('acme');
    const { orders, day } = await statuses({ from: '2026-10' }, key);
    expect(orders).toMatchObject({ damaged: [{ key }], hasReturnedRecords: true });
    expect(day('2026-10-31')?.state).toBe('settled');
  });

  it('cover all days from the start date to today if no span is given', async () => {
    const { orders } = await statuses({});
    expect([orders.days[0]?.dt, orders.days.at(-1)?.dt]).toEqual(['2026-09-10', TODAY]);
  });

  it.each<[string, object, object]>([
    ['have the sums and the changes', {}, { totals: { USD: { commission: '12.500000000' } } }],
    [
      'have no sums of other fields than the settings name',
      { commission: ['fee', 'comm'] },
      { totalsPending: true },
    ],
    ['have no sums if the settings name no field', { commission: null }, { totalsPending: true }],
  ])('%s, as far as the ledger has them', async (_name, change, expected) => {
    const last = { at: '2026-11-12T06:02:00.000Z', rowsBefore: 5, added: 1 };
    const fields = { commission: ['sale_commission'], currency: ['currency'] };
    const totals = { fields, byCurrency: { USD: { commission: '12.500000000' } } };
    const history = { by: last.at, place: 2, lastBy: last.at, last };
    const known = { values: { totals }, history };
    const store = memoryStore();
    const entries = { '2026-11-17': read, '2026-11-18': readDay(settings, ORDERS.report, known) };
    await storeDays(store, ORDERS, entries);
    const set = { commission: 'sale_commission', currency: 'currency', ...change };
    const own = withFields(set);
    const [orders] = tableStatuses(own, reports, await readLedgers(store, reports), NOW_MS).filter(
      ({ report }) => report === ORDERS.report,
    );
    const days = new Map(orders?.days.map((day) => [day.dt, day]));
    const { totals: shown, totalsPending, changes: met } = days.get('2026-11-18') ?? {};
    expect({ totals: shown, totalsPending }).toEqual(expected);
    expect(met).toEqual({ times: 2, last });
    expect(days.get('2026-11-17')).not.toHaveProperty('totals');
    expect(days.get('2026-11-17')).not.toHaveProperty('changes');
  });

  it('have the last reading and the next due time of each day', async () => {
    const { day } = await statuses({});
    expect(day('2026-10-31')).toMatchObject({
      state: 'settled',
      readFrom: '2026-11-01T10:00:00.000Z',
      nextDue: null,
    });
    expect(day('2026-11-18')).toMatchObject({ state: 'complete', nextDue: '2026-11-20T14:30:00.000Z' });
    expect(day('2026-11-19')).toMatchObject({ state: 'failed', failure: { code: 'no_list' } });
    expect(day('2026-11-17')).toMatchObject({ state: 'missing', readFrom: null, rows: null });
  });

  it('have the setting every, how the last run ended, and the roles without a field', async () => {
    const scope = { report: 'transaction_list', brand: 'acme' };
    const store = memoryStore();
    await storeDays(store, scope, { '2026-11-18': readDay(settings, scope.report) });
    const at = '2026-11-20T14:00:00.000Z';
    const lastRun = { at, since: at, status: 'complete' as const, failedDays: 0 };
    const lake = (await readLedgers(store, reports)).map((each) => ({
      ...each,
      state: { ...each.state, lastRun },
    }));
    const [table] = tableStatuses(settings, reports, lake, NOW_MS).filter(
      ({ report }) => report === scope.report,
    );
    expect(table).toMatchObject({ every: 'run', lastRun });
    // Only a base view has the channel of a transaction.
    const roles = table?.roleGaps?.map(({ role }) => role);
    expect(roles).toEqual(expect.arrayContaining(['commission']));
    expect(roles).not.toContain('channel_id');
  });
});
