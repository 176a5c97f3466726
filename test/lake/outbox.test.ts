import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type DayEvent, outboxAfter } from '../../shared/lake/outbox.ts';
import { HOUR_MS } from '../../shared/base/days.ts';
import { runs } from '../fixtures/property-runs.ts';

type Version = Parameters<typeof outboxAfter>[1];

const AT = '2026-03-10T12:00:00.000Z';
const version = (state: Version['state'], digest: string, timeZone?: string): Version => ({
  ...{ snapshot: `of-${digest}`, rows: 3, digest, state, timeZone },
  values: { totals: { byCurrency: { EUR: { amount: '0.10000000000000000001' } } } },
});
const open = (digest: string) => version('open', digest, 'UTC');
const closed = (digest: string) => version('closed', digest, 'UTC');
const settled = (digest: string) => version('settled', digest, 'UTC');
const unconfirmed = (digest: string) => version('unconfirmed', digest, 'UTC');
const restored = (digest: string) => version('unconfirmed', digest);

describe('a commit', () => {
  it.each<{ what: string; before?: Version; after: Version; type?: DayEvent['type'] }>([
    { what: 'of an open day', after: open('a') },
    { what: 'of an open day that grows', before: open('a'), after: open('b') },
    { what: 'of a day that nobody has read', after: closed('a'), type: 'Day Published' },
    { what: 'that another has to confirm', after: unconfirmed('a'), type: 'Day Published' },
    { what: 'that closes a day', before: open('a'), after: closed('b'), type: 'Day Published' },
    {
      what: 'that closes a day with equal content',
      before: open('a'),
      after: closed('a'),
      type: 'Day Published',
    },
    { what: 'of equal content', before: closed('a'), after: closed('a') },
    { what: 'that confirms a day', before: unconfirmed('a'), after: closed('a') },
    { what: 'that settles a day', before: closed('a'), after: settled('a') },
    { what: 'of other content', before: closed('a'), after: closed('b'), type: 'Day Changed' },
    { what: 'of doubted content', before: closed('a'), after: unconfirmed('b'), type: 'Day Changed' },
    { what: 'that corrects doubts', before: unconfirmed('a'), after: closed('b'), type: 'Day Changed' },
    { what: 'of a settled day', before: settled('a'), after: settled('b'), type: 'Day Changed' },
    { what: 'after a clock was ahead', before: closed('a'), after: open('b') },
    { what: 'after a restore', before: restored('a'), after: closed('a'), type: 'Day Published' },
  ])('$what: whether it adds an event, and which', ({ before, after, type }) => {
    const events = outboxAfter({ committed: before }, after, AT);
    expect(events?.pending.map((event) => event.type) ?? []).toEqual(type ? [type] : []);
  });

  it('adds an event with the facts of its version', () => {
    const { events: none, ...of } = { events: undefined, committed: closed('a') };
    expect(none).toBeUndefined();
    const sequence = Date.parse(AT) / 1000;
    expect(outboxAfter(of, settled('b'), AT)).toEqual({
      ...{ sequence, version: 'of-b' },
      pending: [
        {
          ...{ type: 'Day Changed', state: 'settled', version: 'of-b', previousVersion: 'of-a', rows: 3 },
          ...{ sums: { EUR: { amount: '0.10000000000000000001' } }, sequence, at: AT },
        },
      ],
    });
  });
});

it('the events of a day have growing numbers and name the previous version, however many are received or dropped', () => {
  const step = fc.record({
    state: fc.constantFrom<Version['state']>('open', 'unconfirmed', 'closed', 'settled'),
    digest: fc.constantFrom('a', 'b', 'c'),
    received: fc.constantFrom(0, 0, 0, 0, 1),
    isRestored: fc.integer({ min: 0, max: 30 }).map((number) => number === 0),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      let entry: Parameters<typeof outboxAfter>[0] = {};
      // Until a restore the clock is ahead.
      let atMs = Date.parse(AT) + 20 * HOUR_MS;
      let isAhead = true;
      const made: DayEvent[] = [];
      for (const { state, digest, received, isRestored } of steps) {
        atMs += 60_000;
        if (isRestored && entry.committed && state !== 'open') {
          entry = { committed: restored(entry.committed.digest) };
          if (isAhead) atMs -= 40 * HOUR_MS;
          isAhead = false;
        }
        const before = entry.events?.sequence;
        const after = version(state, digest, 'UTC');
        const events = outboxAfter(entry, after, new Date(atMs).toISOString());
        if (events && events.sequence !== before) made.push(...events.pending.slice(-1));
        entry = {
          committed: after,
          events: events && { ...events, pending: events.pending.slice(received) },
        };
        expect(entry.events?.pending.length ?? 0).toBeLessThanOrEqual(20);
      }
      for (const [index, { sequence, previousVersion }] of made.entries()) {
        const earlier = made[index - 1];
        if (earlier) expect(sequence).toBeGreaterThan(earlier.sequence);
        if (earlier && sequence === earlier.sequence + 1) expect(previousVersion).toBe(earlier.version);
      }
    }),
    runs(40),
  );
});
