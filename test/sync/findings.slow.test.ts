import { describe, expect, it } from '@jest/globals';
import { type Held, type ReportName, recordsOfDay, restate } from '../../sample/brand.ts';
import { HOUR_MS } from '../../shared/base/days.ts';
import { type Json, type JsonObject, numberText } from '../../shared/base/json.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';
import { coverageOf, ledgerEntry, publishedDays } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const [BEFORE, DAY] = ['2026-03-09', '2026-03-10'];
/** In New York, when three days are over and closed. */
const NOW = '2026-03-12T16:00:00Z';

const sample = sharedLakes({ now: NOW, startDate: BEFORE, clicksPerDay: 60 });

/** One run. @returns the findings in its log */
async function run(lake: SampleLake, reports: readonly ReportName[]): Promise<string[]> {
  const findings: string[] = [];
  const log = (event: LogEvent) => {
    if (event.event === 'day_finding') findings.push(`${event.report} ${event.day} ${event.message}`);
  };
  await lake.sync({ scope: { reports }, log });
  return findings;
}

async function findingsOf(lake: SampleLake, report: ReportName): Promise<Record<string, unknown>> {
  const days = Object.entries(await coverageOf(lake, report));
  return Object.fromEntries(days.flatMap(([day, { findings }]) => (findings ? [[day, findings]] : [])));
}

const committed = async (lake: SampleLake, report: ReportName, day = DAY) =>
  (await ledgerEntry(lake, report, day)).committed;

function change(lake: SampleLake, report: ReportName, day: string, of: (held: Held[]) => Held[]): void {
  restate(lake.brand, report, day, of);
}
const DETAILS: ReportName[] = ['clicks_list', 'clicks_detail'];

describe('clicks without detail', () => {
  it('are counted after the last try if the service answers without details, separately from refused lookups', async () => {
    const lake = sample.emptyLake();
    const ids = recordsOfDay(lake.brand, 'clicks_list', DAY).map(({ id }) => String(id));
    const isOneOf = (some: readonly string[], id: Json | undefined) =>
      some.includes(numberText(id) ?? String(id));
    const when = ({ fields }: { fields: JsonObject }) => isOneOf(ids.slice(0, 2), fields.id);
    const fault = { kind: 'code', code: 17, msg: 'no detail of this click' } as const;
    const stop = lake.service.addFault({ on: { action: 'report/clicks_detail', when }, fault });
    change(lake, 'clicks_detail', DAY, (held) =>
      held.map((one) => (isOneOf(ids.slice(2, 5), one.record.id) ? { ...one, record: {} } : one)),
    );
    const firstMs = lake.nowMs;
    for (const hours of [0, 1, 3, 5, 7, 15, 21, 31, 55, 79, 85]) {
      expect(await findingsOf(lake, 'clicks_detail')).toEqual({});
      lake.nowMs = firstMs + hours * HOUR_MS;
      await run(lake, DETAILS);
      expect(await committed(lake, 'clicks_detail')).toMatchObject({ refusedLookups: { count: 2 } });
    }
    stop();
    const found = 'lookups_given_up (2); clicks_without_detail (3)';
    expect(await findingsOf(lake, 'clicks_detail')).toEqual({ [DAY]: found });
  });
});

describe('an empty day', () => {
  it.each<ReportName>(['clicks_list', 'order_list', 'transaction_list', 'amazon_attribution_report'])(
    'of %s is published as a partition whose snapshot has no rows',
    async (report) => {
      const lake = sample.emptyLake();
      change(lake, report, DAY, () => []);
      expect(await run(lake, [report])).toEqual([]);
      expect((await publishedDays(lake, report)).get(DAY)).toBe((await committed(lake, report))?.digest);
      expect(await committed(lake, report)).toMatchObject({ rows: 0, state: 'unconfirmed', published: true });
      expect((await coverageOf(lake, report))[DAY]).toMatchObject({ rows: 0n, state: 'complete' });
    },
  );
});
