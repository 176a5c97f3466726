import { afterAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { errorOf, outcomesOf, wrongReports } from './lake-contents.ts';
import { REPORTS, type SampleLake, sampleLake, syncUntilComplete } from './sample-lake.ts';

const NOW = '2026-03-10T15:00:00Z';
const TODAY = '2026-03-10';
const FIRST = '2026-03-08';

const lakes: SampleLake[] = [];
afterAll(() => Promise.all(lakes.map((lake) => lake.close())));

async function lakeWith(
  interpretations: Partial<Interpretations>,
  brand: Record<string, string | number> = {},
) {
  const lake = await sampleLake({
    now: NOW,
    startDate: FIRST,
    clicksPerDay: 8,
    interpretations: { pageCap: 4, ...interpretations },
    brandSettings: brand,
  });
  lakes.push(lake);
  return lake;
}

/** The reports that each open point concerns. */
const concerned: Record<keyof Interpretations, readonly ReportName[]> = {
  endTime: ['clicks_list', 'order_list'],
  equalTimes: ['order_list'],
  timestampUnit: ['clicks_list', 'order_list'],
  endDate: ['transaction_list', 'amazon_attribution_report'],
  endCursor: ['clicks_list'],
  first: ['clicks_list'],
  finalCursor: ['transaction_list', 'amazon_attribution_report'],
  cursorIn: ['transaction_list', 'amazon_attribution_report'],
  cursorLife: ['transaction_list', 'amazon_attribution_report'],
  deadCursor: ['transaction_list', 'amazon_attribution_report'],
  listKey: ['order_list', 'transaction_list'],
  pageCap: REPORTS,
  pastLastPage: ['order_list'],
  firstPage: ['order_list'],
  detail: ['clicks_list', 'clicks_detail'],
  detailHasId: ['clicks_list', 'clicks_detail'],
};

function reportsOf(interpretations: Partial<Interpretations>): ReportName[] {
  const names = Object.entries(concerned).flatMap(([point, reports]) =>
    point in interpretations ? reports : [],
  );
  return names.length > 0 ? [...new Set(names)] : [...REPORTS];
}

/** Each interpretation of an open point alone, with its necessary settings. */
const interpretations: [Partial<Interpretations>, Record<string, string | number>?][] = [
  [{}],
  [{ pageCap: Number.POSITIVE_INFINITY }],
  [{ pageCap: 2 }],
  [{ pageCap: 1, endCursor: 'next' }],
  [{ endTime: 'exclusive' }],
  [{ endTime: 'exclusive', equalTimes: 'refused' }, { endTime: 'inclusive' }],
  [{ endTime: 'inclusive', equalTimes: 'refused' }, { endTime: 'inclusive' }],
  [{ endTime: 'inclusive' }, { endTime: 'inclusive' }],
  [{ endTime: 'exclusive' }, { endTime: 'inclusive' }],
  [{ timestampUnit: 'milliseconds' }, { timestampUnit: 'milliseconds' }],
  [{ endDate: 'midnight_inclusive' }, { endDate: 'midnight' }],
  [{ endDate: 'midnight_exclusive' }, { endDate: 'midnight' }],
  [{ endDate: 'whole_day' }, { endDate: 'midnight' }],
  [{ endCursor: 'next' }],
  [{ endCursor: 'last_from_one' }],
  [{ endCursor: 'last_from_one', first: 'exclusive' }],
  [{ endCursor: 'padded' }],
  [{ endCursor: 'opaque' }],
  [{ first: 'exclusive' }],
  [{ finalCursor: 'absent' }],
  [{ finalCursor: 'empty' }],
  [{ cursorIn: 'envelope' }],
  [{ cursorIn: 'envelope', finalCursor: 'absent' }],
  [{ listKey: 'items' }],
  [{ pastLastPage: 'repeat' }],
  [{ pastLastPage: 'repeat', pageCap: 1, endCursor: 'next' }],
  [{ firstPage: 0 }, { firstPage: 0 }],
  [{ detail: 'list' }],
  [{ detail: 'named' }],
  [{ detailHasId: false }],
  [{ detail: 'list', detailHasId: false }],
  // Several at once.
  [
    {
      endTime: 'exclusive',
      endDate: 'midnight_exclusive',
      endCursor: 'opaque',
      cursorIn: 'envelope',
      listKey: 'rows',
    },
    { endDate: 'midnight', method: 'GET' },
  ],
  [
    {
      timestampUnit: 'milliseconds',
      endDate: 'midnight_inclusive',
      endCursor: 'next',
      pastLastPage: 'repeat',
      firstPage: 0,
      finalCursor: 'empty',
      detail: 'named',
    },
    { timestampUnit: 'milliseconds', endDate: 'midnight', firstPage: 0 },
  ],
];

describe('under every interpretation of an open point', () => {
  it.each(
    interpretations.map(([interpretation, settings]) => ({
      interpretation,
      settings,
      name: JSON.stringify({ ...interpretation, settings }),
    })),
  )(
    'I1: gives the lake every record as often as the service has it: $name',
    async ({ interpretation, settings }) => {
      const lake = await lakeWith(interpretation, settings);
      const reports = reportsOf(interpretation);
      expect((await lake.sync({ scope: { reports } })).status).toBe('complete');
      expect(await wrongReports(lake, TODAY, reports)).toEqual({});
    },
  );

  it.each(
    interpretations.slice(-2).map(([interpretation, settings]) => ({
      interpretation,
      settings,
      name: JSON.stringify(interpretation),
    })),
  )(
    'I1: ends with the same lake after runs of one unit of work each: $name',
    async ({ interpretation, settings }) => {
      const lake = await lakeWith(interpretation, settings);
      await syncUntilComplete(lake);
      expect(await wrongReports(lake, TODAY)).toEqual({});
    },
  );
});

describe('a setting that contradicts the service', () => {
  const wrong: [
    Partial<Interpretations>,
    Record<string, string | number>,
    ReportName,
    { kind: string; code: string },
  ][] = [
    [{ endDate: 'midnight_inclusive' }, {}, 'transaction_list', { kind: 'config', code: 'end_date' }],
    [{ endDate: 'midnight_exclusive' }, {}, 'transaction_list', { kind: 'config', code: 'end_date' }],
    [
      { endDate: 'midnight_exclusive' },
      {},
      'amazon_attribution_report',
      { kind: 'config', code: 'end_date' },
    ],
    [{ equalTimes: 'refused' }, {}, 'order_list', { kind: 'contract', code: 'instant_refused' }],
    [{ firstPage: 1 }, { firstPage: 0 }, 'order_list', { kind: 'contract', code: 'service_code' }],
  ];

  it.each(
    wrong.map(([interpretation, settings, report, error]) => ({
      interpretation,
      settings,
      report,
      error,
      name: JSON.stringify({ ...interpretation, settings }),
    })),
  )(
    'I8: fails the first sync of $report instead of losing records: $name',
    async ({ interpretation, settings, report, error }) => {
      const lake = await lakeWith({ pageCap: 200, ...interpretation }, settings);
      const outcome = await lake.sync({ scope: { reports: [report] } });
      expect(outcome.status).toBe('failed');
      expect(errorOf(outcome, report)).toMatchObject(error);
      const { [TODAY]: _open, ...closed } = outcomesOf(outcome, report);
      expect(Object.values(closed)).not.toContain('published');
    },
  );
});
