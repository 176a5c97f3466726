/*
 * Decides how each event changes the state of a day's version: the complete table, state × event. Readings, rollbacks,
 * and rebuilds all use it. If one of them had rules of its own, records would sooner or later be lost: before
 * this table existed, every proven defect came from two copies of a rule that differed slightly. Time alone changes no
 * state. Everything is pure; `npm run reference` writes docs/reference/states.md from it.
 */

export const STATES = {
  missing: 'the day has no version',
  open: 'read before the day was over; the version has every record up to a stated time',
  unconfirmed: 'read whole after the end of the day; a second reading has to agree',
  closed: 'read whole after the end of the day, and believed; `refresh` decides when the day is read again',
  settled: 'no further reading is planned',
} as const;

export type State = keyof typeof STATES;
export type VersionState = Exclude<State, 'missing'>;

/** Every event of a day. A reading is compared with the version; the first of these descriptions that fits counts. */
export const EVENTS = {
  read_open: 'a reading that began before the day was over',
  equal: 'a reading with the content of the version',
  none: 'a reading without records',
  fewer: 'a reading with fewer records than the version has rows',
  query_changed:
    'a reading with records, with other settings than the version; after `refresh`, not with fewer',
  different: 'any other reading',
  failed: 'a reading that failed',
  rolled_back: '`rollback` published an older version',
  rebuilt: '`rebuild` made the version from its raw records',
} as const;

export type DayEvent = keyof typeof EVENTS;

export const FACTS = {
  alone:
    'one reading suffices: no record can have been skipped between two of its pages and, in the last reading, between two queries or runs',
  last: 'the policy plans no further reading',
  past: 'the day is older than `refresh`',
  lost: 'the reading has no records, and the version has some',
  accepted:
    'the reading was started with `--accept-fewer`, or another day has each record that it lacks, by a later reading',
  gap: 'a record may have been skipped between two pages of the version',
  unknown: 'the ledger was made from snapshots, so it is not known how the version was read',
  third: 'at least three readings in a row contradicted each other, before `refresh` ends',
  twelfth: 'after `refresh`, twelve readings in a row failed or contradicted the version',
} as const;

export type Fact = keyof typeof FACTS;
export type Facts = Readonly<Partial<Record<Fact, boolean>>>;

export interface Outcome {
  /** The outcome applies if all of these facts hold; missing: it applies in all other cases. */
  when?: readonly Fact[];
  /** `refused`: nothing changes. */
  to: State | 'refused';
  /** The reading, and with it the version, needs no other reading to agree. */
  believed?: true;
  /** The version stays, although the reading differs from it. */
  keeps?: true;
}

type Outcomes = readonly Outcome[];

const REFUSED: Outcomes = [{ to: 'refused' }];
const BELIEVED: Outcomes = [
  { when: ['last'], to: 'settled', believed: true },
  { to: 'closed', believed: true },
];
const ALONE: Outcomes = only(['alone'], BELIEVED);
const ACCEPTED: Outcomes = only(['accepted'], BELIEVED);
const KEPT: Outcomes = [
  { when: ['last'], to: 'settled', keeps: true },
  { to: 'closed', keeps: true },
];
const GIVEN_UP: Outcomes = [{ when: ['twelfth'], to: 'settled', keeps: true }];
const DOUBTED: Outcomes = [...GIVEN_UP, { to: 'unconfirmed' }];
const CONTRADICTED: Outcomes = [...GIVEN_UP, { when: ['third'], to: 'closed' }, { to: 'unconfirmed' }];
const UNCONFIRMED: Outcomes = CONTRADICTED.map((outcome): Outcome => ({ ...outcome, keeps: true }));
/** A reading without records never replaces records, whatever the state, the age or the settings of the day. */
const STAYS: Outcomes = [...ACCEPTED, ...KEPT];
/** Its records can no longer change: if a reading now has fewer records, the service has deleted the others. */
const STAYS_SETTLED: Outcomes = [...ACCEPTED, { to: 'settled', keeps: true }];
/** No reading of the whole day is in the lake yet, so later readings go on, as long as the policy plans any. */
const STAYS_OPEN: Outcomes = [
  ...ACCEPTED,
  { when: ['last'], to: 'settled', keeps: true },
  { to: 'open', keeps: true },
];

export const TRANSITIONS: Readonly<Record<State, Readonly<Record<DayEvent, Outcomes>>>> = {
  missing: {
    read_open: [{ to: 'open' }],
    equal: REFUSED,
    none: [{ to: 'unconfirmed' }],
    fewer: REFUSED,
    query_changed: REFUSED,
    different: [...ALONE, { to: 'unconfirmed' }],
    failed: [{ to: 'missing' }],
    rolled_back: REFUSED,
    rebuilt: REFUSED,
  },
  open: {
    read_open: [
      { when: ['accepted'], to: 'open' },
      { when: ['lost'], to: 'open', keeps: true },
      { to: 'open' },
    ],
    equal: BELIEVED,
    none: STAYS_OPEN,
    fewer: [...only(['past'], STAYS_OPEN), ...ACCEPTED, { to: 'unconfirmed' }],
    query_changed: [...ALONE, { to: 'unconfirmed' }],
    different: [...ALONE, { to: 'unconfirmed' }],
    failed: [{ to: 'open' }],
    rolled_back: [{ to: 'open' }],
    rebuilt: [{ to: 'open' }],
  },
  unconfirmed: {
    read_open: [
      { when: ['unknown', 'lost'], to: 'unconfirmed', keeps: true },
      { when: ['unknown'], to: 'open' },
      ...REFUSED,
    ],
    equal: BELIEVED,
    none: [...ACCEPTED, ...only(['past', 'gap'], UNCONFIRMED), ...only(['past'], KEPT), ...UNCONFIRMED],
    fewer: [
      ...only(['unknown', 'past'], STAYS),
      ...ACCEPTED,
      // Fewer records may still be other ones.
      ...only(['past', 'gap'], CONTRADICTED),
      ...only(['past'], UNCONFIRMED),
      ...CONTRADICTED,
    ],
    query_changed: [...ALONE, { to: 'unconfirmed' }],
    different: [...ALONE, ...CONTRADICTED],
    failed: [...GIVEN_UP, { to: 'unconfirmed' }],
    rolled_back: [{ to: 'closed' }],
    rebuilt: [{ to: 'unconfirmed' }],
  },
  closed: {
    read_open: REFUSED,
    equal: BELIEVED,
    none: STAYS,
    fewer: [...only(['past'], STAYS), ...ACCEPTED, { to: 'unconfirmed' }],
    query_changed: [...ALONE, { to: 'unconfirmed' }],
    different: [...ALONE, ...DOUBTED],
    failed: [...GIVEN_UP, { to: 'closed' }],
    rolled_back: [{ to: 'closed' }],
    rebuilt: [{ to: 'closed' }],
  },
  settled: {
    read_open: REFUSED,
    equal: BELIEVED,
    none: STAYS_SETTLED,
    fewer: STAYS_SETTLED,
    query_changed: [...ALONE, { to: 'unconfirmed' }],
    different: [...ALONE, { to: 'unconfirmed' }],
    failed: [{ to: 'settled' }],
    rolled_back: [{ to: 'settled' }],
    rebuilt: [{ to: 'settled' }],
  },
};

function only(facts: readonly Fact[], outcomes: Outcomes): Outcomes {
  return outcomes.map(({ when = [], ...outcome }) => ({ ...outcome, when: [...facts, ...when] }));
}

export function outcomeOf(state: State, event: DayEvent, facts: Facts): Outcome {
  const outcome = TRANSITIONS[state][event].find(({ when = [] }) => when.every((fact) => facts[fact]));
  if (!outcome) throw new Error(`${state} × ${event} has no outcome for all other cases`);
  return outcome;
}

/** After this many contradictions in a row, only the policy re-reads the day: some field differs in every reading. */
export const MAX_CONTRADICTIONS = 3;
/** After this many failed or contradicting readings in a row after `refresh`, about three days, the day is given up. */
export const MAX_LAST_TRIES = 12;

interface Content {
  rows: number;
  digest: string;
  queryFingerprint: string;
}

export type Reading =
  | (Content & { kind: 'whole' | 'open'; isAlone: boolean; isAccepted: boolean })
  | { kind: 'failed' };

/** The version that is read again, and how many of its last readings failed or contradicted it. */
export interface VersionBefore extends Content {
  state: VersionState;
  contradictions?: number | undefined;
  /** Missing if the ledger was made from snapshots. */
  timeZone?: string | undefined;
  mayHaveGap?: true | undefined;
}

export interface Next {
  outcome: Outcome;
  recorded: { state: VersionState; contradictions?: number };
}

/** @returns `undefined` if the reading is refused, or the day still has no version */
export function afterReading(
  before: VersionBefore | undefined,
  reading: Reading,
  policy: { last: boolean; past: boolean },
): Next | undefined {
  const state = before?.state ?? 'missing';
  const event = eventOf(reading, before, policy.past);
  // After a day has settled, readings with fewer records do not change whether the policy settled it or it was given up.
  const isDoubtful = state === 'unconfirmed' || (policy.past && state !== 'settled');
  // Before `refresh` ends, a failed reading does not count as a contradiction.
  const counts =
    isDoubtful && (['none', 'fewer', 'different'].includes(event) || (event === 'failed' && policy.past));
  const count = (before?.contradictions ?? 0) + (counts ? 1 : 0);
  const outcome = outcomeOf(state, event, {
    ...policy,
    alone: reading.kind !== 'failed' && reading.isAlone,
    lost: reading.kind !== 'failed' && reading.rows === 0 && (before?.rows ?? 0) > 0,
    accepted: reading.kind !== 'failed' && reading.isAccepted,
    gap: before?.mayHaveGap ?? false,
    unknown: before !== undefined && before.timeZone === undefined,
    third: !policy.past && count >= MAX_CONTRADICTIONS,
    twelfth: policy.past && count >= MAX_LAST_TRIES,
  });
  const inRow = policy.past ? count : Math.min(count, MAX_CONTRADICTIONS);
  return nextOf(outcome, outcome.believed ? 0 : inRow);
}

export function afterCommand(before: VersionBefore, event: 'rolled_back' | 'rebuilt'): Next | undefined {
  // After a rollback the next reading is compared with the older version: a difference is expected, no contradiction.
  const contradictions = event === 'rolled_back' ? 0 : (before.contradictions ?? 0);
  return nextOf(outcomeOf(before.state, event, {}), contradictions);
}

function nextOf(outcome: Outcome, contradictions: number): Next | undefined {
  const { to } = outcome;
  if (to === 'refused' || to === 'missing') return undefined;
  return { outcome, recorded: { state: to, ...(contradictions > 0 && { contradictions }) } };
}

/** How a day settled: by the policy, or given up because its last readings failed or contradicted it. */
export function settledBy(version: Pick<VersionBefore, 'contradictions'>): 'policy' | 'given_up' {
  return version.contradictions ? 'given_up' : 'policy';
}

function eventOf(reading: Reading, before: VersionBefore | undefined, isPast: boolean): DayEvent {
  if (reading.kind === 'failed') return 'failed';
  if (reading.kind === 'open') return 'read_open';
  if (before && (reading.digest === before.digest || reading.rows + before.rows === 0)) return 'equal';
  if (reading.rows === 0) return 'none';
  if (!before) return 'different';
  const isSameQuery = before.timeZone === undefined || reading.queryFingerprint === before.queryFingerprint;
  // A changed setting must not remove rows that can no longer change.
  if (reading.rows < before.rows && (isSameQuery || isPast || before.state === 'settled')) return 'fewer';
  return isSameQuery ? 'different' : 'query_changed';
}
