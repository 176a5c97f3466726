import { describe, expect, it } from '@jest/globals';
import { recordsOfDay } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { numberText } from '../../shared/base/json.ts';
import { ledgerEntry, outcomesOf, requestsOf, wrongReports } from './lake-contents.ts';
import type { SampleLake, SyncOptions } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-09';
const LAST = '2026-03-11';
const AFTER_FIRST = Date.parse('2026-03-10T05:30:00Z');
const scope = { reports: ['clicks_list', 'clicks_detail'] };

const sample = sharedLakes({
  now: '2026-03-09T05:30:00Z',
  recordsTo: '2026-03-12T04:00:00Z',
  startDate: FIRST,
  clicksPerDay: 30,
});

/** Runs every hour until then. */
async function runUntil(lake: SampleLake, untilMs: number, options: SyncOptions = {}): Promise<void> {
  for (; lake.nowMs < untilMs; lake.nowMs += HOUR_MS) await lake.sync({ scope, ...options });
}

/** How often each click was looked up after the first `before` requests. */
function timesRequested(lake: SampleLake, before: number): Map<string, number> {
  const requested = new Map<string, number>();
  for (const { fields } of requestsOf(lake, 'clicks_detail').slice(before)) {
    const id = numberText(fields.id ?? null) ?? String(fields.id);
    requested.set(id, (requested.get(id) ?? 0) + 1);
  }
  return requested;
}

const sent = (lake: SampleLake) => requestsOf(lake, 'clicks_detail').length;
const idsOf = (lake: SampleLake, ...days: string[]) =>
  days.flatMap((day) => recordsOfDay(lake.brand, 'clicks_list', day).map(({ id }) => String(id)));
const allDays = [FIRST, '2026-03-10', LAST];

describe('the detail of a click', () => {
  it('is requested once, from the open day to the last refresh of the closed day', async () => {
    const lake = sample.emptyLake();
    const before = sent(lake);
    await runUntil(lake, Date.parse('2026-03-16T05:30:00Z'));
    const requested = timesRequested(lake, before);
    expect([...requested.keys()].sort()).toEqual(idsOf(lake, ...allDays).sort());
    expect(sent(lake) - before).toBe(requested.size);
    expect(await wrongReports(lake, '2026-03-16', ['clicks_detail'])).toEqual({});
    expect((await ledgerEntry(lake, 'clicks_detail', LAST)).committed?.state).toBe('settled');
  });

  it('is requested again, if missing, with the closing reading of its day, then four times in four days', async () => {
    const lake = sample.emptyLake();
    const before = sent(lake);
    await runUntil(lake, Date.parse('2026-03-09T06:30:00Z'));
    const feed = lake.brand.records;
    const missing = new Set<string>();
    for (; lake.nowMs < AFTER_FIRST - 2 * HOUR_MS; lake.nowMs += HOUR_MS) {
      await lake.sync({ scope, deadline: { softMs: 0, hardMs: 0 } });
      for (const { record } of feed.clicks_detail.slice(-1)) missing.add(String(record.id));
      feed.clicks_detail = feed.clicks_detail.filter(({ record }) => !missing.has(String(record.id)));
      await lake.sync({ scope });
    }
    await runUntil(lake, AFTER_FIRST + 4 * DAY_MS);
    const requested = timesRequested(lake, before);
    const times = [...missing].map((id) => requested.get(id) ?? 0);
    expect(missing.size).toBeGreaterThan(3);
    expect(Math.max(...times)).toBe(6);
    const { committed: { rows = 0, refusedLookups } = {} } = await ledgerEntry(lake, 'clicks_detail', FIRST);
    expect(refusedLookups).toEqual({ count: 0, empty: idsOf(lake, FIRST).length - rows });
  });

  it('is found if it appears after its day is closed, and the day then settles', async () => {
    const lake = sample.emptyLake();
    const { clicks_detail: details } = lake.brand.records;
    const late = details.splice(0, 3);
    await runUntil(lake, AFTER_FIRST + 0.4 * HOUR_MS);
    lake.brand.records.clicks_detail.unshift(...late);
    await runUntil(lake, AFTER_FIRST + 4 * DAY_MS);
    expect(await wrongReports(lake, '2026-03-14', ['clicks_detail'])).toEqual({});
    const { committed } = await ledgerEntry(lake, 'clicks_detail', FIRST);
    expect(committed).toMatchObject({ state: 'settled' });
    expect(committed).not.toHaveProperty('refusedLookups');
  });

  it('is requested alone if the click comes late', async () => {
    const lake = sample.emptyLake();
    const [late] = lake.brand.records.clicks_list.splice(0, 1);
    await runUntil(lake, AFTER_FIRST + HOUR_MS);
    if (late) lake.brand.records.clicks_list.unshift(late);
    const before = sent(lake);
    await runUntil(lake, AFTER_FIRST + 2 * DAY_MS);
    const requested = timesRequested(lake, before);
    expect([...requested.keys()].filter((id) => idsOf(lake, FIRST).includes(id))).toEqual([
      String(late?.record.id),
    ]);
    expect(await wrongReports(lake, '2026-03-12', ['clicks_detail'])).toEqual({});
  });

  it('is not requested again if its staged copy is damaged but its published copy is intact', async () => {
    const lake = sample.emptyLake();
    await runUntil(lake, AFTER_FIRST - 2 * HOUR_MS);
    const chunk = [...lake.store.objects.keys()].find(
      (key) => key.startsWith('raw/clicks_detail/') && key.includes(`dt=${FIRST}`) && key.includes('chunk-'),
    );
    const stored = chunk === undefined ? undefined : lake.store.objects.get(chunk);
    if (chunk === undefined || !stored) throw new Error('the chunk is missing');
    lake.store.objects.set(chunk, { ...stored, body: Buffer.from('damaged') });
    lake.nowMs = AFTER_FIRST;
    expect(outcomesOf(await lake.sync({ scope }), 'clicks_detail')[FIRST]).toBe('failed');
    const before = sent(lake);
    const published = (await ledgerEntry(lake, 'clicks_detail', FIRST)).committed?.rows ?? 0;
    await lake.sync({ scope });
    const ids = new Set(idsOf(lake, FIRST));
    const requested = [...timesRequested(lake, before).keys()].filter((id) => ids.has(id));
    expect([published > 0, requested.length]).toEqual([true, ids.size - published]);
    expect(await wrongReports(lake, '2026-03-10', ['clicks_detail'])).toEqual({});
  });
});
