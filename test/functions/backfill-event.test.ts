import { describe, expect, it } from '@jest/globals';
import { parseBackfillEvent, parseBackfillInput } from '../../functions/backfill-event.ts';
import { reports } from '../../shared/reports/index.ts';
import { parseSettings } from '../../shared/settings/settings.ts';
import { ACME } from '../infra/stack.ts';

const SETTINGS = parseSettings(
  {
    brands: {
      acme: ACME,
      globex: {
        ...ACME,
        startDate: '2026-06-01',
        timeZone: 'Pacific/Kiritimati',
        reports: { order_list: { enabled: false } },
      },
    },
  },
  reports,
);
/** Still the 19th in New York, and already the 20th on Kiritimati. */
const NOW_MS = Date.parse('2026-11-20T03:00:00Z');
const parse = (input: unknown) => parseBackfillInput(input, SETTINGS, NOW_MS);

describe('the input of a backfill', () => {
  it.each<[string, object, [brand: string, from: string, to?: string][]]>([
    [
      'without fields: all brands from their start',
      {},
      [
        ['acme', '2026-01-01'],
        ['globex', '2026-06-01'],
      ],
    ],
    ['of one brand', { brands: ['acme', 'acme'] }, [['acme', '2026-01-01']]],
    [
      'of a range',
      { brands: ['globex'], from: '2026-02-03', to: '2026-04-05' },
      [['globex', '2026-02-03', '2026-04-05']],
    ],
    ['before the start of a brand', { to: '2026-02-01' }, [['acme', '2026-01-01', '2026-02-01']]],
    ['of a report that one brand has', { reports: ['order_list'] }, [['acme', '2026-01-01']]],
    ['of a day that has begun at one brand', { from: '2026-11-20' }, [['globex', '2026-11-20']]],
  ])('the input is checked: %s', (_name, input, expected) => {
    expect(parse(input).map(({ brand, from, to }) => [brand, from, ...(to ? [to] : [])])).toEqual(expected);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'an unknown brand',
      { brands: ['acne'] },
      /brands\.0 is "acne"; allowed: acme, globex; did you mean acme/,
    ],
    ['no brand', { brands: [] }, /brands is a list; allowed: a list of brands, at least one/],
    ['a brand without a list', { brands: 'acme' }, /brands is "acme"; allowed: a list of brands/],
    ['an unknown report', { reports: ['orders'] }, /reports\.0 is "orders"; allowed: clicks_list, /],
    [
      'an unknown field',
      { Comment: 'Insert your JSON here' },
      /Comment is unknown; allowed: brands, reports, from, to/,
    ],
    ['no day', { from: '2026-02-30' }, /from is "2026-02-30"; allowed: a day/],
    [
      'a reversed range',
      { from: '2026-02-02', to: '2026-02-01' },
      /from is "2026-02-02"; allowed: a day not after/,
    ],
    ['days to come', { from: '2027-01-01' }, /nothing to read for acme, globex/],
    [
      'days before the start',
      { brands: ['acme', 'globex'], to: '2026-02-01' },
      /nothing to read for globex: name days/,
    ],
    [
      'a disabled report',
      { brands: ['globex'], reports: ['order_list'] },
      /nothing to read for globex: .* reports that the settings enable/,
    ],
    ['a list', [], /the top level is a list/],
    ['a text', 'acme', /the top level is "acme"/],
  ])('is refused: %s', (_name, input, message) => {
    expect(() => parse(input)).toThrow(message);
  });
});

describe('the event of the function', () => {
  it.each<unknown>([
    { plan: {} },
    { plan: 'text' },
    { brand: 'acme', from: '2026-01-01', pages: 0, stalled: 0 },
    { brand: 'acme', reports: ['order_list'], from: '2026-01-01', to: '2026-01-02', pages: 5, stalled: 1 },
    { conclude: [{ brand: 'acme', status: 'failed', why: 'because' }] },
  ])('is a step of the state machine: %j', (event) => {
    expect(parseBackfillEvent(event)).toEqual(event);
  });

  it.each<[unknown, RegExp]>([
    [{}, /start an execution of the state machine instead/],
    [[], /start an execution of the state machine instead/],
    [null, /start an execution of the state machine instead/],
    [{ brands: ['acme'] }, /start an execution of the state machine instead/],
    [{ conclude: {} }, /start an execution of the state machine instead/],
    [{ brand: 'acme', from: '2026-01-01', pages: -1, stalled: 0 }, /pages is -1; allowed: a whole number/],
    [{ brand: 'acme', from: '2026-02-30', pages: 0, stalled: 0 }, /from is "2026-02-30"; allowed: a day/],
  ])('is nothing else: %j', (event, message) => {
    expect(() => parseBackfillEvent(event)).toThrow(message);
  });
});
