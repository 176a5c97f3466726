import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Claim, Committed, DayEntry } from '../../shared/lake/ledger.ts';
import type { Progress, Slice, SlicePart } from '../../shared/lake/progress.ts';
import {
  type DaySituation,
  attemptToContinue,
  decideAttempt,
  slicesAfterRestart,
} from '../../shared/planning/attempt-decision.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { runs } from '../fixtures/property-runs.ts';

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

/** Ten o'clock of the day, unless `now` is given. */
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
  records: 0,
  chunks: [],
  done: false,
};

/** A slice up to `to`, which is also when its reading began, with one staged page. */
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
  return { queryFingerprint: 'as-now', slices, recentWrites: [], ...change };
}

const claim: Claim = { attempt: 'a1', runId: 'r1', at: at('09:00') };

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
const clicks = situation('clicks_list');
const orders = situation('order_list');
/** Lookups, while their upstream day has this version. */
const details = (looked: Slice['upstream'] = upstream, now = at('10:00')) =>
  situation('clicks_detail', now, { upstream: looked });
const staged = slice(at('00:00'), at('09:00'));
const finished = slice(at('00:00'), at('09:00'), { done: true });
const lookedUp: Slice = {
  ...staged,
  upstream,
  parts: [{ ...part, cursor: 50, records: 50 }],
};
const fullRead = slice(at('00:00'), at('00:00', NEXT_DAY), { startedAt: at('01:00', NEXT_DAY) });

describe('a claim continues', () => {
  it.each<[string, DayEntry, DaySituation, string | undefined]>([
    ['the attempt of the previous claim', { claim }, orders, 'a1'],
    ['the committed attempt of a growing open day', { committed: committed() }, clicks, 'a1'],
    ['no attempt if each run reads the whole open day', { committed: committed() }, orders, undefined],
    [
      'no attempt if the settings have changed the queries',
      { committed: committed({ queryFingerprint: 'before' }) },
      clicks,
      undefined,
    ],
    [
      'no attempt if the day is over',
      { committed: committed() },
      situation('clicks_list', at('01:00', NEXT_DAY)),
      undefined,
    ],
    [
      'the committed attempt of a day of lookups, open or closed',
      { committed: committed({ state: 'closed' }) },
      details(upstream, at('10:00', NEXT_DAY)),
      'a1',
    ],
    [
      'no attempt of a day of lookups that is read with --from and --to',
      { committed: committed() },
      situation('clicks_detail', at('10:00'), { upstream, isRequested: true }),
      undefined,
    ],
    [
      'no attempt of such a day after a run with the committed attempt died',
      { claim, committed: committed() },
      situation('clicks_detail', at('10:00'), { upstream, isRequested: true }),
      undefined,
    ],
    [
      'the claimed attempt of such a day, if a run with --from and --to began it',
      { claim: { ...claim, attempt: 'a2' }, committed: committed() },
      situation('clicks_detail', at('10:00'), { upstream, isRequested: true }),
      'a2',
    ],
    [
      'no attempt of a day of lookups if the settings have changed the queries',
      { committed: committed({ queryFingerprint: 'before' }) },
      details(),
      undefined,
    ],
    [
      'no attempt if the committed version is closed',
      { committed: committed({ state: 'closed' }) },
      clicks,
      undefined,
    ],
  ])('continues %s', (_name, entry, now, attempt) => {
    expect(attemptToContinue(entry, now)).toBe(attempt);
  });
});

describe('without I/O, a claim', () => {
  type Row = [what: string, DayEntry, Slice[], DaySituation];
  const resumed: Row[] = [
    ['I4: slices that are complete but not committed', { claim }, [finished], orders],
    [
      'I2: a full read of a closed day that began after its end',
      { claim },
      [fullRead],
      situation('order_list', at('03:00', NEXT_DAY)),
    ],
    [
      'I4: a slice of any age if its last page was staged recently',
      { claim },
      [slice(at('00:00'), at('01:00'), { stagedAt: at('04:00') })],
      orders,
    ],
    [
      'lookups of any age, even after the day is over',
      { claim },
      [finished, { ...staged, upstream }],
      details(upstream, at('09:00', NEXT_DAY)),
    ],
    [
      'I4: the claimed attempt if another attempt is committed',
      { claim, committed: committed({ attempt: 'a0' }) },
      [finished],
      clicks,
    ],
    [
      'I4: a slice if one of its parts is not read yet',
      { claim },
      [
        {
          ...staged,
          parts: [
            { ...part, done: true },
            { ...part, pages: 0 },
          ],
        },
      ],
      orders,
    ],
    [
      'I4: an unfinished slice even if the attempt has a commit',
      { claim, committed: committed() },
      [staged],
      clicks,
    ],
    [
      'I4: a finished slice that ends after the last commit',
      { claim, committed: committed({ readTo: at('08:59') }) },
      [finished],
      clicks,
    ],
    [
      'I4: a slice that began and was staged at this very moment',
      { claim },
      [slice(at('00:00'), at('10:00'))],
      orders,
    ],
    [
      'I2: a full read that began at the first instant after its day',
      { claim },
      [{ ...fullRead, startedAt: at('00:00', NEXT_DAY) }],
      situation('order_list', at('03:00', NEXT_DAY)),
    ],
  ];

  const started: Row[] = [
    ['the open day again if the committed chunks have expired', { committed: committed() }, [], clicks],
    ['if no page was staged', { claim }, [{ ...staged, parts: [{ ...part, pages: 0 }] }], orders],
    [
      'lookups again if no page is staged and their upstream day has another snapshot',
      { claim },
      [{ ...staged, upstream, parts: [{ ...part, pages: 0 }] }],
      details({ ...upstream, snapshot: 'u2' }),
    ],
    ['lookups again if the upstream day no longer exists', { claim }, [lookedUp], situation('clicks_detail')],
  ];

  const appended: Row[] = [
    ['the committed slices of the open day', { committed: committed() }, [finished], clicks],
    ['if the last slice is already committed', { claim, committed: committed() }, [finished], clicks],
    [
      'lookups if their upstream day has another snapshot',
      { claim },
      [lookedUp],
      details({ ...upstream, snapshot: 'u2', digest: '2:ef' }),
    ],
    [
      'lookups if their upstream day has been closed',
      { claim },
      [lookedUp],
      details({ ...upstream, closed: true }),
    ],
    [
      'the committed slices if refused lookups are due',
      { committed: committed({ state: 'closed' }) },
      [{ ...lookedUp, done: true }],
      details(upstream, at('10:00', NEXT_DAY)),
    ],
  ];

  it.each([
    ...resumed.map(([what, ...row]) => [what, 'resume', ...row] as const),
    ...started.map(([what, ...row]) => [what, 'start', ...row] as const),
    ...appended.map(([what, ...row]) => [what, 'append', ...row] as const),
  ])('%s: %s', (_what, kind, entry, slices, now) => {
    expect(decideAttempt(entry, progress(slices), now).kind).toBe(kind);
  });

  it.each<[name: string, Progress, DaySituation, obstacle: string, committed?: Committed]>([
    [
      'the settings have changed the queries',
      progress([staged], { queryFingerprint: 'before' }),
      orders,
      'queries_changed',
    ],
    [
      'its last page is older than six hours',
      progress([slice(at('00:00'), at('03:00'), { stagedAt: at('03:59') })]),
      orders,
      'too_old',
    ],
    [
      'I2: the day has ended and earlier slices would be mixed with the full read',
      progress([finished, fullRead]),
      situation('order_list', at('03:00', NEXT_DAY)),
      'day_has_ended',
    ],
    [
      'I2: the day ends at this very moment',
      progress([slice(at('00:00'), at('23:00'))]),
      situation('order_list', at('00:00', NEXT_DAY)),
      'day_has_ended',
    ],
  ])('restarts if %s', (_name, staged, now, obstacle, ...[before]) => {
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

  it('I1: drops uncommitted pages only in a counted restart, and resumes only recent pages', () => {
    fc.assert(
      fc.property(given, ({ name, slices, claimed, committedTo, isUpstreamClosed, now }) => {
        const own = { ...upstream, closed: isUpstreamClosed };
        const day = situation(name, now, name === 'clicks_detail' ? { upstream: own } : {});
        const entry: DayEntry = {
          ...(claimed && { claim }),
          ...(committedTo !== null && { committed: committed({ readTo: committedTo }) }),
        };
        const decision = decideAttempt(entry, progress(slices), day);
        // I2: slices that seem to begin later than now are dropped.
        const isBegun = ({ startedAt }: Slice) => Date.parse(startedAt) <= day.nowMs;
        const next = decision.slices.at(-1);
        if (decision.kind === 'resume') {
          expect(decision.slices.map(({ resumed: _marked, ...read }) => read)).toEqual(
            slices.filter(isBegun),
          );
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
        if (decision.kind === 'append' && isUncommitted)
          expect(pagesOf(decision.slices)).toBe(pagesOf(slices.filter(isBegun)));
      }),
      runs(500),
    );
  });
});

describe('the slices to read', () => {
  const window = ({ fromMs, toMs, whole }: Slice) => [
    new Date(fromMs).toISOString(),
    new Date(toMs).toISOString(),
    whole,
  ];

  it('I2: are one slice that covers a closed day whole', () => {
    const { slices } = decideAttempt({}, progress([]), situation('clicks_list', at('03:00', NEXT_DAY)));
    expect(slices.map(window)).toEqual([[at('00:00'), at('00:00', NEXT_DAY), true]]);
  });

  it('are the committed slices of the open day and a new slice that overlaps them by lateMinutes', () => {
    const { slices } = decideAttempt({ committed: committed() }, progress([finished]), clicks);
    expect(slices.map(window)).toEqual([
      [at('00:00'), at('09:00'), true],
      [at('08:45'), at('10:00'), false],
    ]);
  });

  it('after a restart, are the committed slices and a new slice without the unfinished pages', () => {
    const unfinished = slice(at('08:45'), at('09:30'), { whole: false });
    const entry = { claim, committed: committed() };
    const slices = slicesAfterRestart(entry, progress([finished, unfinished]), clicks);
    expect(slices.map(window)).toEqual([
      [at('00:00'), at('09:00'), true],
      [at('08:45'), at('10:00'), false],
    ]);
  });

  it('after a restart, are all slices before the last slice, finished or not, and a new slice', () => {
    const second = slice(at('08:45'), at('09:30'), { whole: false, done: true });
    const third = slice(at('09:15'), at('09:45'), { whole: false, done: true });
    const entry = { claim, committed: committed({ readTo: at('09:30') }) };
    const slices = slicesAfterRestart(entry, progress([finished, second, third]), clicks);
    expect(slices.slice(0, -1)).toEqual([finished, second]);
    expect(slices.slice(-1).map(window)).toEqual([[at('09:15'), at('10:00'), false]]);
  });

  it.each<[string, Progress, DaySituation]>([
    [
      'the settings have changed the queries',
      progress([finished, finished], { queryFingerprint: 'before' }),
      clicks,
    ],
    [
      'the settings have changed the lookups',
      progress([lookedUp, lookedUp], { queryFingerprint: 'before' }),
      details(),
    ],
    [
      'I1: a slice has records without a key',
      progress([{ ...finished, withoutKey: 1 }, finished, finished]),
      clicks,
    ],
  ])('include no earlier slice if %s', (_name, before, now) => {
    const slices = slicesAfterRestart({ claim, committed: committed() }, before, now);
    expect(slices.map(window)).toEqual([[at('00:00'), at('10:00'), true]]);
  });

  it('keep lookups without a key, because each record was looked up on its own', () => {
    const before = { ...lookedUp, done: true, withoutKey: 1 };
    const { slices } = decideAttempt({ claim, committed: committed() }, progress([before]), details());
    expect(slices.map(window)).toEqual([window(before), [at('08:45'), at('10:00'), false]]);
  });

  it('I1: record which records differed while a slice is read again for that reason', () => {
    const restart = (staged: Progress, conflict?: string) =>
      slicesAfterRestart({ claim, committed: committed() }, staged, clicks, conflict).map(
        ({ repeatsConflict }) => repeatsConflict,
      );
    expect(restart(progress([finished, staged]), 'f1')).toEqual([undefined, 'f1']);
    const repeated = { ...staged, repeatsConflict: 'f1' };
    expect(restart(progress([finished, repeated]))).toEqual([undefined, 'f1']);
    expect(restart(progress([finished, repeated]), 'f2')).toEqual([undefined, 'f2']);
    expect(restart(progress([repeated, finished, staged]))).toEqual([undefined, undefined]);
    expect(restart(progress([finished, finished, repeated]))).toEqual([undefined, undefined, 'f1']);
    const [plain] = slicesAfterRestart({ claim }, progress([staged]), clicks);
    expect(Object.keys(plain ?? {})).not.toContain('repeatsConflict');
  });

  it.each<[string, Slice[], DaySituation, (true | undefined)[]]>([
    [
      'only the last of three slices is marked',
      [{ ...staged }, { ...staged }, staged],
      clicks,
      [undefined, undefined, true],
    ],
    ['a finished slice is not marked', [finished], orders, [undefined]],
    ['a lookup is not marked', [lookedUp], details(), [undefined]],
  ])('are marked if another run resumes them: %s', (_name, before, now, marks) => {
    const { kind, slices } = decideAttempt({ claim }, progress(before), now);
    expect([kind, ...slices.map(({ resumed }) => resumed)]).toEqual(['resume', ...marks]);
  });

  it('keep lookups when the upstream day is closed, and add a slice that covers the closed day', () => {
    const closed = { ...upstream, closed: true };
    const now = details(closed, at('03:00', NEXT_DAY));
    const { slices } = decideAttempt({ claim }, progress([{ ...finished, upstream }]), now);
    expect(slices).toMatchObject([{ upstream }, { whole: true, upstream: closed, done: false }]);
  });

  it.each<[string, Slice, Slice['upstream']]>([
    [
      'remaining and new records, if the upstream day has changed',
      lookedUp,
      { ...upstream, snapshot: 'u2', digest: '2:ef' },
    ],
    [
      'remaining records, if the upstream day has the same content',
      lookedUp,
      { ...upstream, snapshot: 'u2' },
    ],
    [
      'new records, if all earlier records were looked up',
      { ...lookedUp, done: true },
      { ...upstream, snapshot: 'u2', digest: '2:ef' },
    ],
    ['refused lookups, if the upstream day is the same', { ...lookedUp, done: true }, upstream],
  ])('add a slice of lookups for %s', (_name, before, now) => {
    const { slices } = decideAttempt(
      before.done ? { committed: committed() } : { claim },
      progress([before]),
      details(now),
    );
    const [first, next] = slices;
    expect(first).toEqual({ ...before, done: true });
    expect(next).toMatchObject({ upstream: now, done: false });
    expect(slices.length).toBe(2);
  });
});
