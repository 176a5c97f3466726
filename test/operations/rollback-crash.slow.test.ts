import { expect, it } from '@jest/globals';
import { HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { dayPartition, partitionPath } from '../../shared/lake/paths.ts';
import type { Lake } from '../../shared/ports.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import { orders } from '../../shared/reports/orders.ts';
import { changesOf } from '../sync/changes-of-day.ts';
import { alter, coverageOf, ledgerEntry, publishedDays } from '../sync/lake-contents.ts';
import { everyDeath } from '../sync/every-death.ts';
import { BRAND, type SampleLake } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

/** A day of a month in which nothing is due, so that no run reads it by itself. */
const FIRST = '2026-02-27';
const scope = { reports: ['order_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 4,
  // No run reads the day again without --from and --to.
  brandSettings: { reports: { order_list: { refresh: [{ untilAgeDays: 30, every: '30 days' }] } } },
});

const currentOf = async (lake: SampleLake) =>
  (await ledgerEntry(lake, 'order_list', FIRST)).committed?.snapshot ?? '';

it('I4: a rollback that dies at any operation on the lake is either committed or not, and the next run publishes the result', async () => {
  const prepared = sample.emptyLake();
  await prepared.sync({ scope });
  const a = await currentOf(prepared);
  prepared.nowMs += HOUR_MS;
  alter(prepared, 'order_list', FIRST, { word: 'later' }, 1);
  await prepared.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
  const b = await currentOf(prepared);
  const { nowMs } = prepared;
  const begin = () => {
    const lake = prepared.fork();
    lake.nowMs = nowMs + HOUR_MS;
    return lake;
  };
  const rollback = (lake: SampleLake, dying: Lake) =>
    rollBack({ ...lake.access(), lake: dying, settings: lake.settings(), report: orders, day: FIRST }, a);
  const outcomes = new Set<string>();
  await everyDeath(begin, rollback, async (lake, n) => {
    lake.advance(2 * MINUTE_MS);
    expect((await lake.sync({ scope })).status).toBe('complete');
    const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
    const pointer = lake.catalog.pointers.get(`orders/${partitionPath(dayPartition(BRAND, FIRST))}`);
    const digests = await publishedDays(lake, 'order_list');
    const covered = (await coverageOf(lake, 'order_list'))[FIRST];
    outcomes.add(committed?.snapshot ?? '');
    // A change exists exactly if its version exists.
    const causes = new Set((await changesOf(lake, 'order_list', FIRST)).map(({ _cause }) => _cause));
    expect({
      ...{ n, pointer, published: committed?.published, covered: covered?.digest },
      causes: [...causes],
    }).toEqual({
      n,
      causes: committed?.snapshot === a ? ['reading', 'rollback'] : ['reading'],
      pointer: committed?.snapshot,
      published: true,
      covered: digests.get(FIRST),
    });
  });
  expect([...outcomes].sort()).toEqual([a, b].sort());
});
