/** Measures a commit to the Iceberg table in a lake of many days: CPU, requests and bytes, in memory. */
import { parseSettings } from '../../shared/settings/settings.ts';
import { createFolderIceberg } from '../../shared/adapters/local/iceberg.ts';
import { createBrandReport } from '../../shared/context/context.ts';
import * as z from 'zod/mini';
import { HOUR_MS, addDays, monthOf } from '../../shared/base/days.ts';
import { publishIceberg } from '../../shared/catalog/iceberg/index.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import { ledgerKey } from '../../shared/lake/paths.ts';
import { reports } from '../../shared/reports/index.ts';
import { storeAround } from '../../test/fakes/lake-around.ts';
import { memoryStore } from '../../test/fakes/memory-store.ts';
import { printTable } from './print.ts';

const [REPORT, COLUMNS] = ['order_list', 20];
const START = Date.parse('2026-11-25T12:00:00Z');
const HOURS = 100;

export async function printIceberg({ brands, days }: { brands: number; days: number }): Promise<void> {
  const report = present(reports[REPORT]);
  const store = memoryStore();
  let nowMs = START;
  const counted = new Map<string, number>();
  const counting = storeAround(store, async ({ name }, act) => {
    counted.set(name, (counted.get(name) ?? 0) + 1);
    return act();
  });
  const dates = Array.from({ length: days }, (_one, index) => addDays('2023-12-01', index));
  for (let brand = 0; brand < brands; brand += 1) writeLedgers(`brand-${brand}`, () => 'a');
  let ids = 0;
  const newId = () => {
    ids += 1;
    return String(ids);
  };
  const clock = {
    wallMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async () => {},
    every: () => () => {},
  };
  const lake = {
    store: counting,
    runs: { register: async () => async () => {}, isDead: async () => false },
    iceberg: createFolderIceberg(counting, 'file:///lake'),
  };
  const settings = parseSettings(
    {
      catalogs: ['hive', 'iceberg'],
      brands: {
        'brand-0': {
          baseUrl: 'https://service.example',
          service: 'S',
          timeZone: 'UTC',
          startDate: '2023-12-01',
        },
      },
    },
    reports,
  );
  const access = { lake, clock, log: () => {}, random: () => 0.5, newId, reports, settings };
  const rows: string[][] = [];
  await commit('the first commit of all days');
  writeLedgers('brand-0', (day) => (day === dates.at(-1) ? 'b' : 'a'));
  await commit('a later commit of one day');
  await commit('nothing new');
  for (let hour = 1; hour <= HOURS; hour += 1) {
    nowMs += HOUR_MS;
    writeLedgers('brand-0', (day) => (day === dates.at(-1) ? `b${hour}` : 'a'));
    await commit(`the last of ${HOURS} more commits, one an hour`, hour < HOURS);
  }
  console.log(`### Iceberg: ${brands * days} files of ${brands} brands`);
  printTable(
    ['', 'ms of CPU', 'PUT', 'GET', 'kept snapshots', 'kB of metadata.json', 'kB of all metadata'],
    rows,
  );

  async function commit(what: string, isSilent = false): Promise<void> {
    const documents = createLakeDocuments({ ...access, store: counting });
    const context = createBrandReport(access, documents, { brand: 'brand-0', report, policy: undefined });
    counted.clear();
    const before = process.cpuUsage();
    await publishIceberg(context, [{ of: context, months: [monthOf(dates.at(-1) ?? '')] }]);
    const { user, system } = process.cpuUsage(before);
    if (isSilent) return;
    const written = [...store.objects].filter(([key]) => key.startsWith('iceberg/'));
    const [, newest] = written.findLast(([key]) => key.endsWith('.metadata.json')) ?? [];
    const table = z.parse(
      tableSchema,
      JSON.parse(Buffer.from(newest?.body ?? '{"snapshots":[]}').toString()),
    );
    const bytes = written.reduce((sum, [, { body }]) => sum + body.length, 0);
    const counts = ['put', 'get'].map((name) => String(counted.get(name) ?? 0));
    const kept = [String(table.snapshots.length), ((newest?.body.length ?? 0) / 1000).toFixed(0)];
    rows.push([what, ((user + system) / 1000).toFixed(0), ...counts, ...kept, (bytes / 1000).toFixed(0)]);
  }

  function writeLedgers(brand: string, snapshotOf: (day: string) => string): void {
    for (const [month, own] of Map.groupBy(dates, monthOf)) {
      const entries = own.map((day) => [day, { committed: committed(snapshotOf(day)) }]);
      const ledger = {
        report: REPORT,
        brand,
        month,
        days: Object.fromEntries(entries),
        recentWrites: [],
      };
      const key = ledgerKey(REPORT, brand, month);
      const body = Buffer.from(JSON.stringify(ledger));
      store.objects.set(key, { body, etag: String(Math.random()), modifiedAt: new Date(nowMs) });
    }
  }
}

const tableSchema = z.object({ snapshots: z.array(z.unknown()) });

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error(`there is no ${REPORT}`);
  return value;
}

function committed(snapshot: string): object {
  const at = '2026-11-01T00:00:00.000Z';
  const filled = Object.fromEntries(
    Array.from({ length: COLUMNS }, (_one, index) => [`column_${index}`, 100]),
  );
  return {
    ...{ snapshot, published: true, rows: 100, bytes: 42_800, digest: 'd', values: { filled } },
    ...{ state: 'settled', attempt: 'a', pages: 1, readFrom: at, readTo: at, queryFingerprint: 'f' },
  };
}
