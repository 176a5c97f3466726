import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import type { ReportOutcome } from '../../shared/outcome.ts';

const execute = promisify(execFile);
const module = new URL('../../functions/metrics.ts', import.meta.url).href;

/** 06:00 on the 5th of March in New York. */
const NOW = '2026-03-05T11:00:00Z';
const HOUR = 3600;
const settings = { brands: { acme: { timeZone: 'America/New_York', startDate: '2026-03-01' } } };

const COMPLETE: ReportOutcome = {
  brand: 'acme',
  report: 'order_list',
  status: 'complete',
  requests: 9,
  retries: 0,
  throttles: 0,
  days: [
    { dt: '2026-03-05', outcome: 'published', rows: 3, pages: 1 },
    { dt: '2026-03-04', outcome: 'unchanged', rows: 40, pages: 2 },
  ],
  newestComplete: '2026-03-04',
};
const WELL = { Rows: 43, Pages: 3, Requests: 9, Failures: 0, SecondsSinceNewestCompleteDay: 6 * HOUR };
const error = { kind: 'auth', code: 'refused', message: 'read the secret again' } as const;

describe('the metrics of a run', () => {
  it.each<[string, Partial<ReportOutcome>, Record<string, number>]>([
    ['that succeeded', {}, WELL],
    ['that had nothing to do', { days: [], requests: 0 }, { ...WELL, Rows: 0, Pages: 0, Requests: 0 }],
    [
      'that was throttled',
      { requests: 14, retries: 5, throttles: 4 },
      { ...WELL, Requests: 14, Retries: 5, Throttles: 4 },
    ],
    [
      'with days that failed',
      {
        status: 'failed',
        error,
        days: [
          { dt: '2026-03-04', outcome: 'failed', rows: 0, pages: 1 },
          { dt: '2026-03-03', outcome: 'failed', rows: 0, pages: 0 },
          { dt: '2026-03-02', outcome: 'pending', rows: 0, pages: 0 },
        ],
        newestComplete: '2026-03-01',
      },
      {
        Rows: 0,
        Pages: 1,
        Requests: 9,
        Failures: 1,
        FailedDays: 2,
        SecondsSinceNewestCompleteDay: 78 * HOUR,
      },
    ],
    [
      'that failed before its plan and never read a day',
      { status: 'failed', error, days: [], requests: 0, newestComplete: null },
      {
        Rows: 0,
        Pages: 0,
        Requests: 0,
        Failures: 1,
        SecondsSinceNewestCompleteDay: 102 * HOUR,
      },
    ],
    [
      'whose newest day ended a moment ago by a clock that is ahead of ours',
      { newestComplete: '2026-03-05' },
      { ...WELL, SecondsSinceNewestCompleteDay: 0 },
    ],
  ])('are in one document of CloudWatch’s embedded format for a run %s', async (_name, change, values) => {
    const { documents } = await emitted([{ ...COMPLETE, ...change }]);
    const metrics = Object.keys(values).map((Name) => ({
      Name,
      Unit: Name.startsWith('Seconds') ? 'Seconds' : 'Count',
    }));
    expect(documents).toEqual([
      {
        _aws: {
          Timestamp: expect.any(Number),
          CloudWatchMetrics: [
            {
              Namespace: 'BrandReports',
              Dimensions: [['brand', 'report']],
              Metrics: expect.arrayContaining(metrics),
            },
          ],
        },
        brand: 'acme',
        report: 'order_list',
        ...values,
      },
    ]);
  });

  it('are those of the traffic only, for a run that does not show the health of the report', async () => {
    const { documents } = await emitted([{ ...COMPLETE, status: 'failed' }], { health: false });
    expect(documents).toHaveLength(1);
    expect(documents[0]).not.toHaveProperty('Failures');
    expect(documents[0]).not.toHaveProperty('SecondsSinceNewestCompleteDay');
    expect(documents[0]).toMatchObject({ Rows: 43, Requests: 9 });
  });

  it('are one document per report; one that cannot be written is logged and stops no other', async () => {
    const { documents, logged } = await emitted([
      { ...COMPLETE, report: 'clicks_list' },
      { ...COMPLETE, brand: 'nobody' },
      COMPLETE,
    ]);
    expect(documents).toMatchObject([{ report: 'clicks_list' }, { report: 'order_list' }]);
    expect(logged).toEqual([expect.objectContaining({ event: 'metrics_not_emitted', brand: 'nobody' })]);
  });

  it('I9: contain nothing of an error’s message', async () => {
    const message = 'the service answered "token-of-acme"';
    const { stdout } = await emitted([{ ...COMPLETE, status: 'failed', error: { ...error, message } }]);
    expect(stdout).toContain('Failures');
    expect(stdout).not.toContain('token-of-acme');
  });
});

/** What a process prints whose `console` is taken over, as Lambda's JSON logs do. */
async function emitted(reports: ReportOutcome[], { health = true } = {}) {
  const program = `
    import { emitMetrics } from ${JSON.stringify(module)};
    const logged = [];
    for (const level of ['log', 'info', 'warn', 'error']) console[level] = () => logged.push({ rewritten: level });
    emitMetrics(${JSON.stringify(reports)}, {
      namespace: 'BrandReports',
      log: (entry) => logged.push(entry),
      ...(${health} && {
        health: { settings: ${JSON.stringify(settings)}, nowMs: Date.parse(${JSON.stringify(NOW)}) },
      }),
    });
    process.stderr.write(JSON.stringify(logged));
  `;
  const { stdout, stderr } = await execute(process.execPath, ['--input-type=module', '-e', program]);
  const documents: Record<string, unknown>[] = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const logged: unknown = JSON.parse(stderr);
  return { stdout, documents, logged };
}
