import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ReportName, restate } from '../../sample/brand.ts';
import type { Fault } from '../../sample/faults.ts';
import { diesAtN, diesAtNCatalog, ProcessDied } from '../fakes/dies-at-n-store.ts';
import {
  HOUR,
  MINUTE,
  NO_TIME,
  REPORTS,
  type SampleLake,
  type SyncChange,
  sampleLake,
  unknowing,
  wrongReports,
} from './sample-lake.ts';

const FIRST = '2026-03-07';
const DAYS = [FIRST, '2026-03-08', '2026-03-09'];
const AFTERWARDS = '2026-03-12T02:00:00Z';
const LAST = '2026-03-11';

const refresh = [{ untilAgeDays: 30, every: 'run' }];

let service: SampleLake;
beforeAll(async () => {
  // From the day before New York sets its clocks forward until everything is over.
  service = await sampleLake({
    now: '2026-03-08T12:00:00Z',
    recordsTo: '2026-03-10T20:00:00Z',
    startDate: FIRST,
    clicksPerDay: 5,
    readings: { pageCap: 3 },
    // Every run looks at every day: what it leaves as it was, it believes to be right.
    brand: { reports: Object.fromEntries(REPORTS.map((report) => [report, { enabled: true, refresh }])) },
  });
});
afterAll(() => service.close());

type Step =
  | { does: 'wait'; minutes: number }
  | { does: 'restate'; day: string; how: 'alter' | 'remove' | 'add' }
  | { does: 'sync'; options: 'plainly' | 'out of time' | 'without leases' | 'with little time' }
  | { does: 'reread'; from: string; outOfTime: boolean }
  | { does: 'die'; at: number; when: 'before' | 'after'; outOfTime: boolean }
  | { does: 'fail'; fault: Fault; nth: number; times: number };

const faults: Fault[] = [
  { kind: 'html' },
  { kind: 'code', code: 5, msg: 'no' },
  { kind: 'missing_list' },
  { kind: 'status', status: 503 },
  { kind: 'cut_json' },
  { kind: 'reset' },
];

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ does: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 900 }) }),
  fc.record({
    does: fc.constant('restate' as const),
    day: fc.constantFrom(...DAYS),
    how: fc.constantFrom('alter' as const, 'remove' as const, 'add' as const),
  }),
  fc.record({
    does: fc.constant('sync' as const),
    options: fc.constantFrom(
      'plainly' as const,
      'out of time' as const,
      'without leases' as const,
      'with little time' as const,
    ),
  }),
  fc.record({
    does: fc.constant('reread' as const),
    from: fc.constantFrom(...DAYS),
    outOfTime: fc.boolean(),
  }),
  fc.record({
    does: fc.constant('die' as const),
    at: fc.integer({ min: 1, max: 120 }),
    when: fc.constantFrom('before' as const, 'after' as const),
    outOfTime: fc.boolean(),
  }),
  fc.record({
    does: fc.constant('fail' as const),
    fault: fc.constantFrom(...faults),
    nth: fc.integer({ min: 1, max: 12 }),
    times: fc.integer({ min: 1, max: 8 }),
  }),
);

async function take(lake: SampleLake, one: Step, scope: { reports: ReportName[] }): Promise<void> {
  switch (one.does) {
    case 'wait':
      lake.pass(one.minutes * MINUTE);
      return;
    case 'restate':
      for (const report of scope.reports) change(lake, report, one.day, one.how);
      return;
    case 'sync':
      await lake.sync({ scope, ...optionsOf(lake, one.options) });
      return;
    case 'reread':
      await lake.sync({
        scope: { ...scope, from: one.from },
        ...(one.outOfTime && { deadline: NO_TIME }),
      });
      return;
    case 'die': {
      const store = diesAtN(lake.store, one.at, { when: one.when });
      const dying = { store, catalog: diesAtNCatalog(lake.catalog, store), runs: unknowing };
      await lake.sync({ scope, lake: dying, ...(one.outOfTime && { deadline: NO_TIME }) }).catch((error) => {
        if (!(error instanceof ProcessDied)) throw error;
      });
      return;
    }
    case 'fail': {
      const heal = lake.service.addFault({ on: { nth: one.nth, times: one.times }, fault: one.fault });
      await lake.sync({ scope });
      heal();
    }
  }
}

function optionsOf(lake: SampleLake, options: Extract<Step, { does: 'sync' }>['options']): SyncChange {
  if (options === 'out of time') return { deadline: NO_TIME };
  if (options === 'without leases') return { leases: false };
  // Every request takes a millisecond of the time that the tests set.
  return options === 'plainly' ? {} : { deadline: { ...NO_TIME, softMs: lake.nowMs + 10 } };
}

/** A click and its detail keep their identity and their time; anything else of a record may change. */
function change(lake: SampleLake, report: ReportName, day: string, how: 'alter' | 'remove' | 'add'): void {
  const touched = (record: object) => ({ ...record, touched: lake.nowMs % 1000 });
  restate(lake.brand, report, day, (held) => {
    const [first, ...others] = held;
    if (!first) return held;
    if (how === 'remove') return others;
    if (how === 'alter') return [{ at: first.at, record: touched(first.record) }, ...others];
    const named = { id: `7${first.at}`, transid: `7${first.at}` };
    const added = {
      ...first.record,
      ...Object.fromEntries(Object.entries(named).filter(([field]) => field in first.record)),
    };
    return [
      ...held.filter(({ record }) => record.id !== named.id || !('id' in record)),
      { at: first.at, record: added },
    ];
  });
}

describe('whatever happens to a lake', () => {
  it.each([
    { reports: ['clicks_list', 'clicks_detail'] },
    { reports: ['order_list'] },
    { reports: ['transaction_list'] },
    { reports: ['amazon_attribution_report'] },
  ] as { reports: ReportName[] }[])(
    'I4: a plain sync that follows ends in what the service holds: $reports',
    async (scope) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 9 }), async (steps) => {
          const lake = service.beside();
          for (const one of steps) await take(lake, one, scope);
          // Every day is over, and whoever held one is gone.
          lake.nowMs = Math.max(lake.nowMs + HOUR, Date.parse(AFTERWARDS));
          expect((await lake.sync({ scope })).status).toBe('complete');
          expect(await wrongReports({ ...lake, startDate: FIRST }, LAST, scope.reports)).toEqual({});
        }),
        { numRuns: 12 },
      );
    },
  );
});
