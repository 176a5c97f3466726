import { describe, expect, it } from '@jest/globals';
import type { ReportName } from '../../sample/brand.ts';
import { sendRequest } from '../../shared/adapters/send-request.ts';
import { DAY_MS, HOUR_MS } from '../../shared/days.ts';
import { ledgerEntry, outcomesOf } from './lake-contents.ts';
import { REPORTS } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const DAY = '2026-03-07';
const refresh = [{ untilAgeDays: 60, every: '1 day' }];
const reports = Object.fromEntries(REPORTS.map((name) => [name, { refresh }]));
const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: DAY,
  recordsTo: '2026-03-09T03:00:00Z',
  clicksPerDay: 30,
  brandSettings: { reports: { ...reports, clicks_detail: { enabled: true, refresh } } },
});

const bodies = ['{}', '[]', 'null', undefined, '{"list":null}', '{"list":{}}'].map((data) =>
  data === undefined ? '{"code":0,"msg":"success"}' : `{"code":0,"msg":"success","data":${data}}`,
);
const cases = REPORTS.flatMap((report) => bodies.map((body) => [report, body] as const));

/** Answers each request of a report with this body. */
function answering(report: ReportName, body: string): typeof sendRequest {
  return async (request, options) => {
    const result = await sendRequest(request, options);
    if (!request.url.includes(`report/${report}&`) || !('body' in result)) return result;
    return { ...result, body: Buffer.from(body) };
  };
}

describe('a service that sends nothing in place of a list', () => {
  it.each(cases)('I8: has an empty day of %s: %s', async (report, body) => {
    const lake = sample.emptyLake();
    const scope = { reports: report === 'clicks_detail' ? ['clicks_list', report] : [report] };
    for (let run = 0; run < 2; run += 1) {
      await lake.sync({ scope, send: answering(report, body) });
      lake.nowMs += HOUR_MS;
    }
    const { committed, failure } = await ledgerEntry(lake, report, DAY);
    expect([committed?.rows, committed?.state, failure]).toEqual([0, 'closed', undefined]);
  });

  it.each(cases.filter(([, body]) => body.includes('null')))(
    'I11: never empties a day of %s: %s',
    async (report, body) => {
      const lake = sample.emptyLake();
      const scope = { reports: report === 'clicks_detail' ? ['clicks_list', report] : [report] };
      await lake.sync({ scope });
      await lake.sync({ scope });
      const { committed: before } = await ledgerEntry(lake, report, DAY);
      expect(before?.rows).toBeGreaterThan(0);
      lake.nowMs += DAY_MS;
      const outcome = await lake.sync({
        scope: { ...scope, from: DAY, to: DAY },
        send: answering(report, body),
      });
      const { committed, failure } = await ledgerEntry(lake, report, DAY);
      expect([committed?.snapshot, failure]).toEqual([before?.snapshot, undefined]);
      // The published details of a day stay one by one.
      expect(outcomesOf(outcome, report)[DAY]).toBe(report === 'clicks_detail' ? 'unchanged' : 'kept');
    },
  );
});
