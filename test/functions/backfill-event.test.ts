import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseBackfillEvent, parseBackfillInput } from '../../functions/backfill-event.ts';
import { addDays, dayOf } from '../../shared/days.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { ACME } from '../infra/stack.ts';

const SETTINGS = parseSettings(
  {
    brands: {
      acme: ACME,
      globex: { ...ACME, timeZone: 'Pacific/Kiritimati', reports: { order_list: { enabled: false } } },
    },
  },
  reports,
);
/** Still the 19th in New York, and already the 20th on Kiritimati. */
const NOW_MS = Date.parse('2026-11-20T03:00:00Z');
const ORDERS = { report: 'order_list', brand: 'acme' };

describe('the input of a backfill', () => {
  it.each<[string, object, object]>([
    ['of a range', { from: '2026-02-03', to: '2026-04-05' }, { from: '2026-02-03', to: '2026-04-05' }],
    ['without a range', {}, { from: '2026-01-01', to: '2026-11-17' }],
    ['from a day on', { from: '2026-11-17' }, { from: '2026-11-17', to: '2026-11-17' }],
    [
      'up to the open day',
      { from: '2026-11-01', to: '2026-11-19' },
      { from: '2026-11-01', to: '2026-11-17' },
    ],
    [
      'up to a day to come',
      { from: '2026-11-01', to: '2030-01-01' },
      { from: '2026-11-01', to: '2026-11-17' },
    ],
    [
      'of a brand where it is another day',
      { report: 'clicks_list', brand: 'globex' },
      { report: 'clicks_list', brand: 'globex', from: '2026-01-01', to: '2026-11-18' },
    ],
  ])('is accepted: %s', (_name, input, expected) => {
    expect(parseBackfillInput({ ...ORDERS, ...input }, SETTINGS, NOW_MS)).toEqual({ ...ORDERS, ...expected });
  });

  it('never includes the open day or the day before it', () => {
    const day = fc.integer({ min: 0, max: 400 }).map((days) => addDays('2026-01-01', days));
    const nowMs = fc.integer({ min: Date.parse('2026-01-10'), max: Date.parse('2027-01-01') });
    fc.assert(
      fc.property(day, nowMs, fc.constantFrom('acme', 'globex'), (to, now, brand) => {
        const range = parseBackfillInput(
          { report: 'clicks_list', brand, from: '2026-01-01', to },
          SETTINGS,
          now,
        );
        const zone = SETTINGS.brands[brand]?.timeZone ?? '';
        expect(range.to <= to && range.to <= addDays(dayOf(now, zone), -2)).toBe(true);
      }),
    );
  });

  it.each<[string, unknown, string]>([
    [
      'the text that the console suggests',
      { Comment: 'Insert your JSON here' },
      'Comment is unknown; allowed: report, brand, from, to',
    ],
    ['not an object', null, 'the top level is null; allowed: an object'],
    ['no report', { brand: 'acme' }, 'report is missing; allowed: clicks_list, order_list'],
    [
      'an unknown report',
      { ...ORDERS, report: 'orders_list' },
      'report is "orders_list"; allowed: clicks_list, order_list, transaction_list, amazon_attribution_report; did you mean order_list?',
    ],
    [
      'an unknown brand',
      { ...ORDERS, brand: 'acne' },
      'brand is "acne"; allowed: acme, globex; did you mean acme?',
    ],
    [
      'a report that the brand does not have',
      { ...ORDERS, brand: 'globex' },
      'report is "order_list"; allowed: a report that is enabled for globex: clicks_list, transaction_list',
    ],
    [
      'a day that does not exist',
      { ...ORDERS, from: '2026-02-30' },
      'from is "2026-02-30"; allowed: a day, YYYY-MM-DD',
    ],
    [
      'days before the first one',
      { ...ORDERS, from: '2025-12-31' },
      'from is "2025-12-31"; allowed: a day from 2026-01-01 on: for earlier days set the brand\'s startDate earlier and deploy',
    ],
    [
      'days that end before the first one',
      { ...ORDERS, to: '2025-12-31' },
      'to is "2025-12-31"; allowed: a day not before 2026-01-01',
    ],
    [
      'days that the schedule reads',
      { ...ORDERS, from: '2026-11-18' },
      'from is "2026-11-18"; allowed: a day up to 2026-11-17: the schedule reads later days',
    ],
    [
      'a range backwards',
      { ...ORDERS, from: '2026-02-02', to: '2026-02-01' },
      'to is "2026-02-01"; allowed: a day not before 2026-02-02',
    ],
  ])('is refused: %s', (_name, input, message) => {
    expect(() => parseBackfillInput(input, SETTINGS, NOW_MS)).toThrow(message);
  });

  it('is refused if the schedule reads every day since the start', () => {
    expect(() => parseBackfillInput(ORDERS, SETTINGS, Date.parse('2026-01-02T12:00:00Z'))).toThrow(
      'from is missing; allowed: a day up to 2025-12-31: the schedule reads later days',
    );
  });

  it('I9: is refused without repeating a credential', () => {
    expect(() => parseBackfillInput({ secret: 'SENSITIVE' }, SETTINGS, NOW_MS)).toThrow(
      /^(?!.*SENSITIVE).*\n- /s,
    );
  });
});

describe('the event of the backfill function', () => {
  it.each<[string, unknown]>([
    ['of another function', { brand: 'acme' }],
    ['that is null', null],
    ['of a plan without the running executions', { plan: {}, execution: 'a' }],
    ['of a month without its progress', { read: { ...ORDERS, from: '2026-01-01', to: '2026-01-31' } }],
  ])('%s is refused, with the next step', (_name, event) => {
    expect(() => parseBackfillEvent(event)).toThrow(
      /the backfill's state machine: start an execution of the state machine/,
    );
  });
});
