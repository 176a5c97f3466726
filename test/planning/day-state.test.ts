import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../shared/base/days.ts';
import type { DayEntry } from '../../shared/lake/ledger.ts';
import { dayFacts } from '../../shared/day/day-facts.ts';
import {
  DAY_STATES,
  type DayState,
  type KnownDay,
  committedState,
  gracePeriodMs,
  isExpected,
  overdueAtMs,
} from '../../shared/planning/day-state.ts';
import { type UpstreamState, dueAtMs } from '../../shared/planning/due.ts';
import type { VersionState } from '../../shared/planning/transitions.ts';
import { runs } from '../fixtures/property-runs.ts';
import { NOW, NOW_MS, claim, failure, later, policy, readAt } from './entries.ts';

const DAY = '2026-03-15';
const TODAY = '2026-03-20';
const GRACE_MS = gracePeriodMs(policy);

/** The instant this many hours from now. */
function fromNow(hours: number): string {
  return new Date(NOW_MS + hours * HOUR_MS).toISOString();
}

function facts(entry: DayEntry | undefined, change: Partial<KnownDay> = {}): KnownDay {
  return { day: DAY, entry, policy, hasReturnedRecords: true, ...change };
}

const upstream = (digest: string, readFrom: string): UpstreamState => ({ digest, closed: true, readFrom });

function stateOf({ day, entry, policy: own, hasReturnedRecords, upstream }: KnownDay): DayState {
  const upstreamOn = () => upstream && readAt(upstream.readFrom, { digest: upstream.digest });
  const report = { name: 'order_list', day: { by: 'timestamps' as const } };
  return dayFacts(day, { report, policy: own, hasReturnedRecords, entryOn: () => entry, upstreamOn }, NOW_MS)
    .state;
}

describe('whether a day is expected', () => {
  const laterStart = { policy: { ...policy, startDate: '2026-03-16' } };
  it.each<[string, KnownDay, boolean]>([
    ['expected from the start date on', facts(undefined), true],
    ['expected with a version, even before the start date', facts(readAt(NOW), laterStart), true],
    [
      'not expected before the start date with an empty version',
      facts(readAt(NOW, { rows: 0 }), laterStart),
      false,
    ],
    ['not expected before the start date without a version', facts({}, laterStart), false],
    [
      'not expected before it begins, even if a run with a clock ahead has read it',
      facts(readAt(later), { day: '2026-03-21' }),
      false,
    ],
    [
      'not expected before the start date if it failed',
      facts({ failure: failure(later) }, laterStart),
      false,
    ],
    ['not expected before the start date if a run has begun it', facts({ claim }, laterStart), false],
    [
      'expected if the settings do not have the report',
      facts({ failure: failure(later) }, { policy: undefined }),
      true,
    ],
  ])('a day is %s', (_name, known, expected) => expect(isExpected(known, NOW_MS)).toBe(expected));
});

describe('the state', () => {
  it.each<[string, KnownDay, DayState]>([
    ['without an entry in the ledger', facts(undefined), 'missing'],
    ['with an empty entry', facts({}), 'missing'],
    ['that a run reads for the first time', facts({ claim }), 'in_progress'],
    ['whose first attempt failed', facts({ failure: failure(later) }), 'failed'],
    ['that is read today', facts(readAt(NOW, { state: 'open' }), { day: TODAY }), 'open'],
    ['that is over and has not been read since', facts(readAt(NOW, { state: 'open' })), 'open'],
    ['that was read whole', facts(readAt(NOW)), 'complete'],
    ['that is settled', facts(readAt('2026-03-16T05:00:00.000Z', { state: 'settled' })), 'settled'],
    ['that is empty, of a report that has returned records', facts(readAt(NOW, { rows: 0 })), 'complete'],
    [
      'that is empty, of a report that has never returned a record',
      facts(readAt(NOW, { rows: 0 }), { hasReturnedRecords: false }),
      'unverified',
    ],
    [
      'that is open, one millisecond before the grace period ends',
      facts(readAt(new Date(NOW_MS - GRACE_MS + 1).toISOString(), { state: 'open' }), { day: TODAY }),
      'open',
    ],
    [
      'that is open, when the grace period ends',
      facts(readAt(new Date(NOW_MS - GRACE_MS).toISOString(), { state: 'open' }), { day: TODAY }),
      'overdue',
    ],
    ['that is complete, before it is due again', facts(readAt(fromNow(-23))), 'complete'],
    ['that waits for confirmation', facts(readAt(fromNow(-23), { state: 'unconfirmed' })), 'complete'],
    [
      'whose ledger was made from snapshots, whole or not',
      facts(readAt(NOW, { state: 'unconfirmed', timeZone: undefined })),
      'unverified',
    ],
    [
      'that is complete, one minute before the grace period ends',
      facts(readAt(fromNow(-25.5 + 1 / 60))),
      'complete',
    ],
    ['that is complete, when the grace period ends', facts(readAt(fromNow(-25.5))), 'overdue'],
    [
      'whose reading began long before a run committed it',
      facts(readAt(fromNow(-99), { committedAt: fromNow(-1) })),
      'complete',
    ],
    [
      'whose reading was committed longer ago than the grace period',
      facts(readAt(fromNow(-99), { committedAt: fromNow(-2) })),
      'overdue',
    ],
    [
      'whose commit a clock ahead dated in the future',
      facts(readAt(fromNow(-99), { committedAt: fromNow(99) })),
      'overdue',
    ],
    [
      'that was read whole by other settings, longer ago than the grace period',
      facts(readAt(fromNow(-2), { queryFingerprint: 'once' })),
      'overdue',
    ],
    [
      'that was read whole by other settings, a moment ago',
      facts(readAt(NOW, { queryFingerprint: 'once' })),
      'complete',
    ],
    [
      'whose upstream day was read again a moment ago',
      facts(readAt(fromNow(-99), { state: 'settled', upstreamDigest: '1:ab' }), {
        upstream: upstream('2:cd', NOW),
      }),
      'settled',
    ],
    [
      'whose upstream day changed longer ago than the grace period',
      facts(readAt(fromNow(-99), { state: 'settled', upstreamDigest: '1:ab' }), {
        upstream: upstream('2:cd', fromNow(-2)),
      }),
      'overdue',
    ],
    [
      'whose upstream day is the same',
      facts(readAt(fromNow(-99), { state: 'settled', upstreamDigest: '1:ab' }), {
        upstream: upstream('1:ab', NOW),
      }),
      'settled',
    ],
    [
      'of a brand that the settings do not have',
      facts(readAt(fromNow(-999)), { policy: undefined }),
      'complete',
    ],
  ])('of a day %s', (_name, given, state) => {
    expect(stateOf(given)).toBe(state);
  });
});

describe('for every entry, policy and time', () => {
  const hours = fc.integer({ min: -24 * 40, max: 24 });
  const committed = fc.record({
    state: fc.constantFrom<VersionState>('open', 'unconfirmed', 'closed', 'settled'),
    timeZone: fc.constantFrom(policy.timeZone, policy.timeZone, undefined),
    rows: fc.constantFrom(0, 7),
    queryFingerprint: fc.constantFrom(policy.queryFingerprint, policy.queryFingerprint, 'once'),
    upstreamDigest: fc.constantFrom('1:ab', '2:cd'),
    readHours: hours,
  });
  const anyFacts = fc
    .record({
      committed: fc.option(committed, { nil: undefined }),
      isErased: fc.constantFrom(true, false, false, false, false, false, false),
      isClaimed: fc.boolean(),
      hasFailed: fc.boolean(),
      hasPolicy: fc.boolean(),
      hasReturnedRecords: fc.boolean(),
      maxGapMs: fc.constantFrom(HOUR_MS, DAY_MS, 31 * DAY_MS),
      upstream: fc.option(hours, { nil: undefined }),
      day: fc.constantFrom('2026-02-10', '2026-03-15', '2026-03-19', TODAY),
    })
    .map(
      ({
        committed: committedRead,
        isErased,
        isClaimed,
        hasFailed,
        hasPolicy,
        hasReturnedRecords,
        maxGapMs,
        day,
        ...rest
      }): KnownDay => {
        const committedEntry = (read: NonNullable<typeof committedRead>) => {
          const { readHours, ...change } = read;
          return readAt(fromNow(readHours), change);
        };
        return {
          day,
          entry: isErased
            ? { erasedAt: later }
            : {
                ...(committedRead && committedEntry(committedRead)),
                ...(isClaimed && { claim }),
                ...(hasFailed && { failure: failure(later) }),
              },
          policy: hasPolicy ? { ...policy, maxGapMs } : undefined,
          hasReturnedRecords,
          upstream: rest.upstream === undefined ? undefined : upstream('1:ab', fromNow(rest.upstream)),
        };
      },
    );

  it('exactly one state applies', () => {
    const seen = new Set<DayState>();
    fc.assert(
      fc.property(anyFacts, (given) => {
        const { committed: entry, claim: isClaimed, failure } = given.entry ?? {};
        const isLeftAsItIs = given.day < (given.policy?.startDate ?? '');
        const hasFailed = failure !== undefined && !isLeftAsItIs;
        const stored = entry && !hasFailed ? committedState(entry, given.hasReturnedRecords) : undefined;
        const overdueMs = overdueAtMs(given, NOW_MS);
        const isOverdue = overdueMs !== null && overdueMs <= NOW_MS;
        const conditions: Record<DayState, boolean> = {
          failed: hasFailed,
          missing: !hasFailed && !entry && !isClaimed && given.entry?.erasedAt === undefined,
          erased: !hasFailed && !entry && !isClaimed && given.entry?.erasedAt !== undefined,
          in_progress: !hasFailed && !entry && isClaimed !== undefined,
          unverified: stored === 'unverified',
          overdue: stored !== undefined && isOverdue,
          open: stored === 'open' && !isOverdue,
          complete: stored === 'complete' && !isOverdue,
          settled: stored === 'settled' && !isOverdue,
        };
        const state = stateOf(given);
        const holding = Object.entries(conditions).flatMap(([each, holds]) => (holds ? [each] : []));
        expect(holding).toEqual([state]);
        seen.add(state);
      }),
      // So many that each state is met: three in a hundred cases are overdue.
      runs(2500),
    );
    expect([...seen].sort()).toEqual(Object.keys(DAY_STATES).sort());
  });

  it('a day is overdue only while it is due, and never within the grace period after a reading', () => {
    fc.assert(
      fc.property(anyFacts, (given) => {
        if (stateOf(given) !== 'overdue') return;
        const { entry, policy: own, day } = given;
        if (!own || !entry?.committed) throw new Error('a day without a policy or a version was overdue');
        const dueMs = dueAtMs(day, entry, own, NOW_MS, given.upstream);
        expect(dueMs).not.toBeNull();
        expect(dueMs).toBeLessThanOrEqual(NOW_MS);
        expect(NOW_MS - Date.parse(entry.committed.readFrom)).toBeGreaterThanOrEqual(2 * own.maxGapMs);
      }),
      runs(250),
    );
  });
});
