/* Tests `close`, with and without a month, and the output of other commands about closes, on a lake with a restated closed day. */
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLocalCatalog } from '../../shared/adapters/local/catalog.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { updateCatalog } from '../../shared/catalog/update.ts';
import { DAY_MS } from '../../shared/days.ts';
import { closeKey, versionKey } from '../../shared/lake/paths.ts';
import { closeMonth } from '../../shared/operations/close-month.ts';
import { writeLake } from '../fakes/lake-on-disk.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { alter, ledgerEntry } from '../sync/lake-contents.ts';
import { BRAND, blindRegistry, sampleLake } from '../sync/sample-lake.ts';
import { runCli } from './run-cli.ts';

const [FIRST, LAST, MONTH] = ['2026-01-30', '2026-02-02', '2026-01'];

let temporary: Awaited<ReturnType<typeof temporaryFolder>>;
let whole: string;
let lake: string;
let closed: string;

beforeAll(async () => {
  temporary = await temporaryFolder();
  [whole, lake] = [join(temporary.path, 'whole'), join(temporary.path, 'lake')];
  const sample = await sampleLake({ now: '2026-02-03T12:00:00Z', startDate: FIRST, clicksPerDay: 10 });
  const scope = { reports: ['order_list'], from: FIRST, to: LAST };
  await sample.sync({ scope });
  closed = (await ledgerEntry(sample, 'order_list', FIRST)).committed?.snapshot ?? '';
  await closeMonth({ ...sample.access(), settings: undefined, month: MONTH });
  alter(sample, 'order_list', FIRST, { status: 'void' });
  for (const _reading of ['finds it', 'confirms it']) {
    sample.nowMs += DAY_MS;
    await sample.sync({ scope });
  }
  await writeLake(sample.store, whole);
  const links = { store: openLocalStore(whole), catalog: createLocalCatalog(whole), runs: blindRegistry };
  await updateCatalog({
    ...sample.access(),
    lake: links,
    settings: sample.settings(),
    program: '1.0.0',
    catalogId: 'test',
  });
  await sample.close();
});
afterAll(() => temporary?.remove());

async function run(...args: string[]) {
  // A folder without settings.
  return runCli([...args, '--lake', lake], { cwd: temporary.path });
}

async function anew(): Promise<void> {
  await rm(lake, { recursive: true, force: true });
  await cp(whole, lake, { recursive: true });
}

describe('closed months on the command line', () => {
  it('are listed, closed once, removed, and closed again', async () => {
    await anew();
    expect((await run('close')).stdout).toMatch(/acme +2026-01 +2026-02-03T12:00:00\.000Z +2 /);
    expect(JSON.parse((await run('close', '--json', '--brand', BRAND)).stdout)).toMatchObject({
      closes: [{ brand: BRAND, month: MONTH, days: 2 }],
      damaged: [],
    });
    expect((await run('close', '--brand', 'globex')).stdout).toContain('No month of globex is closed.');
    const twice = await run('close', MONTH);
    expect(twice).toMatchObject({ code: 2, stdout: '' });
    const command = `npx brand-reports close ${MONTH} --brand acme --remove --lake ${lake}`;
    expect(twice.stderr).toContain(command);
    expect((await run('close', MONTH, '--remove', '--json')).stdout).toBe(
      `{"status":"removed","month":"${MONTH}","brands":["acme"]}\n`,
    );
    const { code, stdout } = await run('close', MONTH, '--json');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      code: 0,
      status: 'complete',
      closed: [{ brand: BRAND, month: MONTH, days: 2, carried: 0, exceptions: [] }],
      before: [],
    });
    expect((await run('query', '--format', 'csv', 'SELECT DISTINCT close FROM orders_closed')).stdout).toBe(
      'close\n2026-01\n',
    );
  });

  it.each(['--remove', '--anyway'])('are not changed by %s without a month', async (flag) => {
    await anew();
    const { code, stderr } = await run('close', flag);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`npx brand-reports close 2026-10 ${flag}`)]);
    expect((await run('close')).stdout).toContain(MONTH);
  });

  it('are queried as they were, and refuse queries that they cannot answer', async () => {
    await anew();
    const sql = "SELECT count(*) FILTER (status <> 'void') > 0 AS differs FROM orders";
    expect((await run('query', '--format', 'csv', '--as-of', MONTH, sql)).stdout).toBe('differs\ntrue\n');
    const february = await run('query', '--as-of', '2026-02', sql);
    expect(february).toMatchObject({ code: 2, stdout: '' });
    expect(february.stderr).toContain(
      '2026-02 is not closed. Closed months: 2026-01. To close it: npx brand-reports close 2026-02',
    );
    for (const table of ['coverage', 'changes', 'orders_closed'])
      expect(await run('query', '--as-of', MONTH, `SELECT * FROM ${table}`)).toMatchObject({ code: 2 });
    expect((await run('rollback', 'orders', FIRST)).stdout).toContain('whole, kept by close 2026-01');
  });

  it('are verified: finds a lost version that only a close keeps, and a damaged document', async () => {
    await anew();
    expect(await run('verify')).toMatchObject({ code: 0 });
    await rm(join(lake, versionKey('orders', BRAND, FIRST, closed)));
    const lost = await run('verify', '--json');
    expect(lost.code).toBe(1);
    expect(
      JSON.parse(lost.stdout).tables.find(({ table }: { table: string }) => table === 'closes'),
    ).toMatchObject({
      mismatches: [
        {
          ...{ dt: FIRST, snapshot: closed, message: 'orders as closed in 2026-01: the snapshot is missing' },
          // The link in the table of closed months has kept the version.
          advice: expect.stringMatching(/ln -f \S+orders_closed\S+ \S+part-0000.parquet/),
        },
      ],
    });
    await writeFile(join(lake, closeKey(BRAND, MONTH)), '{');
    const listed = await run('close');
    expect(listed.code).toBe(1);
    expect(listed.stderr).toContain(`closes/acme/${MONTH}.json cannot be used: it is not JSON`);
    expect((await run('verify')).stdout).toContain(`closes/acme/${MONTH}.json: it is not JSON`);
    expect((await run('close', MONTH, '--remove')).code).toBe(0);
    expect((await run('close')).stdout).toContain('No month is closed. To close one:');
  });

  it('are not verified by a schema that is damaged or lacks their columns', async () => {
    await anew();
    await writeFile(join(lake, 'schema/orders.json'), '{');
    const { stdout } = await run('verify');
    expect(stdout).toContain('schema/orders.json: it is not JSON');
    const restored = await run('verify', '--restore');
    expect(restored.stdout).toContain(`rebuild order_list --brand acme --from ${FIRST}`);
    for (const text of [stdout, restored.stdout]) expect(text).not.toContain('--remove');
  });
});
