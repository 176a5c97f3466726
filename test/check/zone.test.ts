import { describe, expect, it } from '@jest/globals';
import { endOfDay, startOfDay } from '../../shared/base/days.ts';
import {
  type SeenDay,
  contradiction,
  daysToMeasure,
  proveTimeZone,
  decisiveDay,
} from '../../shared/check/zone.ts';

const NOW = Date.parse('2026-11-25T12:00:00Z');
const ZONES = (
  'UTC Europe/London Europe/Berlin Europe/Paris America/New_York America/Toronto America/Bogota ' +
  'America/Denver America/Phoenix Asia/Kolkata Asia/Kathmandu Africa/Algiers'
).split(' ');

/** A day of the zone with a record in its first and last minute, or at noon alone: `UTC 2026-11-24 noon`. */
function seenDay(text: string): SeenDay {
  const [zone = '', day = '', noon] = text.split(' ');
  const gapMs = noon ? 43_200_000 : 60_000;
  const [firstMs, lastMs] = [startOfDay(day, zone) + gapMs, endOfDay(day, zone) - gapMs];
  return { day, firstMs, lastMs, withNextMidnight: false };
}

describe('the proof of a time zone', () => {
  it.each<[string, string, boolean]>([
    ['Europe/London 2026-11-24', 'UTC, Europe/London', false],
    ['Europe/London 2026-07-01', 'Europe/London, Africa/Algiers', false],
    ['Europe/London 2026-11-24, Europe/London 2026-07-01', 'Europe/London', true],
    ['UTC 2026-07-01', 'UTC', true],
    ['America/New_York 2026-11-24', 'America/New_York, America/Toronto, America/Bogota', false],
    ['America/New_York 2026-11-24, America/New_York 2026-10-20', 'America/New_York, America/Toronto', true],
    ['America/Denver 2026-11-24', 'America/Denver, America/Phoenix', false],
    ['America/Phoenix 2026-07-01', 'America/Phoenix', true],
    // The day of 25 hours.
    ['Europe/Berlin 2026-10-25', 'Europe/Berlin, Europe/Paris', true],
    ['Asia/Kathmandu 2026-11-24', 'Asia/Kathmandu', true],
    ['UTC 2026-11-24 noon', ZONES.join(', '), false],
    ['UTC 2026-11-24, Asia/Kolkata 2026-11-23', '', false],
    ['', ZONES.join(', '), false],
  ])('records of %j fit %s, which have the same days all year: %s', (days, fits, isProven) => {
    const seen = days.split(', ').filter(Boolean).map(seenDay);
    const proof = proveTimeZone(seen, NOW, ZONES);
    expect({ ...proof, fits: proof.fits.join(', ') }).toEqual({ fits, isProven });
  });

  it('counts the midnight that ends a day as part of it only if it was requested too', () => {
    const midnight = startOfDay('2026-07-02', 'Europe/London');
    const seen = { ...seenDay('Europe/London 2026-07-01'), lastMs: midnight };
    expect(proveTimeZone([seen], NOW, ZONES).fits).not.toContain('Europe/London');
    expect(proveTimeZone([{ ...seen, withNextMidnight: true }], NOW, ZONES).fits).toContain('Europe/London');
  });

  it('names the record that is not within its day, and next reads a day that distinguishes the zones', () => {
    const seen = seenDay('America/New_York 2026-11-24');
    expect(contradiction('Europe/Berlin', [seen])).toEqual({ day: '2026-11-24', atMs: seen.lastMs });
    expect(contradiction('America/Toronto', [seen])).toBeUndefined();
    const days = daysToMeasure('2026-11-24', '2026-06-01');
    expect(days.slice(0, 5)).toEqual(['2026-11-24', '2026-11-23', '2026-11-22', '2026-11-21', '2026-11-09']);
    expect(days.at(-1)).toBe('2026-06-12');
    expect(decisiveDay(['UTC', 'Europe/London'], days)).toBe('2026-10-25');
    expect(decisiveDay(['America/New_York', 'America/Toronto'], days)).toBeUndefined();
  });
});
