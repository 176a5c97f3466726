import { describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import {
  committedDays,
  listLedgers,
  readLedgers,
  readSchema,
  readWantedLedgers,
} from '../../shared/lake/read.ts';
import { growSchema } from '../../shared/table/columns.ts';
import { clickDetails } from '../../shared/reports/click-details.ts';
import { clicks } from '../../shared/reports/clicks.ts';
import { orders } from '../../shared/reports/orders.ts';
import { memoryStore } from '../fakes/memory-store.ts';
import { readAt } from '../planning/entries.ts';

const reports = { [orders.name]: orders, [clicks.name]: clicks };

function lake() {
  const store = memoryStore();
  let ids = 0;
  const documents = createLakeDocuments({
    store,
    newId: () => `id-${++ids}`,
    clock: { sleep: async () => {}, wallMs: () => 0 },
    random: () => 0,
  });
  /** Commits a snapshot of each of these days; a day without a snapshot gets an entry without a commit. */
  const hold = async (
    name: string,
    brand: string,
    month: string,
    days: Record<string, string | undefined>,
  ) => {
    const entries = Object.entries(days).map(([day, snapshot]) => [
      day,
      snapshot === undefined ? { continuation: 'q1' } : readAt('2026-03-06T10:00:00.000Z', { snapshot }),
    ]);
    await documents
      .ledger({ name, table: name }, brand, month)
      .update((ledger) => ({ ...ledger, days: { ...ledger.days, ...Object.fromEntries(entries) } }));
  };
  return { store, documents, hold };
}

async function lakeOfTwoBrands() {
  const { store, documents, hold } = lake();
  for (const [brand, month] of [
    ['acme', '2026-02'],
    ['acme', '2026-03'],
    ['globex', '2026-01'],
  ] as const)
    await hold(orders.name, brand, month, { [`${month}-05`]: `${brand}-${month}` });
  await hold(clicks.name, 'acme', '2026-03', { '2026-03-01': 'c1' });
  await hold('report_of_old', 'acme', '2026-03', { '2026-03-01': 'x1' });
  await hold('constructor', 'acme', '2026-03', { '2026-03-01': 'x1' });
  await documents.reportState(orders.name, 'acme').update((state) => ({ ...state, policy: 'p1' }));
  await store.put('ledger/notes.txt', Buffer.from('?'), { ifAbsent: true });
  return store;
}

describe('the ledgers of a lake', () => {
  it('are listed by report and brand, without unknown reports and other objects', async () => {
    expect(await listLedgers(await lakeOfTwoBrands(), reports)).toEqual([
      { report: clicks, brand: 'acme', months: ['2026-03'] },
      { report: orders, brand: 'acme', months: ['2026-02', '2026-03'] },
      { report: orders, brand: 'globex', months: ['2026-01'] },
    ]);
  });

  it('include the months of an upstream report, because the state of a day of lookups depends on them', async () => {
    const { store, hold } = lake();
    for (const { name } of [clicks, clickDetails])
      for (const month of ['2025-11', '2026-02', '2026-03']) await hold(name, 'acme', month, {});
    const read = await readWantedLedgers(
      store,
      { [clicks.name]: clicks, [clickDetails.name]: clickDetails },
      (month, { report }) => (report === clicks ? month === '2026-03' : month === '2025-11'),
    );
    const months = read.map(({ report, ledgers }) => [report.name, [...ledgers.keys()]]);
    expect(Object.fromEntries(months)).toEqual({
      [clicks.name]: ['2025-11', '2026-03'],
      [clickDetails.name]: ['2025-11'],
    });
  });

  it.each([
    { shows: 'from a month on', span: { from: '2026-03' }, months: [['2026-03'], ['2026-03'], []] },
    { shows: 'up to a month', span: { to: '2026-02' }, months: [[], ['2026-02'], ['2026-01']] },
    { shows: 'of no month that is there', span: { from: '2027-01' }, months: [[], [], []] },
  ])('are read $shows, and every report of a brand in any case', async ({ span, months }) => {
    const read = await readLedgers(await lakeOfTwoBrands(), reports, span);
    expect(read.map(({ ledgers }) => [...ledgers.keys()])).toEqual(months);
  });

  it('are read by month, with the state of each report', async () => {
    const read = await readLedgers(await lakeOfTwoBrands(), reports);
    expect(read.map(({ report, brand, state }) => [report.name, brand, state.policy])).toEqual([
      ['clicks_list', 'acme', ''],
      ['order_list', 'acme', 'p1'],
      ['order_list', 'globex', ''],
    ]);
    expect(read.map(({ ledgers }) => [...ledgers.keys()])).toEqual([
      ['2026-03'],
      ['2026-02', '2026-03'],
      ['2026-01'],
    ]);
    const ofMarch = read[1]?.ledgers.get('2026-03');
    expect(ofMarch).toMatchObject({ report: 'order_list', brand: 'acme', month: '2026-03' });
    expect(Object.keys(ofMarch?.days ?? {})).toEqual(['2026-03-05']);
  });

  it.each([
    {
      shows: 'a ledger',
      key: 'ledger/order_list/acme/2026-03.json',
      month: { month: '2026-03' },
      left: { months: ['2026-02'], policy: 'p1', hasReturnedRecords: true },
    },
    {
      shows: 'the state of a brand',
      key: 'ledger/acme/state.json',
      month: {},
      left: { months: ['2026-02', '2026-03'], policy: '', hasReturnedRecords: true },
    },
  ])('are read except for $shows that is damaged, which is named', async ({ key, month, left }) => {
    const store = await lakeOfTwoBrands();
    const etag = (await store.get(key))?.etag ?? '';
    await store.put(key, Buffer.from('{'), { ifMatch: etag });
    const [clicksOfAcme, ordersOfAcme, ordersOfGlobex] = await readLedgers(store, reports);
    const message = expect.stringMatching(
      new RegExp(`^${key} cannot be used: .*brand-reports verify --restore`),
    );
    // The state of a brand is named once, though it is about all its reports.
    const damaged = [...(clicksOfAcme?.damaged ?? []), ...(ordersOfAcme?.damaged ?? [])];
    expect(damaged).toEqual([{ key, ...month, message }]);
    expect({
      months: [...(ordersOfAcme?.ledgers.keys() ?? [])],
      policy: ordersOfAcme?.state.policy,
      hasReturnedRecords: ordersOfAcme?.state.hasReturnedRecords,
    }).toEqual(left);
    expect(ordersOfGlobex?.damaged).toEqual([]);
  });

  it('are named in the order of their keys if several are damaged', async () => {
    const store = await lakeOfTwoBrands();
    const keys = ['2026-02', '2026-03'].map((name) => `ledger/order_list/acme/${name}.json`);
    for (const key of keys.toReversed())
      await store.put(key, Buffer.from('{'), { ifMatch: (await store.get(key))?.etag ?? '' });
    const [, ordersOfAcme] = await readLedgers(store, reports);
    expect(ordersOfAcme?.damaged.map(({ key }) => key)).toEqual(keys);
  });

  it.each<[string, Record<string, number | undefined>, boolean]>([
    ['one day of several has records', { '2026-03-01': 0, '2026-03-02': 3, '2026-03-03': undefined }, true],
    ['no day has records', { '2026-03-01': 0, '2026-03-02': 0 }, false],
    ['no day is committed', { '2026-03-01': undefined }, false],
  ])(
    'show without the report state whether the report ever returned a record: %s',
    async (_name, days, returned) => {
      const { store, documents } = lake();
      await documents.ledger(orders, 'acme', '2026-03').update((ledger) => ({
        ...ledger,
        days: Object.fromEntries(
          Object.entries(days).map(([day, rows]) => [
            day,
            rows === undefined ? { continuation: 'q1' } : readAt('2026-03-06T10:00:00.000Z', { rows }),
          ]),
        ),
      }));
      await store.put('ledger/acme/state.json', Buffer.from('{'), { ifAbsent: true });
      const [ordersOfAcme] = await readLedgers(store, reports);
      expect(ordersOfAcme?.state.hasReturnedRecords).toBe(returned);
    },
  );

  it('are not read if the store cannot be read', async () => {
    const get = async () =>
      Promise.reject(new BrandReportsError('transient', 'aws_unavailable', 'no answer'));
    await expect(readLedgers({ ...(await lakeOfTwoBrands()), get }, reports)).rejects.toMatchObject({
      code: 'aws_unavailable',
    });
  });
});

describe('the schema of a report', () => {
  it('I7: has the documented columns, and the columns that were found', async () => {
    const { store, documents } = lake();
    const names = async () => (await readSchema(store, orders)).columns.map(({ name }) => name);
    const before = await names();
    expect(before).toContain('_rescued');
    await documents
      .schema(orders)
      .update((schema) => ({ ...schema, ...growSchema(schema, { weight: 18 }, {}) }));
    expect(await names()).toEqual([...before, 'weight']);
  });
});

describe('the committed days', () => {
  it('are the days with a snapshot, in order, report by report', async () => {
    const { store, hold } = lake();
    await hold(orders.name, 'acme', '2026-03', {
      '2026-03-09': 's9',
      '2026-03-02': 's2',
      '2026-03-05': undefined,
      '2026-03-01': 's1',
    });
    await hold(orders.name, 'acme', '2026-02', { '2026-02-28': 's28' });
    await hold(clicks.name, 'globex', '2026-01', { '2026-01-31': 'c31', '2026-01-30': 'c30' });
    const days = committedDays(await readLedgers(store, reports));
    expect(
      days.map(({ report, brand, day, committed }) => [report.name, brand, day, committed.snapshot]),
    ).toEqual([
      ['clicks_list', 'globex', '2026-01-30', 'c30'],
      ['clicks_list', 'globex', '2026-01-31', 'c31'],
      ['order_list', 'acme', '2026-02-28', 's28'],
      ['order_list', 'acme', '2026-03-01', 's1'],
      ['order_list', 'acme', '2026-03-02', 's2'],
      ['order_list', 'acme', '2026-03-09', 's9'],
    ]);
  });
});
