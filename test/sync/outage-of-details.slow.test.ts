/** For days the lookup action refuses every request, while every other action answers. */
import { expect, it } from '@jest/globals';
import { consoleControls } from '../../functions/console-controls.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import type { Message } from '../../shared/ports.ts';
import { watch } from '../../shared/watcher/index.ts';
import { requestsOf, wrongReports } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-09';
const START = Date.parse('2026-03-09T04:30:00Z');
const scope = { reports: ['clicks_list', 'clicks_detail'] };
const brandSettings = {
  reports: {
    clicks_detail: { enabled: true },
    order_list: { enabled: false },
    transaction_list: { enabled: false },
    amazon_attribution_report: { enabled: false },
  },
};

const sample = sharedLakes({
  now: new Date(START).toISOString(),
  recordsTo: '2026-03-17T04:00:00Z',
  startDate: FIRST,
  clicksPerDay: 24,
  brandSettings,
});

/** Runs every hour until then, and the watcher twenty minutes after each run. @returns the watcher's messages */
async function watchedRuns(lake: SampleLake, untilMs: number): Promise<Message[]> {
  const messages: Message[] = [];
  let watcherRuns = 0;
  for (; lake.nowMs < untilMs; lake.nowMs += HOUR_MS - 20 * MINUTE_MS) {
    await lake.sync({ scope });
    lake.nowMs += 20 * MINUTE_MS;
    await watch({
      ...lake.access(),
      settings: lake.settings(),
      store: lake.store,
      random: () => 0,
      newId: () => `watch-${lake.nowMs}-${++watcherRuns}`,
      notifier: { tell: async (message) => void messages.push(message) },
      events: { send: async () => {} },
      countProblems: () => {},
      message: { pipeline: 'test', page: 'page', controls: consoleControls('r', 'test').text },
      controls: consoleControls('r', 'test').page,
    });
  }
  return messages;
}

it('an outage of six days of only the lookups loses no detail and sends two messages', async () => {
  const lake = sample.emptyLake();
  expect(await watchedRuns(lake, START + DAY_MS / 2)).toEqual([]);
  const fault = { kind: 'code', code: 17, msg: 'closed for maintenance' } as const;
  const stop = lake.service.addFault({ on: { action: 'report/clicks_detail' }, fault });
  const before = requestsOf(lake, 'clicks_detail').length;
  const during = await watchedRuns(lake, START + 6.5 * DAY_MS);
  stop();
  const runs = 6 * 24;
  expect(requestsOf(lake, 'clicks_detail').length - before).toBeLessThan(20 * runs);
  const after = await watchedRuns(lake, START + 7.5 * DAY_MS);
  expect(await wrongReports(lake, '2026-03-16', ['clicks_detail'])).toEqual({});
  expect([...during, ...after].map(({ subject }) => subject)).toEqual([
    'test: problems: 1 new, 1 open',
    'test: all is well again',
  ]);
  expect(during[0]?.text).toContain('clicks_detail: 1 day failed');
  expect(after).toHaveLength(1);
}, 600_000);
