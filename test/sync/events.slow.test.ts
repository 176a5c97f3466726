import { describe, expect, it } from '@jest/globals';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/base/days.ts';
import { BrandReportsError } from '../../shared/base/errors.ts';
import { readBrandSettings } from '../../shared/lake/brand-settings.ts';
import { dayPartition, partitionPath } from '../../shared/lake/paths.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { rollBack } from '../../shared/operations/rollback.ts';
import type { Catalog, LakeEvent } from '../../shared/ports.ts';
import { orders } from '../../shared/reports/orders.ts';
import { countingLake } from '../fakes/counting-lake.ts';
import { ProcessDied, diesAtN, diesAtNCatalog } from '../fakes/dies-at-n-store.ts';
import { ALL_FINAL } from '../fixtures/all-final.ts';
import { alter, ledgerEntries, ledgerEntry } from './lake-contents.ts';
import { BRAND, NO_TIME, type SampleLake, type SyncOptions, blindRegistry } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const [FIRST, YESTERDAY, TODAY] = ['2026-02-27', '2026-02-28', '2026-03-01'];
const sample = sharedLakes({
  ...{ now: '2026-03-01T17:00:00Z', startDate: FIRST, recordsTo: '2026-03-01T22:00:00Z' },
  ...{ reports: ['order_list'], clicksPerDay: 6 },
});

/** All received events, in order, without repetitions: a repeated event equals the first one. */
function inOrder(received: readonly LakeEvent[]): LakeEvent[] {
  const found = new Map<string, LakeEvent>();
  for (const event of received) {
    const { day, sequence } = event.detail;
    const known = found.get(`${day} ${sequence}`);
    expect(event).toEqual(known ?? event);
    found.set(`${day} ${sequence}`, event);
  }
  const last = new Map<unknown, LakeEvent>();
  for (const event of found.values()) {
    const { day, sequence, previousVersion } = event.detail;
    const before = last.get(day);
    if (before) expect(sequence).toBe(Number(before.detail.sequence) + 1);
    expect(previousVersion).toBe(before?.detail.version ?? null);
    last.set(day, event);
  }
  return [...found.values()];
}

function listener() {
  const received: LakeEvent[] = [];
  const send = async (events: readonly LakeEvent[]) => void received.push(...events);
  const of = (day: string) => inOrder(received).filter(({ detail }) => detail.day === day);
  return { received, of, sink: { send } };
}

/** Gives the order of the day another status from now on. */
function restate(lake: SampleLake, word: string, day = FIRST): void {
  alter(lake, 'order_list', day, { word }, 1);
  lake.nowMs += HOUR_MS;
}

const reread = (day = FIRST): SyncOptions => ({ scope: { reports: ['order_list'], from: day, to: day } });
const versionOf = async (lake: SampleLake, day = FIRST) =>
  (await ledgerEntry(lake, 'order_list', day)).committed?.snapshot;
const pendingOf = async (lake: SampleLake) =>
  (await ledgerEntries(lake, 'order_list')).flatMap(([, { events }]) => events?.pending ?? []);
const namesOf = (events: readonly LakeEvent[]) => events.map(({ type }) => type);

async function published(options: SyncOptions = {}): Promise<SampleLake> {
  const lake = sample.emptyLake();
  expect((await lake.sync(options)).status).toBe('complete');
  return lake;
}

describe('events', () => {
  it('are sent for each closed day, with the facts of the ledger, and not for open days', async () => {
    const { received, sink } = listener();
    const lake = await published({ events: sink });
    const inLake = (await readBrandSettings(lake.store, lake.access().reports, [BRAND])).get(BRAND);
    const closed = (await ledgerEntries(lake, 'order_list')).filter(([day]) => day !== TODAY);
    expect(inOrder(received)).toEqual(
      closed.map(([day, { committed }]) => ({
        type: 'Day Published',
        detail: {
          ...{ brand: BRAND, report: 'order_list', table: 'orders', day, state: 'complete' },
          ...{ version: committed?.snapshot, previousVersion: null, rows: committed?.rows, findings: [] },
          sums: committed?.values?.totals?.byCurrency,
          ...{ sequence: expect.any(Number), at: committed?.committedAt },
          settings: { hash: inLake?.hash?.slice(0, 8), since: inLake?.since },
        },
      })),
    );
    expect(received.some(({ detail }) => Object.keys(Object(detail.sums)).length > 0)).toBe(true);
    expect(inLake?.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await pendingOf(lake)).toEqual([]);
  });

  it('have no time from which on the settings count if the lake keeps those of its functions', async () => {
    const { received, sink } = listener();
    const lake = await published({ adoption: { by: 'functions' } });
    lake.nowMs += DAY_MS;
    await lake.sync({ events: sink, brandSettings: { lateMinutes: 7 } });
    expect(inOrder(received).length).toBeGreaterThan(0);
    for (const { detail } of inOrder(received))
      expect(detail.settings).toEqual({ hash: expect.stringMatching(/^[0-9a-f]{8}$/) });
  });

  it.each<{
    what: string;
    happens: (lake: SampleLake, sink: SyncOptions) => Promise<unknown>;
    sent: string[];
  }>([
    {
      what: 'a reading of equal content',
      happens: (lake, to) => lake.sync({ ...reread(), ...to }),
      sent: [],
    },
    {
      what: 'a restated day',
      async happens(lake, to) {
        restate(lake, 'later');
        await lake.sync({ ...reread(), ...to });
      },
      sent: ['Day Changed'],
    },
    {
      what: 'a day restated, rolled back, and restated by the next reading, the only one with a listener',
      async happens(lake, to) {
        const before = String(await versionOf(lake));
        restate(lake, 'later');
        await lake.sync(reread());
        await rollBack({ ...lake.access(), settings: lake.settings(), report: orders, day: FIRST }, before);
        await lake.sync(to);
      },
      sent: ['Day Changed', 'Day Changed', 'Day Changed'],
    },
    {
      what: 'a rebuild of equal content',
      async happens(lake, to) {
        await lake.rebuild({ reports: ['order_list'], from: FIRST, to: FIRST });
        await lake.sync(to);
      },
      sent: [],
    },
    {
      what: 'a rebuild with another type of a column',
      async happens(lake, to) {
        const columns = { order_list: { columns: { amount: 'string' } } };
        const brandSettings = { reports: columns };
        await lake.rebuild({ reports: ['order_list'], from: FIRST, to: FIRST }, { brandSettings });
        await lake.sync({ brandSettings, ...to });
      },
      sent: ['Day Changed'],
    },
  ])('of $what are $sent', async ({ happens, sent }) => {
    const { received, of, sink } = listener();
    const lake = await published({ events: sink });
    lake.nowMs += HOUR_MS;
    await happens(lake, { events: sink });
    expect(namesOf(of(FIRST))).toEqual(['Day Published', ...sent]);
    const entries = (await ledgerEntries(lake, 'order_list')).filter(([day]) => day !== TODAY);
    const replaced = entries.flatMap(([, { superseded = [] }]) => superseded);
    expect(inOrder(received)).toHaveLength(entries.length + replaced.length);
    expect(of(FIRST).at(-1)?.detail.version).toBe(await versionOf(lake));
  });

  it('have no sums of other fields than the settings name when they are sent', async () => {
    const { of, sink } = listener();
    const orders = { refresh: [{ untilAgeDays: 1, every: '1 day' }], ...ALL_FINAL };
    const lake = await published({ brandSettings: { reports: { order_list: orders } } });
    // The second reading agrees with the first, so no further reading sums other fields.
    await lake.sync({ brandSettings: { reports: { order_list: orders } } });
    const fields = { commission: ['gone', 'commission'] };
    const brandSettings = { reports: { order_list: { ...orders, fields } } };
    await lake.sync({ ...reread(YESTERDAY), brandSettings, events: sink });
    expect(of(FIRST).map(({ detail }) => detail.sums)).toEqual([{}]);
  });

  it('contain the findings of their version', async () => {
    const { of, sink } = listener();
    const lake = await published({ events: sink });
    restate(lake, 'later', YESTERDAY);
    const brandSettings = { reports: { order_list: { key: 'word' } } };
    await lake.sync({ ...reread(YESTERDAY), brandSettings, events: sink });
    expect(of(YESTERDAY).map(({ detail }) => detail.findings)).toEqual([[], ['key_unused']]);
  });

  it('that are not received fail nothing, delay only later events of the day, and are sent again', async () => {
    const { received, of, sink } = listener();
    const log: LogEvent[] = [];
    const failing = {
      atOnce: 1,
      async send(events: readonly LakeEvent[]) {
        if (events[0]?.detail.day === FIRST)
          throw new BrandReportsError('transient', 'aws_unavailable', 'it is down');
        await sink.send(events);
      },
    };
    const tell = (event: LogEvent) => void log.push(event);
    const lake = await published({ events: failing, log: tell });
    expect(received.map(({ detail }) => detail.day)).not.toContain(FIRST);
    expect(log.filter(({ event }) => event === 'events_not_sent')).toMatchObject([
      { day: FIRST, events: 1, code: 'aws_unavailable' },
    ]);
    restate(lake, 'later');
    expect((await lake.sync({ ...reread(), events: failing, log: tell })).status).toBe('complete');
    expect(log.filter(({ event }) => event === 'events_not_sent')).toHaveLength(2);
    lake.nowMs += HOUR_MS;
    await lake.sync({ events: sink });
    expect(namesOf(of(FIRST))).toEqual(['Day Published', 'Day Changed']);
    expect(await pendingOf(lake)).toEqual([]);
  });

  it('wait in a folder for the next run with a listener, even if no day of their month is due', async () => {
    const { of, sink } = listener();
    const lake = sample.emptyLake();
    const refresh = [{ untilAgeDays: 1, every: 'run' }];
    const own = {
      brandSettings: { reports: { order_list: { refresh, ...ALL_FINAL } } },
      lake: lake.over({ ...lake.store, localFolder: '/lake' }),
    };
    const down = async () =>
      Promise.reject(new BrandReportsError('transient', 'aws_unavailable', 'it is down'));
    for (const hours of [25, 25, 0.1]) {
      await lake.sync({ ...own, events: { send: down } });
      lake.nowMs += hours * HOUR_MS;
    }
    await lake.sync({ ...own, events: sink });
    expect(namesOf(of(FIRST))).toEqual(['Day Published']);
  });

  it('are sent one batch at a time by runs whose time is up', async () => {
    const { received, sink } = listener();
    const lake = await published();
    for (const sent of [1, 2]) {
      await lake.sync({ events: { ...sink, atOnce: 1 }, deadline: NO_TIME });
      expect(received).toHaveLength(sent);
    }
  });

  it('wait until readers can query the version', async () => {
    const [early, late] = [listener(), listener()];
    const lake = sample.emptyLake();
    const setSnapshot: Catalog['setSnapshot'] = async (table, ...of) => {
      if (table.name === 'orders') throw new BrandReportsError('transient', 'aws_unavailable', 'it is down');
      await lake.catalog.setSnapshot(table, ...of);
    };
    const hidden = lake.over(lake.store, { ...lake.catalog, setSnapshot });
    await lake.sync({ lake: hidden, events: early.sink });
    expect([early.received, (await pendingOf(lake)).length]).toEqual([[], 2]);
    lake.nowMs += HOUR_MS;
    await lake.sync({ events: late.sink });
    expect(namesOf(late.received)).toEqual(['Day Published', 'Day Published']);
  });

  it('wait in S3 for a listener, the newest 20 of a day; in a folder they are removed', async () => {
    const lake = await published();
    for (let times = 0; times < 22; times += 1) {
      restate(lake, `times ${times}`);
      await lake.sync(reread());
    }
    const pending = (await ledgerEntry(lake, 'order_list', FIRST)).events?.pending ?? [];
    expect(pending.map(({ type }) => type)).toEqual(Array.from({ length: 20 }, () => 'Day Changed'));
    const { received, sink } = listener();
    const folder = lake.fork();
    await folder.sync({
      lake: { ...folder.over({ ...folder.store, localFolder: '/lake' }), runs: blindRegistry },
    });
    lake.nowMs += 2 * DAY_MS;
    await lake.sync({ events: sink });
    const ofDay = received.filter(({ detail }) => detail.day === FIRST);
    expect(ofDay.map(({ detail }) => detail.version)).toEqual(pending.map(({ version }) => version));
    expect((await ledgerEntry(folder, 'order_list', FIRST)).events?.pending).toEqual([]);
  });

  it('cost no operation in a run without events', async () => {
    const lake = await published({ events: listener().sink });
    lake.nowMs += MINUTE_MS;
    const taken = async (options: SyncOptions) => {
      const copy = lake.fork();
      const counting = countingLake(copy);
      await copy.sync({ ...options, lake: { ...counting, runs: blindRegistry } });
      const taken = JSON.stringify(counting.taken());
      return taken.replaceAll(/[0-9a-f]{16}-id-/g, '');
    };
    expect(await taken({ events: listener().sink })).toEqual(await taken({}));
  });
});

describe('a process that dies before any operation on the lake, or before or after it sends', () => {
  it('I4: loses no event of a closed day, and each event matches what readers find', async () => {
    const history = sample.emptyLake();
    const before = listener();
    await history.sync({ events: before.sink });
    restate(history, 'first');
    await history.sync(reread());
    alter(history, 'order_list', YESTERDAY, { word: 'too' }, 1);
    restate(history, 'second');
    const { nowMs } = history;
    const scope = { reports: ['order_list'], from: FIRST, to: YESTERDAY };
    let n = 0;
    for (let died = true; died; n += 1) {
      expect(n).toBeLessThan(1000);
      const lake = history.fork();
      lake.nowMs = nowMs + HOUR_MS;
      const received = [...before.received];
      const unpublished: LakeEvent[] = [];
      const store = diesAtN(lake.store, n + 1);
      const listening = (step = store.step) => ({
        async send(events: readonly LakeEvent[]) {
          for (const event of events) {
            const day = String(event.detail.day);
            const found = lake.catalog.pointers.get(`orders/${partitionPath(dayPartition(BRAND, day))}`);
            if (found !== (await versionOf(lake, day))) unpublished.push(event);
          }
          await step({ name: 'put', on: 'the listener' }, async () => void received.push(...events));
        },
      });
      const dying = { store, catalog: diesAtNCatalog(lake.catalog, store), runs: blindRegistry };
      try {
        await lake.sync({ scope, lake: dying, events: listening() });
      } catch (error) {
        if (!(error instanceof ProcessDied)) throw error;
      }
      died = store.life.dead;
      lake.nowMs += 2 * MINUTE_MS;
      await lake.sync({ events: listening(async (_, act) => act()) });
      const events = inOrder(received);
      const versions = await Promise.all([FIRST, YESTERDAY].map((day) => versionOf(lake, day)));
      const last = (day: string) => events.findLast(({ detail }) => detail.day === day)?.detail.version;
      const changed = (day: string) =>
        events.filter(({ type, detail }) => type === 'Day Changed' && detail.day === day).length;
      expect({
        n,
        versions: [last(FIRST), last(YESTERDAY)],
        changed: [changed(FIRST), changed(YESTERDAY)],
        unpublished,
      }).toEqual({
        ...{ n, versions, changed: [2, 1], unpublished: [] },
      });
      expect(await pendingOf(lake)).toEqual([]);
    }
    expect(n).toBeGreaterThan(20);
  });
});
