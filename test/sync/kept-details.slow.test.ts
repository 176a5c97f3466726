/**
 * Tests the promise of `published-details.slow.test.ts` under random events in any order: lookups that are refused or
 * forgotten, clicks that come and go, raw records that expire, runs without time, deaths, rollbacks and rebuilds.
 */
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Held, recordsOfDay, restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { type Json, numberText } from '../../shared/base/json.ts';
import { dayPartition, snapshotKey } from '../../shared/lake/paths.ts';
import { listVersions, rollBack } from '../../shared/operations/rollback.ts';
import { clickDetails } from '../../shared/reports/click-details.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { ledgerEntry, publishedDays, rowsOf, serviceDays, tableOf } from './lake-contents.ts';
import { BRAND, NO_TIME, type SyncOptions, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-09';
const both = { reports: ['clicks_list', 'clicks_detail'] };
const byName = { ...both, from: DAY, to: DAY };
const details = { reports: ['clicks_detail'] };
const detailsByName = { ...byName, ...details };
const retyped = {
  reports: { clicks_list: { columns: { app: 'string' } }, clicks_detail: { enabled: true } },
};

type Looked = 'clicks_list' | 'clicks_detail';

const sample = sharedLakes({
  now: '2026-03-09T20:30:00Z',
  recordsTo: '2026-03-10T03:59:00Z',
  startDate: DAY,
  clicksPerDay: 80,
});

/** A lake, and the lookups that its service does not answer. */
class World {
  readonly lake = sample.emptyLake();
  #endRefusals = () => {};
  readonly #lost: Record<Looked, Held[]> = { clicks_list: [], clicks_detail: [] };
  #versions = 0;

  /** The service refuses some lookups. */
  refuse(tenths: number): void {
    this.#endRefusals();
    const ids = this.#some(tenths);
    const when = ({ fields }: { fields: Record<string, Json> }) =>
      ids.has(numberText(fields.id) ?? String(fields.id));
    this.#endRefusals = this.lake.service.addFault({
      on: { action: 'report/clicks_detail', when },
      fault: { kind: 'code', code: 17, msg: 'too old' },
    });
  }

  /** The service has dropped some records. */
  lose(report: Looked, tenths: number): void {
    const ids = this.#some(tenths);
    restate(this.lake.brand, report, DAY, (held) => {
      const { lost = [], kept = [] } = Object.groupBy(held, ({ record }) =>
        ids.has(String(record.id)) ? 'lost' : 'kept',
      );
      this.#lost[report].push(...lost);
      return kept;
    });
  }

  /** The service answers everything again. */
  recover(): void {
    this.#endRefusals();
    const { records } = this.lake.brand;
    for (const report of ['clicks_list', 'clicks_detail'] as const)
      records[report] = [...records[report], ...this.#lost[report].splice(0)];
  }

  change(report: Looked): void {
    this.#versions += 1;
    const campaign = `version ${this.#versions}`;
    restate(this.lake.brand, report, DAY, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, campaign } })),
    );
  }

  expire(isGone: (key: string, index: number) => boolean): void {
    const { objects } = this.lake.store;
    const raw = [...objects.keys()].filter((key) => key.startsWith('raw/clicks_detail/'));
    for (const [index, key] of raw.entries()) if (isGone(key, index)) objects.delete(key);
  }

  async sync(options: SyncOptions = {}): Promise<void> {
    const { reports: ended } = await this.lake.sync({ scope: both, ...options });
    expect(ended.map(({ error }) => error?.kind)).not.toContain('bug');
  }

  async die(operations: number): Promise<void> {
    const when = operations % 2 === 0 ? 'before' : 'after';
    const store = diesAtN(this.lake.store, operations, { when });
    const catalog = diesAtNCatalog(this.lake.catalog, store);
    try {
      await this.sync({ lake: { store, catalog, runs: blindRegistry }, scope: byName });
    } catch (thrown) {
      if (!(thrown instanceof ProcessDied)) throw thrown;
    }
  }

  async rollBack(which: number): Promise<void> {
    const { lake } = this;
    const options = { ...lake.access(), settings: lake.settings(), report: clickDetails, day: DAY };
    try {
      const { versions } = await listVersions(options);
      await rollBack(options, versions[which % versions.length]?.snapshot ?? '');
    } catch (thrown) {
      // The lookup was refused for a current version, or the version was read while the day was open.
      if (!(thrown instanceof BrandReportsError) || thrown.kind !== 'config') throw thrown;
    }
  }

  /** The ids of the published rows. */
  async published(report: Looked): Promise<string[]> {
    const { committed } = await ledgerEntry(this.lake, report, DAY);
    if (!committed) return [];
    const key = snapshotKey(tableOf(report), dayPartition(BRAND, DAY), committed.snapshot);
    return (await rowsOf(this.lake, key)).map(({ id }) => String(id));
  }

  #some(tenths: number): Set<string> {
    const ids = recordsOfDay(this.lake.brand, 'clicks_list', DAY).map(({ id }) => String(id));
    return new Set(ids.filter((_id, index) => (index * 7919 + tenths * 31) % 10 < tenths));
  }
}

type Step = readonly [name: string, act: (world: World) => unknown];
const step = (name: string, act: (world: World) => unknown) => fc.constant<Step>([name, act]);
const numbered = (name: string, max: number, act: (world: World, number: number) => unknown) =>
  fc.integer({ min: 1, max }).map((number): Step => [name, (world) => act(world, number)]);

const event = fc.oneof(
  numbered('refuse', 9, (world, tenths) => world.refuse(tenths)),
  numbered('forget', 9, (world, tenths) => world.lose('clicks_detail', tenths)),
  numbered('lose clicks', 3, (world, tenths) => world.lose('clicks_list', tenths)),
  step('recover', (world) => world.recover()),
  step('change details', (world) => world.change('clicks_detail')),
  step('change clicks', (world) => world.change('clicks_list')),
  step('expire all', (world) => world.expire(() => true)),
  step('expire chunks', (world) => world.expire((key) => key.includes('chunk-'))),
  step('expire progress', (world) => world.expire((key) => key.endsWith('.json'))),
  step('expire some', (world) => world.expire((_key, index) => index % 3 === 0)),
  numbered('die', 80, (world, operations) => world.die(operations)),
  numbered('roll back', 6, (world, which) => world.rollBack(which)),
  step('rebuild clicks', ({ lake }) =>
    lake.rebuild({ ...byName, reports: ['clicks_list'] }, { brandSettings: retyped }),
  ),
  step('rebuild details', ({ lake }) => lake.rebuild(detailsByName)),
);
const reading = fc.oneof(
  step('sync', (world) => world.sync()),
  step('sync by name', (world) => world.sync({ scope: byName })),
  step('sync details by name', (world) => world.sync({ scope: detailsByName })),
  step('sync without time', (world) => world.sync({ scope: details, deadline: NO_TIME })),
  step('by name without time', (world) => world.sync({ scope: detailsByName, deadline: NO_TIME })),
);
const pause = fc.constantFrom(HOUR_MS, HOUR_MS, 9 * HOUR_MS, DAY_MS, 40 * DAY_MS);
type Round = readonly [events: readonly Step[], reading: Step, pauseMs: number];
const round: fc.Arbitrary<Round> = fc.tuple(fc.array(event, { maxLength: 3 }), reading, pause);
const rounds = fc.array(round, { maxLength: 9 });

it('I1: the published detail of a click stays as long as the click does', async () => {
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(rounds, async (all) => {
      const world = new World();
      try {
        checked += await live(world, all);
      } finally {
        world.recover();
      }
    }),
    { numRuns: 20 },
  );
  expect(checked).toBeGreaterThan(1000);
});

/** @returns how many published rows were checked */
async function live(world: World, all: readonly Round[]): Promise<number> {
  let checked = 0;
  let before: string[] = [];
  const take = async ([name, act]: Step) => {
    await act(world);
    const now = await world.published('clicks_detail');
    const clicks = new Set(await world.published('clicks_list'));
    const lost = before.filter((id) => clicks.has(id) && !now.includes(id));
    const repeated = now.length - new Set(now).size;
    // A rollback may restore a version from before the click.
    expect([name, repeated, name === 'roll back' ? [] : lost]).toEqual([name, 0, []]);
    checked += now.length;
    before = now;
  };
  await take(['sync', () => world.sync()]);
  for (const [events, read, pauseMs] of all) {
    for (const each of [...events, read]) await take(each);
    world.lake.nowMs += pauseMs;
  }
  world.recover();
  for (let run = 0; run < 4; run += 1) {
    world.lake.nowMs += HOUR_MS;
    await take(['at last', () => world.sync({ scope: byName })]);
  }
  const published = await publishedDays(world.lake, 'clicks_detail');
  const served = await serviceDays(world.lake, 'clicks_detail', DAY);
  expect(published.get(DAY)).toBe(served.get(DAY));
  return checked;
}
