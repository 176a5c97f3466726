import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type DayEvent,
  EVENTS,
  FACTS,
  type Fact,
  MAX_LAST_TRIES,
  type Reading,
  STATES,
  type State,
  TRANSITIONS,
  type VersionBefore,
  afterCommand,
  afterReading,
  outcomeOf,
} from '../../shared/planning/transitions.ts';
import { runs } from '../fixtures/property-runs.ts';

const states = Object.keys(STATES) as State[];
const events = Object.keys(EVENTS) as DayEvent[];
const facts = Object.keys(FACTS) as Fact[];
const cells = states.flatMap((state) => events.map((event) => [state, event] as const));

const version = (change: Partial<VersionBefore> = {}): VersionBefore => ({
  ...{ state: 'closed', rows: 5, digest: '5:ab', queryFingerprint: 'q', timeZone: 'UTC' },
  ...change,
});
const whole = (change: Partial<Extract<Reading, { kind: 'whole' | 'open' }>> = {}): Reading => ({
  ...{ kind: 'whole', rows: 5, digest: '5:cd', queryFingerprint: 'q', isAlone: false, isAccepted: false },
  ...change,
});
const early = { last: false, past: false };
const past = { last: false, past: true };
const last = { last: true, past: true };

describe('the table of states', () => {
  it.each(cells)(
    'has one outcome for all other cases, after the outcomes with conditions: %s × %s',
    (state, event) => {
      const outcomes = TRANSITIONS[state][event];
      expect(outcomes.map(({ when }) => when === undefined)).toEqual(
        outcomes.map((_, at) => at === outcomes.length - 1),
      );
    },
  );

  it.each(states.filter((state) => state !== 'settled'))('has a way out of %s to settled', (state) => {
    const reached = new Set<string>([state]);
    for (const from of reached)
      if (from !== 'refused')
        for (const event of events)
          for (const { to } of TRANSITIONS[from as State][event]) if (to !== from) reached.add(to);
    expect(reached).toContain('settled');
  });

  it('never returns from a version of the whole day to a part of it', () => {
    const isPart = (state: State, event: DayEvent) =>
      TRANSITIONS[state][event].some(({ to, when }) => to === 'open' && !when?.includes('unknown'));
    const wholes = (['unconfirmed', 'closed', 'settled'] as const).flatMap((state) =>
      events.filter((event) => isPart(state, event)),
    );
    expect(wholes).toEqual([]);
  });

  it('keeps records if a reading is empty, or has fewer after `refresh`, unless fewer are accepted', () => {
    const lost = fc.record({
      state: fc.constantFrom<State>('open', 'unconfirmed', 'closed', 'settled'),
      known: fc.subarray(facts.filter((fact) => fact !== 'accepted')),
    });
    fc.assert(
      fc.property(lost, ({ state, known }) => {
        const set = Object.fromEntries(known.map((fact) => [fact, true]));
        for (const [event, given] of [
          ['none', set],
          ['fewer', { ...set, past: true, gap: false }],
        ] as const) {
          expect(outcomeOf(state, event, given).keeps).toBe(true);
          expect(outcomeOf(state, event, { ...given, accepted: true }).keeps).toBeUndefined();
        }
        expect(outcomeOf('open', 'read_open', { ...set, lost: true })).toEqual({
          to: 'open',
          keeps: true,
          when: ['lost'],
        });
        expect(outcomeOf('settled', 'fewer', set)).toMatchObject({ to: 'settled', keeps: true });
      }),
    );
    expect(outcomeOf('unconfirmed', 'fewer', { past: true, gap: true }).keeps).toBeUndefined();
    expect(outcomeOf('open', 'none', { past: true, last: true })).toMatchObject({
      to: 'settled',
      keeps: true,
    });
  });
});

describe('a reading', () => {
  it.each<[string, VersionBefore | undefined, Reading, typeof early, object | undefined]>([
    ['the first reading, of one page', undefined, whole({ isAlone: true }), early, { state: 'closed' }],
    ['the first reading, of several pages', undefined, whole(), early, { state: 'unconfirmed' }],
    ['the first reading, without records', undefined, whole({ rows: 0 }), early, { state: 'unconfirmed' }],
    ['the first reading, of the open day', undefined, whole({ kind: 'open' }), early, { state: 'open' }],
    ['the last reading, of one page', version(), whole({ isAlone: true }), last, { state: 'settled' }],
    [
      'a reading that agrees',
      version({ state: 'unconfirmed', contradictions: 2 }),
      whole({ digest: '5:ab' }),
      early,
      { state: 'closed' },
    ],
    ['the last reading, which agrees', version(), whole({ digest: '5:ab' }), last, { state: 'settled' }],
    [
      'a reading with fewer records, of one page',
      version(),
      whole({ rows: 4, isAlone: true }),
      early,
      { state: 'unconfirmed' },
    ],
    [
      'a reading with fewer records, by another filter',
      version(),
      whole({ rows: 4, isAlone: true, queryFingerprint: 'r' }),
      early,
      { state: 'closed' },
    ],
    [
      'a reading with fewer records, by another time zone, after `refresh`',
      version(),
      whole({ rows: 4, isAlone: true, queryFingerprint: 'r' }),
      past,
      { state: 'closed', contradictions: 1 },
    ],
    [
      'a contradicting reading',
      version({ state: 'unconfirmed' }),
      whole(),
      early,
      { state: 'unconfirmed', contradictions: 1 },
    ],
    [
      'the third contradicting reading',
      version({ state: 'unconfirmed', contradictions: 2 }),
      whole(),
      early,
      { state: 'closed', contradictions: 3 },
    ],
    [
      'the last reading, without records, of a version that may lack some',
      version({ state: 'unconfirmed', mayHaveGap: true }),
      whole({ rows: 0 }),
      last,
      { state: 'unconfirmed', contradictions: 1 },
    ],
    [
      'the twelfth contradicting reading',
      version({ contradictions: 11 }),
      whole(),
      last,
      { state: 'settled', contradictions: 12 },
    ],
    [
      'the twelfth failed reading',
      version({ contradictions: 11 }),
      { kind: 'failed' },
      last,
      { state: 'settled', contradictions: 12 },
    ],
    [
      'a failed reading before `refresh` ends',
      version({ contradictions: 1 }),
      { kind: 'failed' },
      early,
      { state: 'closed', contradictions: 1 },
    ],
    [
      'a failed reading of an unconfirmed day before `refresh` ends',
      version({ state: 'unconfirmed', contradictions: 2 }),
      { kind: 'failed' },
      early,
      { state: 'unconfirmed', contradictions: 2 },
    ],
    ['a failed reading of a day that was never read', undefined, { kind: 'failed' }, last, undefined],
    [
      'a reading without records, by other settings',
      version(),
      whole({ rows: 0, isAlone: true, queryFingerprint: 'r' }),
      early,
      { state: 'closed' },
    ],
    [
      'the third reading without records of an unconfirmed day',
      version({ state: 'unconfirmed', contradictions: 2 }),
      whole({ rows: 0, isAlone: true }),
      early,
      { state: 'closed', contradictions: 3 },
    ],
    [
      'a reading without records of the open day',
      version({ state: 'open' }),
      whole({ rows: 0, kind: 'open' }),
      early,
      { state: 'open' },
    ],
    [
      'an unconfirmed day with fewer records after `refresh`',
      version({ state: 'unconfirmed' }),
      whole({ rows: 4, isAlone: true }),
      last,
      { state: 'unconfirmed', contradictions: 1 },
    ],
    [
      'a reading with fewer records after `refresh`',
      version(),
      whole({ rows: 4, isAlone: true }),
      past,
      { state: 'closed', contradictions: 1 },
    ],
    [
      'a reading without records after `refresh`',
      version(),
      whole({ rows: 0 }),
      past,
      { state: 'closed', contradictions: 1 },
    ],
    [
      'the last reading, without records',
      version(),
      whole({ rows: 0 }),
      last,
      { state: 'settled', contradictions: 1 },
    ],
    [
      'an accepted reading without records',
      version({ state: 'settled' }),
      whole({ rows: 0, isAccepted: true }),
      last,
      { state: 'settled' },
    ],
    [
      'a reading of a settled day with fewer records, by another filter',
      version({ state: 'settled' }),
      whole({ rows: 4, queryFingerprint: 'r' }),
      last,
      { state: 'settled' },
    ],
    [
      'a reading, with fewer records, of a day whose ledger was made from snapshots, after `refresh`',
      version({ state: 'unconfirmed', timeZone: undefined, queryFingerprint: '' }),
      whole({ rows: 4, isAlone: true }),
      past,
      { state: 'closed', contradictions: 1 },
    ],
    [
      'a reading of a day that is not over and whose ledger was made from snapshots',
      version({ state: 'unconfirmed', timeZone: undefined }),
      whole({ kind: 'open' }),
      early,
      { state: 'open' },
    ],
    [
      'a reading of a closed day by a clock that is behind',
      version(),
      whole({ kind: 'open' }),
      early,
      undefined,
    ],
  ])('leads to the next state: %s', (_name, before, reading, policy, recorded) => {
    expect(afterReading(before, reading, policy)?.recorded).toEqual(recorded);
  });

  it('settles a day with a whole version after at most twelve failed or contradicting readings, in any order', () => {
    const answers = fc.array(
      fc.constantFrom<Reading>(
        { kind: 'failed' },
        whole(),
        whole({ rows: 4 }),
        whole({ rows: 6, digest: '6:' }),
        whole({ rows: 0, digest: '0:' }),
        whole({ rows: 6, digest: '6:', queryFingerprint: 'r', isAlone: true }),
      ),
      { minLength: 2 * MAX_LAST_TRIES, maxLength: 2 * MAX_LAST_TRIES },
    );
    fc.assert(
      fc.property(
        answers,
        fc.constantFrom<VersionBefore['state']>('unconfirmed', 'closed'),
        (readings, state) => {
          let before = version({ state });
          let reread = 0;
          for (const reading of readings) {
            const next = afterReading(before, reading, last);
            if (!next || before.state === 'settled') break;
            reread += 1;
            const content = reading.kind === 'failed' || next.outcome.keeps ? before : reading;
            const { rows, digest, queryFingerprint } = content;
            before = { ...version({ rows, digest, queryFingerprint }), ...next.recorded };
            expect(before.rows).toBeGreaterThan(0);
          }
          expect(before.state).toBe('settled');
          expect(reread).toBeLessThanOrEqual(MAX_LAST_TRIES);
        },
      ),
      runs(100),
    );
  });
});

describe('a version that is replaced without a reading', () => {
  it.each<[VersionBefore['state'], 'rolled_back' | 'rebuilt', VersionBefore['state']]>([
    ['open', 'rolled_back', 'open'],
    ['unconfirmed', 'rolled_back', 'closed'],
    ['closed', 'rolled_back', 'closed'],
    ['settled', 'rolled_back', 'settled'],
    ['unconfirmed', 'rebuilt', 'unconfirmed'],
    ['settled', 'rebuilt', 'settled'],
  ])('keeps its state, or closes after a rollback: %s, %s: %s', (state, event, to) => {
    const before = version({ state, contradictions: 2 });
    expect(afterCommand(before, event)?.recorded).toEqual({
      state: to,
      // The next reading is compared with the version that a person has chosen.
      ...(event === 'rebuilt' && { contradictions: 2 }),
    });
  });
});
