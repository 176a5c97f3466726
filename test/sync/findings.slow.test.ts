import { describe, expect, it } from '@jest/globals';
import { type Held, type ReportName, recordsOfDay, restate } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/base/days.ts';
import { type Json, type JsonObject, isJsonObject, numberText } from '../../shared/base/json.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { coverageOf, ledgerEntry, publishedDays, rewriteDocument, wrongReports } from './lake-contents.ts';
import { BRAND, type SampleLake, type SyncOptions, syncUntilComplete } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const [BEFORE, DAY, AFTER, TODAY] = ['2026-03-09', '2026-03-10', '2026-03-11', '2026-03-12'];
/** In New York, when three days are over and closed. */
const NOW = '2026-03-12T16:00:00Z';

const sample = sharedLakes({ now: NOW, startDate: BEFORE, clicksPerDay: 60 });

/** One run. @returns the findings and the unfinished checks in its log */
async function run(lake: SampleLake, reports: readonly ReportName[], options: SyncOptions = {}) {
  const findings: string[] = [];
  const notMade: string[] = [];
  const log = (event: LogEvent) => {
    if (event.event === 'day_finding') findings.push(`${event.report} ${event.day} ${event.message}`);
    if (event.event === 'check_not_made') notMade.push(`${event.report} ${event.day} ${event.check}`);
  };
  const { status } = await lake.sync({ scope: { reports }, log, ...options });
  return { status, findings, notMade };
}

async function findingsOf(lake: SampleLake, report: ReportName): Promise<Record<string, unknown>> {
  const days = Object.entries(await coverageOf(lake, report));
  return Object.fromEntries(days.flatMap(([day, { findings }]) => (findings ? [[day, findings]] : [])));
}

const committed = async (lake: SampleLake, report: ReportName, day = DAY) =>
  (await ledgerEntry(lake, report, day)).committed;

function change(lake: SampleLake, report: ReportName, day: string, of: (held: Held[]) => Held[]): void {
  restate(lake.brand, report, day, of);
}
const withFields = (fields: JsonObject, rows: number) => (held: Held[]) =>
  held.map((one, index) => (index < rows ? { ...one, record: { ...one.record, ...fields } } : one));

const ATTRIBUTION = 'amazon_attribution_report';

describe('clicks of one tracking link that differ between rows', () => {
  it('are counted once for each link, until a reading has one number again', async () => {
    const lake = sample.emptyLake();
    change(lake, ATTRIBUTION, DAY, (held) =>
      held.map((one, index) =>
        index % 2 === 0 && index < 8
          ? { ...one, record: { ...one.record, track_url: `https://go.example/${index % 4}`, click: index } }
          : one,
      ),
    );
    expect(await run(lake, [ATTRIBUTION])).toEqual({
      status: 'complete',
      findings: [`${ATTRIBUTION} ${DAY} tracking links with more than one number of clicks: 2`],
      notMade: [],
    });
    expect(await findingsOf(lake, ATTRIBUTION)).toEqual({ [DAY]: 'click_differs (2)' });
    lake.nowMs += HOUR_MS;
    expect((await run(lake, [ATTRIBUTION])).findings).toEqual([]);
    expect(await wrongReports(lake, TODAY, [ATTRIBUTION])).toEqual({});
    change(lake, ATTRIBUTION, DAY, withFields({ click: 5 }, 1000));
    lake.nowMs += HOUR_MS;
    expect((await run(lake, [ATTRIBUTION])).findings).toEqual([]);
    expect(await findingsOf(lake, ATTRIBUTION)).toEqual({});
  });

  it('are counted by a column of numbers too', async () => {
    const lake = sample.emptyLake();
    const { [ATTRIBUTION]: attribution, ...others } = reports;
    if (!attribution) throw new Error('attribution is a report');
    const check = { name: 'differs', counts: 'numbers of views with several products', advice: 'ask' };
    const checks = [{ ...check, rule: 'one_value' as const, by: 'dpv', column: 'asin' }];
    change(lake, ATTRIBUTION, DAY, (held) =>
      held.slice(0, 7).map((one, index) => {
        const fields: JsonObject = index === 6 ? { dpv: null } : { dpv: index % 3, asin: `B${index % 2}` };
        return { ...one, record: { ...one.record, ...fields } };
      }),
    );
    await run(lake, [ATTRIBUTION], { reports: { ...others, [ATTRIBUTION]: { ...attribution, checks } } });
    expect((await committed(lake, ATTRIBUTION))?.checks?.findings).toEqual({ differs: 3 });
  });
});

const DETAILS: ReportName[] = ['clicks_list', 'clicks_detail'];

describe('clicks without detail', () => {
  it('are counted after the last try if the service answers without details, separately from refused lookups', async () => {
    const lake = sample.emptyLake();
    const ids = recordsOfDay(lake.brand, 'clicks_list', DAY).map(({ id }) => String(id));
    const isOneOf = (some: readonly string[], id: Json | undefined) =>
      some.includes(numberText(id) ?? String(id));
    const when = ({ fields }: { fields: JsonObject }) => isOneOf(ids.slice(0, 2), fields.id);
    const fault = { kind: 'code', code: 17, msg: 'no detail of this click' } as const;
    const stop = lake.service.addFault({ on: { action: 'report/clicks_detail', when }, fault });
    change(lake, 'clicks_detail', DAY, (held) =>
      held.map((one) => (isOneOf(ids.slice(2, 5), one.record.id) ? { ...one, record: {} } : one)),
    );
    const firstMs = lake.nowMs;
    for (const hours of [0, 1, 3, 5, 7, 15, 21, 31, 55, 79, 85]) {
      expect(await findingsOf(lake, 'clicks_detail')).toEqual({});
      lake.nowMs = firstMs + hours * HOUR_MS;
      await run(lake, DETAILS);
      expect(await committed(lake, 'clicks_detail')).toMatchObject({ refusedLookups: { count: 2 } });
    }
    stop();
    const found = 'lookups_given_up (2); clicks_without_detail (3)';
    expect(await findingsOf(lake, 'clicks_detail')).toEqual({ [DAY]: found });
  });

  it('are not counted while the day has other clicks that no run could look up yet', async () => {
    const lake = sample.emptyLake();
    await run(lake, DETAILS);
    const { examined } = (await committed(lake, 'clicks_detail'))?.checks ?? {};
    change(lake, 'clicks_list', DAY, (held) => [
      ...held,
      ...held.slice(0, 12).map((one, index) => ({ ...one, record: { ...one.record, id: `777${index}` } })),
    ]);
    lake.nowMs += 24 * HOUR_MS;
    await run(lake, ['clicks_list']);
    const fault = { kind: 'code', code: 9, msg: 'closed' } as const;
    const stop = lake.service.addFault({ on: { action: 'report/clicks_detail' }, fault });
    await run(lake, ['clicks_detail']);
    stop();
    const clicks = await committed(lake, 'clicks_list');
    const details = await committed(lake, 'clicks_detail');
    expect(details?.upstreamDigest).not.toBe(clicks?.digest);
    expect(details).toMatchObject({ checks: { findings: { clicks_without_detail: 0 }, examined } });
  });
});

const ORDERS: ReportName[] = ['order_list', 'transaction_list'];

describe('orders of transactions that are not among the orders', () => {
  /** Runs until orders are confirmed: on numbered pages the second reading confirms them. */
  async function settledRun(lake: SampleLake, options: SyncOptions = {}) {
    const runs = [await run(lake, ORDERS, options)];
    lake.nowMs += HOUR_MS;
    runs.push(await run(lake, ORDERS, options));
    return runs.flatMap(({ findings }) => findings);
  }

  it('are counted after their days and the days beside them are complete, until the orders appear', async () => {
    const lake = sample.emptyLake();
    const { order_list } = lake.brand.records;
    const start = Date.parse(`${DAY}T04:00:00Z`);
    const lost = order_list.filter(({ at }) => at >= start).slice(0, 3);
    change(lake, 'order_list', DAY, (held) => held.filter((one) => !lost.includes(one)));
    const what =
      'orders of transactions that are not among the orders of the day or of the days next to it: 3';
    expect(await settledRun(lake)).toEqual([`transaction_list ${DAY} ${what}`]);
    expect(await findingsOf(lake, 'transaction_list')).toEqual({ [DAY]: 'orders_unknown (3)' });
    // For the first day and yesterday the orders of a neighbouring day are unknown.
    for (const day of [BEFORE, AFTER])
      expect((await committed(lake, 'transaction_list', day))?.checks?.findings ?? {}).toEqual({});
    change(lake, 'order_list', DAY, (held) => [...held, ...lost]);
    lake.nowMs += 24 * HOUR_MS;
    expect(await settledRun(lake)).toEqual([]);
    expect(await findingsOf(lake, 'transaction_list')).toEqual({});
    expect((await committed(lake, 'transaction_list'))?.checks?.findings).toMatchObject({
      orders_unknown: 0,
    });
  });

  it('are found on the day before or after', async () => {
    const lake = sample.emptyLake();
    const { order_list } = lake.brand.records;
    const noon = Date.parse(`${DAY}T16:00:00Z`);
    for (const [index, one] of order_list.entries())
      if (Math.abs(one.at - noon) < 12 * HOUR_MS) one.at += (index % 2 === 0 ? 24 : -24) * HOUR_MS;
    change(lake, 'order_list', DAY, (held) => held);
    lake.brand.records.order_list.sort((a, b) => a.at - b.at);
    expect(await settledRun(lake)).toEqual([]);
    expect((await committed(lake, 'transaction_list'))?.checks?.findings).toMatchObject({
      orders_unknown: 0,
    });
  });

  it.each<[string, SyncOptions, (lake: SampleLake) => void]>([
    [
      'the orders are not enabled',
      { brandSettings: { reports: { order_list: { enabled: false } } } },
      () => {},
    ],
    [
      'a filter leaves orders out',
      { brandSettings: { reports: { order_list: { filters: { status: 'void' } } } } },
      () => {},
    ],
    [
      'no order has any of the ids, because the ids mean something else',
      {},
      (lake) => change(lake, 'transaction_list', DAY, withFields({ order_id: 'another' }, 1000)),
    ],
    [
      'orders have no id',
      {},
      (lake) => {
        const strip = (held: Held[]) =>
          held.map((one) => {
            const { transid: _transid, ...record } = one.record;
            return { ...one, record };
          });
        for (const day of [BEFORE, DAY, AFTER, TODAY]) change(lake, 'order_list', day, strip);
      },
    ],
  ])('are not counted if %s', async (_name, options, spoil) => {
    const lake = sample.emptyLake();
    spoil(lake);
    const scope = options.brandSettings ? { scope: { reports: ['transaction_list'] } } : {};
    expect(await settledRun(lake, { ...options, ...scope })).toEqual([]);
    const { findings = {} } = (await committed(lake, 'transaction_list'))?.checks ?? {};
    expect(findings).not.toHaveProperty('orders_unknown');
  });
});

describe('an empty day', () => {
  it.each<ReportName>(['clicks_list', 'order_list', 'transaction_list', ATTRIBUTION])(
    'of %s is published as a partition whose snapshot has no rows',
    async (report) => {
      const lake = sample.emptyLake();
      change(lake, report, DAY, () => []);
      const { findings } = await run(lake, [report]);
      expect(findings).toEqual([]);
      expect((await publishedDays(lake, report)).get(DAY)).toBe((await committed(lake, report))?.digest);
      expect(await committed(lake, report)).toMatchObject({ rows: 0, state: 'unconfirmed', published: true });
      expect((await coverageOf(lake, report))[DAY]).toMatchObject({ rows: 0n, state: 'complete' });
    },
  );
});

describe('the checks of a day', () => {
  /** One run of orders and transactions. @returns the days of transactions whose snapshots it read, and not only checked for existence */
  async function daysRead(lake: SampleLake): Promise<string[]> {
    const read = new Set<string>();
    const store: ObjectStore = {
      ...lake.store,
      range: (key, start, end) => {
        const [, day = ''] = /^snapshots\/transactions\/.*\/dt=([\d-]+)\//.exec(key) ?? [];
        if (day !== '' && end - start > 4) read.add(day);
        return lake.store.range(key, start, end);
      },
    };
    await run(lake, ORDERS, { lake: lake.over(store) });
    return [...read].sort();
  }

  it('run once, and again if the data that they read has changed', async () => {
    const lake = sample.emptyLake();
    // The first close of a day reads its version to choose a key. Orders produce no finding before a second reading has confirmed them.
    for (const days of [[BEFORE, DAY, AFTER], [DAY], []]) {
      expect(await daysRead(lake)).toEqual(days);
      lake.nowMs += HOUR_MS;
    }
    change(lake, 'order_list', AFTER, withFields({ status: 'void' }, 3));
    for (const days of [[], [DAY], []]) {
      expect(await daysRead(lake)).toEqual(days);
      lake.nowMs += HOUR_MS;
    }
  });

  it('run in the next run if a run died before them', async () => {
    const lake = sample.emptyLake();
    change(lake, ATTRIBUTION, DAY, withFields({ track_url: 'https://go.example/1' }, 9));
    await run(lake, [ATTRIBUTION]);
    expect((await committed(lake, ATTRIBUTION))?.checks?.findings).toEqual({ click_differs: 1 });
    await rewriteDocument(lake, ledgerKey(ATTRIBUTION, BRAND, '2026-03'), ({ days, ...ledger }) => {
      if (!isJsonObject(days) || !isJsonObject(days[DAY]) || !isJsonObject(days[DAY].committed))
        throw new Error(`${DAY} is not committed`);
      const { checks: _checks, ...rest } = days[DAY].committed;
      return { ...ledger, days: { ...days, [DAY]: { ...days[DAY], committed: rest } } };
    });
    lake.nowMs += HOUR_MS;
    expect((await run(lake, [ATTRIBUTION])).findings).toHaveLength(1);
    expect((await committed(lake, ATTRIBUTION))?.checks?.findings).toEqual({ click_differs: 1 });
  });

  it('stop nothing if a snapshot cannot be read, and run once it can', async () => {
    const lake = sample.emptyLake();
    const isBroken = (key: string) => key.startsWith('snapshots/attribution/');
    const store: ObjectStore = {
      ...lake.store,
      range: async (key, start, end) =>
        isBroken(key) ? Buffer.alloc(end - start, 'x') : lake.store.range(key, start, end),
    };
    const broken = lake.over(store);
    const { status, notMade } = await run(lake, [ATTRIBUTION], { lake: broken });
    expect({ status, notMade }).toEqual({
      status: 'complete',
      notMade: [BEFORE, DAY, AFTER].map((day) => `${ATTRIBUTION} ${day} click_differs`),
    });
    expect((await coverageOf(lake, ATTRIBUTION))[DAY]).toMatchObject({ state: 'complete' });
    lake.nowMs += HOUR_MS;
    expect((await run(lake, [ATTRIBUTION])).notMade).toEqual([]);
    expect((await committed(lake, ATTRIBUTION))?.checks?.findings).toEqual({ click_differs: 0 });
  });

  it('wait for the next run if time is up', async () => {
    const lake = sample.emptyLake();
    await syncUntilComplete(lake, { scope: { reports: [ATTRIBUTION] } });
    expect((await committed(lake, ATTRIBUTION))?.checks?.findings).toBeUndefined();
    lake.nowMs += HOUR_MS;
    await run(lake, [ATTRIBUTION]);
    expect((await committed(lake, ATTRIBUTION))?.checks?.findings).toEqual({ click_differs: 0 });
  });
});
