import { describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { dayPartition, leaseKey, partitionPath, snapshotKey } from '../../shared/lake/paths.ts';
import type { Committed } from '../../shared/lake/ledger.ts';
import { type RollbackOptions, listVersions, rollBack } from '../../shared/operations/rollback.ts';
import { orders } from '../../shared/reports/orders.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { gatedStore } from '../fakes/gated-store.ts';
import { restoreAll } from './restore/restore-all.ts';
import { changesOf } from '../sync/changes-of-day.ts';
import { alter, coverageOf, ledgerEntry, outcomesOf, wrongReports } from '../sync/lake-contents.ts';
import { BRAND, type SampleLake, blindRegistry } from '../sync/sample-lake.ts';
import { sharedLakes } from '../sync/shared-lakes.ts';

const FIRST = '2026-03-08';
const TODAY = '2026-03-10';
const scope = { reports: ['order_list'] };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  recordsTo: '2026-03-10T22:00:00Z',
  clicksPerDay: 8,
  // The first day settles at its first reading.
  brandSettings: {
    reports: { order_list: { refresh: [{ untilAgeDays: 1, every: 'run' }], ...ALL_FINAL } },
  },
});

const entryOf = (lake: SampleLake, day = FIRST) => ledgerEntry(lake, 'order_list', day);
const currentOf = async (lake: SampleLake, day = FIRST) =>
  (await entryOf(lake, day)).committed?.snapshot ?? '';
const pointerOf = (lake: SampleLake, day = FIRST) =>
  lake.catalog.pointers.get(`orders/${partitionPath(dayPartition(BRAND, day))}`);

/** From now on, the service replaces one order of the day by another order. */
function restateDay(lake: SampleLake, word: string, day = FIRST): void {
  alter(lake, 'order_list', day, { word }, 1);
}

/** The first day has the older version A and the current version B. */
async function restatedLake(): Promise<{ lake: SampleLake; a: string; b: string }> {
  const lake = sample.emptyLake();
  await lake.sync({ scope });
  const a = await currentOf(lake);
  lake.nowMs += HOUR_MS;
  restateDay(lake, 'later');
  await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
  const b = await currentOf(lake);
  expect(b).not.toBe(a);
  lake.nowMs += HOUR_MS;
  return { lake, a, b };
}

function optionsFor(lake: SampleLake, change: Partial<RollbackOptions> = {}): RollbackOptions {
  return { ...lake.access(), settings: lake.settings(), report: orders, day: FIRST, ...change };
}

describe('a rollback', () => {
  it('publishes the older version with its facts, keeps the newer one, and writes coverage and the opposite change', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const { committed: written } = await entryOf(lake);
    const a = written?.snapshot ?? '';
    lake.nowMs += HOUR_MS;
    restateDay(lake, 'later');
    await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST } });
    const before = await entryOf(lake);
    const b = before.committed?.snapshot ?? '';
    expect(await rollBack(optionsFor(lake), a)).toEqual({
      ...{ status: 'complete', brand: BRAND, report: 'order_list', day: FIRST, snapshot: a },
      rows: before.committed?.rows,
      replaced: { snapshot: b, rows: before.committed?.rows },
    });
    const { committed, superseded } = await entryOf(lake);
    const contentOf = ({ rows, bytes, digest, values }: Partial<Committed> = {}) => ({
      ...{ rows, bytes, digest, values },
    });
    expect(contentOf(committed)).toEqual(contentOf(written));
    expect(committed).toMatchObject({ snapshot: a, published: true, readFrom: before.committed?.readFrom });
    expect(committed?.history).toMatchObject({ place: 2, last: { altered: 1 } });
    expect(superseded?.map(({ snapshot }) => snapshot)).toEqual([a, b]);
    expect(pointerOf(lake)).toBe(a);
    const covered = (await coverageOf(lake, 'order_list'))[FIRST];
    expect([covered?.digest, covered?.state]).toEqual([committed?.digest, 'complete']);
    const seen = (await changesOf(lake, 'order_list', FIRST)).map(
      ({ _place, _what, _cause, _version, _previous, word }) => [
        ...[_place, _what, _cause, _version, _previous, word],
      ],
    );
    expect(seen).toEqual([
      [1n, 'altered', 'reading', b, a, undefined],
      [2n, 'altered', 'rollback', a, b, 'later'],
    ]);
  });

  it('holds until a reading finds other content, which replaces it', async () => {
    const { lake, a, b } = await restatedLake();
    await rollBack(optionsFor(lake), a);
    lake.nowMs += HOUR_MS;
    const range = { scope: { ...scope, from: FIRST, to: FIRST } };
    expect(outcomesOf(await lake.sync(range), 'order_list')).toEqual({ [FIRST]: 'published' });
    const entry = await entryOf(lake);
    expect(entry.superseded?.map(({ snapshot }) => snapshot)).toEqual([a, b, a]);
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('is confirmed by a reading that finds the same content', async () => {
    const { lake, a } = await restatedLake();
    restate(lake.brand, 'order_list', FIRST, (held) =>
      held.map(({ at, record: { word: _word, ...record } }) => ({ at, record })),
    );
    await rollBack(optionsFor(lake), a);
    lake.nowMs += HOUR_MS;
    const range = { scope: { ...scope, from: FIRST, to: FIRST } };
    expect(outcomesOf(await lake.sync(range), 'order_list')).toEqual({ [FIRST]: 'unchanged' });
    expect((await entryOf(lake)).committed).toMatchObject({ snapshot: a });
  });

  it('I11: does not count as a reading that disagrees', async () => {
    const lake = sample.emptyLake();
    // A last reading that differs has to be confirmed.
    const refresh = [{ untilAgeDays: 1, every: 'run' }];
    const brandSettings = { reports: { order_list: { refresh, ...ALL_FINAL } } };
    await lake.sync({ scope, brandSettings });
    const a = await currentOf(lake);
    lake.nowMs += 30 * DAY_MS;
    restate(lake.brand, 'order_list', FIRST, (held) =>
      held.map(({ at, record }) => ({ at, record: { ...record, word: 'other' } })),
    );
    for (let reading = 0; reading < 4; reading += 1) {
      await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST }, brandSettings });
      // The very first reading was not confirmed either.
      const contradictions = reading === 0 ? 2 : 1;
      expect((await entryOf(lake)).committed).toMatchObject({ state: 'unconfirmed', contradictions });
      lake.nowMs += HOUR_MS;
      await rollBack(optionsFor(lake), a);
      lake.nowMs += 31 * DAY_MS;
    }
  });

  it('may return an open day to a part of it', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const part = await currentOf(lake, TODAY);
    lake.nowMs += 4 * HOUR_MS;
    restateDay(lake, 'later', TODAY);
    await lake.sync({ scope });
    expect(await currentOf(lake, TODAY)).not.toBe(part);
    await rollBack(optionsFor(lake, { day: TODAY }), part);
    expect(pointerOf(lake, TODAY)).toBe(part);
    lake.nowMs += HOUR_MS;
    await lake.sync({ scope });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('is visible at once to readers of the ledger if there is no catalog', async () => {
    const { lake, a } = await restatedLake();
    await rollBack(optionsFor(lake, { lake: { store: lake.store, runs: blindRegistry } }), a);
    const { committed, superseded } = await entryOf(lake);
    expect([committed?.published, superseded?.every(({ at }) => at !== null)]).toEqual([true, true]);
  });

  it('I2: never publishes a part of a day that a run closes in the meantime, even if the content is equal', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const p1 = await currentOf(lake, TODAY);
    lake.nowMs = Date.parse('2026-03-10T23:30:00Z');
    restateDay(lake, 'later', TODAY);
    await lake.sync({ scope });
    const p2 = await currentOf(lake, TODAY);
    expect(p2).not.toBe(p1);
    lake.nowMs = Date.parse('2026-03-11T06:00:00Z');
    const gate = gatedStore(lake.store, (key) => key === 'ledger/order_list/acme/2026-03.json');
    const rolling = rollBack(
      optionsFor(lake, {
        day: TODAY,
        lake: lake.over(gate.store),
      }),
      p1,
    );
    await gate.reached;
    await lake.sync({ scope });
    const closed = (await entryOf(lake, TODAY)).committed;
    gate.letGo();
    expect(await rolling).toMatchObject({ status: 'busy' });
    const e = await entryOf(lake, TODAY);
    expect([closed?.state, closed?.snapshot]).toEqual(['closed', p2]);
    expect(e.committed?.snapshot).toBe(p2);
  });

  it('is busy if the version was replaced and restored in the meantime, so no change is lost', async () => {
    const { lake, a, b } = await restatedLake();
    const gate = gatedStore(lake.store, (key) => key === 'ledger/order_list/acme/2026-03.json');
    const slow = rollBack(optionsFor(lake, { lake: lake.over(gate.store) }), a);
    await gate.reached;
    await rollBack(optionsFor(lake), a);
    lake.nowMs += MINUTE_MS;
    await rollBack(optionsFor(lake), b);
    lake.nowMs += MINUTE_MS;
    gate.letGo();
    expect(await slow).toMatchObject({ status: 'busy' });
    const e = await entryOf(lake);
    expect(e.committed?.history?.place).toBe((e.superseded ?? []).length);
  });
});

describe('a rollback that is refused', () => {
  /** Leaves so many bytes of the version's object; 0: the object is missing. */
  const damaged = (bytes: number) => (lake: SampleLake, to: string) => {
    const key = snapshotKey('orders', dayPartition(BRAND, FIRST), to);
    const object = lake.store.objects.get(key);
    if (!object) throw new Error(`${key} is missing`);
    if (bytes === 0) lake.store.objects.delete(key);
    else lake.store.objects.set(key, { ...object, body: object.body.slice(0, bytes) });
    return { to };
  };

  it.each<
    [
      string,
      (lake: SampleLake, a: string, b: string) => { to: string; change?: Partial<RollbackOptions> },
      string,
      RegExp,
    ]
  >([
    [
      'to an unknown version',
      (_lake, a) => ({ to: `${a}x` }),
      'version_not_kept',
      /cannot go back to .* Allowed: id-/,
    ],
    ['to the current version', (_lake, _a, b) => ({ to: b }), 'version_not_kept', /Allowed: id-/],
    ['to a version whose object is missing', damaged(0), 'version_unreadable', /it is missing/],
    [
      'to a version whose object is cut off',
      damaged(200),
      'version_unreadable',
      /cannot be read \(.+\); nothing was changed/,
    ],
    [
      'of a day that was never read',
      (_lake, a) => ({ to: a, change: { day: '2026-03-01' } }),
      'day_not_committed',
      /has no version of order_list 2026-03-01/,
    ],
    [
      'of another brand',
      (_lake, a) => ({ to: a, change: { brand: 'globex' } }),
      'day_not_committed',
      /of the brand "globex".*It has order_list 2026-03 of: acme/,
    ],
    [
      'of a month that was never read',
      (_lake, a) => ({ to: a, change: { day: '2026-01-05' } }),
      'day_not_committed',
      /has no version of order_list 2026-01-05.*It has order_list of: acme/,
    ],
  ])('changes nothing: %s', async (_name, prepare, code, message) => {
    const { lake, a, b } = await restatedLake();
    const { to, change } = prepare(lake, a, b);
    const before = await entryOf(lake);
    await expect(rollBack(optionsFor(lake, change), to)).rejects.toMatchObject({
      kind: 'config',
      code,
      message: expect.stringMatching(message),
    });
    expect([await entryOf(lake), pointerOf(lake)]).toEqual([before, b]);
  });

  it('I2: returns a closed day to a part of it', async () => {
    const lake = sample.emptyLake();
    await lake.sync({ scope });
    const part = await currentOf(lake, TODAY);
    lake.nowMs += DAY_MS;
    restateDay(lake, 'later', TODAY);
    await lake.sync({ scope });
    expect((await entryOf(lake, TODAY)).committed?.state).toBe('closed');
    await expect(rollBack(optionsFor(lake, { day: TODAY }), part)).rejects.toMatchObject({
      code: 'version_not_kept',
    });
    expect(await wrongReports(lake, '2026-03-11', ['order_list'])).toEqual({});
  });

  it('names a day that several brands have, without --brand', async () => {
    const { lake, a } = await restatedLake();
    const { objects } = lake.store;
    for (const [key, object] of [...objects]) {
      if (!key.startsWith('ledger/order_list/acme/2026')) continue;
      const body = Buffer.from(Buffer.from(object.body).toString().replace('"acme"', '"globex"'));
      objects.set(key.replace('/acme/', '/globex/'), { ...object, body });
    }
    await expect(rollBack(optionsFor(lake), a)).rejects.toMatchObject({
      code: 'several_brands',
      message: expect.stringContaining('--brand: acme, globex'),
    });
    expect((await rollBack(optionsFor(lake, { brand: BRAND }), a)).status).toBe('complete');
  });
});

describe('while a run reads the day,', () => {
  /** A run that waits at its first page and holds the lease of the brand. */
  async function runInTheMiddle(lake: SampleLake) {
    restateDay(lake, 'latest');
    const gate = gatedStore(lake.store, (key) => key.includes(`dt=${FIRST}/`) && key.includes('/chunk-'));
    const running = lake.sync({
      scope: { ...scope, from: FIRST, to: FIRST },
      lake: lake.over(gate.store),
    });
    await gate.reached;
    return { running, letGo: gate.letGo };
  }

  it('a rollback is busy while the run lives', async () => {
    const { lake, a, b } = await restatedLake();
    const { running, letGo } = await runInTheMiddle(lake);
    expect(await rollBack(optionsFor(lake), a)).toEqual({
      ...{ status: 'busy', brand: BRAND, report: 'order_list', day: FIRST },
    });
    expect(pointerOf(lake)).toBe(b);
    letGo();
    expect((await running).status).toBe('complete');
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I5: the commit of a run that has lost the lease is refused, and its staged pages are not lost', async () => {
    const { lake, a } = await restatedLake();
    const { running, letGo } = await runInTheMiddle(lake);
    const { attempt } = (await entryOf(lake)).claim ?? {};
    lake.store.objects.delete(leaseKey(BRAND));
    expect((await rollBack(optionsFor(lake), a)).status).toBe('complete');
    letGo();
    expect(outcomesOf(await running, 'order_list')).toEqual({ [FIRST]: 'busy' });
    expect([await currentOf(lake), (await entryOf(lake)).claim?.attempt]).toEqual([a, attempt]);
    lake.nowMs += MINUTE_MS;
    await lake.sync({ scope });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
    // The change of the reading, which began earlier and was resumed later, comes after the change of the rollback.
    const days = (await changesOf(lake, 'order_list', FIRST)).filter(({ what }) => what === 'day');
    const times = days.map(({ changed_at: at }) => (at instanceof Date ? at.getTime() : 0));
    expect(times).toEqual(times.toSorted((x, y) => x - y));
  });
});

describe('the versions of a day', () => {
  it('have no fact about wholeness, and the older ones no rows, if their ledger was made from snapshots', async () => {
    const { lake } = await restatedLake();
    const key = 'ledger/order_list/acme/2026-03.json';
    const ledger = lake.store.objects.get(key);
    if (ledger) lake.store.objects.set(key, { ...ledger, body: Buffer.from('{') });
    await restoreAll(lake);
    const { versions } = await listVersions(optionsFor(lake));
    expect(versions.map(({ open, rows }) => [open, rows])).toEqual([
      [null, null],
      [null, expect.any(Number)],
    ]);
  });
});
