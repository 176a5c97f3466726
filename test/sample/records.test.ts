import { afterAll, describe, expect, it } from '@jest/globals';
import { textOf } from '../../sample/actions/select.ts';
import { recordsOfDay, restate } from '../../sample/brand.ts';
import { dayAfter, startOfDay } from '../../sample/calendar.ts';
import { defaultBrands } from '../../sample/default-brands.ts';
import { seedBrand } from '../../sample/seed.ts';
import { sampleCredentials, sampleSettings } from '../../sample/settings.ts';
import { type Json, stringifyJson } from '../../shared/json.ts';
import { call, closeServices, listOf, ordinaryRecords, request, start, startAcme } from './call.ts';

afterAll(closeServices);

const held = ordinaryRecords;
const jsonOf = (records: readonly { record: Json }[]) => records.map(({ record }) => stringifyJson(record));

describe('seeded records', () => {
  it('are the same for the same seed, and differ for another seed', () => {
    const options = { timeZone: 'Europe/Berlin', from: new Date('2026-11-01Z'), to: new Date('2026-11-03Z') };
    const one = stringifyJson(Object.values(seedBrand({ ...options, seed: 1 })).flatMap(jsonOf));
    expect(stringifyJson(Object.values(seedBrand({ ...options, seed: 1 })).flatMap(jsonOf))).toBe(one);
    expect(stringifyJson(Object.values(seedBrand({ ...options, seed: 2 })).flatMap(jsonOf))).not.toBe(one);
  });

  it('are the same for a day in any range', () => {
    const options = { seed: 1, timeZone: 'Europe/Berlin', to: new Date('2026-11-04T00:00:00Z') };
    const longer = seedBrand({ ...options, from: new Date('2026-10-20T12:00:00Z') });
    const shorter = seedBrand({ ...options, from: new Date('2026-11-03T12:00:00Z') });
    expect(jsonOf(longer.order_list).slice(-shorter.order_list.length)).toEqual(jsonOf(shorter.order_list));
  });

  it.each(['clicks_list', 'order_list'] as const)('of %s each have a unique key', (report) => {
    const field = report === 'order_list' ? 'transid' : 'id';
    const ids = held[report].map(({ record }) => record[field]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('have a detail for each click', () => {
    expect(held.clicks_detail.map(({ record }) => record.id)).toEqual(
      held.clicks_list.map(({ record }) => record.id),
    );
  });

  it('have click ids on both sides of 2^53', () => {
    const beyond = held.clicks_list.filter(({ record }) => BigInt(textOf(record.id) ?? '') > 2n ** 53n);
    expect(beyond.length).toBeGreaterThan(0);
    expect(beyond.length).toBeLessThan(held.clicks_list.length);
  });

  it('include duplicate transactions', () => {
    const records = jsonOf(held.transaction_list);
    expect(new Set(records).size).toBeLessThan(records.length);
  });

  it('repeat the clicks of a tracking link on each of its products', () => {
    const clicksOf = new Map<string, Set<Json | undefined>>();
    for (const { record } of held.amazon_attribution_report) {
      const link = stringifyJson([record.date ?? null, record.track_url ?? null]);
      clicksOf.set(link, (clicksOf.get(link) ?? new Set()).add(record.click));
    }
    expect(clicksOf.size).toBeLessThan(held.amazon_attribution_report.length);
    expect([...clicksOf.values()].every(({ size }) => size === 1)).toBe(true);
  });

  it('end where the range ends', () => {
    const to = new Date('2026-11-03T15:20:00Z');
    const { clicks_list } = seedBrand({
      seed: 1,
      timeZone: 'Europe/Berlin',
      from: new Date('2026-11-03Z'),
      to,
    });
    expect(clicks_list.length).toBeGreaterThan(0);
    expect(Math.max(...clicks_list.map(({ at }) => at))).toBeLessThan(to.getTime());
  });

  it('are served with every digit', async () => {
    const service = await startAcme();
    const body = await (await request(service, 'report/order_list', { page_size: 100 })).text();
    const served = held.order_list.filter(({ record }) => body.includes(stringifyJson(record)));
    expect(served).toHaveLength(100);
    expect(body).toMatch(/"order_number":9\d{16},/);
    expect(body).toMatch(/"amount":\d+\.\d0,/);
  });
});

describe('the records of a day', () => {
  it('begin and end with the day in the brand’s time zone', () => {
    const acme = { name: 'acme', baseUrl: '', ...defaultBrands(new Date('2026-11-03T12:00:00Z')).acme };
    for (const day of ['2026-10-31', '2026-11-01', '2026-11-02']) {
      const clicks = recordsOfDay(acme, 'clicks_list', day);
      const times = clicks.map(({ created_time }) => Date.parse(textOf(created_time) ?? ''));
      expect(times[0]).toBe(startOfDay(day, 'America/New_York'));
      expect(times.at(-1)).toBe(startOfDay(dayAfter(day), 'America/New_York') - 1000);
    }
  });

  it('can be added to, altered and removed while the service runs', async () => {
    const service = await startAcme();
    const { acme } = service.brands;
    if (acme === undefined) throw new Error('no acme');
    const before = recordsOfDay(acme, 'order_list', '2026-11-01');
    const others = recordsOfDay(acme, 'order_list', '2026-11-02');
    restate(acme, 'order_list', '2026-11-01', ([first, second]) => {
      if (first === undefined || second === undefined) return [];
      const altered = { ...first, record: { ...first.record, status: 'void' } };
      return [altered, { ...second, record: { transid: '1' } }];
    });
    const { data } = await call(service, 'report/order_list', {
      start_time: startOfDay('2026-11-01', acme.timeZone) / 1000,
      end_time: startOfDay('2026-11-02', acme.timeZone) / 1000 - 1,
    });
    expect(listOf(data)).toEqual([{ ...before[0], status: 'void' }, { transid: '1' }]);
    expect(recordsOfDay(acme, 'order_list', '2026-11-01')).toHaveLength(2);
    expect(recordsOfDay(acme, 'order_list', '2026-11-02')).toEqual(others);
  });
});

describe('the settings for the sample service', () => {
  it('name every brand, and the settings that its interpretations need', async () => {
    const interpretations = {
      timestampUnit: 'milliseconds',
      firstPage: 0,
      endDate: 'midnight_exclusive',
    } as const;
    const service = await start({ interpretations, now: () => new Date('2026-11-20T03:00:00Z') });
    expect(sampleSettings(service)).toMatchObject({
      brands: {
        acme: {
          baseUrl: `${service.url}/api/acme`,
          service: 'SAMPLE',
          timeZone: 'America/New_York',
          startDate: '2026-11-09',
          secretName: 'brand-reports/acme',
          timestampUnit: 'milliseconds',
          firstPage: 0,
          endDate: 'midnight',
          reports: { clicks_detail: { enabled: true } },
        },
        globex: { timeZone: 'Europe/Berlin', startDate: '2026-11-10' },
      },
      requestsPerSecond: 1000,
    });
    expect(Object.keys(sampleCredentials(service))).toEqual(['acme', 'globex']);
  });

  it('come with the credentials that the service accepts', async () => {
    const service = await startAcme();
    expect(sampleCredentials(service)).toEqual({
      acme: { bid: '1001', token: 'a-token', secret: 'a-secret', baseUrl: `${service.url}/api/acme` },
    });
  });

  it('report a port that is in use', async () => {
    const service = await startAcme();
    const port = Number(new URL(service.url).port);
    await expect(startAcme({ port })).rejects.toMatchObject({ kind: 'config', code: 'port_unavailable' });
  });
});
