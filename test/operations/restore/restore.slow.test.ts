/** Damages each kind of document, and restores it: with an earlier version in the store, and without one. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { restate } from '../../../sample/brand.ts';
import { DAY_MS, HOUR_MS } from '../../../shared/base/days.ts';
import { readLedgers } from '../../../shared/lake/read.ts';
import { closeKey, dayPartition, snapshotKey } from '../../../shared/lake/paths.ts';
import { closeMonth } from '../../../shared/operations/close-month.ts';
import { rollBack } from '../../../shared/operations/rollback.ts';
import { reports } from '../../../shared/reports/index.ts';
import { orders } from '../../../shared/reports/orders.ts';
import { tableStatuses } from '../../../shared/watch/table-statuses.ts';
import { diesAtN } from '../../fakes/dies-at-n-store.ts';
import { alter, errorOf, ledgerEntry, outcomesOf, wrongReports } from '../../sync/lake-contents.ts';
import { BRAND, type SampleLake } from '../../sync/sample-lake.ts';
import { sharedLakes } from '../../sync/shared-lakes.ts';
import { keepsPrevious } from './keeps-previous.ts';
import { restoreAll } from './restore-all.ts';
import { WITHOUT_SUMS } from '../../fakes/without-sums.ts';

const MONTH = '2026-02';
const FIRST = '2026-02-26';
const TODAY = '2026-03-03';
const NOW = '2026-03-03T15:00:00Z';
const LEDGER = `ledger/order_list/acme/${MONTH}.json`;
const STATE = 'ledger/acme/state.json';
const SCHEMA = 'schema/orders.json';
const SETTINGS = 'schema/settings/acme/current.json';
const scope = { reports: ['order_list'] };

const sample = sharedLakes({ now: NOW, startDate: FIRST, recordsTo: NOW, clicksPerDay: 5 });

type Kept = ReturnType<typeof keepsPrevious>;

/** A lake whose first day has changed after it was closed, in a closed month, with a document of every kind. */
async function filledLake(): Promise<{ lake: SampleLake; store: Kept }> {
  const lake = sample.emptyLake();
  const store = keepsPrevious(lake.store);
  await lake.sync({ scope, lake: lake.over(store) });
  lake.nowMs += HOUR_MS;
  alter(lake, 'order_list', FIRST, { word: 'later' }, 1);
  await lake.sync({ scope: { ...scope, from: FIRST, to: FIRST }, lake: lake.over(store) });
  lake.nowMs += HOUR_MS;
  const closing = { ...lake.access(), lake: lake.over(store), settings: lake.settings(), month: MONTH };
  await closeMonth({ ...closing, ...WITHOUT_SUMS, anyway: true });
  return { lake, store };
}

function textOf(lake: SampleLake, key: string): string {
  return Buffer.from(lake.store.objects.get(key)?.body ?? []).toString();
}

/** Changes the bytes without the knowledge of the store, as a failing disk does; without a text the object is lost. */
function damage(lake: SampleLake, key: string, text?: string): void {
  const found = lake.store.objects.get(key);
  if (!found) throw new Error(`${key} is missing`);
  if (text === undefined) lake.store.objects.delete(key);
  else lake.store.objects.set(key, { ...found, body: Buffer.from(text), etag: `${found.etag}-damaged` });
}

function snapshotsIn({ store }: SampleLake): string[] {
  return [...store.objects.keys()].filter((key) => key.startsWith('snapshots/orders/')).sort();
}

const inLake = (lake: SampleLake, key: RegExp) =>
  [...lake.store.objects.keys()].find((each) => key.test(each)) ?? '';

/** Every kind of document that a restore puts back or begins anew, and whether a run refuses a damaged one. */
const KINDS: [kind: string, keyOf: (lake: SampleLake) => string, isRefused: boolean][] = [
  ['ledger', () => LEDGER, true],
  ['schema', () => SCHEMA, true],
  ['report state', () => STATE, false],
  ['settings', () => SETTINGS, false],
  ['kept settings', (lake) => inLake(lake, /^schema\/settings\/acme\/[0-9a-f]{64}\.json$/), false],
  ['close', () => closeKey(BRAND, MONTH), false],
];

const DAMAGES: [damage: string, of: (text: string) => string][] = [
  ['empty', () => ''],
  ['cut off', (text) => text.slice(0, text.length / 2)],
  ['not JSON', () => 'PAR1'],
  ['null', () => 'null'],
  ['a list', () => '[]'],
  ['without a field', () => '{"version":2}'],
  [
    'of another type',
    (text) =>
      text
        .replace('"recentWrites":[', '"recentWrites":[1,')
        .replace('"lateMinutes":', '"lateMinutes":true,"_":'),
  ],
  ['nested too deep', () => '['.repeat(200_000)],
];

describe('a damaged document', () => {
  let filled: Awaited<ReturnType<typeof filledLake>>;
  let baseMs = 0;
  beforeAll(async () => {
    filled = await filledLake();
    baseMs = filled.lake.nowMs;
  });

  function forked(keptToo = true) {
    const lake = filled.lake.fork();
    lake.nowMs = baseMs;
    const store = keepsPrevious(lake.store);
    for (const [key, kept] of keptToo ? filled.store.kept : []) store.kept.set(key, kept);
    return { lake, store, over: lake.over(store) };
  }

  it('does not exist in a lake that is whole, whatever else is in it', async () => {
    const { lake, over } = forked();
    const stranger = { body: new Uint8Array(), etag: 'x', modifiedAt: new Date(lake.nowMs) };
    for (const key of [
      'ledger/order_list/acme/',
      'ledger/.old/state.json',
      'ledger/of_no_report/acme/state.json',
      'closes/acme/notes.json',
      'schema/of_no_table.json',
      'snapshots/orders/brand=/dt=2026-01-01/a/part-0000.parquet',
    ])
      lake.store.objects.set(key, stranger);
    expect(await restoreAll(lake, over)).toEqual([]);
  });

  it.each(KINDS.flatMap(([kind, keyOf]) => DAMAGES.map(([name, of]) => [kind, name, keyOf, of] as const)))(
    'is found, and nothing is changed: %s, %s',
    async (_kind, _name, keyOf, of) => {
      const { lake, store, over } = forked();
      const key = keyOf(lake);
      damage(lake, key, of(textOf(lake, key)));
      const before = new Map(lake.store.objects);
      const found = await restoreAll(lake, over, false);
      const writtenAt = key === STATE ? undefined : store.kept.get(key)?.modifiedAt.toISOString();
      expect(found.map((each) => [each.key, each.outcome, each.writtenAt])).toEqual([
        [key, 'damaged', writtenAt],
      ]);
      expect(new Map(lake.store.objects)).toEqual(before);
    },
  );

  it.each([
    ["another month's ledger", () => textOf(filled.lake, LEDGER.replace(MONTH, '2026-03'))],
    ['an id that leads elsewhere', () => textOf(filled.lake, LEDGER).replaceAll(/"snapshot":"/g, '$&../')],
  ])('is found, and its earlier version is put back: a ledger that is %s', async (_name, text) => {
    const { lake, over } = forked();
    damage(lake, LEDGER, text());
    expect(await restoreAll(lake, over)).toEqual([
      expect.objectContaining({ key: LEDGER, outcome: 'restored', writtenAt: expect.any(String) }),
    ]);
  });

  const FLOWS = [
    ...KINDS.map(([kind, keyOf, isRefused]) => [kind, keyOf, isRefused, 'PAR1'] as const),
    ['ledger that is lost', () => LEDGER, true, undefined] as const,
    ['schema that is lost', () => SCHEMA, false, undefined] as const,
  ];
  const eachWay = FLOWS.flatMap(
    ([kind, ...flow]) =>
      [
        [`${kind} with an earlier version`, ...flow, true],
        [`${kind} without one`, ...flow, false],
      ] as const,
  );
  it.each(eachWay)(
    'I3: a %s: runs refuse it or go on, a restore heals it, and the next run is right',
    async (_kind, keyOf, isRefused, text, keptToo) => {
      const { lake, store, over } = forked(keptToo);
      const key = keyOf(lake);
      const isClose = key === closeKey(BRAND, MONTH);
      damage(lake, key, text);
      const versions = snapshotsIn(lake);
      if (isRefused)
        for (let day = 1; day <= 3; day += 1) {
          lake.nowMs += DAY_MS;
          const outcome = await lake.sync({ scope, lake: over });
          expect(errorOf(outcome, 'order_list')).toMatchObject({
            code: 'damaged_document',
            message: expect.stringMatching(new RegExp(`^${key} .*"brand-reports verify --restore"$`)),
          });
          const kept = snapshotsIn(lake).filter((each) => versions.includes(each));
          expect(kept).toEqual(versions);
        }
      const pointers = new Map(lake.catalog.pointers);
      const [restored, ...others] = await restoreAll(lake, over);
      expect(others).toEqual([]);
      const writtenAt = keptToo && key !== STATE && filled.store.kept.get(key)?.modifiedAt.toISOString();
      const outcome = isClose ? 'damaged' : 'restored';
      expect(restored).toMatchObject({ key, outcome, ...(writtenAt && { writtenAt }) });
      expect(lake.catalog.pointers).toEqual(pointers);
      if (isClose) await store.delete([key]);
      expect(await restoreAll(lake, over)).toEqual([]);
      lake.nowMs += HOUR_MS;
      await lake.sync({ scope, lake: over });
      // `verify` names the days that have columns which the schema lacks.
      if (key === SCHEMA) await lake.sync({ scope: { ...scope, from: FIRST, to: TODAY }, lake: over });
      const today = new Date(lake.nowMs - 5 * HOUR_MS).toISOString().slice(0, 10);
      expect(await wrongReports(lake, today, ['order_list'])).toEqual({});
      expect(await restoreAll(lake, over, false)).toEqual([]);
    },
  );

  it('is made from other objects if the earlier version cannot be parsed either', async () => {
    const { lake, store, over } = forked();
    damage(lake, LEDGER, '{');
    store.kept.set(LEDGER, { body: Buffer.from('{}'), modifiedAt: new Date(lake.nowMs) });
    const [restored] = await restoreAll(lake, over);
    expect([restored?.outcome, restored?.writtenAt]).toEqual(['restored', undefined]);
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.state).toBe('unconfirmed');
  });

  it('I5: is restored once by two restores at once', async () => {
    const { lake, over } = forked();
    for (const key of [LEDGER, STATE, SCHEMA]) damage(lake, key, '{');
    const both = await Promise.all([restoreAll(lake, over), restoreAll(lake, over)]);
    for (const key of [LEDGER, STATE, SCHEMA]) {
      const outcomes = both
        .flatMap((each) => each.filter((one) => one.key === key))
        .map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'restored')).toHaveLength(1);
      expect(outcomes).not.toContain('failed');
    }
    expect(await restoreAll(lake, over)).toEqual([]);
  });

  it('I5: is left alone if another program has written it in the meantime', async () => {
    const { lake, store } = forked();
    damage(lake, STATE, '{');
    const put: Kept['put'] = (key, ...rest) => {
      if (key === STATE) damage(lake, STATE, '{"of":"another"}');
      return store.put(key, ...rest);
    };
    const [found] = await restoreAll(lake, lake.over({ ...store, put }));
    expect([found?.outcome, textOf(lake, STATE)]).toEqual(['changed', '{"of":"another"}']);
  });

  it('I4: is restored by the next restore if a restore dies at any operation', async () => {
    for (let operation = 1, isOver = false; !isOver; operation += 1)
      for (const when of [operation % 2 ? ('before' as const) : ('after' as const)]) {
        const { lake, store, over } = forked(operation % 3 === 0);
        damage(lake, LEDGER, '{');
        damage(lake, STATE, '{');
        const dying = diesAtN(store, operation, { when });
        await restoreAll(lake, lake.over(dying)).catch(() => {});
        isOver = !dying.life.dead;
        lake.nowMs += HOUR_MS;
        await restoreAll(lake, over);
        expect(await restoreAll(lake, over)).toEqual([]);
        expect((await ledgerEntry(lake, 'order_list', FIRST)).committed?.rows).toBeGreaterThan(0);
      }
  });

  it('is named by every reader if a ledger was lost, and rebuild, rollback and close refuse the month', async () => {
    const { lake, over } = forked();
    damage(lake, LEDGER);
    const refused = { code: 'damaged_document', message: expect.stringContaining('verify --restore') };
    const [of] = await readLedgers(over.store, { order_list: orders });
    expect(of?.damaged).toEqual([{ key: LEDGER, month: MONTH, message: refused.message }]);
    const access = { ...lake.access(), lake: over, settings: lake.settings(), report: orders };
    await expect(rollBack({ ...access, day: FIRST }, 'any')).rejects.toMatchObject(refused);
    await lake.store.delete([closeKey(BRAND, MONTH)]);
    await expect(
      closeMonth({ ...access, ...WITHOUT_SUMS, month: MONTH, anyway: true }),
    ).rejects.toMatchObject(refused);
    // The only ledger of the report.
    for (const key of [LEDGER.replace(MONTH, '2026-03'), STATE]) damage(lake, key);
    await lake.sync({ scope: { reports: ['transaction_list'] }, lake: over });
    await expect(
      closeMonth({ ...access, ...WITHOUT_SUMS, month: MONTH, anyway: true }),
    ).rejects.toMatchObject(refused);
    const rebuilt = await lake.rebuild({ ...scope, from: FIRST, to: FIRST }, { lake: over });
    expect(rebuilt.reports[0]?.error).toMatchObject(refused);
  });
});

describe('a ledger that is made from snapshots', () => {
  async function damagedLake(change: (lake: SampleLake) => Promise<void> = async () => {}) {
    const { lake, store } = await filledLake();
    await change(lake);
    const before = await ledgerEntry(lake, 'order_list', FIRST);
    damage(lake, LEDGER);
    store.kept.delete(LEDGER);
    lake.nowMs += HOUR_MS;
    return { lake, before };
  }

  it('has the other versions of the days, and begins their history anew', async () => {
    const { lake, before } = await damagedLake();
    await restoreAll(lake);
    const { committed, superseded = [] } = await ledgerEntry(lake, 'order_list', FIRST);
    const { snapshot, history } = before.committed ?? {};
    expect(committed).toMatchObject({ snapshot, state: 'unconfirmed', published: false });
    expect(history?.object).toBeDefined();
    const [place, at] = [(history?.place ?? 0) + 1, expect.any(String)];
    expect(committed?.history).toEqual({ place, anewPlace: place, by: at, lastBy: at, anewBy: at });
    expect(superseded.map((each) => each.snapshot)).toEqual(before.superseded?.map((each) => each.snapshot));
  });

  it('I3: has the version that a rollback chose, and keeps the other one', async () => {
    let [first, second] = ['', ''];
    const { lake } = await damagedLake(async (of) => {
      const { committed, superseded = [] } = await ledgerEntry(of, 'order_list', FIRST);
      [first, second] = [superseded[0]?.snapshot ?? '', committed?.snapshot ?? ''];
      await rollBack({ ...of.access(), settings: of.settings(), report: orders, day: FIRST }, first);
    });
    await restoreAll(lake);
    const { committed, superseded } = await ledgerEntry(lake, 'order_list', FIRST);
    expect([committed?.snapshot, superseded?.map(({ snapshot }) => snapshot)]).toEqual([first, [second]]);
    for (let day = 0; day < 3; day += 1) {
      lake.nowMs += DAY_MS;
      await lake.sync({ scope });
    }
    for (const id of [first, second])
      expect(lake.store.objects.has(snapshotKey('orders', dayPartition(BRAND, FIRST), id))).toBe(true);
  });

  it('has the newest snapshot that can be read', async () => {
    const { lake, before } = await damagedLake();
    const { snapshot = '' } = before.committed ?? {};
    damage(lake, snapshotKey('orders', dayPartition(BRAND, FIRST), snapshot), 'PAR1 of nothing');
    await restoreAll(lake);
    const { committed } = await ledgerEntry(lake, 'order_list', FIRST);
    expect(committed?.snapshot).toBe(before.superseded?.[0]?.snapshot);
    expect(committed?.published).toBe(false);
    await lake.sync({ scope });
    expect(await wrongReports(lake, TODAY, ['order_list'])).toEqual({});
  });

  it('I2: has unverified days until a run has read them again', async () => {
    const { lake } = await damagedLake();
    await restoreAll(lake);
    const stateOf = async (day: string) => {
      const lakes = await readLedgers(lake.store, reports);
      const tables = tableStatuses(lake.settings(), reports, lakes, lake.nowMs);
      const own = tables.find(({ report }) => report === 'order_list');
      return own?.days.find(({ dt }) => dt === day)?.state;
    };
    expect(await stateOf(FIRST)).toBe('unverified');
    await lake.sync({ scope });
    expect(await stateOf(FIRST)).toBe('complete');
  });

  it.each<[string, number]>([
    ['no record', 0],
    ['fewer records', 2],
  ])('I11: keeps the rows of a day that the service has with %s now', async (_name, rows) => {
    const { lake, before } = await damagedLake();
    await restoreAll(lake);
    restate(lake.brand, 'order_list', FIRST, (held) => held.slice(0, rows));
    const refresh = [{ untilAgeDays: 2, every: 'run' }];
    const brandSettings = { reports: { order_list: { refresh } } };
    const { snapshot, rows: published } = before.committed ?? {};
    for (let day = 0; day < 4; day += 1) {
      const outcome = await lake.sync({ scope, brandSettings });
      if (day === 0) expect(outcomesOf(outcome, 'order_list')[FIRST]).toBe('kept');
      lake.nowMs += DAY_MS;
    }
    expect((await ledgerEntry(lake, 'order_list', FIRST)).committed).toMatchObject({
      snapshot,
      rows: published,
    });
  });
});

it('a run lists the snapshots of a report once if it reads a month without a ledger, and else never', async () => {
  const lake = sample.emptyLake();
  const listed: string[] = [];
  const list = (prefix: string) => {
    if (prefix.startsWith('snapshots/orders/')) listed.push(prefix);
    return lake.store.list(prefix);
  };
  const listsOf = async (startDate: string) => {
    listed.splice(0);
    await lake.sync({ scope, brandSettings: { startDate }, lake: lake.over({ ...lake.store, list }) });
    return listed.length;
  };
  // Three months have no ledger; then follows the daily vacuum.
  expect(await listsOf('2026-01-20')).toBe(2);
  lake.nowMs += HOUR_MS;
  expect(await listsOf('2026-01-20')).toBe(0);
  expect(await listsOf('2025-10-20')).toBe(1);
});
