import { afterEach, describe, expect, it } from '@jest/globals';
import type { SendRequest } from '../../shared/ports.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const BRANDS = Array.from({ length: 80 }, (_, number) => `brand-${number}`);
const DAYS = 4;
const range = { from: '2026-03-02', to: '2026-03-05' };
const NO_RECORDS = Buffer.from('{"code":0,"msg":"success","data":{"list":[],"cursor":null}}');

let lake: SampleLake;
afterEach(() => lake.close());

/** A service for each brand, whose first request comes alone. None answers the others before all brands wait for one. */
function patientServices() {
  const asked = new Map<string, number>(BRANDS.map((brand) => [brand, 0]));
  const allWait = Promise.withResolvers<void>();
  let waiting = 0;
  let mostWaiting = 0;
  const send: SendRequest = async ({ url }, { onHeaders }) => {
    const [brand = ''] = new URL(url).hostname.split('.');
    const before = asked.get(brand) ?? 0;
    asked.set(brand, before + 1);
    waiting += 1;
    mostWaiting = Math.max(mostWaiting, waiting);
    if ([...asked.values()].every((requests) => requests > 1)) allWait.resolve();
    if (before > 0) await allWait.promise;
    waiting -= 1;
    onHeaders({});
    return { status: 200, headers: {}, body: NO_RECORDS };
  };
  return { send, mostWaiting: () => mostWaiting };
}

describe('a run of many brands', () => {
  it('I12: reads a day of each brand at the same time, and few beside them', async () => {
    lake = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: range.from });
    const settings = (brand: string) => ({
      baseUrl: `https://${brand}.example/`,
      service: 'ACME',
      timeZone: 'UTC',
      startDate: range.from,
      secretName: 'none',
    });
    const services = patientServices();
    const { status, reports } = await lake.sync({
      commonSettings: { brands: Object.fromEntries(BRANDS.map((brand) => [brand, settings(brand)])) },
      scope: { ...range, brands: BRANDS, reports: ['order_list'] },
      send: services.send,
    });
    expect(status).toBe('complete');
    expect(reports.map(({ days }) => days.length)).toEqual(BRANDS.map(() => DAYS));
    expect(services.mostWaiting()).toBeLessThan(2 * BRANDS.length);
  });
});
