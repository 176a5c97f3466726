import { tuneHeap } from '../../shared/adapters/heap.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { newId, systemClock } from '../../shared/adapters/system-clock.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { reports } from '../../shared/reports/index.ts';
import { runSync } from '../../shared/run/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

// Runs two brands in its own process: `<service> <lake folder> <report>`. It prints how each brand ended, and the
// memory that the process used.
const [, , service = '', folder = '', report = ''] = process.argv;
const DAY = '2026-03-09';
tuneHeap();
const brand = (name: string) => ({
  ...{ baseUrl: `${service}/${name}`, service: 'ACME', timeZone: 'UTC' },
  ...{ startDate: DAY, secretName: 'none' },
});
const { reports: ended } = await runSync({
  settings: parseSettings({ brands: { acme: brand('acme'), other: brand('other') } }, reports),
  reports,
  lake: { store: openLocalStore(folder), runs: blindRegistry },
  credentials: { read: async () => ({ bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' }) },
  send: sendRequest,
  scope: { reports: [report], from: DAY, to: DAY },
  clock: systemClock(new Date()),
  log: () => {},
  random: () => 0,
  newId,
});
const brands = ended.map(({ brand: name, days: [day], error }) => ({
  ...{ name, outcome: day?.outcome, rows: day?.rows },
  ...(error && { error: `${error.kind} ${error.code}`, message: error.message.slice(0, 300) }),
}));
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
process.stdout.write(JSON.stringify({ brands, peakMb }));
