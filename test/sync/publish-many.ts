import { sendRequest } from '../../shared/adapters/send-request.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { newId, systemClock } from '../../shared/adapters/system-clock.ts';
import type { Column } from '../../shared/base/column-types.ts';
import { addDays } from '../../shared/base/days.ts';
import { type JsonObject, rawNumber } from '../../shared/base/json.ts';
import { reports } from '../../shared/reports/index.ts';
import { StoredSettings } from '../../shared/lake/brand-settings.ts';
import { createLakeDocuments } from '../../shared/lake/lake-documents.ts';
import { createTimeBudget } from '../../shared/context/time-budget.ts';
import { type RunOptions, createRunContext } from '../../shared/run/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { IcebergCommits } from '../../shared/run/iceberg-commits.ts';
import { syncReports } from '../../shared/run/sync.ts';
import { pagedService } from '../fakes/paged-service.ts';
import { blindRegistry } from './sample-lake.ts';

// Publishes large days in a separate process: `<lake folder> <records> <days> <columns>`. With `columns`, the table has
// that many columns and a record has three fields. It prints its peak of memory.
const [, , folder = '', ...counts] = process.argv;
const [records = 0, days = 1, columns = 0] = counts.map(Number);
const LAST_DAY = '2026-03-09';
const FIRST_DAY = addDays(LAST_DAY, 1 - days);

const { service } = pagedService(({ page_number, start_time, end_time }) => {
  const first = (Number(page_number) - 1) * 100;
  const length = start_time === end_time ? 0 : Math.max(0, Math.min(100, records - first));
  const record = columns === 0 ? order : smallOrder;
  return { data: { list: Array.from({ length }, (_, index) => record(first + index)) } };
});

function smallOrder(number: number): JsonObject {
  return { transid: `9${String(number).padStart(17, '0')}`, status: 'new', amount: number % 1000 };
}

function order(number: number): JsonObject {
  return {
    transid: `9${String(number).padStart(17, '0')}`,
    order_no: `A-${number * 7919}`,
    status: ['new', 'void', 'effective'][number % 3] ?? 'new',
    type: 'trans',
    publisher_id: String(1000 + (number % 50)),
    publisher_name: `Publisher ${number % 50} 🦊`,
    amount: rawNumber(`${number % 1000}.${String(number % 100).padStart(2, '0')}`),
    commission: rawNumber(`${number % 80}.10`),
    currency: 'USD',
    items: [{ sku: `B0${number % 997}`, title: 'A mug of the usual kind', quantity: 1 + (number % 3) }],
    note: number % 10 === 0 ? 'Gift 🎁' : null,
  };
}

const options: RunOptions = {
  settings: parseSettings(
    {
      brands: {
        acme: {
          baseUrl: 'https://service.invalid/api',
          service: 'ACME',
          timeZone: 'UTC',
          startDate: FIRST_DAY,
          secretName: 'none',
        },
      },
    },
    reports,
  ),
  reports,
  lake: { store: openLocalStore(folder), runs: blindRegistry },
  credentials: { read: async () => ({ bid: '', token: '', secret: '' }) },
  send: sendRequest,
  scope: {},
  clock: systemClock(new Date('2026-03-10T12:00:00Z')),
  log: () => {},
  random: Math.random,
  newId,
};
const report = reports.order_list;
if (!report) throw new Error('there are no orders');
const run = {
  id: newId(),
  time: createTimeBudget(undefined, options.clock.monotonicMs),
  documents: createLakeDocuments({ ...options, store: options.lake.store }),
  stored: new StoredSettings(options),
};
if (columns > 0) {
  await run.documents.schema(report).update((current) => ({
    ...current,
    columns: [
      ...current.columns,
      ...Array.from({ length: columns - current.columns.length }, (_, index): Column => {
        return { name: `field_${index}`, type: 'string', field: `field${index}` };
      }),
    ],
  }));
}
const context = createRunContext(options, run, { brand: 'acme', report, service });
const toSync = {
  ctx: context,
  range: () => ({ from: FIRST_DAY, to: LAST_DAY, name: 'all' }),
  traffic: () => ({ requests: 0, retries: 0, throttles: 0 }),
};
const [synced] = await syncReports([toSync], new IcebergCommits());
const rows = synced?.outcome.days.map((day) => day.rows);
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(`${JSON.stringify({ status: synced?.outcome.status, rows, peakMb })}\n`);
