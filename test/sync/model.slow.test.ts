import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ReportName, restate } from '../../sample/brand.ts';
import type { Fault } from '../../sample/faults.ts';
import { HOUR_MS, MINUTE_MS } from '../../shared/days.ts';
import { diesAtN, diesAtNCatalog, ProcessDied } from '../fakes/dies-at-n-store.ts';
import { wrongReports } from './lake-contents.ts';
import {
  NO_TIME,
  REPORTS,
  type SampleLake,
  type SyncOptions,
  sampleLake,
  blindRegistry,
} from './sample-lake.ts';

const FIRST = '2026-03-07';
const DAYS = [FIRST, '2026-03-08', '2026-03-09'];
const AFTERWARDS = '2026-03-12T02:00:00Z';
const LAST = '2026-03-11';

const refresh = [{ untilAgeDays: 30, every: 'run' }];

let sample: SampleLake;
beforeAll(async () => {
  // From the day before New York sets its clocks forward until every day is over.
  sample = await sampleLake({
    now: '2026-03-08T12:00:00Z',
    recordsTo: '2026-03-10T20:00:00Z',
    startDate: FIRST,
    clicksPerDay: 5,
    interpretations: { pageCap: 3 },
    // Every run reads every day again: a day that it leaves unchanged must be right.
    brandSettings: {
      reports: Object.fromEntries(REPORTS.map((report) => [report, { enabled: true, refresh }])),
    },
  });
});
afterAll(() => sample.close());

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

async function perform(lake: SampleLake, one: Step, scope: { reports: ReportName[] }): Promise<void> {
  switch (one.does) {
    case 'wait':
      lake.advance(one.minutes * MINUTE_MS);
      return;
    case 'restate':
      for (const report of scope.reports) restateDay(lake, report, one.day, one.how);
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
      const dying = { store, catalog: diesAtNCatalog(lake.catalog, store), runs: blindRegistry };
      await lake.sync({ scope, lake: dying, ...(one.outOfTime && { deadline: NO_TIME }) }).catch((error) => {
        if (!(error instanceof ProcessDied)) throw error;
      });
      return;
    }
    case 'fail': {
      const removeFault = lake.service.addFault({ on: { nth: one.nth, times: one.times }, fault: one.fault });
      await lake.sync({ scope });
      removeFault();
    }
  }
}

function optionsOf(lake: SampleLake, options: Extract<Step, { does: 'sync' }>['options']): SyncOptions {
  if (options === 'out of time') return { deadline: NO_TIME };
  if (options === 'without leases') return { leases: false };
  // The time that tests set moves on by a millisecond a request.
  return options === 'plainly' ? {} : { deadline: { ...NO_TIME, softMs: lake.nowMs + 10 } };
}

/** A click and its detail keep their key and their time; anything else of a record may change. */
function restateDay(
  lake: SampleLake,
  report: ReportName,
  day: string,
  how: 'alter' | 'remove' | 'add',
): void {
  const altered = (record: object) => ({ ...record, altered: lake.nowMs % 1000 });
  restate(lake.brand, report, day, (held) => {
    const [first, ...others] = held;
    if (!first) return held;
    if (how === 'remove') return others;
    if (how === 'alter') return [{ at: first.at, record: altered(first.record) }, ...others];
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
    'I4: a plain sync afterwards leaves exactly what the service holds of $reports',
    async (scope) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 9 }), async (steps) => {
          const lake = sample.emptyLake();
          for (const one of steps) await perform(lake, one, scope);
          // Every day is over, and every lease has expired.
          lake.nowMs = Math.max(lake.nowMs + HOUR_MS, Date.parse(AFTERWARDS));
          expect((await lake.sync({ scope })).status).toBe('complete');
          // A detail is asked for once: what changed since, or came garbled, is seen where a range names the day.
          if (scope.reports.includes('clicks_detail'))
            await lake.sync({ scope: { reports: ['clicks_detail'], from: FIRST } });
          expect(await wrongReports({ ...lake, startDate: FIRST }, LAST, scope.reports)).toEqual({});
        }),
        { numRuns: 12 },
      );
    },
  );
});
