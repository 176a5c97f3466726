import { describe, expect, it } from '@jest/globals';
import { addDays } from '../../shared/base/days.ts';
import type { Close } from '../../shared/lake/close.ts';
import type { DayFacts } from '../../shared/day/day-facts.ts';
import { calendarPage } from '../../shared/watch/calendar.ts';
import { commandControls } from '../../shared/watch/remedies.ts';
import type { TableStatus } from '../../shared/watch/table-statuses.ts';
import { NOW_MS, TODAY, madeTable, settingsOf, statusDay } from './made-statuses.ts';

const YESTERDAY = addDays(TODAY, -1);
const WEEK_BEFORE = addDays(TODAY, -8);
const HOSTILE = '<img src=x onerror=alert(1)>';
const run = {
  at: '2026-11-20T14:10:00.000Z',
  since: '2026-11-01T00:00:00.000Z',
  status: 'complete' as const,
  completeAt: '2026-11-20T14:10:00.000Z',
  failedDays: 0,
};
function page(table: Partial<TableStatus>, closes: readonly Close[] = []): string {
  const controls = commandControls({ lake: './lake', settings: 'cdk.json' });
  const tables = [madeTable('order_list', {}, table)];
  return calendarPage(tables, './lake', { settings: settingsOf('acme'), nowMs: NOW_MS, controls, closes })
    .markup;
}

/** The text of the part with this heading; `|` ends a cell, a line and a block. */
function part(markup: string, heading: RegExp): string {
  const parts = markup.split('<h3>').slice(1);
  const found = parts.find((each) => heading.test(each)) ?? '';
  const text = found.replace(/<\/(h3|th|td|p|li|b|summary|code|div)>|<br>/g, '|').replace(/<[^>]*>/g, '');
  return text
    .replace(/\s+/g, ' ')
    .replace(/\|(\s*\|)+/g, '|')
    .replaceAll('&#39;', "'");
}

const enabled = { every: 'run' };

describe('the runs', () => {
  // New York is five hours behind UTC: it is 10:00 there.
  it.each<[string, Partial<TableStatus>, string]>([
    ['a complete run', { ...enabled, lastRun: run }, 'orders|2026-11-20 09:10|2026-11-20 11:00|'],
    ['no run yet', enabled, 'orders|none yet|2026-11-20 11:00|'],
  ])('show the last successful run and when a day is due: %s', (_name, table, text) => {
    expect(part(page(table), /^Runs/)).toContain(text);
  });
});

describe('closed months', () => {
  const close = (month: string, own: Partial<Close> = {}): Close => ({
    ...{ brand: 'acme', month, closedAt: '2026-11-03T12:00:00.000Z', by: 'ann', sources: {} },
    ...{ totals: [], days: [], exceptions: [], faults: [], erased: [], recentWrites: [] },
    ...own,
  });
  const named = (day: string, place: number) => ({ report: 'order_list', day, place, snapshot: 's' });
  const dayAt = (dt: string, place: number) => ({
    ...statusDay(dt, 'settled'),
    changes: { times: place, last: { at: '2026-11-04T00:00:00.000Z', rowsBefore: 5 } },
  });

  it('are listed with the days that changed since the latest close, and SQL for the amounts to book', () => {
    const days = [
      // Before the first close: its records count as paid.
      dayAt('2026-08-31', 3),
      dayAt('2026-09-01', 2),
      dayAt('2026-10-01', 1),
      // No close had this day.
      statusDay('2026-10-02', 'settled'),
      dayAt('2026-11-01', 1),
    ];
    const erased = [
      { report: 'order_list', day: '2026-09-02', erasedAt: '2026-11-05T00:00:00.000Z', totals: [] },
    ];
    const closes = [
      close('2026-09', { days: [named('2026-09-01', 1)], erased, settings: 'a'.repeat(64) }),
      close('2026-10', { days: [named('2026-10-01', 1)] }),
      close('2026-10', { brand: 'globex' }),
    ];
    const text = part(page({ days }, closes), /^Closed months/);
    expect(text).toContain('2026-10|2026-11-03 07:00|ann|0|orders: 2|');
    expect(text).toContain('2026-09|2026-11-03 07:00|ann|0|erased: 1|aaaaaaaa, other than today');
    expect(text).toContain('npx brand-reports status --brand acme');
    expect(text).toContain("WHERE brand = 'acme' ORDER BY");
  });

  it('are left out if no month is closed', () => {
    expect(page({})).not.toContain('Closed months');
  });
});

describe('yesterday', () => {
  const besides = (now: Partial<DayFacts>, before?: Partial<DayFacts>) => {
    const days = [
      ...(before ? [{ ...statusDay(WEEK_BEFORE, 'settled'), ...before }] : []),
      { ...statusDay(YESTERDAY, 'complete'), ...now },
    ];
    return part(page({ days }), /^Yesterday/);
  };

  it.each<[string, Partial<DayFacts>, Partial<DayFacts> | undefined, string]>([
    ['more rows', { rows: 1200 }, { rows: 1000 }, 'orders rows|1,200|1,000|+20 %|'],
    ['nothing to divide by', { rows: 90 }, { rows: 0 }, 'orders rows|90|0|'],
    ['no day one week before', { rows: 90 }, undefined, 'orders rows|90|–|'],
    [
      'a day that is not complete',
      { rows: 9, state: 'open' },
      { rows: 90 },
      'orders rows|9 (open)|90|−90 %|',
    ],
    [
      'a day that was not read',
      { rows: null, state: 'missing' },
      { rows: 90 },
      'orders rows|– (missing)|90|',
    ],
    [
      'each sum of each currency',
      { totals: { EUR: { commission: '10.000000000' }, USD: { amount: '2000', commission: '5.5' } } },
      { totals: { EUR: { commission: '20' } } },
      'orders commission EUR|10|20|−50 %| orders amount USD|2,000|–| orders commission USD|5.50|–|',
    ],
    [
      'sums of a service without currencies',
      { totals: { '': { commission: '1234.505000000' } } },
      { totals: { '': { commission: '1000' } } },
      'orders commission|1,234.51|1,000|+23 %|',
    ],
    [
      'no sum of other fields than the settings name',
      { totalsPending: true },
      { totals: { '': { commission: '20' } } },
      'orders commission|after the next reading|20|',
    ],
    [
      'no sum of other fields, without a week before',
      { totalsPending: true },
      undefined,
      'orders sums|after the next reading|–|',
    ],
  ])('is shown beside the same weekday one week before: %s', (_name, now, before, text) => {
    const found = besides(now, before);
    expect(found).toContain(
      `Yesterday beside the Thursday before| figure|${YESTERDAY}|${WEEK_BEFORE}|change|`,
    );
    expect(found).toContain(text);
  });
});

describe('closed days that changed', () => {
  const changed = (dt: string, at: string, counts: object = { added: 1, removed: 0, altered: 1002 }) => ({
    ...statusDay(dt, 'complete'),
    changes: { times: 1, last: { at, rowsBefore: 5, ...counts } },
  });

  it('since yesterday are counted by report, with the query that shows them', () => {
    const days = [
      changed('2026-10-01', '2026-11-19T14:59:00.000Z'),
      changed('2026-10-31', '2026-11-19T15:00:00.000Z'),
      changed('2026-11-01', '2026-11-20T06:00:00.000Z', { added: 2, removed: 3, altered: 4 }),
    ];
    const text = part(page({ days }), /^Closed days/);
    expect(text).toContain('orders|2026-10-31 to 2026-11-01|3|3|1,006|');
    expect(text).toContain(
      "SELECT * FROM changes WHERE brand = 'acme' AND dt IN ('2026-10-31', '2026-11-01')",
    );
  });

  it('are counted as "or more" if the number of changed records is unknown', () => {
    const days = [changed('2026-11-01', '2026-11-20T06:00:00.000Z', {})];
    expect(part(page({ days }), /^Closed days/)).toContain(
      'orders|2026-11-01|0 or more|0 or more|0 or more|',
    );
  });
});

describe('findings', () => {
  const found = (dt: string, detail = '3') => ({
    ...statusDay(dt, 'complete'),
    findings: [
      {
        ...{
          check: 'unusual_rows',
          title: 'orders',
          detail,
          advice: 'CellKind',
          since: run.at,
          isCertain: true,
        },
      },
    ],
  });

  it('of one kind are listed together, newest day first, with what each has found', () => {
    const days = [found('2026-11-01'), found('2026-11-02', HOSTILE)];
    const markup = page({ days });
    expect(part(markup, /^Findings/)).toContain(
      'orders| orders on 2 days: 2026-11-01 to 2026-11-022026-11-02: &lt;img src=x onerror=alert(1)&gt;; 2026-11-01: 3 Since 2026-11-20 09:10. CellKind.|',
    );
    expect(markup).not.toContain(HOSTILE);
  });

  it('of more than eight days are counted', () => {
    const days = Array.from({ length: 10 }, (_, nth) => found(addDays('2026-11-01', nth)));
    expect(part(page({ days }), /^Findings/)).toContain('; and 2 more days');
  });
});

describe('roles without a field', () => {
  it('are listed with the columns that are NULL, and the settings line that fixes them', () => {
    const gap = { brand: 'acme', report: 'order_list', table: 'orders', candidates: ['fee'] };
    const setting = '"fields": { "commission": "fee" } in brands.acme.reports.order_list';
    const roleGaps = [
      { ...gap, role: 'commission' as const, views: ['orders_daily'], evidence: `${HOSTILE} could`, setting },
    ];
    const markup = page({ roleGaps });
    expect(part(markup, /^Roles/)).toContain(
      'acme order_list: no field has the role commission (&lt;img src=x onerror=alert(1)&gt; could), so it is NULL in orders_daily. To set it: &quot;fields&quot;: { &quot;commission&quot;: &quot;fee&quot; } in brands.acme',
    );
    expect(markup).not.toContain(HOSTILE);
    const none = page({ roleGaps: roleGaps.map((each) => ({ ...each, candidates: [] })) });
    expect(part(none, /^Roles/)).toContain('NULL in orders_daily. If the service lacks it: &quot;fields');
    expect(part(page({}), /^Roles/)).toBe('');
  });
});

describe('the page', () => {
  it('has one main landmark, headings in order, and heads in every table', () => {
    const days = [{ ...statusDay(YESTERDAY, 'failed'), rows: 1 }];
    const markup = page({ ...enabled, days, damaged: [{ key: 'k', message: 'm' }] });
    expect(markup.match(/<\/?main>/g)).toEqual(['<main>', '</main>']);
    const levels = [...markup.matchAll(/<h(\d)>/g)].map(([, level]) => Number(level));
    expect(levels[0]).toBe(1);
    expect(levels.filter((level, nth) => level > (levels[nth - 1] ?? 0) + 1)).toEqual([]);
    const tables = markup.split('<table>').slice(1);
    expect(tables.length).toBeGreaterThan(2);
    for (const table of tables) expect(table).toMatch(/<th scope="col">.+<th scope="row">/s);
  });
});
