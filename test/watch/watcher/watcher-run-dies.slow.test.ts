import { expect, it } from '@jest/globals';
import { consoleControls } from '../../../functions/console-controls.ts';
import { HOUR_MS } from '../../../shared/base/days.ts';
import { ledgerKey } from '../../../shared/lake/paths.ts';
import type { LakeEvent } from '../../../shared/ports.ts';
import { reports } from '../../../shared/reports/index.ts';
import { watch } from '../../../shared/watch/watcher/index.ts';
import { diesAtN } from '../../fakes/dies-at-n-store.ts';
import { memoryStore } from '../../fakes/memory-store.ts';
import { failure } from '../made-statuses.ts';
import { ordersFrom, readDay, storeDays } from '../stored-ledgers.ts';

const NOW_MS = Date.parse('2026-11-20T15:50:00Z');
const DAY = '2026-11-19';
const OF_ORDERS = { report: 'order_list', brand: 'acme' };
const settings = ordersFrom(DAY);
const controls = { region: 'us-east-1', stack: 'BrandReports' };

it('a watcher run that dies after any of its operations loses no event and no message', async () => {
  let operations = 1;
  for (let n = 1; n <= operations; n++) {
    const store = memoryStore();
    const events: LakeEvent[] = [];
    let messages = 0;
    let runs = 0;
    const runWatcher = (hours: number, dies = Infinity) => {
      const dying = diesAtN(store, dies, { when: 'after' });
      // Sending a message or an event counts as an operation too.
      const outside = (act: () => void) => dying.step({ name: 'put', on: 'others' }, async () => act());
      return watch({
        ...{ settings, reports, store: dying, random: () => 0, newId: () => `run-${++runs}` },
        clock: { wallMs: () => NOW_MS + hours * HOUR_MS, sleep: async () => {} },
        log: () => {},
        notifier: { tell: () => outside(() => messages++) },
        events: { send: (sent) => outside(() => events.push(...sent)) },
        pipeline: controls.stack,
        controls: consoleControls(controls.region, controls.stack),
        pageAt: (key) => key,
      }).then(
        () => {
          operations = Math.max(operations, dying.operations);
        },
        () => expect(dying.life.dead).toBe(true),
      );
    };
    await storeDays(store, OF_ORDERS, { [DAY]: { failure } });
    await runWatcher(0, n);
    await runWatcher(0.1);
    await runWatcher(1);
    await store.delete([ledgerKey('order_list', 'acme', '2026-11')]);
    await storeDays(store, OF_ORDERS, { [DAY]: readDay(settings, 'order_list') });
    for (const hours of [1.1, 1.2]) await runWatcher(hours, n);
    for (const hours of [1.3, 1.4, 2.5]) await runWatcher(hours);
    const ofDay = events.filter(({ detail }) => String(detail.id).includes(' failed '));
    const distinct = [...new Map(ofDay.map((event) => [Number(event.detail.sequence), event]))].sort(
      ([a], [b]) => a - b,
    );
    const types = distinct.map(([, { type }]) => type);
    expect([n, types]).toEqual([n, ['Problem Opened', 'Problem Solved']]);
    expect(messages).toBeGreaterThanOrEqual(2);
  }
  expect(operations).toBeGreaterThan(8);
});
