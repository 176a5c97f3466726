import { beforeEach, describe, expect, it } from '@jest/globals';
import { consoleControls } from '../../../functions/console-controls.ts';
import { DAY_MS, HOUR_MS, addDays, daysFrom } from '../../../shared/base/days.ts';
import { BrandReportsError } from '../../../shared/base/errors.ts';
import { hashOfSettings } from '../../../shared/lake/brand-settings.ts';
import type { Committed, DayEntry } from '../../../shared/lake/ledger.ts';
import type { LastRun } from '../../../shared/lake/report-state.ts';
import {
  COVERAGE_PAGE_KEY,
  brandPageKey,
  brandSettingsKey,
  closeKey,
  WATCH_KEY,
  brandStateKey,
  schemaKey,
  ledgerKey,
} from '../../../shared/lake/paths.ts';
import { enabledPolicy, policyFingerprint } from '../../../shared/planning/policy.ts';
import { type WatchOptions, watch } from '../../../shared/watch/watcher/watch.ts';
import type { LakeEvent, Message } from '../../../shared/ports.ts';
import { documented as reports } from '../../fixtures/documented-reports.ts';
import { changeState, storedState } from '../../fakes/report-states.ts';
import { countingLake } from '../../fakes/counting-lake.ts';
import { memoryCatalog } from '../../fakes/memory-catalog.ts';
import { type MemoryStore, memoryStore } from '../../fakes/memory-store.ts';
import { failure } from '../made-statuses.ts';
import { ordersFrom, readDay, storeDays } from '../stored-ledgers.ts';

const NOW_MS = Date.parse('2026-11-20T15:50:00Z');
const TODAY = '2026-11-20';
const YESTERDAY = addDays(TODAY, -1);
const FIRST = '2025-11-01';
const settings = ordersFrom(FIRST);
const policy = reports.order_list && enabledPolicy(settings, 'acme', reports.order_list);

let store: MemoryStore;
let messages: Message[];
let counts: number[];
let events: LakeEvent[];

beforeEach(async () => {
  store = memoryStore();
  messages = [];
  counts = [];
  events = [];
});

/** A lake whose days are all settled except the given days; before the last five months nothing is due by the report state. */
async function fill(days: Record<string, DayEntry> = {}, lastRun: Partial<LastRun> = {}): Promise<void> {
  const readFrom = new Date(NOW_MS - HOUR_MS / 2).toISOString();
  const read = readDay(settings, 'order_list', { readFrom });
  const all = Object.fromEntries(daysFrom(FIRST, TODAY).map((day) => [day, read]));
  const today = readDay(settings, 'order_list', { readFrom, state: 'open' });
  await storeDays(store, { report: 'order_list', brand: 'acme' }, { ...all, [TODAY]: today, ...days });
  const months = [...new Set(daysFrom(FIRST, TODAY).map((day) => day.slice(0, 7)))];
  const known = { nextDue: null, asOf: readFrom, hasDays: true as const };
  await setState({
    policy: policy && policyFingerprint(policy),
    months: Object.fromEntries(months.map((month) => [month, known])),
    lastRun: {
      at: readFrom,
      since: readFrom,
      status: 'complete',
      failedDays: 0,
      ...lastRun,
    },
  });
}

async function change(key: string, changes: object): Promise<void> {
  const { body, etag } = (await store.get(key)) ?? { body: Buffer.from('{}'), etag: '' };
  const document = { ...JSON.parse(Buffer.from(body).toString()), ...changes };
  await store.put(key, Buffer.from(JSON.stringify(document)), { ifMatch: etag });
}

const setState = (changes: object) =>
  changeState(store, 'order_list', 'acme', (state) => ({ ...state, ...changes }));
const monthsOfState = async () => (await storedState(store, 'order_list', 'acme'))?.months;

async function setDay(day: string, entry: DayEntry): Promise<void> {
  const key = ledgerKey('order_list', 'acme', day.slice(0, 7));
  const { days } = JSON.parse(Buffer.from((await store.get(key))?.body ?? '').toString());
  await change(key, { days: { ...days, [day]: entry } });
}

let runs = 0;
function runWatcher(nowMs = NOW_MS, options: Partial<WatchOptions> = {}) {
  return watch({
    settings,
    reports,
    store,
    clock: { wallMs: () => nowMs, sleep: async () => {} },
    random: () => 0,
    newId: () => `run-${++runs}`,
    log: (event) => void (event.event === 'watch_ended' && counts.push(event.problems)),
    notifier: { tell: async (message) => void messages.push(message) },
    events: bus,
    pipeline: 'BrandReports',
    controls: consoleControls('us-east-1', 'BrandReports'),
    pageAt: (key) => `https://s3.example/${key}`,
    ...options,
  });
}

const keepAlive = (nowMs: number) =>
  setState({
    lastRun: {
      ...{ at: new Date(nowMs).toISOString(), since: new Date(nowMs).toISOString() },
      ...{ status: 'complete', failedDays: 0 },
    },
  });
const bus = { send: async (sent: readonly LakeEvent[]) => void events.push(...sent) };
const page = async () => Buffer.from((await store.get(brandPageKey('acme')))?.body ?? '').toString();

describe('a watcher run', () => {
  it('reports a failed day once, and later that all is well again', async () => {
    await fill({ [YESTERDAY]: { failure } });
    expect(await runWatcher()).toMatchObject({
      problems: [{ brand: 'acme', report: 'order_list', what: `1 day failed: ${YESTERDAY}` }],
      message: 'BrandReports: problems: 1 new, 1 open',
    });
    await keepAlive(NOW_MS + HOUR_MS);
    await runWatcher(NOW_MS + HOUR_MS);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.text).toContain(failure.message);
    await setDay(YESTERDAY, readDay(settings, 'order_list'));
    await runWatcher(NOW_MS + HOUR_MS + 1);
    expect(messages).toHaveLength(1);
    await runWatcher(NOW_MS + HOUR_MS + 2);
    expect(counts).toEqual([1, 1, 0, 0]);
    expect(messages.map(({ subject }) => subject)).toEqual([
      'BrandReports: problems: 1 new, 1 open',
      'BrandReports: all is well again',
    ]);
  });

  it('reports an empty lake after a run should have come', async () => {
    expect(await runWatcher()).toEqual({ problems: [], message: null });
    const { problems } = await runWatcher(NOW_MS + 6 * HOUR_MS);
    expect(problems.map(({ what }) => what.replace(/:.*/, ''))).toEqual([
      '384 days missing',
      'no run has ended yet',
    ]);
  });

  it('waits for the next run if a report state is lost, however long ago the watcher first ran', async () => {
    await fill();
    await runWatcher(NOW_MS - 30 * DAY_MS);
    await runWatcher();
    await store.delete([brandStateKey('acme')]);
    expect((await runWatcher(NOW_MS + 1)).problems.map(({ what }) => what)).toEqual([]);
  });

  it('reports a failed day of a year ago that is due by the report state', async () => {
    await fill({ [FIRST]: { failure } });
    await runWatcher();
    expect(counts).toEqual([0]);
    const months = await monthsOfState();
    await setState({
      months: { ...months, '2025-11': { nextDue: new Date(NOW_MS).toISOString() } },
    });
    expect(await runWatcher()).toMatchObject({ problems: [{ what: `1 day failed: ${FIRST}` }] });
  });

  it('reports a damaged ledger', async () => {
    await fill();
    const key = ledgerKey('order_list', 'acme', '2026-10');
    const { etag } = (await store.get(key)) ?? { etag: '' };
    await store.put(key, Buffer.from('{'), { ifMatch: etag });
    expect(await runWatcher()).toMatchObject({
      problems: [{ why: expect.stringContaining('damaged_document') }],
    });
  });

  it('leaves out reports that the settings do not enable', async () => {
    await fill();
    await storeDays(store, { report: 'order_list', brand: 'bolt' }, { [YESTERDAY]: { failure } });
    await storeDays(store, { report: 'clicks_list', brand: 'acme' }, { [YESTERDAY]: { failure } });
    expect(await runWatcher()).toMatchObject({ problems: [] });
  });

  it('reads the report state, the ledgers of the last months, and only those older ledgers in which days are due', async () => {
    await fill();
    const counting = countingLake({ store, catalog: memoryCatalog() });
    await runWatcher(NOW_MS, { store: counting.store });
    const ledgers = ['2026-07', '2026-08', '2026-09', '2026-10', '2026-11'].map((month) => [
      `get ${ledgerKey('order_list', 'acme', month)}`,
      1,
    ]);
    const first = {
      ...{ 'list ledger/': 1, 'list closes/': 1 },
      [`get ${brandStateKey('acme')}`]: 1,
      [`get ${brandSettingsKey('acme')}`]: 1,
      [`get ${schemaKey('orders')}`]: 1,
      ...Object.fromEntries(ledgers),
      [`get ${WATCH_KEY}`]: 1,
      [`create ${COVERAGE_PAGE_KEY}`]: 1,
      [`create ${brandPageKey('acme')}`]: 1,
    };
    // The run writes the seen problems only once.
    expect(counting.taken()).toEqual({ ...first, [`put ${WATCH_KEY}`]: 1 });
    const again = countingLake({ store, catalog: memoryCatalog() });
    await runWatcher(NOW_MS + 1, { store: again.store });
    expect(again.taken()).toEqual(first);
  });
});

describe('a closed month whose days changed', () => {
  const at = (hours: number) => new Date(NOW_MS + hours * HOUR_MS).toISOString();
  const [CHANGED, SAME, LATE] = ['2026-10-03', '2026-10-04', '2026-10-05'];
  const close = (places: Record<string, number>, month = '2026-10') =>
    store.put(
      closeKey('acme', month),
      Buffer.from(
        JSON.stringify({
          ...{ brand: 'acme', month, closedAt: at(-48), by: 'ann', sources: {}, totals: [] },
          days: Object.entries(places).map(([day, place]) => {
            return { report: 'order_list', day, place, snapshot: 'id-1' };
          }),
          ...{ exceptions: [], faults: [], erased: [], recentWrites: [] },
        }),
      ),
      { ifAbsent: true },
    );
  const changedAt = (by: string, place = 1) =>
    readDay(settings, 'order_list', {
      history: {
        ...{ after: at(-900), by: at(-890), key: 'transid', place, lastBy: by },
        last: { at: by, rowsBefore: 3, added: 0, removed: 1, altered: 2 },
      },
    });
  const others = (places: Record<string, number>) => ({
    ...Object.fromEntries(daysFrom('2026-10-01', '2026-10-31').map((day) => [day, 0])),
    ...places,
  });

  it('is told once, with its days and the query of what to book, and ends with the next close', async () => {
    await fill({ [CHANGED]: changedAt(at(-1)), [SAME]: changedAt(at(-1)), [LATE]: changedAt(at(-15 * 24)) });
    await close(others({ [SAME]: 1 }));
    for (const nowMs of [NOW_MS, NOW_MS + 0.2 * HOUR_MS]) await runWatcher(nowMs);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.text).toContain(`changed after its month was closed on 1 day: ${CHANGED}`);
    expect(messages[0]?.text).toContain(`Why: ${CHANGED}: 0 records added, 1 removed, 2 altered`);
    expect(messages[0]?.text).toContain(
      "in Athena or with brand-reports query: SELECT * FROM since_close WHERE brand = 'acme' ORDER BY month, currency, publisher_id.",
    );
    expect([counts, events[0]?.detail.id]).toEqual([[0, 0], `acme order_list since_close ${CHANGED}`]);
    await close({ [CHANGED]: 1, [LATE]: 1 }, '2026-11');
    for (const hours of [0.8, 1.1]) await runWatcher(NOW_MS + hours * HOUR_MS);
    expect(messages[1]?.text).toContain('SOLVED\n- acme order_list: changed after its month was closed');
  });

  it.each<[string, Record<string, number>, string]>([
    ['the month is not closed', {}, ''],
    ['the close has the change', { [CHANGED]: 1 }, '2026-10'],
  ])('is not told if %s', async (_name, places, month) => {
    await fill({ [CHANGED]: changedAt(at(-1)) });
    if (month !== '') await close(others(places), month);
    await runWatcher();
    expect(messages).toEqual([]);
  });
});

describe('the events of a watcher run', () => {
  const refuses = (message: string) => async () => {
    throw new BrandReportsError('config', 'aws_refused', message);
  };
  const hours = (count: number) => NOW_MS + count * HOUR_MS;

  it('contain the news of its message once each, including findings', async () => {
    const before = { rows: 1234, state: 'closed' as const, at: new Date(NOW_MS - HOUR_MS).toISOString() };
    const fallen = readDay(settings, 'order_list', { rows: 100, comparedWith: before });
    await fill({ [YESTERDAY]: { failure }, [addDays(TODAY, -2)]: fallen });
    for (const nowMs of [NOW_MS, hours(0.2)]) await runWatcher(nowMs);
    await setDay(YESTERDAY, readDay(settings, 'order_list'));
    for (const nowMs of [hours(0.8), hours(1)]) await runWatcher(nowMs);
    const hash = settings.brands.acme && hashOfSettings(settings.brands.acme).slice(0, 8);
    const failed = { id: `acme order_list failed ${failure.code}`, kind: 'problem', settings: { hash } };
    const found = {
      id: `acme order_list rows_fell ${addDays(TODAY, -2)}`,
      kind: 'finding',
      settings: { hash },
    };
    expect(events).toMatchObject([
      { type: 'Problem Opened', detail: { ...failed, sequence: NOW_MS } },
      { type: 'Problem Opened', detail: { ...found, sequence: NOW_MS + 1 } },
      { type: 'Problem Solved', detail: { ...failed, sequence: hours(1) } },
    ]);
    expect(messages).toHaveLength(2);
  });

  it('wait while the bus refuses them, but messages are sent', async () => {
    await fill({ [YESTERDAY]: { failure } });
    await expect(runWatcher(NOW_MS, { events: { send: refuses('no bus') } })).rejects.toThrow('no bus');
    expect([messages.length, events]).toEqual([1, []]);
    expect(await page()).toContain(failure.message);
    await runWatcher(hours(0.1));
    expect(events).toMatchObject([{ type: 'Problem Opened', detail: { sequence: NOW_MS } }]);
    expect(messages).toHaveLength(1);
  });
});

describe('a finding', () => {
  const before = { rows: 1234, state: 'closed' as const, at: new Date(NOW_MS - HOUR_MS).toISOString() };
  const fallen = (change: Partial<Committed> = {}) =>
    readDay(settings, 'order_list', { rows: 100, comparedWith: before, ...change });
  const subjects = () => messages.map(({ subject }) => subject.replace('BrandReports: ', ''));
  /** A watcher run an hour after the last watcher run; a run has ended in between. */
  const runAgain = async (hours: number) => {
    await keepAlive(NOW_MS + hours * HOUR_MS);
    return runWatcher(NOW_MS + hours * HOUR_MS);
  };

  it('is reported once, raises no alarm, and is solved by a reading that no longer has it', async () => {
    await fill({ [YESTERDAY]: fallen() });
    expect(await runWatcher()).toEqual({ problems: [], message: 'BrandReports: findings: 1 new' });
    for (const hours of [1, 1.2]) await runAgain(hours);
    expect({ subjects: subjects(), counts }).toEqual({
      subjects: ['findings: 1 new'],
      counts: [0, 0, 0],
    });
    await setDay(YESTERDAY, readDay(settings, 'order_list'));
    for (const hours of [1.4, 1.45]) await runAgain(hours);
    expect(subjects()).toEqual(['findings: 1 new', 'findings: 1 solved']);
    expect(messages[1]?.text).toContain(
      `SOLVED\n- acme order_list: rows fell on 1 day: ${YESTERDAY} (since `,
    );
  });

  it('is not repeated beside a problem, and is not reported as solved when it is two weeks old', async () => {
    await fill({ [YESTERDAY]: fallen() });
    await runWatcher();
    await setDay(addDays(TODAY, -2), { failure });
    await runAgain(1);
    expect(messages[1]?.text).not.toContain('rows fell');
    await setDay(addDays(TODAY, -2), readDay(settings, 'order_list'));
    await runAgain(15 * 24);
    expect(messages.at(-1)?.text).not.toContain('rows fell');
  });

  it.each<[string, Record<string, DayEntry>]>([
    [
      'that another reading has to confirm',
      { [YESTERDAY]: fallen({ state: 'unconfirmed', readFrom: new Date(NOW_MS).toISOString() }) },
    ],
    [
      'that is more than two weeks old',
      { [YESTERDAY]: fallen({ comparedWith: { ...before, at: '2026-11-06T15:00:00.000Z' } }) },
    ],
  ])('is not reported: a finding %s', async (_name, days) => {
    await fill(days);
    expect(await runWatcher()).toEqual({ problems: [], message: null });
  });

  it('about an old month stays open even if nothing in that month is due by the report state', async () => {
    const old = '2026-06-06';
    await fill({ [old]: fallen() });
    const months = await monthsOfState();
    await setState({ months: { ...months, '2026-06': { nextDue: new Date(NOW_MS).toISOString() } } });
    await runWatcher();
    await setState({ months });
    for (const hours of [1, 1.1]) await runAgain(hours);
    expect(subjects()).toEqual(['findings: 1 new']);
  });
});

describe('a watcher run that fails', () => {
  it('to read the lake publishes no number, so that its alarm is raised', async () => {
    const broken = {
      ...store,
      get: async () => {
        throw new BrandReportsError('config', 'aws_refused', 'grant s3:GetObject');
      },
    };
    await fill();
    await expect(runWatcher(NOW_MS, { store: { ...store, ...broken } })).rejects.toThrow(
      'grant s3:GetObject',
    );
    expect(counts).toEqual([]);
  });

  it('or overlaps with other runs sends one message in all', async () => {
    await fill({ [YESTERDAY]: { failure } });
    const outcomes = await Promise.all([runWatcher(), runWatcher(), runWatcher()]);
    expect(outcomes.filter(({ message }) => message !== null)).toHaveLength(1);
    expect(messages).toHaveLength(1);
  });
});
