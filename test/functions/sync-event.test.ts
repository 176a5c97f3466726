import { describe, expect, it } from '@jest/globals';
import { parseSyncEvent } from '../../functions/sync-event.ts';

const BRANDS = ['acme', 'globex'];

describe('the event of the sync function', () => {
  it.each([
    ['of all brands', {}],
    ['of a schedule', { brand: 'globex' }],
    [
      'to read a range again',
      { brand: 'acme', from: '2026-01-01', to: '2026-01-31', requestsPerSecond: 0.5 },
    ],
    ['to accept fewer records of a range', { brand: 'acme', from: '2026-01-01', acceptFewer: true }],
    ['to accept fewer records up to a day', { to: '2026-01-31', acceptFewer: true }],
    ['to accept fewer records of no day', { acceptFewer: false }],
    ['to check the connection', { check: true, now: '2026-01-31T06:00:00Z' }],
  ])('is accepted: %s', (_name, event) => {
    expect(parseSyncEvent(event, BRANDS)).toEqual(event);
  });

  it('is a rebuild if it has "rebuild"', () => {
    const days = { brand: 'acme', from: '2026-01-01', to: '2026-01-31' };
    expect(parseSyncEvent({ rebuild: true, ...days }, BRANDS)).toEqual({ rebuild: true, ...days });
  });

  it.each<[string, unknown, string]>([
    ['a rebuild that is false', { rebuild: false }, 'rebuild is false; allowed: true'],
    ['a rebuild of no brand', { rebuild: true }, 'brand is missing; allowed: acme, globex'],
    [
      'a rebuild without an end',
      { rebuild: true, brand: 'acme', from: '2026-01-01' },
      'to is missing; allowed: a day, YYYY-MM-DD',
    ],
    [
      'a rebuild backwards',
      { rebuild: true, brand: 'acme', from: '2026-02-02', to: '2026-02-01' },
      'from is "2026-02-02"; allowed: a day not after 2026-02-01',
    ],
    [
      'a rebuild at another time',
      { rebuild: true, brand: 'acme', from: '2026-01-01', to: '2026-01-01', now: '2026-01-31T06:00:00Z' },
      'now is unknown; allowed: rebuild, brand, from, to',
    ],
    ['not an object', null, 'the top level is null; allowed: an object'],
    ['a list', [], 'the top level is a list; allowed: an object'],
    [
      'an unknown key',
      { brands: 'acme' },
      'brands is unknown; allowed: brand, from, to, acceptFewer, rebuild, check, now, requestsPerSecond; did you mean brand?',
    ],
    ['an unknown brand', { brand: 'acne' }, 'brand is "acne"; allowed: acme, globex; did you mean acme?'],
    ['a day that does not exist', { from: '2026-02-30' }, 'from is "2026-02-30"; allowed: a day, YYYY-MM-DD'],
    [
      'a range backwards',
      { from: '2026-02-02', to: '2026-02-01' },
      'from is "2026-02-02"; allowed: a day not after 2026-02-01',
    ],
    [
      'fewer records without a range of days',
      { brand: 'acme', acceptFewer: true },
      'acceptFewer is true; allowed: true only together with "from" or "to"',
    ],
    [
      'fewer records that are text',
      { from: '2026-01-01', acceptFewer: 'yes' },
      'acceptFewer is "yes"; allowed: true, false',
    ],
    [
      'a rebuild that accepts fewer records',
      { rebuild: true, brand: 'acme', from: '2026-01-01', to: '2026-01-01', acceptFewer: true },
      'acceptFewer is unknown; allowed: rebuild, brand, from, to',
    ],
    ['a check that is text', { check: 'true' }, 'check is "true"; allowed: true, false'],
    [
      'a current time without a zone',
      { now: '2026-01-31T06:00:00' },
      'now is "2026-01-31T06:00:00"; allowed: an instant',
    ],
    ['a rate of 0', { requestsPerSecond: 0 }, 'requestsPerSecond is 0; allowed: a number above 0'],
  ])('is refused: %s', (_name, event, message) => {
    expect(() => parseSyncEvent(event, BRANDS)).toThrow(message);
  });

  it('I9: is refused without repeating a credential', () => {
    expect(() => parseSyncEvent({ token: 'SENSITIVE' }, BRANDS)).toThrow(
      /^(?!.*SENSITIVE).*\n- token is unknown/s,
    );
  });
});
