import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ErrorKind } from '../../shared/base/errors.ts';
import { addDays, daysBetween, daysFrom } from '../../shared/base/days.ts';
import { consoleControls } from '../../functions/console-controls.ts';
import type { DayState } from '../../shared/planning/day-state.ts';
import { calendarPage, indexPage, indexRow } from '../../shared/watch/calendar.ts';
import { pageBrands } from '../../shared/watch/page-brand.ts';
import { html } from '../../shared/watch/html.ts';
import { commandControls } from '../../shared/watch/remedies.ts';
import type { DayFacts } from '../../shared/day/day-facts.ts';
import type { TableStatus } from '../../shared/watch/table-statuses.ts';
import { dayRanges } from '../../shared/watch/problems.ts';
import { NOW_MS, TODAY, failure, madeTable, settingsOf, statusDay } from './made-statuses.ts';

const YESTERDAY = addDays(TODAY, -1);
const onCommandLine = commandControls({ lake: './lake', settings: 'cdk.json' });
const inConsole = consoleControls('eu-central-1', 'BrandReports');

function drawn(tables: readonly TableStatus[], controls = onCommandLine): string {
  const options = { settings: settingsOf('acme', 'globex'), nowMs: NOW_MS, controls };
  return calendarPage(tables, './lake', options).markup;
}

/** The text of the first element of the class, as a reader sees it. */
function textOf(markup: string, part: string): string {
  const [, inner = ''] = new RegExp(`class="${part}[^>]*>(.*?)</(p|ul)>`, 's').exec(markup) ?? [];
  return plain(inner);
}

function plain(markup: string): string {
  const text = markup.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
  return text
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .trim();
}

function titles(markup: string): string[] {
  return [...markup.matchAll(/<i class="\w+" title="([^"]*)"/g)].map(([, title = '']) => title);
}

const everyState: Record<string, DayState> = {
  '2026-10-01': 'missing',
  '2026-10-02': 'in_progress',
  '2026-11-10': 'failed',
  '2026-11-11': 'overdue',
  '2026-11-12': 'unverified',
};

describe('the calendar', () => {
  it.each([
    ['of two tables', drawn([madeTable('order_list', everyState), madeTable('clicks_list')])],
    ['of nothing', drawn([])],
  ])('is well-formed, has no script and loads nothing: %s', (_name, markup) => {
    expect(unclosed(markup)).toEqual([]);
    expect(markup).not.toMatch(/<(script|iframe|use|img|link)\b|\son\w+=|url\(|javascript:/i);
  });

  it('has each day of each table once, and months newest first', () => {
    const tables = [
      madeTable('order_list', everyState),
      madeTable('clicks_list', { [TODAY]: 'missing' }, { from: '2026-11-03' }),
    ];
    const markup = drawn(tables);
    const held = tables.flatMap(({ table, days }) =>
      days.map(({ dt, state }) => `${table} ${dt}: ${state.replace('_', ' ')}`),
    );
    held.splice(held.indexOf(`clicks ${TODAY}: missing`), 1, `clicks ${TODAY}: to come`);
    expect(titles(markup).sort()).toEqual(held.sort());
    expect(markup.match(/(?<=<h4>)[^<]+/g)).toEqual(['November 2026', 'October 2026', 'September 2026']);
  });

  it('has a cell for every day of a month, so that days are aligned across tables', () => {
    const rows = drawn([madeTable('order_list')])
      .split('class="days" role="img"')
      .slice(1);
    expect(rows.map((row) => row.split('</div>')[0]?.match(/<i[ >]/g)?.length)).toEqual([30, 31, 30]);
  });

  it('explains every kind of cell', () => {
    expect(textOf(drawn([madeTable('order_list')]), 'legend').match(/[a-z ]+(?=:)/g)?.length).toBe(10);
  });
});

describe('the days in numbers', () => {
  const at = '2026-11-12T06:02:00.000Z';
  const change = { rowsBefore: 1200, added: 3, removed: 0, altered: 1001 };
  const finding = { check: 'rows', title: 'rows fell', detail: '18 rows before, 9 now', advice: 'Ask' };

  it.each<[string, Partial<DayFacts>, string[]]>([
    ['only rows if the ledger has no sums', { rows: 1 }, ['complete', '1 row']],
    [
      'sums with two decimals, of any size and below zero',
      {
        totals: { '': { commission: '12345678901234567890.125000000' }, EUR: { amount: '-1000.000000000' } },
      },
      ['complete', '1,234 rows', 'commission 12,345,678,901,234,567,890.13', 'amount EUR -1,000'],
    ],
    [
      'the only change',
      { rows: 9, changes: { times: 1, last: { at, ...change } } },
      ['complete', '9 rows', 'changed once, 2026-11-12 01:02: 3 added, 1,001 altered of 1,200'],
    ],
    [
      'the last of several changes, whose content is unknown',
      { rows: 9, changes: { times: 4, last: { at, rowsBefore: 9 } } },
      ['complete', '9 rows', 'changed 4 times, last 2026-11-12 01:02'],
    ],
    [
      'findings and a failure',
      { ...statusDay('2026-11-09', 'failed'), findings: [{ ...finding, since: at, isCertain: true }] },
      ['failed', '1,234 rows', 'rows fell: 18 rows before, 9 now', 'failing since 2026-11-19 01:00: no_list'],
    ],
    ['nothing more of a day that was not read', statusDay('2026-11-09', 'missing'), ['missing']],
  ])('have %s', (_name, day, facts) => {
    const days = [{ ...statusDay('2026-11-09', 'complete'), ...day }];
    const markup = drawn([madeTable('order_list', {}, { days })]);
    const [, table = ''] = /class="numbers">(.*?)<\/details>/s.exec(markup) ?? [];
    const [, cell = ''] = /<tr><th scope="row">2026-11-09<\/th><td>(.*?)<\/td>/s.exec(table) ?? [];
    expect(cell.split('<br>').filter((fact) => !/^(last read|next due)/.test(fact))).toEqual(facts);
  });
});

describe('the headline', () => {
  it.each<[string, TableStatus[], string]>([
    [
      'one table is behind the other because yesterday is not closed yet',
      [madeTable('order_list'), madeTable('clicks_list', { [YESTERDAY]: 'open' })],
      'All days are complete: 2026-09-10 to 2026-11-18.',
    ],
    [
      'today has not been read yet',
      [madeTable('order_list', { [TODAY]: 'missing' })],
      `All days are complete: 2026-09-10 to ${YESTERDAY}.`,
    ],
    [
      'the first day is today',
      [madeTable('order_list', {}, { from: TODAY })],
      `No day is over yet: the first one is ${TODAY}.`,
    ],
    ['there is no day', [madeTable('order_list', {}, { days: [] })], 'No day is over yet.'],
    [
      'days failed and are missing',
      [
        madeTable('order_list', { '2026-11-10': 'failed', '2026-11-11': 'failed', '2026-11-15': 'missing' }),
        madeTable('clicks_list', { '2026-11-14': 'overdue' }),
      ],
      'orders: 2 days failed, 1 day missing. clicks: 1 day overdue. Earlier days are complete: 2026-09-10 to 2026-11-09.',
    ],
  ])('describes the brand if %s', (_name, tables, text) => {
    const markup = drawn(tables);
    expect(textOf(markup, 'headline')).toBe(text);
    expect(markup.includes('headline good')).toBe(!text.startsWith('orders'));
  });

  it('of several brands follows a sentence that all brands are complete', () => {
    expect(
      plain(drawn([madeTable('order_list'), madeTable('order_list', {}, { brand: 'globex' })])),
    ).toContain('All 2 brands are complete.');
  });

  it('is followed by problems of months that the calendar does not show', () => {
    const late = madeTable('order_list', { '2025-03-10': 'missing' }, { from: '2025-03-01' });
    const options = { settings: settingsOf('acme'), nowMs: NOW_MS, controls: onCommandLine };
    const { markup } = calendarPage([late], './lake', { ...options, span: { from: '2026-11' } });
    expect(plain(markup)).toContain('orders 1 day missing: 2025-03-10');
    expect(markup.match(/(?<=<h4>)[^<]+/g)).toEqual(['November 2026']);
  });
});

describe('the page of a brand', () => {
  it('stays below 500 kB, even if every day has findings, many sums and a failure', () => {
    const finding = {
      ...{
        check: 'rows_fell',
        title: 'rows fell',
        detail: 'x'.repeat(700),
        advice: 'Ask',
        since: failure.since,
      },
      isCertain: true,
    };
    const totals = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`C${index}`, { amount: '1234.50', commission: '12.30' }]),
    );
    const tables = [
      'clicks_list',
      'clicks_detail',
      'order_list',
      'transaction_list',
      'amazon_attribution_report',
    ].map((report) => {
      const table = madeTable(report, {}, { from: '2026-07-01' });
      const findings = ['a', 'b', 'c'].map((check) => ({ ...finding, check }));
      const message = failure.message.repeat(10);
      const days = table.days.map((day) => ({ ...statusDay(day.dt, 'failed'), totals, findings }));
      return {
        ...table,
        days: days.map((day) => ({ ...day, failure: { ...failure, message: `${day.dt} ${message}` } })),
      };
    });
    expect(drawn(tables).length).toBeLessThan(500_000);
  });
});

describe('the index', () => {
  it('has the worst brand first, and links the page of each brand', () => {
    const at = '2026-11-20T14:10:00.000Z';
    const lastRun = { at, since: at, completeAt: at, status: 'complete' as const, failedDays: 0 };
    const brandsOf = [
      madeTable('order_list', {}, { brand: 'well', every: 'run', lastRun }),
      madeTable('order_list', { '2026-11-10': 'overdue', '2026-11-11': 'overdue' }, { brand: 'late' }),
      madeTable('order_list', { '2026-11-10': 'missing' }, { brand: 'gap' }),
      madeTable('order_list', { '2026-11-10': 'failed' }, { brand: 'failed' }),
      madeTable('order_list', { '2026-11-10': 'overdue' }, { brand: 'a-bit-late' }),
      madeTable('order_list', {}, { brand: 'damaged', damaged: [{ key: 'ledger/x', message: 'no' }] }),
    ];
    const options = { settings: settingsOf('well', 'late'), nowMs: NOW_MS, controls: onCommandLine };
    const rows = pageBrands(brandsOf, options).map(indexRow);
    const { markup } = indexPage(rows, './lake', NOW_MS, (brand) => `pages/${brand}.html`);
    const linked = [...markup.matchAll(/<a href="pages\/([^"]*)\.html">/g)].map(([, brand]) => brand);
    expect(linked).toEqual(['failed', 'damaged', 'gap', 'late', 'a-bit-late', 'well']);
    expect(plain(markup)).toContain('5 of 6 brands have problems.');
    expect(plain(markup)).toContain('wellnone2026-11-192026-11-20 14:10 UTC');
    expect(unclosed(markup)).toEqual([]);
  });
});

describe('the suggested action', () => {
  const failing = (kind: ErrorKind) => {
    const table = madeTable('order_list', { '2026-11-10': 'failed' });
    const days = table.days.map((day) => (day.failure ? { ...day, failure: { ...failure, kind } } : day));
    return [madeTable('order_list', {}, { days })];
  };
  const SYNC = 'npx brand-reports sync order_list --brand acme --lake ./lake --settings cdk.json';

  it.each<[string, TableStatus[], string]>([
    ['a failure that an operator must fix', failing('auth'), `Fix what the message names, then: ${SYNC}`],
    [
      'a failure that a retry fixes',
      failing('transient'),
      `Since 2026-11-19 01:00. Every run tries again. To try now: ${SYNC}`,
    ],
    [
      'a brand that is not in the settings',
      [madeTable('order_list', { '2026-11-10': 'failed' }, { brand: 'gone' })],
      'No run reads the report: the settings of the brand do not enable it.',
    ],
  ])('is given for %s', (_name, tables, text) => {
    expect(plain(drawn(tables))).toContain(text);
  });

  it('in the console links to a function and names the event to paste', () => {
    const markup = drawn(failing('contract'), inConsole);
    expect(plain(markup)).toContain('To try now: test BrandReports-sync with the event {"brand":"acme"}');
    expect(markup).toContain(
      'href="https://eu-central-1.console.aws.amazon.com/lambda/home?region=eu-central-1#/functions/BrandReports-sync?tab=testing"',
    );
  });

  it.each([
    ["a folder's name with a space and a quote", "/tmp/it's here", `'/tmp/it'\\''s here'`],
    [
      'a bucket, with the flag of its catalog',
      's3://lake/prod',
      's3://lake/prod --database NAME --settings cdk.json',
    ],
  ])('on the command line takes %s', (_name, lake, words) => {
    const { text } = commandControls({ lake, settings: 'cdk.json' })('sync', ['order_list'], 'acme');
    expect(text).toContain(`--lake ${words}`);
  });

  it('lists the days as ranges, and the message of a failure once for all its days', () => {
    const days = [1, 2, 3, 5, 7, 9, 11].map((day) => [`2026-10-${String(day).padStart(2, '0')}`, 'failed']);
    const text = plain(drawn([madeTable('order_list', Object.fromEntries(days))]));
    expect(text).toContain(
      'orders 7 days failed: 2026-10-01 to 2026-10-03, 2026-10-05, 2026-10-07, 2026-10-09, 1 more rangescontract (no_list): report',
    );
    expect(text.split(failure.message)).toHaveLength(2);
  });

  it('groups tables with the same missing days under one action', () => {
    const missing: Record<string, DayState> = { '2026-11-10': 'missing', '2026-11-11': 'missing' };
    const later: Record<string, DayState> = { '2026-11-12': 'missing' };
    const text = plain(
      drawn([
        madeTable('order_list', missing),
        madeTable('clicks_list', missing),
        madeTable('transaction_list', later),
      ]),
    );
    expect(text).toContain(
      'orders, clicks 2 days missing: 2026-11-10 to 2026-11-11runs read the newest days first',
    );
    expect(text.match(/npx brand-reports sync/g)).toHaveLength(2);
    expect(text).toContain('sync order_list clicks_list --brand acme');
  });

  it('counts the problems that are too many to list', () => {
    const days = daysFrom('2026-10-01', '2026-10-25').map((dt) => ({
      ...statusDay(dt, 'failed'),
      failure: { ...failure, code: `code_${dt}` },
    }));
    expect(plain(drawn([madeTable('order_list', {}, { days })]))).toContain('and 5 more');
  });
});

describe('text from outside', () => {
  const HOSTILE = `</style><script>alert("1")</script><img src=x onerror='alert(2)'>`;

  it.each<[string, (text: string) => string]>([
    [
      'the message of a failure',
      (message) => {
        const table = madeTable('order_list', { '2026-11-10': 'failed' });
        return drawn([
          {
            ...table,
            days: table.days.map((day) =>
              day.failure ? { ...day, failure: { ...failure, message, code: message } } : day,
            ),
          },
        ]);
      },
    ],
    ['a brand in the lake', (brand) => drawn([madeTable('order_list', everyState, { brand })], inConsole)],
    [
      'the column of a sum, and the sum',
      (text) => {
        const days = [{ ...statusDay('2026-11-09', 'complete'), totals: { EUR: { [text]: text } } }];
        return drawn([madeTable('order_list', {}, { days })]);
      },
    ],
    [
      'the name of the lake',
      (lake) =>
        calendarPage([madeTable('order_list', everyState)], lake, {
          settings: settingsOf('acme'),
          nowMs: NOW_MS,
          controls: commandControls({ lake, settings: lake }),
        }).markup,
    ],
  ])('is shown as text and never as markup: %s', (_name, draw) => {
    const markup = draw(HOSTILE);
    const tags = (html: string) => [...html.matchAll(/<(\w+)/g)].map(([, name]) => name);
    expect(tags(markup)).toEqual(tags(draw('harmless'.padEnd(HOSTILE.length))));
    expect(markup).toContain('&lt;script&gt;');
    expect(unclosed(markup)).toEqual([]);
  });

  it('is escaped everywhere, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", '=', ';', 'a', '\n', '\0', 'é', '😀') }),
        (text) => {
          const { markup } = html`<a title="${text}">${[text, html`<b>${text}</b>`]}</a>`;
          const [, title = ''] = /^<a title="([^"<>']*)">[^<>"']*<b>[^<>"']*<\/b><\/a>$/.exec(markup) ?? [];
          expect(unescaped(title)).toBe(text);
        },
      ),
    );
  });
});

describe('ranges of days', () => {
  it('contain exactly the given days, and no two ranges are adjacent', () => {
    const offsets = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 60 });
    fc.assert(
      fc.property(offsets, (numbers) => {
        const days = numbers.sort((a, b) => a - b).map((number) => addDays('2026-01-01', number));
        const ranges = dayRanges(days.map((dt) => statusDay(dt, 'missing')));
        expect(ranges.flatMap(({ from, to }) => daysFrom(from, to))).toEqual(days);
        const gaps = ranges.slice(1).map(({ from }, index) => daysBetween(ranges[index]?.to ?? '', from));
        expect(gaps.filter((gap) => gap < 2)).toEqual([]);
      }),
    );
  });
});

/** The tags that are opened and not closed, or closed and not opened, in order. */
function unclosed(markup: string): string[] {
  const open: string[] = [];
  const content = markup.replace(/<style>.*?<\/style>/gs, '').replace('<!doctype html>', '');
  for (const [, slash, name = ''] of content.matchAll(/<(\/?)([a-z]\w*)(?:\s+[\w-]+(?:="[^"<>]*")?)*\s*>/g)) {
    if (name === 'meta' || name === 'br') continue;
    if (slash === '') open.push(name);
    else if (open.at(-1) === name) open.pop();
    else return [...open, `/${name}`];
  }
  const left = content.replace(/<\/?[a-z]\w*(?:\s+[\w-]+(?:="[^"<>]*")?)*\s*>/g, '');
  return /[<>]/.test(left) ? [...open, 'a stray sign'] : open;
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
