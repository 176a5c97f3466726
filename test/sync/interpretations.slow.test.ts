import { afterAll, describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import type { Interpretations } from '../../sample/interpretations.ts';
import { errorOf, outcomesOf } from './lake-contents.ts';
import { type SampleLake, sampleLake } from './sample-lake.ts';

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

describe('a setting that contradicts the service', () => {
  // Histories of test/torture read every interpretation with its right settings.
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
    [{ firstPage: 1 }, { firstPage: 0 }, 'order_list', { kind: 'auth', code: 'refused' }],
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
