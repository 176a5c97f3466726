import { afterEach, describe, expect, it } from '@jest/globals';
import { HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { coverageOf, errorOf, ledgerEntry, outcomesOf, requestsOf, wrongReports } from './lake-contents.ts';
import { BRAND, type SampleLake, sampleLake } from './sample-lake.ts';

const BAD = '2026-03-08';
const TODAY = '2026-03-10';
const REPORT = 'transaction_list';

let lake: SampleLake;
afterEach(() => lake.close());

async function begin(startDate = '2026-03-07'): Promise<void> {
  lake = await sampleLake({
    now: '2026-03-10T15:00:00Z',
    recordsTo: '2026-03-12T15:00:00Z',
    startDate,
    clicksPerDay: 30,
    interpretations: { pageCap: 2 },
    reports: [REPORT],
  });
}

const asksFor =
  (day: string) =>
  ({ fields }: { fields: Record<string, unknown> }) =>
    fields.start_date === day.replaceAll('-', '');

describe('a day whose last page is bad for a day', () => {
  it('costs a few requests, waits between its tries, and is right as soon as the page is', async () => {
    await begin();
    const pages = Math.ceil(
      lake.brand.records[REPORT].filter(({ at }) => new Date(at).toISOString().startsWith(BAD)).length / 2,
    );
    expect(pages).toBeGreaterThan(5);
    const mend = lake.service.addFault({
      on: { when: (call) => asksFor(BAD)(call) && pagesAsked() >= pages - 1 },
      fault: { kind: 'html' },
    });
    const pagesAsked = () => requestsOf(lake, REPORT, (fields) => asksFor(BAD)({ fields })).length;
    const outcomes = [];
    for (let hour = 0; hour < 24; hour += 1) {
      outcomes.push(outcomesOf(await lake.sync(), REPORT)[BAD]);
      lake.nowMs += HOUR_MS;
    }
    expect(outcomes[0]).toBe('failed');
    expect(outcomes.filter((outcome) => outcome === 'waiting').length).toBeGreaterThan(12);
    // Every try asks for the last good page and the bad one again; one that comes too late begins again.
    expect(pagesAsked()).toBeLessThan(4 * pages);
    mend();
    lake.nowMs += 24 * HOUR_MS;
    expect(outcomesOf(await lake.sync(), REPORT)[BAD]).toBe('published');
    expect(await wrongReports(lake, '2026-03-12', [REPORT])).toEqual({});
  });

  it('is tried at once where it is asked for by name, and where the settings ask otherwise', async () => {
    await begin();
    const mend = lake.service.addFault({ on: { when: asksFor(BAD) }, fault: { kind: 'html' } });
    for (let run = 0; run < 4; run += 1) {
      await lake.sync({ scope: { from: BAD, to: BAD, reports: [REPORT] } });
      lake.nowMs += MINUTE_MS;
    }
    mend();
    const waiting = await lake.sync();
    expect(outcomesOf(waiting, REPORT)[BAD]).toBe('waiting');
    expect(waiting.status).toBe('incomplete');
    expect(errorOf(waiting, REPORT)).toBeUndefined();
    const other = { reports: { [REPORT]: { filters: { order_status: 'paid' } } } };
    expect(outcomesOf(await lake.sync({ brandSettings: other }), REPORT)[BAD]).toBe('published');
    await lake.sync({ scope: { from: BAD, to: BAD, reports: [REPORT] } });
    expect((await ledgerEntry(lake, REPORT, BAD)).failure).toBeUndefined();
  });
});

describe('a damaged ledger of an old month', () => {
  it('fails its month alone: the days of the other months are read, and coverage follows', async () => {
    await begin('2026-02-26');
    await lake.sync();
    const key = ledgerKey(REPORT, BRAND, '2026-02');
    const stored = lake.store.objects.get(key);
    if (!stored) throw new Error('there is no ledger of February');
    lake.store.objects.set(key, { ...stored, body: Buffer.from('{') });
    lake.nowMs += 26 * HOUR_MS;
    const outcome = await lake.sync();
    expect(errorOf(outcome, REPORT)).toMatchObject({ kind: 'config', code: 'damaged_document' });
    expect(outcome.reports[0]?.error?.message).toContain(key);
    const days = outcomesOf(outcome, REPORT);
    expect(days).toMatchObject({ [TODAY]: 'published', '2026-03-11': 'published' });
    expect(Object.keys(days).filter((day) => day < '2026-03')).toEqual([]);
    expect((await coverageOf(lake, REPORT))[TODAY]?.state).toBe('complete');
    const asked = await lake.sync({ scope: { reports: [REPORT], from: '2026-02-26', to: TODAY } });
    expect(Object.keys(outcomesOf(asked, REPORT)).filter((day) => day < '2026-03')).toEqual([]);
    expect(lake.store.objects.get(key)?.body.toString()).toBe('{');
  });
});
