import { restate } from '../../sample/brand.ts';
import type { JsonObject } from '../../shared/json.ts';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Close, type ClosedDay, namedDays, readCloses } from '../../shared/lake/documents/close.ts';
import { createLakeDocuments } from '../../shared/lake/documents/lake-documents.ts';
import { forgetVersions } from '../../shared/lake/documents/ledger.ts';
import { oneClock } from '../../shared/lake/documents/stored-time.ts';
import { snapshotsByTable } from '../../shared/lake/documents/read.ts';
import { closeKey, closedTable, versionKey } from '../../shared/lake/paths.ts';
import { type CloseOptions, closeMonth, removeCloses } from '../../shared/operations/close-month.ts';
import type { Lake } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { alter, ledgerEntry } from '../sync/lake-contents.ts';
import { everyDeath } from '../sync/every-death.ts';
import { BRAND, type SampleLake } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

/** The first of the two days of its month in the lake. */
const FIRST = '2026-02-27';
const LAST = '2026-02-28';
const MONTH = '2026-02';
const scope = { reports: ['order_list', 'transaction_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 4,
  brandSettings: {
    reports: {
      clicks_list: { enabled: false },
      amazon_attribution_report: { enabled: false },
      order_list: { refresh: [{ untilAgeDays: 30, every: '30 days' }] },
    },
  },
});

function optionsOf(lake: SampleLake, own: Partial<CloseOptions> = {}): CloseOptions {
  return { ...lake.access(), settings: lake.settings(), month: MONTH, ...own };
}

async function closeOf(lake: SampleLake, month = MONTH): Promise<Close | undefined> {
  return (await readCloses(lake.store)).find((close) => close.month === month);
}

/** The ids of the objects that a close names, by table and day. */
function idsOf(days: readonly ClosedDay[]): [table: string, day: string, id: string][] {
  return days.flatMap((day) => {
    const report = reports[day.report];
    const ids = report ? snapshotsByTable(report, day) : [];
    return ids.map(([table, id]): [string, string, string] => [table, day.day, id]);
  });
}

/** The ids that the partitions of a close have to point at, by their paths. */
function partitionsOf({ brand, month, days }: Close): Map<string, string> {
  return new Map(
    idsOf(days).map(([table, day, id]) => [
      `${closedTable(table)}/close=${month}/brand=${brand}/dt=${day}`,
      id,
    ]),
  );
}

function closedPointers({ catalog }: SampleLake): Map<string, string> {
  return new Map([...catalog.pointers].filter(([path]) => path.includes('_closed/')));
}

function keysOf(close: Close): string[] {
  return idsOf(namedDays(close)).map(([table, day, id]) => versionKey(table, close.brand, day, id));
}

describe('closing a month', () => {
  let whole: SampleLake;
  let partial: SampleLake;
  let empty: SampleLake;

  beforeAll(async () => {
    empty = sample.emptyLake();
    partial = sample.emptyLake();
    await partial.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    whole = sample.emptyLake();
    await whole.sync({ scope });
  });

  it.each<[name: string, lake: () => SampleLake, own: Partial<CloseOptions>, code: string, message: string]>([
    [
      'a month that is not over',
      () => whole,
      { month: '2026-03' },
      'month_not_over',
      'it ends at 2026-04-01T04:00:00.000Z',
    ],
    [
      'a month that is not over, even with --anyway',
      () => whole,
      { month: '2026-03', anyway: true },
      'month_not_over',
      'not over',
    ],
    ['a month without days', () => whole, { month: '2026-01' }, 'nothing_to_close', 'has no day of 2026-01'],
    ['a lake without days', () => empty, {}, 'unknown_brand', 'To read days: "brand-reports sync"'],
    ['another brand', () => whole, { brand: 'other' }, 'unknown_brand', 'Allowed: acme'],
    [
      'a month with a day missing',
      () => partial,
      {},
      'not_whole',
      `order_list missing ${LAST}; transaction_list missing ${LAST}. To read them: "brand-reports sync order_list transaction_list --brand acme --from ${LAST} --to ${LAST}"`,
    ],
  ])('refuses %s and writes nothing', async (_name, of, own, code, message) => {
    const lake = of().fork();
    const before = [...lake.store.objects.keys()];
    await expect(closeMonth(optionsOf(lake, own))).rejects.toMatchObject({
      kind: 'config',
      code,
      message: expect.stringContaining(message),
    });
    expect([...lake.store.objects.keys()]).toEqual(before);
  });

  it('refuses amounts that cannot be read by the current settings, unless a person accepts them', async () => {
    const lake = sample.emptyLake();
    restate(lake.brand, 'order_list', FIRST, ([first, ...others]) => [
      ...(first ? [{ ...first, record: { ...first.record, commission: '1,500.25' } }] : []),
      ...others,
    ]);
    await lake.sync({ scope });
    const close = (fields: JsonObject, own: Partial<CloseOptions> = {}) => {
      const settings = lake.settings({ brandSettings: { reports: { order_list: { fields } } } });
      return closeMonth(optionsOf(lake.fork(), { settings, ...own }));
    };
    const refusal = (text: string) => ({
      code: 'unreadable_amounts',
      message: expect.stringContaining(text),
    });
    const found = `amounts that cannot be read: order_list commission: 1 value such as "1,500.25" on ${FIRST}. `;
    await expect(close({})).rejects.toMatchObject(refusal(found));
    const unread = `values that were never read as amounts on ${FIRST} to ${LAST} (to read them: "brand-reports rebuild order_list --brand acme --from ${FIRST} --to ${LAST}")`;
    await expect(close({ commission: 'publisher_name' })).rejects.toMatchObject(refusal(unread));
    for (const done of [close({ commission: null }), close({}, { anyway: true })])
      expect((await done).status).toBe('complete');
  });

  it('closes with --anyway, and records the days that are not whole in the close', async () => {
    const lake = partial.fork();
    const { closed } = await closeMonth(optionsOf(lake, { anyway: true }));
    expect(closed[0]?.exceptions).toEqual([
      { report: 'order_list', day: LAST, why: 'missing' },
      { report: 'transaction_list', day: LAST, why: 'missing' },
    ]);
    expect(closed[0]?.days.map(({ day }) => day)).toEqual([FIRST, FIRST]);
  });

  it('names the current version of each day, and points partitions at them', async () => {
    const lake = whole.fork();
    await closeMonth(optionsOf(lake));
    const close = await closeOf(lake);
    expect(close?.days.map(({ report, day }) => `${report} ${day}`)).toEqual([
      ...[FIRST, LAST].map((day) => `order_list ${day}`),
      ...[FIRST, LAST].map((day) => `transaction_list ${day}`),
    ]);
    expect(close).toMatchObject({
      exceptions: [],
      carried: [],
      tables: { orders: { roles: { fields: {} } } },
    });
    expect(closedPointers(lake)).toEqual(close && partitionsOf(close));
    expect(close && keysOf(close).every((key) => lake.store.objects.has(key))).toBe(true);
  });

  it('refuses to close a month twice, but closes it again after the close and its partitions were removed', async () => {
    const lake = whole.fork();
    await closeMonth(optionsOf(lake));
    await expect(closeMonth(optionsOf(lake))).rejects.toMatchObject({
      code: 'already_closed',
      message: expect.stringMatching(
        /was closed at 2026-.*"brand-reports close 2026-02 --brand acme --remove"/,
      ),
    });
    expect(await removeCloses(optionsOf(lake))).toEqual([BRAND]);
    expect(closedPointers(lake).size).toBe(0);
    await expect(removeCloses(optionsOf(lake))).rejects.toMatchObject({ code: 'not_closed' });
    expect((await closeMonth(optionsOf(lake))).closed).toHaveLength(1);
  });

  it('carries over each day of an earlier closed month once if the day has changed since', async () => {
    const lake = whole.fork();
    await closeMonth(optionsOf(lake));
    alter(lake, 'order_list', FIRST, { word: 'later' }, 1);
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    lake.nowMs = Date.parse('2026-04-03T12:00:00Z');
    await lake.sync({ scope });
    await closeMonth(optionsOf(lake, { month: '2026-03', anyway: true }));
    expect((await closeOf(lake, '2026-03'))?.carried.map(({ report, day }) => [report, day])).toEqual([
      ['order_list', FIRST],
    ]);
    lake.nowMs = Date.parse('2026-05-03T12:00:00Z');
    await closeMonth(optionsOf(lake, { month: '2026-04', anyway: true }));
    expect((await closeOf(lake, '2026-04'))?.carried).toEqual([]);
  });

  it.each([
    ['close', closeMonth],
    ['removal', removeCloses],
  ] as const)(
    'if a %s dies at any operation, the same command ends as if nothing had happened',
    async (_name, operation) => {
      const prepared = whole.fork();
      if (operation === removeCloses) await closeMonth(optionsOf(prepared));
      const dies = (lake: SampleLake, dying: Lake) => operation(optionsOf(lake, { lake: dying }));
      await everyDeath(
        () => prepared.fork(),
        dies,
        async (lake, n) => {
          const half = await closeOf(lake);
          if (half) for (const key of keysOf(half)) expect(lake.store.objects.has(key)).toBe(true);
          const outcome = await operation(optionsOf(lake)).catch(({ code }) => code);
          const close = await closeOf(lake);
          expect(closedPointers(lake)).toEqual(close ? partitionsOf(close) : new Map());
          expect({ n, isClosed: close !== undefined }).toEqual({ n, isClosed: operation === closeMonth });
          if (typeof outcome === 'string') expect(['already_closed', 'not_closed']).toContain(outcome);
        },
      );
    },
  );

  it('I5: drafts the month again if a version that it names is gone when its document is written', async () => {
    const lake = whole.fork();
    const key = closeKey(BRAND, MONTH);
    let times = 0;
    const store = {
      ...lake.store,
      put: async (...put: Parameters<typeof lake.store.put>) => {
        const written = await lake.store.put(...put);
        // In the meantime a reading replaces a version, the ledger forgets it, and a vacuum that saw no close deletes it.
        if (put[0] === key) times += 1;
        if (put[0] === key && times === 1) {
          alter(lake, 'order_list', FIRST, { word: 'later' }, 1);
          await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
          const { superseded = [] } = await ledgerEntry(lake, 'order_list', FIRST);
          await createLakeDocuments({ store: lake.store, ...lake.access() })
            .ledger({ name: 'order_list', table: 'orders' }, BRAND, MONTH)
            .update((current) =>
              forgetVersions(
                current,
                oneClock(() => lake.nowMs),
                0,
                0,
              ),
            );
          await lake.store.delete(
            superseded.map(({ snapshot }) => versionKey('orders', BRAND, FIRST, snapshot)),
          );
        }
        return written;
      },
    };
    await closeMonth(optionsOf(lake, { lake: lake.over(store) }));
    const close = await closeOf(lake);
    expect(times).toBe(2);
    expect(close && keysOf(close).every((each) => lake.store.objects.has(each))).toBe(true);
  });
});
