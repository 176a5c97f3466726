import { describe, expect, it } from '@jest/globals';
import { isTimeZone, likelyZones, usualName } from '../../shared/settings/time-zone.ts';

describe('a time zone', () => {
  it('may be UTC, every zone that records can prove, and an older or newer name of Area/City', () => {
    const others = ['UTC', 'Europe/Kyiv', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Africa/Asmera'];
    const zones = [...others, ...Intl.supportedValuesOf('timeZone')];
    expect(zones.filter((zone) => !isTimeZone(zone))).toEqual([]);
  });

  it.each([
    ['BST', 'Europe/London'],
    ['EST', 'America/New_York'],
    ['CST', 'America/Chicago, Asia/Shanghai'],
    ['IST', 'Asia/Kolkata, Asia/Jerusalem'],
    ['JST', 'Asia/Tokyo'],
    ['Mumbai', 'Asia/Kolkata'],
    ['Asia/Beijing', 'Asia/Shanghai'],
    ['GMT', 'UTC, Europe/London'],
    ['EST5EDT', 'America/New_York'],
    ['Eastern Standard Time', 'America/New_York'],
    ['GMT+1', 'Europe/Berlin, Europe/London'],
    ['UTC-5', 'America/New_York, America/Chicago'],
    ['+08:00', 'Asia/Shanghai, Asia/Singapore'],
    ['Etc/GMT-6', 'Asia/Dhaka'],
    ['Etc/UTC', 'UTC'],
    ['+13:37', ''],
    ['Japan', 'Asia/Tokyo'],
    ['US/Eastern', 'America/New_York'],
    ['Australia/NSW', 'Australia/Sydney'],
    ['utc', 'UTC'],
    ['europe/berlin', 'Europe/Berlin'],
    ['Europe/Isle_Of_Man', 'Europe/Isle_of_Man'],
    ['Europe/Berlin ', 'Europe/Berlin'],
    ['Europe/Berln', ''],
    ['New York', 'America/New_York'],
    ['', ''],
    ['__proto__', ''],
    ['x'.repeat(100_000), ''],
  ])('is not %j; the likely zones are %s', (written, likely) => {
    expect(isTimeZone(written)).toBe(false);
    expect(likelyZones(written).join(', ')).toBe(likely);
  });

  it('has a usual name among zones with the same days', () => {
    expect(usualName(['America/Detroit', 'America/New_York'])).toBe('America/New_York');
    expect(usualName(['Asia/Calcutta', 'Asia/Colombo', 'Asia/Kolkata'])).toBe('Asia/Kolkata');
    expect(usualName(['America/Nassau'])).toBe('America/Nassau');
  });
});
