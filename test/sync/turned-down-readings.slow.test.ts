import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { ledgerEntry } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-02-20';

const sample = sharedLakes({
  now: '2026-02-25T15:00:00Z',
  recordsTo: '2026-02-21T20:00:00Z',
  startDate: DAY,
  clicksPerDay: 40,
  brandSettings: {
    reports: {
      clicks_list: { refresh: [{ untilAgeDays: 60, every: '7 days' }] },
      clicks_detail: { enabled: true, refresh: [{ untilAgeDays: 60, every: '7 days' }] },
      transaction_list: { refresh: [{ untilAgeDays: 10, every: '7 days' }] },
    },
  },
});

const keysOfDay = (lake: SampleLake, prefix: string) =>
  [...lake.store.objects.keys()].filter((key) => key.startsWith(prefix) && key.includes(`dt=${DAY}`));

function spoil(lake: SampleLake, key: string): void {
  const found = lake.store.objects.get(key);
  if (found) lake.store.objects.set(key, { ...found, body: Buffer.from('{'), etag: `${found.etag}-spoilt` });
}

describe('raw records of a reading that was never committed', () => {
  it('are not mistaken by a rebuild for records of the committed reading', async () => {
    const lake = sample.emptyLake();
    const scope = { reports: ['clicks_list', 'clicks_detail'] };
    await lake.sync({ scope });
    const before = await ledgerEntry(lake, 'clicks_detail', DAY);
    for (const key of keysOfDay(lake, 'raw/clicks_detail/')) if (key.includes('chunk')) spoil(lake, key);
    lake.nowMs += 8 * DAY_MS;
    await lake.sync({ scope });
    // A detail is removed with its click.
    restate(lake.brand, 'clicks_list', DAY, (held) => held.slice(0, 2));
    lake.nowMs += 8 * DAY_MS;
    const store: typeof lake.store = {
      ...lake.store,
      create(key) {
        const writer = lake.store.create(key);
        const isDays = key.startsWith('snapshots/click_details/') && key.includes(`dt=${DAY}`);
        return isDays ? { ...writer, finish: () => Promise.reject(new Error('the disk is full')) } : writer;
      },
    };
    const dying = lake.over(store);
    await lake.sync({ scope, lake: dying }).catch(() => {});
    lake.nowMs += HOUR_MS;
    const rebuilt = await lake.rebuild({ reports: ['clicks_detail'], from: DAY, to: DAY });
    expect(rebuilt.reports[0]?.days).toMatchObject([{ outcome: 'kept', reason: 'raw_expired' }]);
    expect((await ledgerEntry(lake, 'clicks_list', DAY)).committed?.rows).toBe(2);
    expect((await ledgerEntry(lake, 'clicks_detail', DAY)).committed?.rows).toBe(before.committed?.rows);
  });
});
