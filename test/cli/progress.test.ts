import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { note, showLine } from '../../cli/output.ts';
import { showProgress } from '../../cli/progress.ts';
import type { LogEvent } from '../../shared/base/log-events.ts';

const HOSTILE = 'acme \x1b]52;c;UFdO\x07\u009b2J\u202e\r\nok: forged';
const ERASE_LINE = '\r\x1b[2K';
/** A line that the terminal cuts at its edge. */
const cut = (text: string) => `${ERASE_LINE}\x1b[?7l${text}\x1b[?7h`;

const orders = { brand: 'acme', report: 'order_list' };
const day = '2026-01-31';
const { isTTY } = process.stderr;
let written: string;
let nowMs: number;
beforeEach(() => {
  [written, nowMs] = ['', 0];
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  Object.assign(process.stderr, { isTTY });
});

/** What the last of the events writes, `nowMs` after the first one. */
function writtenAfter(events: readonly LogEvent[], afterMs: number): string {
  const { log } = showProgress();
  for (const event of events.slice(0, -1)) log(event);
  [written, nowMs] = ['', afterMs];
  for (const event of events.slice(-1)) log(event);
  return written;
}

describe('on a terminal', () => {
  beforeEach(() => {
    Object.assign(process.stderr, { isTTY: true });
  });

  const page: LogEvent = { ...orders, event: 'page_fetched', day, page: 4, rows: 1500 };
  const planned = (dueDays: number): LogEvent => ({ ...orders, event: 'report_planned', dueDays });
  const ended: LogEvent = { ...orders, event: 'day_ended', day, outcome: 'published', rows: 9, pages: 2 };

  it('shows the day, days, records, the rate of the last requests against the setting, and the time left', () => {
    const request: LogEvent = { brand: 'acme', event: 'request_sent', action: 'x', requestsPerSecond: 5 };
    const { log } = showProgress();
    for (const event of [planned(14), page, request, ended, page]) log(event);
    for (let sent = 0; sent < 30; sent += 1) {
      nowMs += 1000 / 4.8;
      [written] = [''];
      log(request);
    }
    expect(written).toBe(
      cut(
        'acme order_list 2026-01-31 · 1 of 14 days · about 81 s left · 4.8 of 5 requests/s · 3,000 records',
      ),
    );
  });

  it('says once how long the rest takes, and which setting decides', () => {
    const request: LogEvent = { brand: 'acme', event: 'request_sent', action: 'x', requestsPerSecond: 1 };
    const { log } = showProgress();
    for (const event of [planned(14), ended]) log(event);
    for (nowMs = 0; nowMs < 10_000; nowMs += 1000) log(request);
    const said = written.match(/About .*$/gm);
    expect(said).toEqual([
      expect.stringMatching(/^About 65 s left at 1 of 1 request\/s.*requestsPerSecond decides/),
    ]);
  });

  it('shows a retry that it waits for', () => {
    const what = { action: 'report/order_list', code: 'http_503', failures: 1, waitMs: 20_000 };
    const retried: LogEvent = { brand: 'acme', event: 'request_retried', ...what };
    expect(writtenAfter([planned(1), retried], 1_000)).toContain(
      'acme report/order_list: http_503, retrying in 20 s · 0 of 1 day',
    );
  });

  it.each<[string, number, number, number, string]>([
    ['nothing before a day has ended', 12, 0, 60_000, '0 of 12 days · 1,500 records'],
    ['seconds', 12, 3, 6_000, '3 of 12 days · about 18 s left · 1,500 records'],
    ['minutes', 12, 3, 80_000, '3 of 12 days · about 4 min left · 1,500 records'],
    ['hours', 1203, 3, 60_000, '3 of 1,203 days · about 6.7 h left · 1,500 records'],
    ['nothing after the last day', 3, 3, 60_000, '3 of 3 days · 1,500 records'],
  ])('estimates the time for the days left by the pace so far: %s', (_name, due, days, ms, text) => {
    expect(writtenAfter([planned(due), ...Array(days).fill(ended), page], ms)).toContain(text);
  });

  it('a refusal is shown by its code, because the outcome has its message, and other failures once', () => {
    const refused = { kind: 'auth', code: 'service_code', message: 'acme report/a: "no": refused' } as const;
    const broken = { kind: 'contract', code: 'not_json', message: 'acme report/a: not JSON' } as const;
    const again = { ...broken, message: 'acme report/b: not JSON' };
    const failed = [refused, broken, again].map(
      (error) => ({ ...orders, event: 'report_failed', ...error }) as const,
    );
    const written = failed.map((_event, last) => writtenAfter(failed.slice(0, last + 1), 0).split('\n')[0]);
    expect(written).toEqual([
      expect.stringMatching(/failed: service_code$/),
      expect.stringMatching(/failed: acme report\/a: not JSON$/),
      expect.stringMatching(/failed: not_json$/),
    ]);
  });

  it('only errors and days that changed have a separate line', () => {
    const counts = { rowsBefore: 9, rows: 10, added: 1, removed: 0, altered: 5 };
    const changed: LogEvent = { ...orders, event: 'day_changed', day, ...counts };
    const line = 'acme order_list 2026-01-31 changed: 1 added, 5 altered\n';
    expect(writtenAfter([changed], 0)).toContain(line);
    expect(writtenAfter([changed, ended], 0)).not.toContain('\n');
    expect(writtenAfter([ended], 0)).not.toContain('\n');
    const error = { kind: 'auth', code: 'x', message: 'rejected' } as const;
    expect(writtenAfter([{ ...orders, event: 'report_failed', ...error }], 0)).toContain(
      'acme order_list report failed: rejected\n',
    );
    expect(writtenAfter([{ ...orders, event: 'service_time_unknown', message: 'none' }], 0)).not.toContain(
      '\n',
    );
  });

  it('hostile text in the progress line stays in that line and steers nothing', () => {
    showLine(HOSTILE);
    expect(written).toBe(cut('acme \\u001b]52;c;UFdO\\u0007\\u009b2J\\u202e\\r\\nok: forged'));
  });

  it('a long progress line is cut by the terminal', () => {
    showLine('é'.repeat(1_000_000));
    expect(written).toBe(cut('é'.repeat(4_096)));
  });

  it('a note replaces the progress line and keeps its own lines only', () => {
    note('error: first\nsecond \x1b[2J');
    expect(written).toBe(`${ERASE_LINE}error: first\nsecond \\u001b[2J\n`);
  });
});

describe('without a terminal', () => {
  beforeEach(() => {
    Object.assign(process.stderr, { isTTY: false });
  });

  it.each<[string, LogEvent, string]>([
    [
      'a published day has a line with its rows',
      { ...orders, event: 'day_ended', day, outcome: 'published', rows: 1500, pages: 2 },
      'acme order_list 2026-01-31 published, 1,500 records\n',
    ],
    [
      'a failed day has one line, with the reason',
      { ...orders, event: 'day_failed', day, kind: 'contract', code: 'list', message: 'no list\nin data' },
      'acme order_list 2026-01-31 day failed: no list\\nin data\n',
    ],
    [
      'the end of a failed day adds no second line',
      { ...orders, event: 'day_ended', day, outcome: 'failed', rows: 0, pages: 0 },
      '',
    ],
    [
      'a problem is named by its event',
      { ...orders, event: 'vacuum_failed', kind: 'transient', code: 'disk', message: 'busy' },
      'acme order_list vacuum failed: busy\n',
    ],
    [
      'an unchanged day has no line',
      { ...orders, event: 'day_ended', day, outcome: 'unchanged', rows: 9, pages: 1 },
      '',
    ],
    ['a page adds no line', { ...orders, event: 'page_fetched', day, page: 1, rows: 5 }, ''],
  ])('in plain lines, %s', (_name, event, line) => {
    expect(writtenAfter([event], 0)).toBe(line);
  });
});
