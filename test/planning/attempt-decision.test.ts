import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Claim, Committed, DayEntry } from '../../shared/lake/documents/ledger.ts';
import type { Progress, Slice, SlicePart } from '../../shared/lake/documents/progress.ts';
import {
  type DaySituation,
  asResumed,
  attemptToContinue,
  decideAttempt,
  slicesAfterRestart,
} from '../../shared/planning/attempt-decision.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';

const DAY = '2026-03-10';
const at = (time: string, day = DAY) => `${day}T${time}:00.000Z`;
const NEXT_DAY = '2026-03-11';

const { acme } = parseSettings(
  {
    brands: {
      acme: {
        baseUrl: 'https://service.example/api',
        service: 'S',
        timeZone: 'UTC',
        startDate: '2026-01-01',
        secretName: 'none',
        reports: { clicks_detail: { enabled: true } },
      },
    },
  },
  reports,
).brands;

/** Ten o'clock of the day, unless `now` says otherwise. */
function situation(name: string, now = at('10:00'), change: Partial<DaySituation> = {}): DaySituation {
  const report = reports[name];
  const settings = acme?.reports[name];
  if (!acme || !report || !settings) throw new Error(`no ${name}`);
  return {
    day: DAY,
    nowMs: Date.parse(now),
    report,
    brandSettings: acme,
    settings,
    queryFingerprint: 'as-now',
    upstream: undefined,
    onlyRefusedDue: false,
    isRequested: false,
    ...change,
  };
}

const part: SlicePart = {
  role: 'include',
  fields: {},
  cursor: 2,
  seen: [],
  pages: 1,
  recordPages: 0,
  records: 0,
  chunks: [],
  done: false,
};

/** A slice with one page staged, at the time when its reading began. */
function slice(from: string, to: string, change: Partial<Slice> = {}): Slice {
  return {
    fromMs: Date.parse(from),
    toMs: Date.parse(to),
    whole: true,
    startedAt: to,
    parts: [part],
    observations: {},
    withoutKey: 0,
    done: false,
    ...change,
  };
}

function progress(slices: Slice[], change: Partial<Progress> = {}): Progress {
  return { version: 1, queryFingerprint: 'as-now', slices, recentWrites: [], ...change };
}

const claim: Claim = { attempt: 'a1', runId: 'r1', at: at('09:00'), restarts: 0 };

function committed(change: Partial<Committed> = {}): Committed {
  return {
    snapshot: 's1',
    published: true,
    rows: 1,
    bytes: 1,
    digest: '1:ab',
    state: 'open',
    attempt: 'a1',
    pages: 1,
    readFrom: at('09:00'),
    readTo: at('09:00'),
    queryFingerprint: 'as-now',
    ...change,
  };
}

const upstream = { snapshot: 'u1', digest: '1:cd', bytes: 1, closed: false };
const staged = slice(at('00:00'), at('09:00'));
const finished = slice(at('00:00'), at('09:00'), { done: true });
const lookedUp: Slice = {
  ...staged,
  upstream,
  parts: [{ ...part, cursor: 50, records: 50 }],
};
const pass = slice(at('00:00'), at('00:00', NEXT_DAY), { startedAt: at('01:00', NEXT_DAY) });

describe('the attempt that a claim continues', () => {
  it.each<[string, DayEntry, DaySituation, string | undefined]>([
    ['the claimed one', { claim }, situation('order_list'), 'a1'],
    [
      'the committed one of the open day that grows',
      { committed: committed() },
      situation('clicks_list'),
      'a1',
    ],
    [
      'none, where each run reads the whole open day',
      { committed: committed() },
      situation('order_list'),
      undefined,
    ],
    [
      'none, where the settings now lead to other queries',
      { committed: committed({ queryFingerprint: 'before' }) },
      situation('clicks_list'),
      undefined,
    ],
    [
      'none, where the day is over',
      { committed: committed() },
      situation('clicks_list', at('01:00', NEXT_DAY)),
      undefined,
    ],
    [
      'the committed one of a day of lookups, open or closed',
      { committed: committed({ state: 'closed' }) },
      situation('clicks_detail', at('10:00', NEXT_DAY), { upstream }),
      'a1',
    ],
    [
      'none of a day of lookups that was asked for by name',
      { committed: committed() },
      situation('clicks_detail', at('10:00'), { upstream, isRequested: true }),
      undefined,
    ],
    [
      'none of such a day, though a run was at it and has died',
      { claim, committed: committed() },
      situation('clicks_detail', at('10:00'), { upstream, isRequested: true }),
      undefined,
    ],
    [
      'the claimed one of such a day, where a run of that range began it',
      { claim: { ...claim, attempt: 'a2' }, committed: committed() },
      situation('clicks_detail', at('10:00'), { upstream, isRequested: true }),
      'a2',
    ],
    [
      'none of a day of lookups, where the settings now lead to other queries',
      { committed: committed({ queryFingerprint: 'before' }) },
      situation('clicks_detail', at('10:00'), { upstream }),
      undefined,
    ],
    [
      'none, where the day was closed before',
      { committed: committed({ state: 'closed' }) },
      situation('clicks_list'),
      undefined,
    ],
  ])('is %s', (_name, entry, now, attempt) => {
    expect(attemptToContinue(entry, now)).toBe(attempt);
  });
});

describe('a claim', () => {
  it.each<[string, DayEntry, Progress, DaySituation, string]>([
    [
      'of the open day appends to what is committed',
      { committed: committed() },
      progress([finished]),
      situation('clicks_list'),
      'append',
    ],
    [
      'of the open day starts where the committed chunks have expired',
      { committed: committed() },
      progress([]),
      situation('clicks_list'),
      'start',
    ],
    [
      'I4: resumes what is complete but not committed',
      { claim },
      progress([finished]),
      situation('order_list'),
      'resume',
    ],
    [
      'I2: of a closed day resumes a pass that began after its end',
      { claim },
      progress([pass]),
      situation('order_list', at('03:00', NEXT_DAY)),
      'resume',
    ],
    [
      'I4: resumes a pass of any age whose last page was staged recently',
      { claim },
      progress([slice(at('00:00'), at('01:00'), { stagedAt: at('04:00') })]),
      situation('order_list'),
      'resume',
    ],
    [
      'starts where no page was staged',
      { claim },
      progress([{ ...staged, parts: [{ ...part, pages: 0 }] }]),
      situation('order_list'),
      'start',
    ],
    [
      'appends where the last slice is committed already',
      { claim, committed: committed() },
      progress([finished]),
      situation('clicks_list'),
      'append',
    ],
    [
      'of a lookup resumes however old it is, and also when the day is over',
      { claim },
      progress([finished, { ...staged, upstream }]),
      situation('clicks_detail', at('09:00', NEXT_DAY), { upstream }),
      'resume',
    ],
    [
      'of a lookup goes on where its upstream day has another snapshot',
      { claim },
      progress([lookedUp]),
      situation('clicks_detail', at('10:00'), { upstream: { ...upstream, snapshot: 'u2', digest: '2:ef' } }),
      'append',
    ],
    [
      'of a lookup goes on where its upstream day was closed since',
      { claim },
      progress([lookedUp]),
      situation('clicks_detail', at('10:00'), { upstream: { ...upstream, closed: true } }),
      'append',
    ],
    [
      'of a lookup starts where nothing was looked up yet, and its upstream day has another snapshot',
      { claim },
      progress([{ ...staged, upstream, parts: [{ ...part, pages: 0 }] }]),
      situation('clicks_detail', at('10:00'), { upstream: { ...upstream, snapshot: 'u2' } }),
      'start',
    ],
    [
      'of a day whose refused lookups are due appends to what is committed',
      { committed: committed({ state: 'closed' }) },
      progress([{ ...lookedUp, done: true }]),
      situation('clicks_detail', at('10:00', NEXT_DAY), { upstream, onlyRefusedDue: true }),
      'append',
    ],
    [
      'I4: resumes what another attempt than the claimed one has committed a later reading of',
      { claim, committed: committed({ attempt: 'a0' }) },
      progress([finished]),
      situation('clicks_list'),
      'resume',
    ],
    [
      'I4: resumes a slice of which one part is still to be read',
      { claim },
      progress([
        {
          ...staged,
          parts: [
            { ...part, done: true },
            { ...part, pages: 0 },
          ],
        },
      ]),
      situation('order_list'),
      'resume',
    ],
    [
      'I4: resumes an unfinished slice, whatever was committed meanwhile',
      { claim, committed: committed() },
      progress([staged]),
      situation('clicks_list'),
      'resume',
    ],
    [
      'I4: resumes a finished slice of what is behind the last commit',
      { claim, committed: committed({ readTo: at('08:59') }) },
      progress([finished]),
      situation('clicks_list'),
      'resume',
    ],
    [
      'I4: resumes what began and was staged at this very moment',
      { claim },
      progress([slice(at('00:00'), at('10:00'))]),
      situation('order_list'),
      'resume',
    ],
    [
      'I2: resumes a pass that began at the first instant after its day',
      { claim },
      progress([{ ...pass, startedAt: at('00:00', NEXT_DAY) }]),
      situation('order_list', at('03:00', NEXT_DAY)),
      'resume',
    ],
    [
      'of a lookup that began at this very moment appends where its upstream day has another snapshot',
      { claim },
      progress([{ ...lookedUp, startedAt: at('10:00') }]),
      situation('clicks_detail', at('10:00'), { upstream: { ...upstream, snapshot: 'u2' } }),
      'append',
    ],
    [
      'of a lookup appends where a clock ahead has dated what is committed later than it began',
      { claim, committed: committed({ readFrom: at('09:30') }) },
      progress([lookedUp]),
      situation('clicks_detail', at('10:00'), { upstream }),
      'append',
    ],
    [
      'of a lookup starts where there is no upstream day any more',
      { claim },
      progress([lookedUp]),
      situation('clicks_detail'),
      'start',
    ],
  ])('%s, decided without I/O', (_name, entry, staged, now, kind) => {
    expect(decideAttempt(entry, staged, now).kind).toBe(kind);
  });

  it.each<[name: string, Progress, DaySituation, obstacle: string, committed?: Committed]>([
    [
      'the settings now lead to other queries',
      progress([staged], { queryFingerprint: 'before' }),
      situation('order_list'),
      'queries_changed',
    ],
    [
      'its last page is older than resumeWithinHours',
      progress([slice(at('00:00'), at('03:00'), { stagedAt: at('03:59') })]),
      situation('order_list'),
      'too_old',
    ],
    [
      'a lookup began at a time that is still to come',
      progress([{ ...lookedUp, startedAt: at('10:01') }]),
      situation('clicks_detail', at('10:00'), { upstream }),
      'started_in_the_future',
    ],
    [
      'a clock ahead has dated what is committed later than it began',
      progress([slice(at('00:00'), at('09:30'))]),
      situation('order_list'),
      'older_than_committed',
      committed({ attempt: 'a0', readFrom: at('09:45') }),
    ],
    [
      'I2: the day has ended and slices would be mixed with the pass',
      progress([finished, pass]),
      situation('order_list', at('03:00', NEXT_DAY)),
      'day_has_ended',
    ],
    [
      'I2: the day ends at this very moment',
      progress([slice(at('00:00'), at('23:00'))]),
      situation('order_list', at('00:00', NEXT_DAY)),
      'day_has_ended',
    ],
  ])('restarts where %s', (_name, staged, now, obstacle, ...[before]) => {
    const entry = { claim, ...(before && { committed: before }) };
    expect(decideAttempt(entry, staged, now)).toMatchObject({ kind: 'restart', obstacle });
  });
});

describe('any decision', () => {
  const minutes = fc.nat(36 * 60);
  const instant = minutes.map((after) => new Date(Date.parse(at('00:00')) + after * 60_000).toISOString());
  const anySlice = fc
    .record({ startedAt: instant, stagedAt: fc.option(instant), pages: fc.nat(2), done: fc.boolean() })
    .map(({ startedAt, stagedAt, pages, done }) =>
      slice(at('00:00'), startedAt, {
        parts: [{ ...part, pages: done ? pages + 1 : pages, done }],
        done,
        ...(stagedAt !== null && { stagedAt }),
      }),
    );
  const given = fc.record({
    name: fc.constantFrom('order_list', 'clicks_list', 'clicks_detail'),
    slices: fc.array(anySlice, { maxLength: 3 }),
    claimed: fc.boolean(),
    committedTo: fc.option(instant),
    isUpstreamClosed: fc.boolean(),
    now: instant,
  });
  const pagesOf = (slices: readonly Slice[]) =>
    slices.flatMap(({ parts }) => parts).reduce((sum, { pages }) => sum + pages, 0);

  it('I1: drops pages that are not committed only as a restart, which is counted, and resumes only recent ones', () => {
    fc.assert(
      fc.property(given, ({ name, slices, claimed, committedTo, isUpstreamClosed, now }) => {
        const own = { ...upstream, closed: isUpstreamClosed };
        const day = situation(name, now, name === 'clicks_detail' ? { upstream: own } : {});
        const entry: DayEntry = {
          ...(claimed && { claim }),
          ...(committedTo !== null && { committed: committed({ readTo: committedTo }) }),
        };
        const decision = decideAttempt(entry, progress(slices), day);
        const next = decision.slices.at(-1);
        if (decision.kind === 'resume') {
          expect(decision.slices).toEqual(slices);
          const times = [next?.startedAt, next?.stagedAt ?? next?.startedAt].map((time) =>
            Date.parse(time ?? ''),
          );
          expect(times[0]).toBeLessThanOrEqual(day.nowMs);
          expect(day.nowMs - (times[1] ?? 0)).toBeLessThanOrEqual(6 * 3_600_000);
          return;
        }
        expect(next).toMatchObject({ startedAt: new Date(day.nowMs).toISOString(), done: false });
        expect(next?.toMs).toBeLessThanOrEqual(day.nowMs);
        expect(pagesOf(next ? [next] : [])).toBe(0);
        const isUncommitted = claimed && committedTo === null;
        // What a clock that was ahead has looked up is dropped.
        const isBegun = ({ startedAt }: Slice) => Date.parse(startedAt) <= day.nowMs;
        if (decision.kind === 'append' && isUncommitted)
          expect(pagesOf(decision.slices)).toBe(pagesOf(slices.filter(isBegun)));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the slices to read', () => {
  const window = ({ fromMs, toMs, whole }: Slice) => [
    new Date(fromMs).toISOString(),
    new Date(toMs).toISOString(),
    whole,
  ];

  it('I2: of a closed day are one that covers it whole', () => {
    const { slices } = decideAttempt({}, progress([]), situation('clicks_list', at('03:00', NEXT_DAY)));
    expect(slices.map(window)).toEqual([[at('00:00'), at('00:00', NEXT_DAY), true]]);
  });

  it('of the open day are the committed ones and a new one that overlaps them by lateMinutes', () => {
    const { slices } = decideAttempt(
      { committed: committed() },
      progress([finished]),
      situation('clicks_list'),
    );
    expect(slices.map(window)).toEqual([
      [at('00:00'), at('09:00'), true],
      [at('08:45'), at('10:00'), false],
    ]);
  });

  it('drop an unfinished one, and keep those that are committed', () => {
    const unfinished = slice(at('08:45'), at('09:30'), { whole: false });
    const entry = { claim, committed: committed() };
    const slices = slicesAfterRestart(entry, progress([finished, unfinished]), situation('clicks_list'));
    expect(slices.map(window)).toEqual([
      [at('00:00'), at('09:00'), true],
      [at('08:45'), at('10:00'), false],
    ]);
  });

  it('drop the last one alone, finished or not, and of several those before it stay', () => {
    const second = slice(at('08:45'), at('09:30'), { whole: false, done: true });
    const third = slice(at('09:15'), at('09:45'), { whole: false, done: true });
    const entry = { claim, committed: committed({ readTo: at('09:30') }) };
    const slices = slicesAfterRestart(entry, progress([finished, second, third]), situation('clicks_list'));
    expect(slices.slice(0, -1)).toEqual([finished, second]);
    expect(slices.slice(-1).map(window)).toEqual([[at('09:15'), at('10:00'), false]]);
  });

  it('are one where nothing was staged or claimed', () => {
    expect(slicesAfterRestart({}, progress([]), situation('clicks_list')).map(window)).toEqual([
      [at('00:00'), at('10:00'), true],
    ]);
  });

  it.each<[string, Progress, DaySituation]>([
    [
      'the settings now lead to other queries',
      progress([finished, finished], { queryFingerprint: 'before' }),
      situation('clicks_list'),
    ],
    [
      'the settings now lead to other lookups',
      progress([lookedUp, lookedUp], { queryFingerprint: 'before' }),
      situation('clicks_detail', at('10:00'), { upstream }),
    ],
    [
      'I1: a slice has records without a key',
      progress([{ ...finished, withoutKey: 1 }, finished, finished]),
      situation('clicks_list'),
    ],
  ])('drop everything where %s', (_name, before, now) => {
    const slices = slicesAfterRestart({ claim, committed: committed() }, before, now);
    expect(slices.map(window)).toEqual([[at('00:00'), at('10:00'), true]]);
  });

  it('of a lookup keep records without a key, which were looked up one by one', () => {
    const before = { ...lookedUp, done: true, withoutKey: 1 };
    const { slices } = decideAttempt(
      { claim, committed: committed() },
      progress([before]),
      situation('clicks_detail', at('10:00'), { upstream }),
    );
    expect(slices.map(window)).toEqual([window(before), [at('08:45'), at('10:00'), false]]);
  });

  it('I1: of a pass that is repeated say which records differed, until it is read', () => {
    const restart = (staged: Progress, conflict?: string) =>
      slicesAfterRestart({ claim, committed: committed() }, staged, situation('clicks_list'), conflict).map(
        ({ repeatsConflict }) => repeatsConflict,
      );
    expect(restart(progress([finished, staged]), 'f1')).toEqual([undefined, 'f1']);
    const repeated = { ...staged, repeatsConflict: 'f1' };
    expect(restart(progress([finished, repeated]))).toEqual([undefined, 'f1']);
    expect(restart(progress([finished, repeated]), 'f2')).toEqual([undefined, 'f2']);
    expect(restart(progress([repeated, finished, staged]))).toEqual([undefined, undefined]);
    expect(restart(progress([finished, finished, repeated]))).toEqual([undefined, undefined, 'f1']);
    const [plain] = slicesAfterRestart({ claim }, progress([staged]), situation('clicks_list'));
    expect(Object.keys(plain ?? {})).not.toContain('repeatsConflict');
  });

  it.each<[string, Slice[], Slice[]]>([
    [
      'the last of three alone is marked',
      [staged, staged, staged],
      [staged, staged, { ...staged, resumed: true }],
    ],
    ['a finished one is not marked', [finished], [finished]],
    ['a lookup is not marked', [lookedUp], [lookedUp]],
  ])('that another run goes on with say so: %s', (_name, before, after) => {
    expect(asResumed(before.map((one) => ({ ...one })))).toEqual(after);
  });

  it('of a lookup stay once its upstream day is closed, and a new one covers it', () => {
    const closed = { ...upstream, closed: true };
    const now = situation('clicks_detail', at('03:00', NEXT_DAY), { upstream: closed });
    const { slices } = decideAttempt({ claim }, progress([{ ...finished, upstream }]), now);
    expect(slices).toMatchObject([{ upstream }, { whole: true, upstream: closed, done: false }]);
    expect(slices[1]).not.toHaveProperty('onlyRefused');
  });

  it.each<[string, Slice, Slice['upstream'], object]>([
    [
      'what is left and what is new, once its upstream day has changed',
      lookedUp,
      { ...upstream, snapshot: 'u2', digest: '2:ef' },
      {},
    ],
    [
      'what is left, though its upstream day is what it was before',
      lookedUp,
      { ...upstream, snapshot: 'u2' },
      {},
    ],
    [
      'what is new, where all that was there is looked up',
      { ...lookedUp, done: true },
      { ...upstream, snapshot: 'u2', digest: '2:ef' },
      {},
    ],
    [
      'refused ones alone, where its upstream day is the same',
      { ...lookedUp, done: true },
      upstream,
      { onlyRefused: true },
    ],
  ])('of a lookup that goes on ask for %s', (_name, before, now, flags) => {
    const { slices } = decideAttempt(
      before.done ? { committed: committed() } : { claim },
      progress([before]),
      situation('clicks_detail', at('10:00'), { upstream: now }),
    );
    const [first, next] = slices;
    expect(first).toEqual(before.done ? before : { ...before, done: true, endedEarly: true });
    expect(next).toMatchObject({ upstream: now, done: false, ...flags });
    expect(next?.onlyRefused).toBe('onlyRefused' in flags ? true : undefined);
    expect(slices.length).toBe(2);
  });
});
