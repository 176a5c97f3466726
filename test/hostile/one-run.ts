import { tuneHeap } from '../../shared/adapters/heap.ts';
import { openLocalStore } from '../../shared/adapters/local/store.ts';
import { newId } from '../../shared/adapters/new-id.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import { reports } from '../../shared/reports/index.ts';
import { runSync } from '../../shared/run/run.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { blindRegistry } from '../sync/sample-lake.ts';

// A run in a process of its own: `<service> <lake folder> <report>`. It prints how it ended and what it needed.
const [, , baseUrl = '', folder = '', report = ''] = process.argv;
const DAY = '2026-03-09';
tuneHeap();
const brand = { baseUrl, service: 'ACME', timeZone: 'UTC', startDate: DAY, secretName: 'none' };
const { reports: ended } = await runSync({
  settings: parseSettings({ brands: { acme: brand } }, reports),
  reports,
  lake: { store: openLocalStore(folder), runs: blindRegistry },
  credentials: { read: async () => ({ bid: '1001', token: 'token-of-acme', secret: 'secret-of-acme' }) },
  send: sendRequest,
  scope: { reports: [report], from: DAY, to: DAY },
  clock: systemClock(new Date('2026-03-10T12:00:00Z')),
  log: () => undefined,
  random: Math.random,
  newId,
});
const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
const { days, error } = ended[0] ?? {};
const { outcome, rows } = days?.[0] ?? {};
process.stdout.write(JSON.stringify({ outcome, rows, code: error?.code, peakMb }));
