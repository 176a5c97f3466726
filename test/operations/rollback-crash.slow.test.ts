import { expect, it } from '@jest/globals';
import { HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import { dayPartition, partitionPath } from '../../shared/lake/paths.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import { orders } from '../../shared/reports/orders.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { changesOf } from '../sync/changes-of-day.ts';
import { alter, coverageOf, ledgerEntry, publishedDays } from '../sync/lake-contents.ts';
import { BRAND, type SampleLake, blindRegistry } from '../sync/sample-lake.ts';
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

/** Runs a rollback that dies at its n-th operation on the lake. @returns whether it reached that operation */
async function dyingRollback(lake: SampleLake, to: string, n: number, when: 'before' | 'after') {
  const store = diesAtN(lake.store, n, { when });
  const catalog = diesAtNCatalog(lake.catalog, store);
  const dying = { lake: { store, catalog, runs: blindRegistry }, settings: lake.settings() };
  try {
    await rollBack({ ...lake.access(), ...dying, report: orders, day: FIRST }, to);
  } catch (error) {
    if (!store.life.dead && !(error instanceof ProcessDied)) throw error;
  }
  return store.operations >= n;
}

it.each(['before', 'after'] as const)(
  'I4: a rollback that dies %s any operation on the lake is either committed or not, and the next run publishes the result',
  async (when) => {
    const prepared = sample.emptyLake();
    await prepared.sync({ scope });
    const a = await currentOf(prepared);
    prepared.nowMs += HOUR_MS;
    alter(prepared, 'order_list', FIRST, { word: 'later' }, 1);
    await prepared.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const b = await currentOf(prepared);
    const { nowMs } = prepared;
    const outcomes = new Set<string>();
    for (let n = 1, isReached = true; isReached; n += 1) {
      const lake = prepared.fork();
      lake.nowMs = nowMs + HOUR_MS;
      isReached = await dyingRollback(lake, a, n, when);
      lake.advance(2 * MINUTE_MS);
      expect((await lake.sync({ scope })).status).toBe('complete');
      const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
      const pointer = lake.catalog.pointers.get(`orders/${partitionPath(dayPartition(BRAND, FIRST))}`);
      const digests = await publishedDays(lake, 'order_list');
      const covered = (await coverageOf(lake, 'order_list'))[FIRST];
      outcomes.add(committed?.snapshot ?? '');
      // A change exists exactly if its version exists.
      const causes = (await changesOf(lake, 'order_list', FIRST)).filter(({ what }) => what === 'day');
      expect({
        ...{ n, pointer, published: committed?.published, covered: covered?.digest },
        causes: causes.map(({ cause }) => cause),
      }).toEqual({
        n,
        causes: committed?.snapshot === a ? ['reading', 'rollback'] : ['reading'],
        pointer: committed?.snapshot,
        published: true,
        covered: digests.get(FIRST),
      });
      expect(n).toBeLessThan(200);
    }
    expect([...outcomes].sort()).toEqual([a, b].sort());
  },
);
