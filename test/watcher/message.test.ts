import { describe, expect, it } from '@jest/globals';
import { consoleTextControls } from '../../functions/console-controls.ts';
import { changeMessage } from '../../shared/watcher/message.ts';
import type { OpenProblem } from '../../shared/watcher/open-problems.ts';

const options = {
  pipeline: 'BrandReports',
  page: 'https://eu-central-1.console.aws.amazon.com/s3/object/lake?region=eu-central-1&prefix=status/coverage.html',
  nowMs: Date.parse('2026-11-20T15:50:07Z'),
  controls: consoleTextControls('eu-central-1', 'BrandReports'),
};
const FAILED: OpenProblem = {
  id: 'acme order_list failed no_credentials',
  brand: 'acme',
  report: 'order_list',
  what: '2 days failed: 2026-11-18 to 2026-11-19',
  sinceMs: Date.parse('2026-11-19T06:00:00Z'),
  graceMs: 0,
  why: 'config (no_credentials): the secret brand-reports/acme does not exist',
  remedy: { sentence: 'Fix what the message names, then', start: 'sync' },
};
const THROTTLED: OpenProblem = {
  ...FAILED,
  id: 'globex clicks_list throttled',
  brand: 'globex',
  report: 'clicks_list',
  what: 'runs are throttled',
  why: 'the service answered 40 of 90 requests of the last run with HTTP 429',
  remedy: {
    sentence: 'Nothing is lost, but runs take longer. Lower the setting requestsPerSecond and deploy',
  },
};
const SOLVED = {
  since: '2026-11-18T06:00:00.000Z',
  what: 'acme transaction_list: 1 day overdue: 2026-11-17',
};
const LEAVING = {
  since: '2026-11-18T06:00:00.000Z',
  what: 'globex order_list: 1 day failed: 2026-11-18',
};

describe('a message', () => {
  it('says what is new, what is still open and what is solved; since when, why, and what to do', () => {
    const message = changeMessage(
      { opened: [FAILED], remaining: [THROTTLED], leaving: [LEAVING], solved: [SOLVED] },
      options,
    );
    expect(message.subject).toBe('BrandReports: problems: 1 new, 1 solved, 3 open');
    expect(message.text).toBe(`BrandReports, 2026-11-20 15:50 UTC: problems: 1 new, 1 solved, 3 open.

NEW
- acme order_list: 2 days failed: 2026-11-18 to 2026-11-19
  since 2026-11-19 06:00 UTC
  Why: config (no_credentials): the secret brand-reports/acme does not exist
  What to do: Fix what the message names, then: test event Sync-now of BrandReports-order_list, or the event {"brand":"acme"}
  https://eu-central-1.console.aws.amazon.com/lambda/home?region=eu-central-1#/functions/BrandReports-order_list?tab=testing

STILL OPEN
- globex clicks_list: runs are throttled
  since 2026-11-19 06:00 UTC
  Why: the service answered 40 of 90 requests of the last run with HTTP 429
  What to do: Nothing is lost, but runs take longer. Lower the setting requestsPerSecond and deploy.

GONE FOR THE FIRST TIME
- globex order_list: 1 day failed: 2026-11-18 (since 2026-11-18 06:00 UTC)

SOLVED
- acme transaction_list: 1 day overdue: 2026-11-17 (since 2026-11-18 06:00 UTC)

All days: ${options.page}
`);
  });

  it('tells findings of one kind together, each day with what was found, and what to do', () => {
    const fell = (day: string, detail: string, hour: number): OpenProblem => ({
      ...FAILED,
      id: `acme order_list rows_fell ${day}`,
      what: `rows fell: ${day}`,
      sinceMs: Date.parse(`2026-11-20T0${hour}:00:00Z`),
      why: detail,
      remedy: { sentence: 'Compare the day with the dashboard of the brand' },
      finding: { title: 'rows fell', day, detail, untilMs: 0 },
    });
    const opened = [
      fell('2026-11-18', '90 rows before, 40 now', 7),
      fell('2026-11-17', '120 rows before, 60 now', 6),
      FAILED,
    ];
    const solved = { ...SOLVED, finding: { day: '2026-11-17', until: '2026-12-01T00:00:00.000Z' } };
    const told = fell('2026-11-10', 'told before', 5);
    const message = changeMessage({ opened, remaining: [told], leaving: [], solved: [solved] }, options);
    expect(message.subject).toBe('BrandReports: problems: 1 new, 1 open; findings: 2 new, 1 solved');
    expect(
      message.text,
    ).toBe(`BrandReports, 2026-11-20 15:50 UTC: problems: 1 new, 1 open; findings: 2 new, 1 solved.

NEW
- acme order_list: 2 days failed: 2026-11-18 to 2026-11-19
  since 2026-11-19 06:00 UTC
  Why: config (no_credentials): the secret brand-reports/acme does not exist
  What to do: Fix what the message names, then: test event Sync-now of BrandReports-order_list, or the event {"brand":"acme"}
  https://eu-central-1.console.aws.amazon.com/lambda/home?region=eu-central-1#/functions/BrandReports-order_list?tab=testing

FINDINGS
- acme order_list: rows fell on 2 days: 2026-11-17 to 2026-11-18
  since 2026-11-20 06:00 UTC
  Why: 2026-11-17: 120 rows before, 60 now; 2026-11-18: 90 rows before, 40 now
  What to do: Compare the day with the dashboard of the brand.

SOLVED
- acme transaction_list: 1 day overdue: 2026-11-17 (since 2026-11-18 06:00 UTC)

All days: ${options.page}
`);
  });

  it.each<[string, Parameters<typeof changeMessage>[0], string]>([
    [
      'the last problem is solved',
      { opened: [], remaining: [], leaving: [], solved: [SOLVED] },
      'all is well again',
    ],
    [
      'one is solved and another one is gone for the first time',
      { opened: [], remaining: [], leaving: [LEAVING], solved: [SOLVED] },
      'problems: 1 solved, 1 open',
    ],
    [
      'it is, and there is a finding',
      {
        opened: [{ ...FAILED, finding: { title: 't', day: '2026-11-18', detail: 'd', untilMs: 0 } }],
        remaining: [],
        leaving: [],
        solved: [SOLVED],
      },
      'all is well again; findings: 1 new',
    ],
    [
      'a finding is gone while a problem is open',
      {
        opened: [],
        remaining: [THROTTLED],
        leaving: [],
        solved: [{ ...SOLVED, finding: { day: '2026-11-18', until: SOLVED.since } }],
      },
      'problems: 1 open; findings: 1 solved',
    ],
  ])('has a headline where %s', (_name, change, headline) => {
    expect(changeMessage(change, options).subject).toBe(`BrandReports: ${headline}`);
  });

  it('says that all is well again', () => {
    const message = changeMessage({ opened: [], remaining: [], leaving: [], solved: [SOLVED] }, options);
    expect(message.subject).toBe('BrandReports: all is well again');
    expect(message.text).toMatch(/all is well again\.\n\nSOLVED\n- acme transaction_list/);
  });

  it.each([
    ['half a character of the service', 'before \ud83d after', 'before \ufffd after'],
    ['a character that would be cut in half', `${'x'.repeat(399)}🦊`, `${'x'.repeat(399)}\ufffd…`],
    ['what steers a screen', 'a\u0000b\u001b[2Jc\u202Ed\u2028e', 'a b [2Jc d e'],
  ])('is text that can be sent where a reason holds %s', (_name, why, shown) => {
    const { text } = changeMessage(
      { opened: [{ ...FAILED, why }], remaining: [], leaving: [], solved: [] },
      options,
    );
    expect(text).toContain(`  Why: ${shown}\n`);
    expect(() => encodeURIComponent(text)).not.toThrow();
  });

  it('fits into SNS, however many problems there are and however long their reasons', () => {
    const opened = Array.from({ length: 5000 }, (_, index) => ({
      ...FAILED,
      id: `${index}`,
      why: '界\n'.repeat(5000),
    }));
    const solved = opened.map(() => SOLVED);
    const { subject, text } = changeMessage({ opened, remaining: opened, leaving: solved, solved }, options);
    expect(subject.length).toBeLessThanOrEqual(100);
    expect(Buffer.byteLength(text)).toBeLessThan(256_000);
    expect(text).toContain('- and 4970 more');
  });

  it('has a subject that SNS takes, whatever the stack is called', () => {
    const pipeline = 'BrandReports-a-staging-environment';
    const { subject } = changeMessage(
      { opened: [FAILED], remaining: [], leaving: [], solved: [] },
      { ...options, pipeline },
    );
    expect(subject).toMatch(/^[ -~]{1,100}$/);
  });
});
