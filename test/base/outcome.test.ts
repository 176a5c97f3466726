import { describe, expect, it } from '@jest/globals';
import { BrandReportsError } from '../../shared/base/errors.ts';
import {
  type DayOutcome,
  type ReportOutcome,
  type Status,
  reportStatus,
  errorSummary,
  syncOutcome,
} from '../../shared/base/outcome.ts';

type Outcome = DayOutcome['outcome'];

const error = { kind: 'transient', code: 'http_status', message: 'HTTP 503' } as const;

function days(...outcomes: Outcome[]): DayOutcome[] {
  return outcomes.map((outcome, index) => ({ dt: `2026-01-0${index + 1}`, outcome, rows: 1, pages: 1 }));
}

function report(status: Status, ...outcomes: Outcome[]): ReportOutcome {
  return {
    brand: 'acme',
    report: 'order_list',
    status,
    requests: 1,
    retries: 0,
    throttles: 0,
    days: days(...outcomes),
  };
}

describe('the status of a report', () => {
  it.each<[Status, string, Outcome[]]>([
    ['complete', 'nothing was due', []],
    ['complete', 'all days are in', ['published', 'unchanged']],
    ['incomplete', 'a day is left to the next run', ['published', 'pending']],
    ['incomplete', 'no day was begun', ['pending', 'pending']],
    ['incomplete', 'one of several days is held by another run', ['published', 'busy']],
    ['incomplete', 'one day is held and one is left', ['busy', 'pending']],
    ['busy', 'the one due day is held by another run', ['busy']],
    ['busy', 'every due day is held by another run', ['busy', 'busy']],
    ['failed', 'a day failed among others that are in', ['published', 'failed', 'unchanged']],
    ['failed', 'a day failed and others are held', ['busy', 'failed']],
    ['failed', 'a day failed and others are left', ['failed', 'pending']],
  ])('is %s if %s', (status, _why, outcomes) => {
    expect(reportStatus(days(...outcomes))).toBe(status);
  });

  it.each<[string, Outcome[]]>([
    ['nothing', []],
    ['published days', ['published']],
    ['held days', ['busy']],
  ])('is failed if there is an error in addition to %s', (_name, outcomes) => {
    expect(reportStatus(days(...outcomes), error)).toBe('failed');
  });
});

describe('the status of a sync', () => {
  it.each<[Status, string, ReportOutcome[]]>([
    ['complete', 'there is no report', []],
    ['complete', 'nothing was due', [report('complete'), report('complete')]],
    ['complete', 'all reports are', [report('complete', 'published'), report('complete', 'unchanged')]],
    ['incomplete', 'one is', [report('complete', 'published'), report('incomplete', 'pending')]],
    ['busy', 'every due day is held by another run', [report('busy', 'busy'), report('busy', 'busy')]],
    ['busy', 'the only report with due days is', [report('complete'), report('busy', 'busy')]],
    [
      'incomplete',
      'one report is held, another is in',
      [report('busy', 'busy'), report('complete', 'published')],
    ],
    ['failed', 'one failed', [report('complete', 'published'), report('failed', 'failed')]],
    ['failed', 'one failed before its plan', [report('complete', 'published'), report('failed')]],
    ['failed', 'one failed and the others are held', [report('busy', 'busy'), report('failed')]],
    // A stopped report has no `pending` days for the work that it did not do.
    [
      'incomplete',
      'one was stopped before its first day',
      [report('complete', 'published'), report('incomplete')],
    ],
    ['incomplete', 'one was stopped, the others are held', [report('incomplete'), report('busy', 'busy')]],
    ['incomplete', 'one was stopped after days that are in', [report('incomplete', 'published')]],
  ])('is %s if %s', (status, _why, reports) => {
    expect(syncOutcome(reports)).toEqual({ status, reports });
  });
});

describe('the summary of an error', () => {
  it('I9: omits cause and context', () => {
    const thrown = new BrandReportsError('auth', 'refused', 'read the secret again', {
      context: { brand: 'acme' },
      cause: new Error('as it came'),
    });
    expect(JSON.stringify(errorSummary(thrown))).toBe(
      '{"kind":"auth","code":"refused","message":"read the secret again"}',
    );
  });
});
