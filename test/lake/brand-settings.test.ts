import { hash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  type Adoption,
  StoredSettings,
  readBrandSettings,
  settingsInUse,
} from '../../shared/lake/brand-settings.ts';
import { brandSettingsKey } from '../../shared/lake/paths.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { type MemoryStore, memoryStore } from '../fakes/memory-store.ts';

const SECRETS = { baseUrl: 'https://brand.example/api/acme', service: 'HIDDEN', secretName: 'a/hidden-one' };

function settingsWith(order_list: object, brands: readonly string[] = ['acme']) {
  const brand = { ...SECRETS, timeZone: 'UTC', startDate: '2026-01-01', reports: { order_list } };
  return parseSettings({ brands: Object.fromEntries(brands.map((name) => [name, brand])) }, reports);
}

const COMM = settingsWith({ fields: { commission: 'comm', state: null } });
const VALUE = settingsWith({ fields: { commission: 'value' }, states: { words: { Storno: 'void' } } });
/** Other days, the same meaning. */
const LATER = settingsWith({ fields: { commission: 'comm', state: null }, enabled: false });
const MEANING = [
  'acme order_list commission comm → value',
  'acme order_list state no field → not set',
  'acme order_list word "Storno" not set → void',
];

let ids = 0;

function lakeOf(
  store: ObjectStore = memoryStore(),
  nowMs: number | (() => number) = Date.parse('2026-02-01T00:00:00Z'),
) {
  const lines: string[] = [];
  const log = (event: LogEvent) => {
    if (event.event === 'meaning_changed') lines.push(`${event.brand} ${event.report} ${event.message}`);
  };
  const newId = () => {
    ids += 1;
    return `id-${ids}`;
  };
  const clock = { wallMs: () => (typeof nowMs === 'number' ? nowMs : nowMs()), sleep: async () => {} };
  const stored = new StoredSettings({ lake: { store }, reports, newId, clock, random: () => 0, log });
  const adopt = (settings = COMM, adoption?: Adoption) => {
    const { acme } = settings.brands;
    if (!acme) throw new Error('there is no acme');
    return stored.adopt('acme', acme, adoption);
  };
  return { stored, adopt, lines };
}

async function readIn(store: ObjectStore) {
  return (await readBrandSettings(store, reports, ['acme'])).get('acme');
}

function documentIn(store: MemoryStore) {
  return JSON.parse(Buffer.from(store.objects.get(brandSettingsKey('acme'))?.body ?? []).toString());
}

describe('the settings that a run adopts', () => {
  it('are named by the hash of their bytes, and have no address', async () => {
    const store = memoryStore();
    const sha256 = await lakeOf(store).adopt();
    const kept = Buffer.from(store.objects.get(brandSettingsKey('acme', sha256))?.body ?? []);
    expect(hash('sha256', kept)).toBe(sha256);
    expect(JSON.parse(kept.toString())).toEqual(documentIn(store).current.settings);
    const all = [...store.objects.values()].map(({ body }) => Buffer.from(body).toString()).join('');
    for (const hidden of [...Object.values(SECRETS), 'brand.example']) expect(all).not.toContain(hidden);
  });

  it('are the same in any order of keys, and read again as they were', async () => {
    const store = memoryStore();
    const [first] = [await lakeOf(store).adopt(settingsWith({ fields: { state: 'a', amount: 'b' } }))];
    expect(await lakeOf(store).adopt(settingsWith({ fields: { amount: 'b', state: 'a' } }))).toBe(first);
    const { settings } = (await readIn(store)) ?? {};
    expect(settings?.reports.order_list?.fields).toEqual({ amount: 'b', state: 'a' });
  });

  it('are read once and not written if they are in the lake', async () => {
    const store = memoryStore();
    await lakeOf(store).adopt();
    const requests: string[] = [];
    const counting: ObjectStore = {
      ...store,
      get(key) {
        requests.push(`get ${key}`);
        return store.get(key);
      },
      put(key, ...rest) {
        requests.push(`put ${key}`);
        return store.put(key, ...rest);
      },
    };
    const lake = lakeOf(counting);
    for (let report = 1; report <= 5; report += 1) await lake.adopt();
    expect(requests).toEqual([`get ${brandSettingsKey('acme')}`]);
  });

  const functions: Adoption = { by: 'functions' };
  const asked: Adoption = { by: 'command_line', isAsked: true };
  it.each([
    ['a command line after a command line', undefined, VALUE, undefined, 'command_line', MEANING],
    ['a function after a command line', undefined, VALUE, functions, 'functions', MEANING],
    ['a function after a function', functions, VALUE, functions, 'functions', MEANING],
    ['a command line that is told to, after a function', functions, VALUE, asked, 'command_line', MEANING],
    [
      'a command line with another schedule, after a command line',
      undefined,
      LATER,
      undefined,
      'command_line',
      [],
    ],
    ['a function with the same settings, after a command line', undefined, COMM, functions, 'functions', []],
  ] as const)('are those of %s', async (_who, first, settings, second, by, changes) => {
    const store = memoryStore();
    await lakeOf(store).adopt(COMM, first);
    const lake = lakeOf(store, Date.parse('2026-03-01T00:00:00Z'));
    const sha256 = await lake.adopt(settings, second);
    const since = settings === COMM ? '2026-02-01T00:00:00.000Z' : '2026-03-01T00:00:00.000Z';
    expect(documentIn(store).current).toMatchObject({ hash: sha256, by, since });
    expect(lake.lines).toEqual(changes);
  });

  it('stay if functions maintain them, and a command line is refused if it would read another meaning', async () => {
    const store = memoryStore();
    const sha256 = await lakeOf(store).adopt(COMM, functions);
    const { stored, adopt } = lakeOf(store);
    for (const settings of [COMM, LATER, VALUE]) expect(await adopt(settings)).toBe(sha256);
    await stored.assertMayReplace(COMM.brands);
    await stored.assertMayReplace(LATER.brands);
    await stored.assertMayReplace(VALUE.brands, asked);
    await stored.assertMayReplace(VALUE.brands, functions);
    await expect(stored.assertMayReplace(VALUE.brands)).rejects.toMatchObject({
      kind: 'config',
      code: 'settings_maintained',
      message: expect.stringContaining('- acme order_list: commission comm → value'),
    });
  });

  it('stay if another run has changed them since this run began, unless the clock of that run was ahead', async () => {
    const store = memoryStore();
    await lakeOf(store).adopt(COMM, functions);
    let nowMs = Date.parse('2026-03-01T00:00:00Z');
    const running = lakeOf(store, () => nowMs);
    const sha256 = await lakeOf(store, nowMs + 1000).adopt(VALUE, functions);
    nowMs += 2000;
    expect(await running.adopt(COMM, functions)).toBe(sha256);
    await lakeOf(store, Date.parse('2027-01-01T00:00:00Z')).adopt(LATER, functions);
    expect(await lakeOf(store, nowMs).adopt(VALUE, functions)).toBe(sha256);
    expect(documentIn(store).current).toMatchObject({ hash: sha256, since: '2026-03-01T00:00:02.000Z' });
  });

  it('I5: are those of one of two runs at once, and the log names the change that happened', async () => {
    const store = memoryStore();
    await lakeOf(store).adopt();
    const lakes = [lakeOf(store), lakeOf(store)];
    await Promise.all(lakes.map(({ adopt }) => adopt(VALUE)));
    expect(lakes.flatMap(({ lines }) => lines)).toEqual(MEANING);
  });
});

describe('stored settings', () => {
  it.each([
    ['of another brand', { brand: 'bolt' }],
    ['without their hash', { current: { settings: {} } }],
    ['that somebody edited', 'comm'],
    ['of which a field leads out of the SQL', "x' OR '1"],
  ])('are damaged if they are those %s', async (_what, change) => {
    const store = memoryStore();
    await lakeOf(store).adopt();
    const text = JSON.stringify(documentIn(store));
    const damaged =
      typeof change === 'string'
        ? text.replace('"comm"', JSON.stringify(change === 'comm' ? 'other' : change))
        : JSON.stringify({ ...JSON.parse(text), ...change });
    await store.delete([brandSettingsKey('acme')]);
    await store.put(brandSettingsKey('acme'), Buffer.from(damaged), { ifAbsent: true });
    const read = await readIn(store);
    expect(read).toEqual({
      damage: expect.stringMatching(/current\.json cannot be used: .*verify --restore/),
    });
    expect(settingsInUse([{ brand: 'acme', inLake: read }], undefined).notes).toEqual([
      { brand: 'acme', text: read?.damage },
    ]);
    const { adopt, stored } = lakeOf(store);
    expect(await stored.of('acme')).toBeUndefined();
    await adopt();
    expect(await readIn(store)).toMatchObject({ settings: { timeZone: 'UTC' } });
  });

  it('are read side by side, also by a reader of some reports', async () => {
    const brands = Array.from({ length: 300 }, (_, number) => `brand-${number}`);
    const store = memoryStore();
    const filled = lakeOf(store);
    const settings = settingsWith({ fields: { commission: 'comm' } }, brands);
    for (const [name, own] of Object.entries(settings.brands)) await filled.stored.adopt(name, own);
    let [inFlight, most, requests] = [0, 0, 0];
    const slow: ObjectStore = {
      ...store,
      async get(key) {
        requests += 1;
        inFlight += 1;
        most = Math.max(most, inFlight);
        await new Promise(setImmediate);
        inFlight -= 1;
        return store.get(key);
      },
    };
    const all = await lakeOf(slow).stored.all(COMM);
    expect(Object.keys(all.brands)).toHaveLength(301);
    expect([requests, most > 8]).toEqual([300, true]);
    const { clicks_detail } = reports;
    if (!clicks_detail) throw new Error('there is no report of details');
    const read = (await readBrandSettings(store, { clicks_detail }, ['brand-7'])).get('brand-7');
    expect(Object.keys(read?.settings?.reports ?? {})).toEqual(['clicks_detail']);
  });

  it('are missing before a run; then the given settings count', () => {
    expect(settingsInUse([{ brand: 'acme' }], undefined)).toEqual({ settings: undefined, notes: [] });
    const { settings, notes } = settingsInUse([{ brand: 'acme' }], COMM);
    expect([Object.keys(settings?.brands ?? {}), notes]).toEqual([['acme'], []]);
  });
});
