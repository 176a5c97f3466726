import { describe, expect, it } from '@jest/globals';
import { isTimeZone, likelyZones, usualName } from '../../shared/settings/time-zone.ts';

describe('a time zone', () => {
  it.each(['UTC', 'Europe/Kyiv', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Africa/Asmera'])(
    'may be %s, also by an older or newer name of Area/City',
    (zone) => expect(isTimeZone(zone)).toBe(true),
  );

  it('may be every zone that records can prove', () => {
    expect(Intl.supportedValuesOf('timeZone').filter((zone) => !isTimeZone(zone))).toEqual([]);
  });

  it.each<[kind: string, likelyByWritten: Record<string, string>]>([
    [
      'an abbreviation',
      {
        BST: 'Europe/London',
        EST: 'America/New_York',
        EDT: 'America/New_York',
        CST: 'America/Chicago, Asia/Shanghai',
        IST: 'Asia/Kolkata, Asia/Jerusalem',
        JST: 'Asia/Tokyo',
        GMT: 'UTC, Europe/London',
        CEST: 'Europe/Berlin',
        EST5EDT: 'America/New_York',
        'SystemV/EST5': 'America/New_York',
        Z: 'UTC',
      },
    ],
    [
      'an offset',
      {
        'GMT+1': 'Europe/Berlin, Europe/London',
        'UTC-5': 'America/New_York, America/Chicago',
        '+08:00': 'Asia/Shanghai, Asia/Singapore',
        '+0530': 'Asia/Kolkata',
        'Etc/GMT-6': 'Asia/Dhaka, America/Chicago, America/Denver',
        'Etc/UTC': 'UTC',
        '+13:37': '',
      },
    ],
    [
      'a legacy name',
      {
        Japan: 'Asia/Tokyo',
        Singapore: 'Asia/Singapore',
        GB: 'Europe/London',
        PRC: 'Asia/Shanghai',
        'US/Eastern': 'America/New_York',
        'Canada/Pacific': 'America/Vancouver',
        'Australia/NSW': 'Australia/Sydney',
      },
    ],
    [
      'another case, or blanks',
      {
        utc: 'UTC',
        'europe/berlin': 'Europe/Berlin',
        'asia/kolkata': 'Asia/Kolkata',
        'Asia/KOLKATA': 'Asia/Kolkata',
        'Europe/Isle_Of_Man': 'Europe/Isle_of_Man',
        'Europe/Berlin ': 'Europe/Berlin',
        '\tEurope/Berlin\n': 'Europe/Berlin',
      },
    ],
    [
      'a misspelled or bare city, or a name for people',
      {
        'Europe/Berln': 'Europe/Berlin',
        'Asia/Kolkatta': 'Asia/Kolkata',
        'America/Berlin': 'Europe/Berlin',
        'New York': 'America/New_York',
        'Eastern Standard Time': 'America/New_York',
        '': '',
        __proto__x: '',
        ['x'.repeat(100_000)]: '',
      },
    ],
  ])('is not %s, and the likely zones are found', (_kind, likelyByWritten) => {
    const found = Object.keys(likelyByWritten).map((written) => [
      written,
      isTimeZone(written) ? 'accepted' : likelyZones(written).join(', '),
    ]);
    expect(Object.fromEntries(found)).toEqual(likelyByWritten);
  });
});

describe('the usual name', () => {
  it('is preferred among zones with the same days', () => {
    expect(usualName(['America/Detroit', 'America/New_York'])).toBe('America/New_York');
    expect(usualName(['Asia/Calcutta', 'Asia/Colombo', 'Asia/Kolkata'])).toBe('Asia/Kolkata');
    expect(usualName(['America/Nassau'])).toBe('America/Nassau');
  });
});
