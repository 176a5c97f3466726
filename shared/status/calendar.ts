/*
 * Without a picture, a gap of three days in two years goes unnoticed. The coverage calendar shows days × tables, newest
 * month first, and states what is wrong and what to do. Parts: `table-statuses.ts` has the days and their states,
 * `looks.ts` what each state looks like, `problems.ts` what needs action, `remedies.ts` the action, `calendar-charts.ts`
 * how many rows each day has, `calendar-numbers.ts` the same in numbers, `calendar-style.ts` the colours. The page loads
 * nothing and runs nothing, and everything from outside is escaped (`html.ts`).
 */
import { dayOf, daysOfMonth, monthOf } from '../days.ts';
import type { DayFacts } from '../day-facts.ts';
import type { Settings } from '../settings/settings.ts';
import { charts } from './calendar-charts.ts';
import { numbers } from './calendar-numbers.ts';
import { CALENDAR_STYLE } from './calendar-style.ts';
import { exactNumber } from './exact-number.ts';
import { Html, html } from './html.ts';
import { LOOKS, type Look, lookOf } from './looks.ts';
import { type Controls, remedy } from './remedies.ts';
import type { TableStatus } from './table-statuses.ts';
import { type Problem, completeThrough, dayRanges, problemsOf } from './problems.ts';

/** What the calendar is drawn with. */
export interface CalendarOptions {
  settings: Settings;
  nowMs: number;
  controls: Controls;
}

const MAX_RANGES = 8;
/** Problems listed, at most: where every day failed for its own reason, more would not help. */
const MAX_PROBLEMS = 20;
const SCALE = [1, 5, 10, 15, 20, 25, 30];

interface Brand {
  name: string;
  /** Missing where the settings do not have the brand. */
  zone: string | undefined;
  today: string;
  tables: readonly TableStatus[];
  problems: readonly Problem[];
  /** An instant as `2026-11-20 06:02` in the zone. */
  at: (iso: string) => string;
  /** The same for a due time, which may be in the past. */
  due: (iso: string) => string;
}

/**
 * Draws the calendar of all brands as a page.
 * @param lake what the page calls the lake, e.g. its address
 */
export function calendarPage(tables: readonly TableStatus[], lake: string, options: CalendarOptions): Html {
  const brands = [...Map.groupBy(tables, ({ brand }) => brand)].map(([name, own]) =>
    brandOf(name, own, options),
  );
  const asOf = new Date(options.nowMs).toISOString().slice(0, 16).replace('T', ' ');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Coverage of ${lake}</title>
<style>${new Html(CALENDAR_STYLE)}</style>
</head>
<body>
<h1>Coverage <small>${lake}, as of ${asOf} UTC</small></h1>
${brands.length > 1 ? overall(brands) : ''}
${brands.map((brand) => section(brand, options.controls))}
${legend(brands)}
</body>
</html>
`;
}

function brandOf(name: string, tables: readonly TableStatus[], { settings, nowMs }: CalendarOptions): Brand {
  const zone = settings.brands[name]?.timeZone;
  const today = dayOf(nowMs, zone ?? 'UTC');
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone ?? 'UTC',
    dateStyle: 'short',
    timeStyle: 'short',
  });
  const at = (iso: string) => format.format(Date.parse(iso));
  const due = (iso: string) => (Date.parse(iso) <= nowMs ? 'at the next run' : at(iso));
  return { name, zone, today, tables, problems: problemsOf(tables, today), at, due };
}

function overall(brands: readonly Brand[]): Html {
  const unhealthy = brands.filter(hasProblems).map(({ name }) => name);
  if (unhealthy.length === 0) return html`<p>All ${brands.length} brands are complete.</p>`;
  return html`<p>${unhealthy.length} of ${brands.length} brands have problems: ${unhealthy.join(', ')}.</p>`;
}

function hasProblems({ tables, problems }: Brand): boolean {
  const unseen = tables.flatMap(({ overdueBefore = [], damaged = [] }) => [...overdueBefore, ...damaged]);
  return problems.length > 0 || unseen.length > 0;
}

function section(brand: Brand, controls: Controls): Html {
  const { name, zone, today, tables, problems } = brand;
  const months = new Set(tables.flatMap(({ days }) => days.map(({ dt }) => monthOf(dt))));
  const ascending = [...months].sort();
  return html`<section>
<h2>${name} <small>${zone === undefined ? 'in the lake, but not in the settings' : `${zone}, today is ${today}`}</small></h2>
<p class="headline${problems.length === 0 ? ' good' : ''}">${headline(brand)}</p>
${months.size === 0 ? '' : charts(tables, ascending, today)}
<div class="months">
${ascending.toReversed().map((month) => monthBlock(month, brand))}</div>
${months.size === 0 ? '' : numbers(tables, today)}
${earlierMonths(tables)}
${damagedDocuments(tables)}
${problemList(brand, controls)}
</section>
`;
}

/** How many days of each table need action, and up to which day everything is complete. */
function headline({ tables, problems }: Brand): Html {
  const first = tables.flatMap(({ days }) => days[0]?.dt ?? []).sort()[0];
  const through = completeThrough(tables);
  if (problems.length > 0) {
    const sums = [...Map.groupBy(problems, ({ table }) => table.table)].map(
      ([table, own]) => html`<b>${table}</b>: ${summed(own)}. `,
    );
    return through === undefined
      ? html`${sums}`
      : html`${sums}Earlier days are complete: ${dayRange(first ?? through, through)}.`;
  }
  if (through !== undefined)
    return html`<b>All days are complete</b>: ${dayRange(first ?? through, through)}.`;
  return html`No day is over yet${first === undefined ? '' : html`: the first one is <time>${first}</time>`}.`;
}

/** `2 days failed, 1 missing` */
function summed(problems: readonly Problem[]): string {
  const counts = [...Map.groupBy(problems, ({ state }) => state)].map(([state, alike]) => {
    const count = alike.reduce((sum, { days }) => sum + days.length, 0);
    return { count, name: LOOKS[state].name };
  });
  return counts
    .map(({ count, name }, index) => {
      const noun = index > 0 ? '' : count === 1 ? 'day ' : 'days ';
      return `${count} ${noun}${name}`;
    })
    .join(', ');
}

function problemList(brand: Brand, controls: Controls): Html | string {
  const { problems } = brand;
  if (problems.length === 0) return '';
  const alike = Map.groupBy(problems, ({ state, days }) => `${state} ${days[0]?.failure?.message ?? ''}`);
  const items = [...alike.values()];
  const shown = items.slice(0, MAX_PROBLEMS).map((each) => problemItem(each, brand, controls));
  const rest = items.length - shown.length;
  return html`<ul>${shown}${rest > 0 ? html`<li>and ${rest} more</li>` : ''}</ul>`;
}

/** Problems of the brand's tables with the same cause, and how to fix them. */
function problemItem(alike: readonly Problem[], { zone, at }: Brand, controls: Controls): Html {
  const together = [...Map.groupBy(alike, ({ days }) => rangesText(days).markup).values()];
  const lines = together.flatMap((same) => {
    const tables = same.map(({ table }) => table.table).join(', ');
    return same.slice(0, 1).map(
      ({ state, days }) => html`<b>${tables}</b> ${LOOKS[state].name}: ${rangesText(days)}<br>
`,
    );
  });
  const failures = alike.flatMap(({ days }) => days.flatMap(({ failure }) => failure ?? []));
  const [failure] = failures;
  const [since] = failures.flatMap(({ since }) => since ?? []).sort();
  return html`<li>${lines}${failure ? html`<q>${failure.kind} (${failure.code}): ${failure.message}</q>` : ''}
<div>${since === undefined ? '' : `Since ${at(since)}. `}${zone === undefined ? 'No run reads this brand: it is not in the settings.' : remedy(alike, controls)}</div></li>
`;
}

/** `2026-11-01 to 2026-11-03, 2026-11-07 and 2 more` */
function rangesText(days: readonly DayFacts[]): Html {
  const ranges = dayRanges(days);
  const shown = ranges
    .slice(0, MAX_RANGES)
    .map(({ from, to }, index) => html`${index > 0 ? ', ' : ''}${dayRange(from, to)}`);
  return html`${shown}${ranges.length > MAX_RANGES ? ` and ${ranges.length - MAX_RANGES} more` : ''}`;
}

function dayRange(from: string, to: string): Html {
  return from === to ? html`<time>${from}</time>` : html`<time>${from}</time> to <time>${to}</time>`;
}

function monthBlock(month: string, brand: Brand): Html {
  const name = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.parse(`${month}-01T00:00:00Z`),
  );
  const scale = SCALE.map((day) => html`<span style="grid-column:${day}">${day}</span>`);
  return html`<div>
<h3>${name}</h3>
<div class="row" aria-hidden="true"><b></b><div class="days">${scale}</div></div>
${brand.tables.map((table) => monthRow(month, table, brand))}</div>
`;
}

function monthRow(month: string, { table, measure, days }: TableStatus, brand: Brand): Html {
  const shown = days
    .filter(({ dt }) => monthOf(dt) === month)
    .map((day) => ({ day, look: lookOf(day, brand.today) }));
  const cells = daysOfMonth(month).map((dt) => {
    const found = shown.find(({ day }) => day.dt === dt);
    if (!found) return html`<i></i>`;
    return html`<i class="${found.look}" title="${hover({ table, measure }, found.day, found.look, brand)}"></i>`;
  });
  const counts = [...Map.groupBy(shown, ({ look }) => look)].map(
    ([look, cells]) => `${cells.length} ${LOOKS[look].name}`,
  );
  const label = `${table} in ${month}: ${counts.join(', ') || 'no days'}`;
  return html`<div class="row"><b title="${table}">${table}</b><div class="days" role="img" aria-label="${label}">${cells}</div></div>
`;
}

function hover(
  { table, measure }: { table: string; measure: string | undefined },
  day: DayFacts,
  look: Look,
  { at, due }: Brand,
): string {
  const { dt, readFrom, nextDue, failure } = day;
  return [
    `${table} ${dt}`,
    `${LOOKS[look].name}: ${LOOKS[look].meaning}`,
    ...contentText(day, measure),
    ...changesText(day, at),
    ...(day.findings ?? []).map(({ title, detail }) => `${title}: ${detail}`),
    ...(readFrom === null ? [] : [`last read ${at(readFrom)}`]),
    ...(failure
      ? [`${failure.since === undefined ? 'failed' : `failing since ${at(failure.since)}`}: ${failure.code}`]
      : []),
    ...(nextDue === null ? [] : [`next due ${due(nextDue)}`]),
  ].join('\n');
}

/** What is in a day, e.g. `1,234 rows, commission 5,678.9`; nothing where nothing was read. @param measure the column of `sum` */
function contentText({ rows, sum }: DayFacts, measure: string | undefined): string[] {
  if (rows === null) return [];
  const counted = `${exactNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  return [
    sum === undefined || measure === undefined ? counted : `${counted}, ${measure} ${exactNumber(sum)}`,
  ];
}

/** What changed since the day was closed, e.g. `changed 2 times, last 2026-11-10 01:02: 1 added, 3 altered of 12 rows`. */
function changesText({ changes }: DayFacts, at: (iso: string) => string): string[] {
  if (!changes) return [];
  const { times, last } = changes;
  const often = times === 1 ? 'changed once,' : `changed ${exactNumber(times)} times, last`;
  const parts = (['added', 'removed', 'altered'] as const).flatMap((what) =>
    last[what] === undefined || last[what] === 0 ? [] : [`${exactNumber(last[what])} ${what}`],
  );
  const what = parts.length === 0 ? '' : `: ${parts.join(', ')} of ${exactNumber(last.rowsBefore)}`;
  return [`${often} ${at(last.at)}${what}`];
}

function earlierMonths(tables: readonly TableStatus[]): Html | string {
  const overdue = tables.flatMap(({ table, overdueBefore: [first, ...more] = [] }) => {
    if (first === undefined) return [];
    const months = more.length === 0 ? first : `${more.length + 1} months from ${first} to ${more.at(-1)}`;
    return [`${table}: ${months}`];
  });
  if (overdue.length === 0) return '';
  return html`<p class="earlier">Earlier months, not shown here, with missing or overdue days: ${overdue.join('; ')}.</p>`;
}

function damagedDocuments(tables: readonly TableStatus[]): Html | string {
  const keys = tables.flatMap(({ damaged = [] }) => damaged.map(({ key }) => key));
  if (keys.length === 0) return '';
  return html`<p class="earlier">Damaged documents of the lake: ${keys.join(', ')}. To make them again: <code>npx brand-reports repair</code></p>`;
}

/** The legend of the looks that occur. */
function legend(brands: readonly Brand[]): Html {
  const looks = brands.flatMap(({ tables, today }) =>
    tables.flatMap(({ days }) => days.map((day) => lookOf(day, today))),
  );
  const met = new Set<string>(looks);
  const items = Object.entries(LOOKS)
    .filter(([look]) => met.has(look))
    .map(
      ([look, { name, meaning }]) =>
        html`<li><i class="${look}"></i><span><b>${name}</b>: ${meaning}</span></li>`,
    );
  if (items.length === 0) return html``;
  const ofCharts = html`<li>A bar is the rows of a day, and a mark below the line a day that needs action</li>`;
  return html`<ul class="legend">${items}${ofCharts}</ul>`;
}
