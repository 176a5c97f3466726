import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { newId } from '../../shared/adapters/new-id.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { type JsonObject, rawNumber } from '../../shared/json.ts';
import { reports } from '../../shared/reports/index.ts';
import { createLakeDocuments } from '../../shared/lake/documents/lake-documents.ts';
import { createTimeBudget } from '../../shared/pipeline/time-budget.ts';
import { type RunOptions, createRunContext } from '../../shared/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { syncReport } from '../../shared/sync.ts';
import { pagedService } from '../fakes/paged-service.ts';
import { blindRegistry } from './sample-lake.ts';

// A process of its own that publishes one large day: `<lake folder> <records>`. It prints what it needed.
const [, , folder = '', count = ''] = process.argv;
const records = Number(count);
const DAY = '2026-03-09';
const END = Date.parse('2026-03-10T00:00:00Z') / 1000;

const { service } = pagedService(({ page_number, start_time }) => {
  const first = (Number(page_number) - 1) * 100;
  const length = start_time === END ? 0 : Math.max(0, Math.min(100, records - first));
  return { data: { list: Array.from({ length }, (_, index) => order(first + index)) } };
});

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
          startDate: DAY,
          secretName: 'none',
        },
      },
    },
    reports,
  ),
  reports,
  lake: { store: openLocalStore(folder), runs: blindRegistry },
  credentials: { read: async () => ({ bid: '', token: '', secret: '' }) },
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
  time: createTimeBudget(undefined, options.clock.wallMs),
  documents: createLakeDocuments({ ...options, store: options.lake.store }),
};
const context = createRunContext(options, run, { brand: 'acme', report, service });
const { status, days } = await syncReport(context, { from: DAY, to: DAY });
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(`${JSON.stringify({ status, rows: days[0]?.rows, pages: days[0]?.pages, peakMb })}\n`);
