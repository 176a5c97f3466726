import { describe, expect, it } from '@jest/globals';
import type { Fault } from '../../sample/faults.ts';
import { numberText } from '../../shared/base/json.ts';
import { errorOf, ledgerEntry, requestsOf, wrongReports } from './lake-contents.ts';
import type { SampleLake } from './sample-lake.ts';
import { sharedLakes } from './shared-lakes.ts';

const FIRST = '2026-03-09';
const scope = { reports: ['order_list'], from: FIRST, to: FIRST };

const sample = sharedLakes({
  now: '2026-03-10T15:00:00Z',
  startDate: FIRST,
  clicksPerDay: 40,
  interpretations: { pageCap: 1 },
});

/** The number of requests of a run, and the code of its error. */
async function run(lake: SampleLake): Promise<{ requests: number; code: string | undefined }> {
  const before = requestsOf(lake, 'order_list').length;
  const outcome = await lake.sync({ scope });
  return {
    requests: requestsOf(lake, 'order_list').length - before,
    code: errorOf(outcome, 'order_list')?.code,
  };
}

describe('a day with one bad page', () => {
  it.each<[string, Fault, string, number]>([
    ['has no list', { kind: 'missing_list' }, 'missing_list', 2],
    ['is refused, six times', { kind: 'code', code: 17, msg: 'no' }, 'service_code', 7],
    ['is not found', { kind: 'status', status: 404 }, 'http_404', 2],
  ])(
    'I4: keeps the pages before it, so that a retry costs few requests: it %s',
    async (_name, fault, code, requests) => {
      const lake = sample.emptyLake();
      const removeFault = lake.service.addFault({
        on: { when: ({ fields }) => numberText(fields.page_number) === '12' },
        fault,
      });
      const first = await run(lake);
      expect(first.requests).toBeGreaterThanOrEqual(12);
      for (let retries = 0; retries < 3; retries += 1) expect(await run(lake)).toEqual({ requests, code });
      removeFault();
      expect((await run(lake)).code).toBeUndefined();
      expect((await ledgerEntry(lake, 'order_list', FIRST)).failure).toBeUndefined();
      expect(await wrongReports({ ...lake, startDate: FIRST }, FIRST, ['order_list'])).toEqual({});
    },
  );
});
