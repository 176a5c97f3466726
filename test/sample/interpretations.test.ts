import { describe, expect, it } from '@jest/globals';
import type { Held, ReportName } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { type JsonObject, stringifyJson } from '../../shared/json.ts';
import { call, listOf, startAcme } from './call.ts';

const instants = {
  before: '2026-11-01T03:59:59Z',
  first: '2026-11-01T04:00:00Z',
  last: '2026-11-02T04:59:59Z',
  next: '2026-11-02T05:00:00Z',
  after: '2026-11-02T05:00:01Z',
};
const held: Held[] = Object.entries(instants).map(([name, at], index) => ({
  at: Date.parse(at),
  record: { name, transid: String(index) },
}));
const seconds = (instant: keyof typeof instants) => Date.parse(instants[instant]) / 1000;

/** The names of the records that the action answers with. */
async function answered(
  action: string,
  interpretations: Partial<Interpretations>,
  fields: JsonObject,
): Promise<unknown[]> {
  const records = {
    clicks_list: held,
    order_list: held,
    transaction_list: held,
    amazon_attribution_report: held,
  };
  const service = await startAcme({ interpretations }, records);
  const { data } = await call(service, `report/${action}`, fields);
  return listOf(data).map(({ name }) => name);
}

describe('times', () => {
  const day = { start_time: seconds('first'), end_time: seconds('next') };
  const inMs = { start_time: day.start_time * 1000, end_time: day.end_time * 1000 };
  const instant = { start_time: day.end_time, end_time: day.end_time };

  describe.each(['clicks_list', 'order_list'])('of %s', (action) => {
    const fixed: JsonObject = action === 'order_list' ? { sort_dir: 'asc' } : {};
    it.each<[string, Partial<Interpretations>, JsonObject, string[]]>([
      ['include end_time', {}, day, ['first', 'last', 'next']],
      ['exclude end_time', { endTime: 'exclusive' }, day, ['first', 'last']],
      ['find an instant where the end is included', {}, instant, ['next']],
      ['find nothing where it is not', { endTime: 'exclusive' }, instant, []],
      ['are milliseconds', { timestampUnit: 'milliseconds' }, inMs, ['first', 'last', 'next']],
      ['are not milliseconds', {}, inMs, []],
      ['may have no end', {}, { start_time: day.end_time }, ['next', 'after']],
      ['may have no start', {}, { end_time: day.start_time }, ['before', 'first']],
      ['may have neither', {}, {}, Object.keys(instants)],
    ])('of a request %s', async (_name, interpretations, fields, names) => {
      expect(await answered(action, interpretations, { ...fields, ...fixed })).toEqual(names);
    });

    it('that are equal are refused under that interpretation', async () => {
      const service = await startAcme({ interpretations: { equalTimes: 'refused' } });
      expect((await call(service, `report/${action}`, instant)).code).toBe(1003);
      expect((await call(service, `report/${action}`, day)).code).toBe(0);
    });
  });
});

describe('dates', () => {
  const day = { start_date: '20261101', end_date: '20261101' };
  const toNext = { start_date: '20261101', end_date: '20261102' };

  describe.each(['transaction_list', 'amazon_attribution_report'])('of %s', (action) => {
    it.each<[string, Partial<Interpretations>, JsonObject, string[]]>([
      ['mean whole days in the zone of the brand', {}, day, ['first', 'last']],
      ['mean a midnight', { endDate: 'midnight_inclusive' }, day, ['first']],
      ['mean a midnight that is outside', { endDate: 'midnight_exclusive' }, day, []],
      ['reach the next midnight', { endDate: 'midnight_inclusive' }, toNext, ['first', 'last', 'next']],
      ['reach up to the next midnight', { endDate: 'midnight_exclusive' }, toNext, ['first', 'last']],
      ['may have no end', {}, { start_date: '20261102' }, ['next', 'after']],
      ['may have no start', {}, { end_date: '20261101' }, ['before', 'first', 'last']],
      ['may have neither', {}, {}, Object.keys(instants)],
    ])('of a request %s', async (_name, interpretations, fields, names) => {
      expect(await answered(action, interpretations, fields)).toEqual(names);
    });
  });
});

describe('filters', () => {
  it.each<[string, ReportName, JsonObject]>([
    ['publisher', 'clicks_list', { publisher_id: '1234' }],
    ['channel', 'clicks_list', { channel_id: '73' }],
    ['status', 'order_list', { status: 'void' }],
    ['type', 'order_list', { type: 'trans', publisher_id: '1311' }],
    ['order status', 'transaction_list', { order_status: 'mixed' }],
    ['brand in the store', 'transaction_list', { amazon_brand: 'Fjällnatt', sku_status: 'paid' }],
    ['publisher number', 'amazon_attribution_report', { publisher_uid: 83 }],
    ['product', 'amazon_attribution_report', { asin: 'B0SAMPLE04', country_code: 'DE' }],
  ])('by %s leave exactly the records of %s that fit', async (_name, report, filter) => {
    const service = await startAcme();
    const size: JsonObject =
      report === 'clicks_list' || report === 'order_list' ? { page_size: 100 } : { limit: 200 };
    const { data } = await call(service, `report/${report}`, { ...filter, ...size });
    const fits = (service.brands.acme?.records[report] ?? [])
      .map(({ record }) => record)
      .filter((record) => Object.entries(filter).every(([name, value]) => record[name] === value));
    expect(fits.length).toBeGreaterThan(0);
    expect(listOf(data).map(stringifyJson).sort()).toEqual(fits.map(stringifyJson).sort());
  });
});
