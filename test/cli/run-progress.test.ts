import { describe, expect, it } from '@jest/globals';
import { afterEvent, errorLineOf, lineOf, progressText, startOfRun } from '../../cli/run-progress.ts';
import type { LogEvent } from '../../shared/log-events.ts';

const orders = { brand: 'acme', report: 'order_list' };
const day = '2026-01-31';

describe('the progress line', () => {
  const lineAfter = (events: readonly LogEvent[], nowMs: number) =>
    progressText(
      events.reduce((progress, event) => afterEvent(progress, event, nowMs), startOfRun(0)),
      nowMs,
    );
  const claimed: LogEvent = { ...orders, event: 'day_claimed', day, reason: 'open', resumed: false };
  const page: LogEvent = { ...orders, event: 'page_fetched', day, page: 4, rows: 1500 };
  const retried: LogEvent = {
    brand: 'acme',
    event: 'request_retried',
    action: 'report/order_list',
    code: 'http_503',
    failures: 1,
    waitMs: 20_000,
  };

  it('shows the page, the retry that it waits for, days, pages, rows and speed', () => {
    const planned: LogEvent = { ...orders, event: 'report_planned', dueDays: 14 };
    expect(lineAfter([planned, claimed, page, page, retried], 10_000)).toBe(
      'acme order_list 2026-01-31 page 4 · report/order_list: http_503, retrying in 20 s · 0 of 14 days · 2 pages · 3,000 rows · 300 rows/s',
    );
    expect(lineAfter([retried, page], 10_000)).not.toContain('retrying');
  });

  it.each<[string, number, number, number, string]>([
    ['nothing before a day has ended', 12, 0, 60_000, '0 of 12 days · '],
    ['seconds', 12, 3, 6_000, '3 of 12 days, 9 left, about 18 s · '],
    ['minutes', 12, 3, 80_000, '3 of 12 days, 9 left, about 4 min · '],
    ['hours', 1203, 3, 60_000, '3 of 1,203 days, 1,200 left, about 6.7 h · '],
    ['nothing after the last day', 3, 3, 60_000, '3 of 3 days · '],
  ])('estimates the time for the days left by the pace so far: %s', (_name, dueDays, endedDays, ms, text) => {
    expect(progressText({ ...startOfRun(0), dueDays, endedDays }, ms)).toContain(text);
  });
});

describe('without a terminal', () => {
  it.each<[string, LogEvent, string | undefined]>([
    [
      'a published day has a line with its rows',
      { ...orders, event: 'day_ended', day, outcome: 'published', rows: 1500, pages: 2 },
      'acme order_list 2026-01-31 published, 1,500 rows',
    ],
    [
      'a failed day has one line, with the reason',
      { ...orders, event: 'day_failed', day, kind: 'contract', code: 'list', message: 'no list\nin data' },
      'acme order_list 2026-01-31 failed: no list\\nin data',
    ],
    [
      'the end of a failed day adds no second line',
      { ...orders, event: 'day_ended', day, outcome: 'failed', rows: 0, pages: 0 },
      undefined,
    ],
    [
      'a problem is named by its event',
      { ...orders, event: 'vacuum_failed', kind: 'transient', code: 'disk', message: 'busy' },
      'acme order_list vacuum failed: busy',
    ],
    ['a page adds no line', { ...orders, event: 'page_fetched', day, page: 1, rows: 5 }, undefined],
  ])('in plain lines, %s', (_name, event, line) => {
    expect(lineOf(event)).toBe(line);
  });
});

describe('on a terminal', () => {
  it('only errors have a separate line', () => {
    const failed: LogEvent = {
      ...orders,
      event: 'report_failed',
      kind: 'auth',
      code: 'x',
      message: 'rejected',
    };
    const warning: LogEvent = { ...orders, event: 'end_date_not_probed', message: 'no records' };
    expect([failed, warning].map(errorLineOf)).toEqual(['acme order_list failed: rejected', undefined]);
  });
});
