import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { inOurFormat } from '../../shared/lake/documents/lake-format.ts';
import { temporaryFolder } from '../fakes/temporary-folder.ts';
import { daysWithCoupon } from '../status/field-days.ts';
import { TODAY, settingsOf } from '../status/made-statuses.ts';
import { storeDays } from '../status/stored-ledgers.ts';
import { runCli } from './run-cli.ts';

const LAST = '2026-11-18';
const NOW = `${TODAY}T15:00:00Z`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let flags: string[];

beforeAll(async () => {
  folder = await temporaryFolder();
  const lake = join(folder.path, 'lake');
  const settings = join(folder.path, 'settings.json');
  const parsed = settingsOf('acme');
  const { baseUrl, service, timeZone, startDate, secretName } = parsed.brands.acme ?? {};
  await writeFile(
    settings,
    JSON.stringify({ brands: { acme: { baseUrl, service, timeZone, startDate, secretName } } }),
  );
  await storeDays(
    inOurFormat(openLocalStore(lake)),
    { report: 'order_list', brand: 'acme' },
    daysWithCoupon(parsed, LAST),
  );
  flags = ['--lake', lake, '--settings', settings];
});
afterAll(() => folder.remove());

describe('fields that vanished and came back', () => {
  it('are lines of status, for two weeks', async () => {
    const { stdout } = await runCli(['status', ...flags, '--now', NOW]);
    expect(stdout).toContain(`
orders 2026-11-17 coupon has vanished: none of 200 rows has a value, usually 98 % of them
orders 2026-11-17 note has vanished: none of 200 rows has a value, usually 50 % of them
orders 2026-11-18 coupon has returned: 98 % of 200 rows have a value again, after it had vanished on 2026-11-17
orders 2026-11-18 note has returned: 50 % of 200 rows have a value again, after it had vanished on 2026-11-17
`);
    const later = await runCli(['status', ...flags, '--now', '2026-12-05T15:00:00Z']);
    expect(later.stdout).not.toContain('coupon');
  });

  it('are in the document of status --json', async () => {
    const { stdout } = await runCli(['status', '--json', ...flags, '--now', NOW]);
    const [orders] = JSON.parse(stdout).tables.filter(({ table }: { table: string }) => table === 'orders');
    expect(orders.schemaChanges).toMatchObject([
      { dt: '2026-11-17', column: 'coupon', change: 'vanished', shareBefore: 0.98, shareAfter: 0, rows: 200 },
      { dt: '2026-11-17', column: 'note' },
      { dt: '2026-11-18', column: 'coupon', change: 'returned', since: '2026-11-17' },
      { dt: '2026-11-18', column: 'note' },
    ]);
  });
});
