import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ReportName, recordsOfDay, restate } from '../../sample/brand.ts';
import { numberText } from '../../shared/json.ts';
import { ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import { NO_TIME, type SampleLake, sampleLake, syncUntilComplete } from './sample-lake.ts';

const FIRST = '2026-03-09';
const PAGE = 3;

let sample: SampleLake;
beforeAll(async () => {
  sample = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    startDate: FIRST,
    clicksPerDay: 20,
    interpretations: { pageCap: PAGE },
  });
});
afterAll(() => sample.close());

const scopeOf = (report: ReportName) => ({ reports: [report], from: FIRST, to: FIRST });
const wrong = (lake: SampleLake, report: ReportName) =>
  wrongReports({ ...lake, startDate: FIRST }, FIRST, [report]);

/** Sorts the day's records as the service pages them, and gives the record at each place the id of another one. */
function giveIds(lake: SampleLake, report: ReportName, field: string, ids: Record<number, number>): void {
  restate(lake.brand, report, FIRST, (held) => {
    const paged = held.toSorted((a, b) => (digits(a.record[field]) < digits(b.record[field]) ? -1 : 1));
    return paged.map((one, place) => {
      const other = paged[ids[place] ?? place];
      return { ...one, record: { ...one.record, [field]: other?.record[field] ?? null } };
    });
  });
}

function digits(value: Parameters<typeof numberText>[0] | undefined): string {
  return (typeof value === 'string' ? value : (numberText(value) ?? '')).padStart(30, '0');
}

/** How often the first page of the day was requested meanwhile. */
async function passesDuring(lake: SampleLake, report: ReportName, act: () => Promise<unknown>) {
  const before = requestsOf(lake, report).length;
  await act();
  return requestsOf(lake, report)
    .slice(before)
    .filter(({ fields: { first, page_number, start_time, end_time } }) => {
      const page = numberText(first ?? page_number) === (report === 'clicks_list' ? '0' : '1');
      return page && numberText(start_time) !== numberText(end_time);
    }).length;
}

describe('different records with one key', () => {
  it.each<[string, ReportName, string, Record<number, number>]>([
    ['orders on both sides of a page boundary', 'order_list', 'transid', { [PAGE]: PAGE - 1 }],
    ['orders on one page', 'order_list', 'transid', { [PAGE + 1]: PAGE }],
    ['clicks on both sides of a page boundary', 'clicks_list', 'id', { [PAGE]: PAGE - 1 }],
    ['clicks on one page', 'clicks_list', 'id', { [PAGE + 2]: PAGE + 1 }],
    ['clicks of different pages', 'clicks_list', 'id', { [3 * PAGE]: 0 }],
  ])('I1: all stay, wherever a page ends: %s', async (_name, report, field, ids) => {
    const lake = sample.emptyLake();
    const scope = scopeOf(report);
    giveIds(lake, report, field, ids);
    expect((await lake.sync({ scope })).status).toBe('complete');
    expect(await wrong(lake, report)).toEqual({});
  });

  it('I1: are read twice before that, and once from the next reading on', async () => {
    const lake = sample.emptyLake();
    const scope = scopeOf('order_list');
    giveIds(lake, 'order_list', 'transid', { [PAGE]: PAGE - 1 });
    expect(await passesDuring(lake, 'order_list', () => lake.sync({ scope }))).toBe(2);
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.keyIsNone).toBe(true);
    lake.nowMs += 60_000;
    expect(await passesDuring(lake, 'order_list', () => lake.sync({ scope }))).toBe(1);
    expect(await wrong(lake, 'order_list')).toEqual({});
  });

  it.each<ReportName>(['order_list', 'clicks_list'])(
    'I1: all stay where runs have little time: %s',
    async (report) => {
      const lake = sample.emptyLake();
      giveIds(lake, report, report === 'clicks_list' ? 'id' : 'transid', { [PAGE]: PAGE - 1 });
      await syncUntilComplete(lake, { scope: scopeOf(report), deadline: NO_TIME });
      expect(await wrong(lake, report)).toEqual({});
    },
  );
});

describe('a record that changes while its day is paged', () => {
  it('I1: is there once, as it is now', async () => {
    const lake = sample.emptyLake();
    let changes = 0;
    const removeFault = lake.service.addFault({
      on: {
        action: 'report/order_list',
        when({ fields }) {
          if (numberText(fields.page_number) !== '2' || changes > 0) return false;
          changes += 1;
          // A new first order moves the last one of the first page to the second, where it is altered.
          const [first] = recordsOfDay(lake.brand, 'order_list', FIRST);
          const ids = recordsOfDay(lake.brand, 'order_list', FIRST).map(({ transid }) => digits(transid));
          const moved = ids.toSorted()[PAGE - 1];
          restate(lake.brand, 'order_list', FIRST, (held) => [
            ...held.map((one) =>
              digits(one.record.transid) === moved
                ? { ...one, record: { ...one.record, status: 'altered' } }
                : one,
            ),
            { at: held[0]?.at ?? 0, record: { ...first, transid: '1' } },
          ]);
          return false;
        },
      },
      fault: { kind: 'html' },
    });
    expect((await lake.sync({ scope: scopeOf('order_list') })).status).toBe('complete');
    removeFault();
    expect(changes).toBe(1);
    expect(await wrong(lake, 'order_list')).toEqual({});
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.keyIsNone).toBeUndefined();
  });
});
