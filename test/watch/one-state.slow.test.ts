import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { coverageRows } from '../../shared/catalog/coverage.ts';
import { DAY_MS, HOUR_MS, daysFrom } from '../../shared/base/days.ts';
import type { DayEntry, Ledger } from '../../shared/lake/ledger.ts';
import { NO_STATE } from '../../shared/lake/report-state.ts';
import { reportDaysIn } from '../../shared/day/day-facts.ts';
import { DAY_STATES } from '../../shared/planning/day-state.ts';
import { enabledPolicy } from '../../shared/planning/policy.ts';
import type { VersionState } from '../../shared/planning/transitions.ts';
import { reports } from '../../shared/reports/index.ts';
import { calendarPage } from '../../shared/watch/calendar.ts';
import { commandControls } from '../../shared/watch/remedies.ts';
import { tableStatuses } from '../../shared/watch/table-statuses.ts';
import { NOW_MS, TODAY, failure, settingsOf } from './made-statuses.ts';
import { readDay } from './stored-ledgers.ts';
import { runs } from '../fixtures/property-runs.ts';

const MONTH = '2026-11';
const DAYS = daysFrom(`${MONTH}-01`, TODAY);
const base = settingsOf('acme');
const acme = base.brands.acme;
if (!acme) throw new Error('acme is among the settings');
const settings = {
  ...base,
  brands: {
    acme: {
      ...acme,
      reports: Object.fromEntries(
        Object.entries(acme.reports).map(([name, report]) => [name, { ...report, enabled: true }]),
      ),
    },
  },
};

/** How many hours ago the day was read, and the ledger’s other facts about it. */
const entry = fc.record({
  readHoursAgo: fc.option(fc.integer({ min: 0, max: 24 * 20 }), { nil: undefined }),
  state: fc.constantFrom<VersionState>('open', 'unconfirmed', 'closed', 'settled'),
  rows: fc.constantFrom(0, 5),
  digest: fc.constantFrom('1:ab', '2:cd'),
  isErased: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
  isClaimed: fc.boolean(),
  hasFailed: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
});
const month = fc.array(fc.option(entry, { nil: undefined, freq: 6 }), {
  minLength: DAYS.length,
  maxLength: DAYS.length,
});

function ledgerOf(
  report: string,
  entries: (typeof entry extends fc.Arbitrary<infer T> ? T | undefined : never)[],
): Ledger {
  const days = DAYS.flatMap((day, index): [string, DayEntry][] => {
    const made = entries[index];
    if (!made) return [];
    const readFrom = new Date(NOW_MS - (made.readHoursAgo ?? 0) * HOUR_MS).toISOString();
    const { state, rows, digest } = made;
    if (made.isErased) return [[day, { erasedAt: readFrom }]];
    return [
      [
        day,
        {
          ...(made.readHoursAgo !== undefined &&
            readDay(settings, report, {
              state,
              rows,
              digest,
              upstreamDigest: '1:ab',
              readFrom,
            })),
          ...(made.isClaimed && { claim: { attempt: 'a2', runId: 'r2', at: readFrom } }),
          ...(made.hasFailed && { failure }),
        },
      ],
    ];
  });
  return {
    version: 1,
    report,
    brand: 'acme',
    month: MONTH,
    days: Object.fromEntries(days),
    recentWrites: [],
  };
}

describe('coverage, status and calendar', () => {
  it('agree on the state of every day, for all ledgers', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        fc.tuple(...Object.keys(reports).map(() => month)),
        fc.boolean(),
        fc.integer({ min: 0, max: 3 * DAY_MS }),
        (months, hasReturnedRecords, waitedMs) => {
          const nowMs = NOW_MS + waitedMs;
          const lake = Object.values(reports).map((report, index) => ({
            brand: 'acme',
            report,
            state: { ...NO_STATE, hasReturnedRecords },
            ledgers: new Map([[MONTH, ledgerOf(report.name, months[index] ?? [])]]),
            damaged: [],
          }));
          const tables = tableStatuses(settings, reports, lake, nowMs);
          const options = { settings, nowMs, controls: commandControls({ lake: 'l', settings: 's' }) };
          const { markup } = calendarPage(tables, 'l', options);
          const cells = new Map(
            [...markup.matchAll(/<i class="(\w+)" title="(\w+ [\d-]+)\n/g)].map(([, look, cell]) => [
              cell,
              look,
            ]),
          );
          for (const { report, ledgers } of lake) {
            const table = tables.find((each) => each.report === report.name);
            const policy = enabledPolicy(settings, 'acme', report);
            const of = reportDaysIn(lake, { brand: 'acme', report, policy });
            const states = [...ledgers.values()].flatMap((ledger) =>
              coverageRows(ledger, of, nowMs).map(({ dt, state }) => ({ dt: String(dt), state })),
            );
            for (const { dt, state } of states) {
              seen.add(String(state));
              expect(table?.days.find((day) => day.dt === dt)?.state).toBe(state);
              const look = cells.get(`${report.table} ${dt}`);
              expect(look === 'to_come' ? 'missing' : look).toBe(state);
            }
            const named = new Set(states.map(({ dt }) => dt));
            const others = table?.days.filter(({ dt }) => !named.has(dt)) ?? [];
            // No run looks up the records of an erased day, so its lookups are erased too.
            const unread = report.day.by === 'upstream' ? ['missing', 'erased'] : ['missing'];
            expect(others.filter(({ state }) => !unread.includes(state))).toEqual([]);
          }
        },
      ),
      runs(60),
    );
    expect([...seen].sort()).toEqual(Object.keys(DAY_STATES).sort());
  });
});
