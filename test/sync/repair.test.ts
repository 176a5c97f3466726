import { beforeEach, describe, expect, it } from '@jest/globals';
import { DAY_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { isJsonObject } from '../../shared/base/json.ts';
import { dayPartition, ledgerKey, partitionPath, progressKey } from '../../shared/lake/paths.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import type { ObjectStore, SendRequest } from '../../shared/ports.ts';
import { outcomesOf, rewriteDocument, wrongReports } from './lake-contents.ts';
import { BRAND, type SampleLake, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-07';
const TODAY = '2026-03-10';
const REPORT = 'order_list';

const sample = sharedLakes({ now: '2026-03-10T15:00:00Z', startDate: FIRST, reports: [REPORT] });
let lake: SampleLake;
beforeEach(() => {
  lake = sample.emptyLake();
});

describe('a committed day that cannot be published', () => {
  it('I3: fails every run until it is published, and is not re-read', async () => {
    const refused = new BrandReportsError('config', 'aws_refused', 'the catalog refuses');
    const runs = { register: async () => async () => {}, isDead: async () => false };
    const catalog = { ...lake.catalog, setSnapshot: () => Promise.reject(refused) };
    await lake.sync();
    lake.catalog.pointers.delete(`orders/${partitionPath(dayPartition(BRAND, FIRST))}`);
    const outcome = await lake.sync({ lake: { store: lake.store, catalog, runs } });
    expect(outcome).toMatchObject({ status: 'failed', reports: [{ error: { code: 'aws_refused' } }] });
    expect((await lake.sync()).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, [REPORT])).toEqual({});
  });
});

describe('a day that cannot be claimed', () => {
  it('fails alone, and the other days are read', async () => {
    await lake.sync();
    const day = '2026-03-08';
    const claim = { attempt: 'unread', runId: null, at: new Date(lake.nowMs).toISOString() };
    await rewriteDocument(lake, ledgerKey(REPORT, BRAND, '2026-03'), (ledger) => {
      const days = isJsonObject(ledger.days) ? ledger.days : {};
      const entry = isJsonObject(days[day]) ? days[day] : {};
      return { ...ledger, days: { ...days, [day]: { ...entry, claim } } };
    });
    const { store, catalog } = lake;
    const unread = progressKey(REPORT, BRAND, day, 'unread');
    const refusesOne: ObjectStore = {
      ...store,
      async get(key) {
        if (key === unread) throw new BrandReportsError('transient', 'aws_unavailable', `no answer: ${key}`);
        return store.get(key);
      },
    };
    const outcome = await lake.sync({ lake: { store: refusesOne, catalog, runs: blindRegistry } });
    const { [day]: failed, ...others } = outcomesOf(outcome, REPORT);
    expect(failed).toBe('failed');
    expect(new Set(Object.values(others))).toEqual(new Set(['unchanged']));
  });
});

describe('a lease whose time lies in the future', () => {
  it('I5: keeps no other run out', async () => {
    await lake.sync();
    const at = new Date(lake.nowMs + 365 * DAY_MS).toISOString();
    await rewriteDocument(lake, ledgerKey(REPORT, BRAND, '2026-03'), (ledger) => {
      const days = isJsonObject(ledger.days) ? ledger.days : {};
      const entry = isJsonObject(days[TODAY]) ? days[TODAY] : {};
      return {
        ...ledger,
        days: { ...days, [TODAY]: { ...entry, claim: { attempt: 'a', runId: 'r', at } } },
      };
    });
    expect(outcomesOf(await lake.sync(), REPORT)).toMatchObject({ [TODAY]: 'unchanged' });
  });
});

describe('a service that answers an empty range with everything', () => {
  it('I1: fails the days that it would empty, and the error contains the setting that helps', async () => {
    const send: SendRequest = (request, limits) => {
      const fields = JSON.parse(request.body ?? '');
      const all = fields.start_time === fields.end_time && { start_time: 0, end_time: 4_000_000_000 };
      return sendRequest({ ...request, body: JSON.stringify({ ...fields, ...all }) }, limits);
    };
    const outcome = await lake.sync({ send });
    expect(outcome.reports[0]).toMatchObject({ status: 'failed', error: { code: 'instant_unclear' } });
    expect(outcomesOf(outcome, REPORT)).toMatchObject({ [TODAY]: 'published', [FIRST]: 'failed' });
    await lake.sync({ send, brandSettings: { endTime: 'inclusive' } });
    expect(await wrongReports(lake, TODAY, [REPORT])).toEqual({});
  });
});
