import { describe, expect, it } from '@jest/globals';
import { DAY_MS, endOfDay, startOfDay } from '../../shared/base/days.ts';
import {
  type SeenDay,
  contradiction,
  daysToMeasure,
  proveTimeZone,
  decisiveDay,
} from '../../shared/check/zone.ts';

const NOW = Date.parse('2026-11-25T12:00:00Z');
const ZONES = [
  'UTC',
  'Europe/London',
  'Europe/Berlin',
  'Europe/Paris',
  'America/New_York',
  'America/Toronto',
].concat([
  'America/Bogota',
  'America/Denver',
  'America/Phoenix',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Africa/Algiers',
]);

/** A day of the zone with a record in its first and last minute. */
function dayIn(zone: string, day: string, gapMs = 60_000): SeenDay {
  return {
    day,
    firstMs: startOfDay(day, zone) + gapMs,
    lastMs: endOfDay(day, zone) - gapMs,
    withNextMidnight: false,
  };
}

describe('the proof of a time zone', () => {
  it.each<[string, SeenDay[], string[], boolean]>([
    ['London in winter may be UTC', [dayIn('Europe/London', '2026-11-24')], ['UTC', 'Europe/London'], false],
    [
      'London in summer may be Algiers',
      [dayIn('Europe/London', '2026-07-01')],
      ['Africa/Algiers', 'Europe/London'],
      false,
    ],
    [
      'London in both seasons is proven',
      [dayIn('Europe/London', '2026-11-24'), dayIn('Europe/London', '2026-07-01')],
      ['Europe/London'],
      true,
    ],
    ['UTC is proven in summer', [dayIn('UTC', '2026-07-01')], ['UTC'], true],
    [
      'New York in winter may be Bogota',
      [dayIn('America/New_York', '2026-11-24')],
      ['America/New_York', 'America/Toronto', 'America/Bogota'],
      false,
    ],
    [
      'New York in both seasons is proven, with Toronto',
      [dayIn('America/New_York', '2026-11-24'), dayIn('America/New_York', '2026-10-20')],
      ['America/New_York', 'America/Toronto'],
      true,
    ],
    [
      'Denver in winter may be Phoenix',
      [dayIn('America/Denver', '2026-11-24')],
      ['America/Denver', 'America/Phoenix'],
      false,
    ],
    ['Phoenix in summer is proven', [dayIn('America/Phoenix', '2026-07-01')], ['America/Phoenix'], true],
    [
      'the day of 25 hours proves Berlin, with Paris',
      [dayIn('Europe/Berlin', '2026-10-25')],
      ['Europe/Berlin', 'Europe/Paris'],
      true,
    ],
    [
      'a quarter of an hour distinguishes Kathmandu from Kolkata',
      [dayIn('Asia/Kathmandu', '2026-11-24')],
      ['Asia/Kathmandu'],
      true,
    ],
    ['records at noon prove little', [dayIn('UTC', '2026-11-24', DAY_MS / 2)], ZONES, false],
    [
      'days of two zones fit no zone',
      [dayIn('UTC', '2026-11-24'), dayIn('Asia/Kolkata', '2026-11-23')],
      [],
      false,
    ],
    ['no records prove nothing', [], ZONES, false],
  ])('requires that all zones that fit have the same days all year: %s', (_name, seen, fits, isProven) => {
    const proof = proveTimeZone(seen, NOW, ZONES);
    expect({ ...proof, fits: proof.fits.toSorted() }).toEqual({ fits: fits.toSorted(), isProven });
  });

  it('counts the midnight that ends a day as part of it only if it was requested too', () => {
    const midnight = startOfDay('2026-07-02', 'Europe/London');
    const seen = { ...dayIn('Europe/London', '2026-07-01'), lastMs: midnight };
    expect(proveTimeZone([seen], NOW, ZONES).fits).not.toContain('Europe/London');
    expect(proveTimeZone([{ ...seen, withNextMidnight: true }], NOW, ZONES).fits).toContain('Europe/London');
  });

  it('names the record that is not within its day', () => {
    const seen = dayIn('America/New_York', '2026-11-24');
    expect(contradiction('Europe/Berlin', [seen])).toEqual({ day: '2026-11-24', atMs: seen.lastMs });
    expect(contradiction('America/Toronto', [seen])).toBeUndefined();
  });

  it('next reads a day that distinguishes the zones', () => {
    const days = daysToMeasure('2026-11-24', '2026-06-01');
    expect(days.slice(0, 5)).toEqual(['2026-11-24', '2026-11-23', '2026-11-22', '2026-11-21', '2026-11-09']);
    expect(days.at(-1)).toBe('2026-06-12');
    expect(decisiveDay(['UTC', 'Europe/London'], days)).toBe('2026-10-25');
    expect(decisiveDay(['America/New_York', 'America/Toronto'], days)).toBeUndefined();
  });
});
