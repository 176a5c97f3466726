import { afterEach, describe, expect, it } from '@jest/globals';
import type { SendRequest } from '../../shared/ports.ts';
import { BRANDS_AT_ONCE } from '../../shared/run/turns.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

const BRANDS = Array.from({ length: 80 }, (_, number) => `brand-${number}`);
const DAYS = 4;
/** The first requests of a run, sent one at a time: for the service's time, and how it treats the end of a range. */
const PROBES = 5;
const range = { from: '2026-03-02', to: '2026-03-05' };
const NO_RECORDS = Buffer.from('{"code":0,"msg":"success","data":{"list":[],"cursor":null}}');

let lake: SampleLake;
afterEach(() => lake.close());

const commonSettings = {
  brands: Object.fromEntries(
    BRANDS.map((brand) => [
      brand,
      {
        baseUrl: `https://${brand}.example/`,
        service: 'ACME',
        timeZone: 'UTC',
        startDate: range.from,
        secretName: 'none',
      },
    ]),
  ),
};

/** A run of all brands. @param mayAnswer resolves when a brand's service may answer the `nth` request for a day */
async function syncAll(mayAnswer: (brand: string, nth: number) => Promise<void>) {
  lake = await sampleLake({ now: '2026-03-10T15:00:00Z', startDate: range.from });
  const requested = new Map<string, number>();
  const send: SendRequest = async ({ url }, { onHeaders }) => {
    const [brand = ''] = new URL(url).hostname.split('.');
    const nth = (requested.get(brand) ?? 0) + 1;
    requested.set(brand, nth);
    if (nth > PROBES) await mayAnswer(brand, nth - PROBES);
    onHeaders({});
    return { status: 200, headers: {}, body: NO_RECORDS };
  };
  return lake.sync({
    commonSettings,
    scope: { ...range, brands: BRANDS, reports: ['amazon_attribution_report'] },
    send,
  });
}

describe('a run of many brands', () => {
  it('I12: reads one day of each of 64 brands at the same time', async () => {
    const allWait = Promise.withResolvers<void>();
    const requested = new Set<string>();
    let waiting = 0;
    let mostWaiting = 0;
    const { status, reports } = await syncAll(async (brand) => {
      waiting += 1;
      mostWaiting = Math.max(mostWaiting, waiting);
      requested.add(brand);
      if (requested.size === BRANDS_AT_ONCE) allWait.resolve();
      await allWait.promise;
      waiting -= 1;
    });
    expect(status).toBe('complete');
    expect(reports.map(({ days }) => days.length)).toEqual(BRANDS.map(() => DAYS));
    expect(mostWaiting).toBe(BRANDS_AT_ONCE);
  });
});
