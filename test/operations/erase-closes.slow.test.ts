import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { summaryOf } from '../../cli/commands/close.ts';
import { query } from '../../cli/query-result.ts';
import { TEXTS } from '../../cli/query-formats.ts';
import { type SqlLake, createSqlConnection } from '../../cli/sql-tables.ts';
import { readStatements } from '../../cli/statement.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { updateCatalog } from '../../shared/catalog/update.ts';
import { DAY_MS } from '../../shared/days.ts';
import { readCloses } from '../../shared/lake/documents/close.ts';
import { versionKey } from '../../shared/lake/paths.ts';
import { closeMonth, removeCloses } from '../../shared/operations/close-month.ts';
import { type EraseOptions, erase, undoErasure } from '../../shared/operations/erase.ts';
import { reports } from '../../shared/reports/index.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { alter, coverageOf, ledgerEntry } from '../sync/lake-contents.ts';
import { BRAND, type SampleLake, blindRegistry, sampleLake } from '../sync/sample-lake.ts';

const [STAYS, ERASED] = ['2026-02-26', '2026-02-27'];
const MONTH = '2026-02';
const NAMES = ['order_list', 'transaction_list'] as const;

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let lake: SampleLake;
let filled: SampleLake;
let nowMs: number;

/** The lake as a folder, which DuckDB reads. */
async function onDisk() {
  const folder = join(temporary.path, 'lake');
  await rm(folder, { recursive: true, force: true });
  await writeLake(lake.store, folder);
  return openLocalStore(folder);
}

async function ask(sql: string, own: Partial<SqlLake> = {}): Promise<string[]> {
  const of = {
    store: await onDisk(),
    reports,
    settings: undefined,
    nowMs: lake.nowMs,
    onGap: () => {},
    ...own,
  };
  const connection = await createSqlConnection(of, sql);
  const pieces = await Array.fromAsync(TEXTS.csv(await query(connection, sql)));
  connection.closeSync();
  return pieces.join('').trim().split('\r\n').slice(1);
}

const sinceClose = () => ask(`SELECT DISTINCT report FROM since_close WHERE close = '${MONTH}' ORDER BY ALL`);

async function statement(month: string) {
  const access = { ...lake.access(), lake: { store: await onDisk(), runs: blindRegistry } };
  const { connection, statements } = await readStatements({ ...access, settings: lake.settings(), month });
  const rows = await connection.runAndReadAll('SELECT DISTINCT entry, day FROM entries ORDER BY ALL');
  connection.closeSync();
  const [first] = statements;
  return {
    days: rows.getRowsJson().map((row) => row.join(' ')),
    missing: first?.missing,
    completeAsOf: first?.completeAsOf,
  };
}

async function sync(days = 1) {
  lake.nowMs += days * DAY_MS;
  expect((await lake.sync({ scope: { reports: NAMES } })).status).toBe('complete');
}

const closing = (month: string) => ({ ...lake.access(), settings: lake.settings(), month });
const range = (own: Partial<EraseOptions> = {}): EraseOptions => ({
  ...{ ...lake.access(), settings: lake.settings(), brand: BRAND, plans: false },
  ...{ from: ERASED, to: ERASED, ...own },
});
const closes = async () => (await readCloses(lake.store, BRAND)).map(summaryOf);
const commission = (day: string, value: string) => {
  for (const report of NAMES) alter(lake, report, day, { commission: value });
};

beforeAll(async () => {
  temporary = await temporaryFolder();
  filled = lake = await sampleLake({
    now: '2026-03-01T15:00:00Z',
    recordsTo: '2026-03-03T00:00:00Z',
    startDate: STAYS,
    clicksPerDay: 20,
    brandSettings: {
      reports: {
        clicks_list: { enabled: false },
        clicks_detail: { enabled: false },
        amazon_attribution_report: { enabled: false },
      },
    },
  });
  await sync();
  await closeMonth(closing(MONTH));
  commission(ERASED, '7.77');
  await sync();
  nowMs = lake.nowMs;
});
afterAll(async () => {
  await filled?.close();
  await temporary?.remove();
});

describe('days that are erased after their month was closed', () => {
  it('leave both sides of every comparison, and the close keeps its sums', async () => {
    expect(await sinceClose()).toEqual(['orders', 'transactions']);
    expect((await statement('2026-03')).days).toContain(`carried ${ERASED}`);
    const [before] = await closes();

    lake = filled.fork();
    expect((await erase(range())).status).toBe('complete');
    expect(await closes()).toEqual([{ ...before, erased: 2 }]);
    expect(await sinceClose()).toEqual([]);
    expect((await statement('2026-03')).days).not.toContain(`carried ${ERASED}`);
    const closed = await statement(MONTH);
    expect(closed.days).toEqual([`record ${STAYS}`, 'record 2026-02-28']);
    expect(closed).toMatchObject({
      completeAsOf: null,
      missing: [{ report: 'transaction_list', day: ERASED, why: 'erased' }],
    });
    const gaps: string[] = [];
    const days = await ask('SELECT DISTINCT dt FROM orders ORDER BY dt', {
      ...{ asOf: MONTH, onGap: (line) => void gaps.push(line) },
    });
    expect(days).toEqual([STAYS, '2026-02-28']);
    expect(gaps).toEqual([
      expect.stringMatching(
        /^warning: days of acme were erased after 2026-02 was closed at .*: order_list erased 2026-02-27/,
      ),
    ]);
    const pointers = () =>
      [...lake.catalog.pointers.keys()].filter((path) => path.includes('_closed/')).sort();
    const left = pointers();
    expect(left.filter((path) => path.endsWith(ERASED))).toEqual([]);
    expect(left).toHaveLength(8);
    lake.catalog.pointers.clear();
    await updateCatalog({ ...lake.access(), settings: lake.settings(), program: '1.0.0', catalogId: 'test' });
    expect(pointers()).toEqual(left);
  });

  it('stay out of it after they were read again, until a later close names them', async () => {
    lake = filled.fork();
    lake.nowMs = nowMs;
    await erase(range());
    await undoErasure(range());
    commission(ERASED, '1.11');
    await sync();
    expect((await ledgerEntry(lake, 'order_list', ERASED)).committed).toBeDefined();
    expect((await coverageOf(lake, 'order_list'))[ERASED]).toMatchObject({ left_close: true });
    expect((await coverageOf(lake, 'order_list'))[STAYS]).not.toHaveProperty('left_close');
    expect(await sinceClose()).toEqual([]);
    expect((await statement('2026-03')).days).not.toContain(`carried ${ERASED}`);

    // The rows of the other days are compared as before.
    commission(STAYS, '9.99');
    await sync(20);
    await sync(20);
    await closeMonth({ ...closing('2026-03'), anyway: true });
    expect(await sinceClose()).toEqual(['orders', 'transactions']);
    expect((await statement('2026-03')).days).toContain(`carried ${STAYS}`);
    expect((await statement('2026-03')).days).not.toContain(`carried ${ERASED}`);
    commission(ERASED, '5.55');
    expect((await lake.sync({ scope: { reports: NAMES, from: ERASED, to: ERASED } })).status).toBe(
      'complete',
    );
    expect((await statement('2026-04')).days).toContain(`carried ${ERASED}`);
    for (const day of [STAYS, ERASED]) expect(await keptByCloses(day)).toBe(true);
  });

  it('are compared again with a close that was made after they were read again', async () => {
    lake = filled.fork();
    lake.nowMs = nowMs;
    await erase(range());
    await undoErasure(range());
    await sync();
    await removeCloses(closing(MONTH));
    await closeMonth(closing(MONTH));
    expect((await coverageOf(lake, 'order_list'))[ERASED]).not.toHaveProperty('left_close');
    expect(await sinceClose()).toEqual([]);
    commission(ERASED, '2.22');
    await sync();
    expect(await sinceClose()).toEqual(['orders', 'transactions']);
    expect((await statement('2026-03')).days).toContain(`carried ${ERASED}`);
  });

  it('of one report leave the comparisons of that report, and orders do not take the place of erased transactions', async () => {
    lake = filled.fork();
    lake.nowMs = nowMs;
    const all = range({ from: STAYS, to: '2026-02-28', only: ['transaction_list'] });
    expect((await erase(all)).status).toBe('complete');
    expect(await sinceClose()).toEqual(['orders']);
    const { days } = await statement('2026-03');
    expect(days.filter((each) => each.startsWith('carried'))).toEqual([]);
    expect(await statement(MONTH)).toMatchObject({
      days: [],
      missing: [STAYS, ERASED, '2026-02-28'].map((day) => ({
        report: 'transaction_list',
        day,
        why: 'erased',
      })),
    });
  });

  it('leave with all closes if the brand is erased', async () => {
    lake = filled.fork();
    lake.nowMs = nowMs;
    expect((await erase(range({ from: undefined, to: undefined }))).status).toBe('complete');
    expect(await closes()).toEqual([]);
  });

  it('are not erased while a close is damaged', async () => {
    lake = filled.fork();
    lake.nowMs = nowMs;
    const key = `closes/${BRAND}/${MONTH}.json`;
    const close = lake.store.objects.get(key);
    if (!close) throw new Error('the close is missing');
    lake.store.objects.set(key, { ...close, body: Buffer.from('{') });
    await expect(erase(range())).rejects.toMatchObject({ code: 'damaged_document' });
    expect((await ledgerEntry(lake, 'order_list', ERASED)).committed).toBeDefined();
  });
});

async function keptByCloses(day: string): Promise<boolean> {
  const all = (await readCloses(lake.store, BRAND)).flatMap(({ days, carried }) => [...days, ...carried]);
  const own = all.filter((each) => each.report === 'order_list' && each.day === day);
  return (
    own.length > 0 &&
    own.every(({ snapshot }) => lake.store.objects.has(versionKey('orders', BRAND, day, snapshot)))
  );
}
