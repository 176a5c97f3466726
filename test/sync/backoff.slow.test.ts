import { afterEach, describe, expect, it } from '@jest/globals';
import { HOUR_MS } from '../../shared/base/days.ts';
import { isJsonObject } from '../../shared/base/json.ts';
import { ledgerKey, progressKey } from '../../shared/lake/paths.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { coverageOf, errorOf, outcomesOf, rewriteDocument, wrongReports } from './lake-contents.ts';
import { BRAND, NO_TIME, type SampleLake, sampleLake } from './sample-lake.ts';

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

describe('a damaged ledger of an old month', () => {
  it('fails only its month: the days of other months are read, and coverage follows', async () => {
    await begin('2026-02-26');
    await lake.sync();
    const key = ledgerKey(REPORT, BRAND, '2026-02');
    const stored = lake.store.objects.get(key);
    if (!stored) throw new Error('the ledger of February is missing');
    lake.store.objects.set(key, { ...stored, body: Buffer.from('{') });
    lake.nowMs += 26 * HOUR_MS;
    const outcome = await lake.sync();
    expect(errorOf(outcome, REPORT)).toMatchObject({ kind: 'config', code: 'damaged_document' });
    expect(outcome.reports[0]?.error?.message).toContain(key);
    const days = outcomesOf(outcome, REPORT);
    expect(days).toMatchObject({ [TODAY]: 'published', '2026-03-11': 'published' });
    expect(Object.keys(days).filter((day) => day < '2026-03')).toEqual([]);
    expect((await coverageOf(lake, REPORT))[TODAY]?.state).toBe('complete');
    const ranged = await lake.sync({ scope: { reports: [REPORT], from: '2026-02-26', to: TODAY } });
    expect(Object.keys(outcomesOf(ranged, REPORT)).filter((day) => day < '2026-03')).toEqual([]);
    expect(lake.store.objects.get(key)?.body.toString()).toBe('{');
  });
});

describe('a damaged progress document', () => {
  const DAMAGED = '2026-03-08';

  /** Damages the progress document of the day's attempt. */
  function damageProgress(): void {
    for (const [key, object] of lake.store.objects)
      if (key.endsWith('progress.json')) lake.store.objects.set(key, { ...object, body: Buffer.from('{') });
  }

  it.each<[string, string | null]>([
    ['of a run that died', 'id-dead'],
    ['of a run that stopped', null],
  ])('costs its day the staged pages and leaves other days alone: %s', async (_name, runId) => {
    await begin('2026-03-04');
    await lake.sync({ deadline: NO_TIME, scope: { from: DAMAGED, to: DAMAGED, reports: [REPORT] } });
    damageProgress();
    await rewriteDocument(lake, ledgerKey(REPORT, BRAND, '2026-03'), (ledger) => {
      const days = isJsonObject(ledger.days) ? ledger.days : {};
      const entry = isJsonObject(days[DAMAGED]) ? days[DAMAGED] : {};
      const claim = isJsonObject(entry.claim) ? { ...entry.claim, runId } : undefined;
      expect(claim).toBeDefined();
      return { ...ledger, days: { ...days, [DAMAGED]: { ...entry, ...(claim && { claim }) } } };
    });
    lake.nowMs += HOUR_MS;
    const dropped: LogEvent[] = [];
    const log = (event: LogEvent) => void (event.event === 'attempt_dropped' && dropped.push(event));
    expect((await lake.sync({ log })).status).toBe('complete');
    expect(dropped).toMatchObject([{ day: DAMAGED }]);
    expect(await wrongReports(lake, TODAY, [REPORT])).toEqual({});
    expect((await lake.sync({ log })).status).toBe('complete');
    expect(dropped).toHaveLength(1);
  });

  it('I5: of another run, which the lease of the brand has replaced, is begun anew', async () => {
    await begin();
    await lake.sync({ deadline: NO_TIME, scope: { from: DAMAGED, to: DAMAGED, reports: [REPORT] } });
    damageProgress();
    const at = new Date(lake.nowMs).toISOString();
    await rewriteDocument(lake, ledgerKey(REPORT, BRAND, '2026-03'), (ledger) => ({
      ...ledger,
      days: { [DAMAGED]: { claim: { attempt: 'a', runId: 'other', at } } },
    }));
    await lake.store.put(progressKey(REPORT, BRAND, DAMAGED, 'a'), Buffer.from('{'), { ifAbsent: true });
    expect(outcomesOf(await lake.sync(), REPORT)[DAMAGED]).toBe('published');
  });

  it('of the open day makes a run read the whole day again, and nothing is lost', async () => {
    await begin(TODAY);
    await lake.sync({ scope: { reports: ['clicks_list'] } });
    damageProgress();
    lake.nowMs += 4 * HOUR_MS;
    const outcome = await lake.sync({ scope: { reports: ['clicks_list'] } });
    expect(outcomesOf(outcome, 'clicks_list')).toEqual({ [TODAY]: 'published' });
    expect(await wrongReports(lake, TODAY, ['clicks_list'])).toEqual({});
  });
});
