/* Closes months of a lake that runs fill, and reads their statements: days that are late, moved, restated or erased. */
import { readFile, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { restate } from '../../sample/brand.ts';
import { closeSums, erasedSums, monthSources } from '../../cli/close-sums.ts';
import { createSqlConnection } from '../../cli/sql-tables.ts';
import { readStatements } from '../../cli/statement.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { DAY_MS } from '../../shared/base/days.ts';
import { readCloses } from '../../shared/lake/close.ts';
import { closeKey } from '../../shared/lake/paths.ts';
import { type CloseOptions, closeMonth, removeCloses } from '../../shared/operations/close-month.ts';
import { erase, undoErasure } from '../../shared/operations/erase.ts';
import { reports } from '../../shared/reports/index.ts';
import { type Json, type JsonObject, rawNumber } from '../../shared/base/json.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { rewriteDocument } from '../sync/lake-contents.ts';
import { runCli } from './run-cli.ts';
import { BRAND, type SampleLake, type SyncOptions, blindRegistry, sampleLake } from '../sync/sample-lake.ts';

/** The last days of January, and the first days of February and March. */
const [JAN30, JAN31, FEB1, MAR1] = ['2026-01-30', '2026-01-31', '2026-02-01', '2026-03-01'];
/** An order: its id, what counts, and its publisher. */
type Order = [id: string, commission: string, publisher?: string];

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let world: SampleLake;
let lake: SampleLake;
let template: JsonObject;

beforeAll(async () => {
  temporary = await temporaryFolder();
  world = await sampleLake({
    now: '2026-02-03T12:00:00Z',
    startDate: JAN31,
    recordsTo: '2026-02-02T00:00:00Z',
    clicksPerDay: 4,
    brandSettings: { reports: { order_list: { refresh: [{ untilAgeDays: 300, every: '300 days' }] } } },
  });
  template = world.brand.records.order_list[0]?.record ?? {};
});
afterAll(async () => {
  await world.close();
  await temporary.remove();
});
beforeEach(() => {
  lake = world.emptyLake();
  lake.brand.records.order_list = [];
  lake.brand.records.transaction_list = [];
});
afterEach(() => {
  lake.brand.records.order_list = [];
});

function orders(day: string, ...all: Order[]): void {
  restate(lake.brand, 'order_list', day, () => []);
  for (const [id, commission, publisher = 'A'] of all)
    lake.brand.records.order_list.push({
      at: Date.parse(`${day}T15:00:00Z`),
      record: {
        ...template,
        ...{ transid: id, status: 'effective', type: 'trans', currency: 'USD' },
        ...{ commission, publisher_id: publisher },
      },
    });
}

async function sync(from: string, to: string, own: SyncOptions = {}): Promise<void> {
  lake.nowMs += DAY_MS;
  const { status } = await lake.sync({ scope: { reports: ['order_list'], from, to }, ...own });
  expect(status).toBe('complete');
}

async function onDisk() {
  const folder = join(temporary.path, 'lake');
  await rm(folder, { recursive: true, force: true });
  await writeLake(lake.store, folder);
  return openLocalStore(folder);
}

/** January has days before the first day of the lake, and the months end too early, so each close is made anyway. */
async function closing(month: string, own: Partial<CloseOptions> = {}): Promise<CloseOptions> {
  const access = { ...lake.access(), settings: lake.settings(), month, anyway: true, by: 'ann' };
  return { ...access, sums: own.sums ?? closeSums(await onDisk()), ...own };
}

async function close(month: string, own: Partial<CloseOptions> = {}): Promise<void> {
  const endMs = Date.parse(`${month}-28T12:00:00Z`) + 8 * DAY_MS;
  lake.nowMs = Math.max(lake.nowMs, endMs);
  await closeMonth(await closing(month, own));
}

/** `entry day order → counted`, with publisher. */
async function statement(month: string, settings = lake.settings()) {
  const access = { ...lake.access(), lake: { store: await onDisk(), runs: blindRegistry } };
  const { connection, statements } = await readStatements({ ...access, settings, month });
  const rows = await connection.runAndReadAll(
    "SELECT concat_ws(' ', entry, coalesce(day, reason), order_id, publisher_id, CAST(counted_then AS integer), CAST(counted AS integer)) FROM entries ORDER BY ALL",
  );
  const sum = await connection.runAndReadAll('SELECT CAST(sum(counted) AS double) FROM entries');
  const names = await connection.runAndReadAll('SELECT DISTINCT publisher_name FROM entries');
  connection.closeSync();
  return {
    entries: rows.getRowsJson().map(([text]) => String(text)),
    sum: Number(sum.getRowsJson()[0]?.[0] ?? 0),
    names: names.getRowsJson().flat(),
    statement: statements[0],
  };
}

async function ask(sql: string, settings = lake.settings(), asOf?: string): Promise<unknown[][]> {
  const of = {
    store: await onDisk(),
    ...{ reports, settings, asOf },
    nowMs: lake.nowMs,
    onGap: () => {},
  };
  const connection = await createSqlConnection(of, sql);
  const found = await connection.runAndReadAll(sql);
  connection.closeSync();
  return found.getRowsJson();
}

const sinceClose = () =>
  ask('SELECT publisher_id, month, CAST(correction AS double) FROM since_close ORDER BY ALL');

describe('a statement', () => {
  it('pairs records by a key in JSON that engines write in different ways', async () => {
    const ids = ['1.50', '1e3', '-0', '12345678901234567890123', '9.0'].map(rawNumber);
    const refs: Json[] = [
      ...ids.map((id) => ({ id })),
      { id: '\ud800' },
      { id: 'x', note: '\ud800' },
      ' {"id":"y"}',
    ];
    const brandSettings = { reports: { order_list: { key: ['ref.id'], fields: { order_id: 'ref.id' } } } };
    const { transid: _id, order_number: _number, ...rest } = template;
    for (const commission of ['1', '3']) {
      const record = { ...rest, status: 'effective', currency: 'USD', publisher_id: 'A', commission };
      restate(lake.brand, 'order_list', JAN31, () =>
        refs.map((ref) => ({ at: Date.parse(`${JAN31}T15:00:00Z`), record: { ...record, ref } })),
      );
      await sync(JAN31, FEB1, { brandSettings });
      if (commission === '1') await close('2026-01');
    }
    await sync(JAN31, FEB1, { brandSettings });
    expect(await sinceClose()).toEqual([['A', '2026-01', 2 * refs.length]]);
  });

  it('stays as it was after a change of settings, whose rest is in the next one', async () => {
    const other = {
      reports: {
        order_list: { fields: { commission: 'fee' }, refresh: [{ untilAgeDays: 300, every: '300 days' }] },
      },
    };
    template = { ...template, fee: '3.00' };
    orders(JAN31, ['o1', '10']);
    orders(FEB1, ['o2', '20']);
    await sync(JAN31, FEB1);
    await close('2026-01');
    const before = await statement('2026-01');
    const settings = lake.settings({ brandSettings: other });
    await close('2026-02', { settings });
    expect(await statement('2026-01', settings)).toMatchObject({ entries: before.entries, sum: 10 });
    expect((await statement('2026-02', settings)).entries).toEqual([
      `record ${FEB1} o2 A 3`,
      'rest by a change of settings A -7',
    ]);
    const payouts =
      'SELECT month, CAST(commission AS integer) FROM payouts WHERE commission <> 0 ORDER BY ALL';
    expect(await ask(payouts, settings, '2026-01')).toEqual([['2026-01', 10]]);
    expect(await ask(payouts, settings, '2026-02')).toEqual([
      ['2026-01', 3],
      ['2026-02', 3],
    ]);
    const closes = await readCloses(lake.store);
    const totals = closes.map((each) => each.totals.map(({ counted, statement: own }) => [counted, own]));
    expect(totals).toEqual([[['10.000000000', '10.000000000']], [['6.000000000', '-4.000000000']]]);
  });

  it('has texts of any length, and NUL', async () => {
    const [long, nul] = ['P'.repeat(12_000), 'n\0ul'];
    orders(JAN31, ['o1', '10', long], [nul, '5', nul]);
    await sync(JAN31, FEB1);
    await close('2026-01');
    expect((await statement('2026-01')).entries).toEqual([
      `record ${JAN31} ${nul} ${nul} 5`,
      `record ${JAN31} o1 ${long} 10`,
    ]);
  });

  it('takes transactions like the views, if a day was erased or the report is disabled', async () => {
    const [line = {}] = world.brand.records.transaction_list.map(({ record }) => record);
    const all = { brandSettings: { startDate: JAN30 } };
    for (const day of [JAN30, JAN31]) {
      orders(day, [day, '10']);
      const record = { ...line, ...{ order_id: day, sku: 's', publisher_id: 'A', currency: 'USD' } };
      const states = { order_status: 'locked', sku_status: 'locked', commission: '9' };
      restate(lake.brand, 'transaction_list', day, () => [
        { at: Date.parse(`${day}T15:00:00Z`), record: { ...record, ...states } },
      ]);
    }
    await sync(JAN30, JAN31, all);
    await sync(JAN30, JAN31, { ...all, scope: { reports: ['transaction_list'], from: JAN30, to: JAN31 } });
    const settings = lake.settings({
      brandSettings: { ...all.brandSettings, reports: { transaction_list: { enabled: false } } },
    });
    await close('2026-01', { settings });
    // The transactions have no names, and the close keeps the names that the orders had.
    const names = [template.publisher_name];
    expect((await readCloses(lake.store)).flatMap(({ totals }) => totals[0]?.publisher_name)).toEqual(names);
    expect(await statement('2026-01', settings)).toMatchObject({ sum: 18, names });
    expect(await sinceClose()).toEqual([]);
    const only = ['transaction_list'];
    await erase({
      ...{ ...lake.access(), settings, brand: BRAND, only, from: JAN30, to: JAN30, plans: false },
      erasedSums: erasedSums(await onDisk(), reports),
    });
    expect(await sinceClose()).toEqual([]);
    expect(await ask('SELECT report, CAST(commission AS double) FROM payouts', settings)).toEqual([
      ['transactions', 9],
    ]);
  });

  it('bills nobody for a day that was erased, also if it is read again', async () => {
    orders(JAN31, ['o1', '10']);
    orders(JAN30, ['o2', '4']);
    await sync(JAN30, FEB1, { brandSettings: { startDate: JAN30 } });
    await close('2026-01');
    const store = await onDisk();
    const options = {
      ...lake.access(),
      ...{
        settings: lake.settings(),
        brand: BRAND,
        only: ['order_list'],
        from: JAN31,
        to: JAN31,
        plans: false,
      },
      erasedSums: erasedSums(store, reports),
    };
    expect((await erase(options)).status).toBe('complete');
    expect(await sinceClose()).toEqual([]);
    const [closed] = await readCloses(lake.store);
    expect(closed?.erased).toMatchObject([
      { day: JAN31, totals: [{ publisher_id: 'A', counted: '10.000000000' }] },
    ]);
    expect((await statement('2026-01')).entries).toEqual([
      `record ${JAN30} o2 A 4`,
      'rest days that were erased since A 10',
    ]);
    await undoErasure(options);
    orders(JAN31, ['o1', '90']);
    await sync(JAN31, JAN31);
    expect(await sinceClose()).toEqual([]);
    await close('2026-02');
    expect((await statement('2026-02')).entries).toEqual([]);
  });
});

describe('the command line', () => {
  it('closes, lists and removes a month, and prints its statement in each format', async () => {
    orders(JAN31, ['o1', '10'], ['o2', '5', 'B']);
    await sync(JAN31, FEB1);
    const store = await onDisk();
    const run = async (...args: string[]) =>
      runCli([...args, '--lake', store.localFolder ?? ''], { cwd: temporary.path });
    expect(await run('close', '2026-01')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('closed: 2026-01 of acme'),
    });
    const listed: unknown = JSON.parse((await run('close', '--json')).stdout);
    expect(listed).toMatchObject({
      closes: [
        { month: '2026-01', by: userInfo().username, days: 1, totals: [{ counted: '10.000000000' }, {}] },
      ],
    });
    const csv = await run('statement', '--month', '2026-01', '--publisher', 'B', '--format', 'csv');
    expect(csv.stdout.split(/\r?\n/).slice(1, -1)).toEqual([expect.stringContaining(',o2,')]);
    const json: unknown = JSON.parse(
      (await run('statement', '--month', '2026-01', '--format', 'json')).stdout,
    );
    expect(json).toMatchObject({
      statements: [
        { completeAsOf: expect.any(String), publishers: [{ totals: [{}, { counted: '10.000000000' }] }, {}] },
      ],
    });
    const page = join(temporary.path, 'statement.html');
    expect((await run('statement', '--month', '2026-01', '--output', page)).code).toBe(0);
    expect(await readFile(page, 'utf8')).toContain('<td class="order_id">o2</td>');
    expect((await run('query', '--format', 'csv', 'SELECT dt, place, counts FROM closes')).stdout).toBe(
      `dt,place,counts\n${JAN31},0,true\n`,
    );
    expect(await run('statement', '--month', '2025-12')).toMatchObject({ code: 2 });
    expect((await run('close', '2026-01', '--remove')).code).toBe(0);
    expect((await run('close')).stdout).toContain('No month is closed.');
  });
});

describe('a statement for a spreadsheet', () => {
  const formulas = [
    '=1+1',
    '+cmd',
    '-2+3',
    '@SUM(1)',
    '\t=1',
    '\r=1',
    '\u00a0=1',
    '\u200b=1',
    '＝1',
    '＋x',
    '－x',
    '＠x',
    '-',
    '+1-1',
    '=7',
  ];
  const others = ['-12', '+3', '-1.5', 'a=1', '1-2', '7', "'=1"];

  it.each(['csv', 'html'])(
    'has an apostrophe before a formula in %s, but not before a number',
    async (format) => {
      orders(JAN31, ...[...formulas, ...others].map((id): [string, string, string] => [id, '-10', id]));
      await sync(JAN31, FEB1);
      const file = join(temporary.path, `statement.${format}`);
      const inLake = ['--lake', (await onDisk()).localFolder ?? ''];
      expect((await runCli(['statement', '--month', '2026-01', '--output', file, ...inLake])).code).toBe(0);
      const text = await readFile(file, 'utf8');
      const cell = (id: string) =>
        format === 'csv'
          ? `,${/[\r\n]/.test(id) ? `"${id}"` : id},`
          : `class="order_id">${id.replaceAll("'", '&#39;')}<`;
      for (const id of formulas)
        expect([id, text.includes(cell(`'${id}`)), text.includes(cell(id))]).toEqual([id, true, false]);
      for (const id of others) expect([id, text.includes(cell(id))]).toEqual([id, true]);
      expect(text).toContain(format === 'csv' ? ',-10.000000000,' : '>-10.00<');
      const exact = await runCli([
        'query',
        '--json',
        ...inLake,
        'SELECT DISTINCT order_id FROM order_history',
      ]);
      expect(
        JSON.parse(exact.stdout)
          .map((row: { order_id: string }) => row.order_id)
          .sort(),
      ).toEqual([...formulas, ...others].sort());
    },
  );
});

describe('close', () => {
  beforeEach(async () => {
    orders(JAN31, ['o1', '10']);
    await sync(JAN31, FEB1);
    lake.nowMs = Date.parse('2026-03-10T12:00:00Z');
  });

  const refusal = async (month: string, own: Partial<CloseOptions> = {}) => {
    const before = [...lake.store.objects.keys()];
    const thrown: unknown = await closeMonth(await closing(month, own)).catch((error: unknown) => error);
    expect([...lake.store.objects.keys()]).toEqual(before);
    return thrown;
  };

  it('refuses a month with days that are missing', async () => {
    expect(await refusal('2026-02', { anyway: false })).toMatchObject({
      code: 'not_whole',
      message: expect.stringContaining('order_list missing 2026-02-02 to 2026-02-28'),
    });
  });

  const AT = '2026-02-05T00:00:00.000Z';
  const disregarded = (rows: number) => ({ disregarded: { at: AT, rows, queryFingerprint: 'f' } });
  const failure = {
    ...{ kind: 'transient', code: 'unreachable', message: 'no answer', times: 1 },
    ...{ since: AT, lastAt: AT, retryAt: AT },
  };
  it.each<[why: string, committed: JsonObject, entry: JsonObject]>([
    ['failed', {}, { failure }],
    ['came_back_empty', { rows: 2 }, disregarded(0)],
    ['kept', { rows: 2 }, disregarded(1)],
    ['given_up', { state: 'settled', contradictions: 12 }, {}],
    ['open', { state: 'open' }, {}],
    ['unconfirmed', { state: 'unconfirmed' }, {}],
  ])(
    'refuses a month with a day that is %s, and names it in the close with --anyway',
    async (why, committed, entry) => {
      await rewriteDocument(lake, `ledger/order_list/${BRAND}/2026-01.json`, (text) => {
        const ledger = JSON.parse(JSON.stringify(text));
        const { [JAN31]: day } = ledger.days;
        ledger.days[JAN31] = { ...day, committed: { ...day.committed, ...committed }, ...entry };
        return ledger;
      });
      expect(await refusal('2026-01', { anyway: false })).toMatchObject({
        code: 'not_whole',
        message: expect.stringContaining(`order_list ${why} ${JAN31}`),
      });
      await close('2026-01');
      const [closed] = await readCloses(lake.store);
      expect(closed?.exceptions).toContainEqual({ report: 'order_list', day: JAN31, why });
    },
  );

  it('refuses a month that is not over in the zone of the brand, also with --anyway', async () => {
    lake.nowMs = Date.parse('2026-02-01T04:59:59Z');
    expect(await refusal('2026-01')).toMatchObject({
      code: 'month_not_over',
      message: expect.stringContaining('it ends at 2026-02-01T05:00:00.000Z'),
    });
    lake.nowMs += 1_000;
    await closeMonth(await closing('2026-01'));
    expect(await readCloses(lake.store)).toHaveLength(1);
  });

  it('refuses a role of money without a field, and names it in the close with --anyway', async () => {
    const brandSettings = { reports: { order_list: { fields: { publisher_id: null } } } };
    const settings = lake.settings({ brandSettings });
    lake.brand.records.order_list = [];
    const message = expect.stringContaining('cannot be added up: order_list has no field for publisher_id');
    expect(await refusal('2026-01', { settings, anyway: false })).toMatchObject({ message });
    await close('2026-01', { settings });
    expect(await readCloses(lake.store)).toMatchObject([
      { by: 'ann', faults: ['order_list has no field for publisher_id'] },
    ]);
  });

  it('refuses amounts that cannot be read in a month without a close of its own', async () => {
    await close('2026-01');
    orders(FEB1, ['o2', 'abc']);
    await sync(FEB1, FEB1);
    lake.nowMs = Date.parse('2026-04-10T12:00:00Z');
    const message = expect.stringContaining(
      '2026-03 of acme cannot be added up: order_list has amounts that cannot be read',
    );
    expect(await refusal('2026-03', { anyway: false })).toMatchObject({ message });
  });

  it('refuses amounts that cannot be read, and counts them in the close with --anyway', async () => {
    orders(JAN31, ['o1', '10'], ['o2', '1,500.25'], ['o3', '1,500.25']);
    await sync(JAN31, JAN31);
    expect(await refusal('2026-01', { anyway: false })).toMatchObject({
      code: 'amounts_unknown',
      message: expect.stringContaining('order_list has amounts that cannot be read: commission: 2 values.'),
    });
    await close('2026-01');
    expect(await readCloses(lake.store)).toMatchObject([
      {
        faults: ['order_list has amounts that cannot be read: commission: 2 values'],
        totals: [{ counted: '10.000000000', unknown: 2 }],
      },
    ]);
  });

  it('follows other closes, and is removed before them', async () => {
    await close('2026-02');
    expect(await refusal('2026-01')).toMatchObject({
      code: 'before_latest_close',
      message: expect.stringContaining('"brand-reports close 2026-02 --brand acme --remove"'),
    });
    orders(MAR1, ['o2', '1']);
    await sync(MAR1, MAR1);
    await close('2026-03');
    expect(await removeCloses(await closing('2026-02')).catch((error: unknown) => error)).toMatchObject({
      code: 'close_follows',
      message: expect.stringContaining('"brand-reports close 2026-03 --brand acme --remove"'),
    });
    await removeCloses(await closing('2026-03'));
    expect((await readCloses(lake.store)).map(({ month }) => month)).toEqual(['2026-02']);
    expect(await refusal('2026-02')).toMatchObject({ code: 'already_closed' });
  });

  it('is made by one of two processes', async () => {
    const sums = closeSums(await onDisk());
    const both = await Promise.allSettled(
      ['ann', 'bob'].map(async (by) => closeMonth(await closing('2026-01', { by, sums }))),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find((each) => each.status === 'rejected')).toMatchObject({
      reason: { code: 'already_closed' },
    });
    expect(lake.store.objects.has(closeKey(BRAND, '2026-01'))).toBe(true);
  });

  it('gives way to the close of another month that was made meanwhile', async () => {
    const own = await closing('2026-01');
    const sums = {
      sourcesOf: monthSources,
      async totalsOf(draft: Parameters<CloseOptions['sums']['totalsOf']>[0]) {
        await close('2026-02');
        return own.sums.totalsOf(draft);
      },
    };
    const thrown: unknown = await closeMonth({ ...own, sums }).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'already_closed', message: expect.stringContaining('2026-02') });
    expect((await readCloses(lake.store)).map(({ month }) => month)).toEqual(['2026-02']);
  });

  it('names the place of its draft if a day changes meanwhile', async () => {
    const own = await closing('2026-01');
    const sums = {
      sourcesOf: monthSources,
      async totalsOf(draft: Parameters<CloseOptions['sums']['totalsOf']>[0]) {
        orders(JAN31, ['o1', '99']);
        await sync(JAN31, JAN31);
        await sync(JAN31, JAN31);
        return closeSums(await onDisk()).totalsOf(draft);
      },
    };
    await closeMonth({ ...own, sums });
    expect(await statement('2026-01')).toMatchObject({ entries: [`record ${JAN31} o1 A 10`] });
    expect(await sinceClose()).toEqual([['A', '2026-01', 89]]);
    const rows = 'SELECT dt, transid, CAST(commission AS integer) FROM orders';
    expect(await ask(rows, lake.settings(), '2026-01')).toEqual([[JAN31, 'o1', 10]]);
    await expect(ask(rows, lake.settings(), '2026-03')).rejects.toMatchObject({
      code: 'not_closed',
      message: expect.stringContaining('Closed months: 2026-01.'),
    });
  });
});
