/*
 * Draws the page that people open in the morning. For each brand it shows what is wrong and what to do, the part of
 * `morning.ts`, and the calendar of days and tables, newest month first. Without the picture, a gap of three days in two
 * years would go unnoticed. The page loads nothing and runs nothing, and everything from outside is escaped (`html.ts`).
 */
import { daysOfMonth, instantText, monthOf } from '../base/days.ts';
import { CALENDAR_STYLE } from './calendar-style.ts';
import { CELL_KINDS, cellKindOf } from './cell-kinds.ts';
import { Html, html, pageTable } from './html.ts';
import { morning, problemItem } from './morning.ts';
import { PROBLEM_STATES } from '../planning/day-state.ts';
import { type CalendarOptions, type PageBrand, dayLines, pageBrands } from './page-brand.ts';
import { type Problem, completeThrough, rangeText, summed, together } from './problems.ts';
import type { Controls } from './remedies.ts';
import type { TableStatus } from './table-statuses.ts';

/** The page lists at most so many problems: if every day failed for its own reason, more would not help. */
const MAX_PROBLEMS = 20;
const SCALE = [1, 5, 10, 15, 20, 25, 30];

/** @param home the address of the index, on the page of one brand */
export function calendarPage(
  tables: readonly TableStatus[],
  lake: string,
  options: CalendarOptions,
  home?: string,
): Html {
  const { nowMs, controls } = options;
  const brands = pageBrands(tables, options);
  const content = html`${home === undefined ? '' : html`<p><a href="${home}">All brands</a></p>`}
${brands.length > 1 ? indexTable(brands.map(indexRow), (name) => `#${name}`) : ''}
${brands.map((brand) => section(brand, controls))}
${brands.length > 0 ? LEGEND : ''}`;
  return page(lake, nowMs, content);
}

/** @param addressOf of the page of a brand */
export function indexPage(
  rows: readonly IndexRow[],
  lake: string,
  nowMs: number,
  addressOf: (brand: string) => string,
): Html {
  return page(lake, nowMs, rows.length === 0 ? html`<p>No brand yet.</p>` : indexTable(rows, addressOf));
}

function page(lake: string, nowMs: number, content: Html): Html {
  const asOf = instantText(new Date(nowMs).toISOString());
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Brand reports in ${lake}</title>
<style>${new Html(CALENDAR_STYLE)}</style>
</head>
<body>
<main>
<h1>Brand reports <small>${lake}, as of ${asOf}</small></h1>
${content}
</main>
</body>
</html>
`;
}

/** What the index shows of a brand: the worst first, by the rank of its worst problem and the days that have problems. */
export type IndexRow = ReturnType<typeof indexRow>;

export function indexRow({ name, tables, problems, zone }: PageBrand) {
  const enabled = tables.filter(({ every }) => every !== undefined);
  const successes = enabled.map(({ lastRun }) => lastRun?.completeAt);
  const [oldest] = successes.flatMap((success) => success ?? []).sort();
  return {
    name,
    rank: Math.min(...problems.map(rankOf), PROBLEM_STATES.length),
    days: problems.reduce((sum, { days }) => sum + days.length, 0),
    problems: [...summed(problems), ...(zone === undefined ? ['not in the settings'] : [])].join('; '),
    through: completeThrough(tables) ?? 'none',
    lastRun: oldest === undefined || successes.includes(undefined) ? 'none yet' : instantText(oldest),
  };
}

function rankOf({ state }: Problem): number {
  return PROBLEM_STATES.findIndex((each) => each === state);
}

function indexTable(rows: readonly IndexRow[], addressOf: (brand: string) => string): Html {
  const unhealthy = rows.filter(({ rank }) => rank < PROBLEM_STATES.length).length;
  const sentence =
    unhealthy === 0
      ? `All ${rows.length} brands are complete.`
      : `${unhealthy} of ${rows.length} brands have problems.`;
  const worstFirst = rows.toSorted(
    (a, b) => a.rank - b.rank || b.days - a.days || (a.name < b.name ? -1 : 1),
  );
  const cells = worstFirst.map(({ name, problems, through, lastRun }) => [
    html`<a href="${addressOf(name)}">${name}</a>`,
    ...[problems || 'none', through, lastRun],
  ]);
  const heads = ['brand', 'problems', 'complete through', 'last successful run'];
  return html`<p class="headline${unhealthy === 0 ? ' good' : ''}">${sentence}</p>
<div class="index">${pageTable('Brands', heads, cells)}</div>`;
}

function section(brand: PageBrand, controls: Controls): Html {
  const { name, zone, today, tables, problems, notes } = brand;
  const months = new Set(tables.flatMap(({ days }) => days.map(({ dt }) => monthOf(dt))));
  return html`<section id="${name}">
<h2>${name} <small>${zone === undefined ? 'in the lake, but not in the settings; times in UTC' : `${zone}, today is ${today}`}</small></h2>
<p class="headline${problems.length === 0 ? ' good' : ''}">${headline(brand)}</p>
${notes.map((text) => html`<p>${text}</p>`)}
${problemList(brand, controls)}
${
  months.size === 0
    ? ''
    : html`${morning(brand, controls)}<h3>Calendar</h3>
<div class="months">
${[...months]
  .sort()
  .reverse()
  .map((month) => monthBlock(month, brand))}</div>
${numbers(brand)}`
}
</section>
`;
}

function headline({ tables, problems }: PageBrand): Html {
  const first = tables.flatMap(({ days }) => days[0]?.dt ?? []).sort()[0];
  const through = completeThrough(tables);
  const complete = through && rangeText({ from: first ?? through, to: through });
  if (problems.length > 0) {
    const sums = [...Map.groupBy(problems, ({ table }) => table)].map(
      ([table, own]) => html`<b>${table}</b>: ${summed(own).join(', ')}. `,
    );
    return html`${sums}${complete === undefined ? '' : `Earlier days are complete: ${complete}.`}`;
  }
  if (complete !== undefined) return html`<b>All days are complete</b>: ${complete}.`;
  return html`No day is over yet${first === undefined ? '' : `: the first one is ${first}`}.`;
}

function problemList(brand: PageBrand, controls: Controls): Html | string {
  const items = together(brand.problems.toSorted((a, b) => rankOf(a) - rankOf(b)));
  if (items.length === 0) return '';
  const shown = items.slice(0, MAX_PROBLEMS).map((problem) => problemItem(problem, brand, controls));
  const rest = items.length - shown.length;
  return html`<ul>${shown}${rest > 0 ? html`<li>and ${rest} more</li>` : ''}</ul>`;
}

function monthBlock(month: string, brand: PageBrand): Html {
  const name = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    Date.parse(`${month}-01T00:00:00Z`),
  );
  const scale = SCALE.map((day) => html`<span style="grid-column:${day}">${day}</span>`);
  return html`<div>
<h4>${name}</h4>
<div class="row" aria-hidden="true"><b></b><div class="days">${scale}</div></div>
${brand.tables.map((table) => monthRow(month, table, brand))}</div>
`;
}

function monthRow(month: string, { table, days }: TableStatus, brand: PageBrand): Html {
  const cells = daysOfMonth(month).map((dt) => {
    const day = days.find((each) => each.dt === dt);
    if (!day) return html`<i></i>`;
    const kind = cellKindOf(day, brand.today);
    return html`<i class="${kind}" title="${table} ${dt}: ${CELL_KINDS[kind].name}"></i>`;
  });
  return html`<div class="row"><b title="${table}">${table}</b><div class="days" role="img" aria-label="${table} in ${month}: see the days in numbers">${cells}</div></div>
`;
}

const LEGEND = html`<ul class="legend">${Object.entries(CELL_KINDS).map(
  ([kind, { name, meaning }]) =>
    html`<li><i class="${kind}"></i><span><b>${name}</b>: ${meaning}</span></li>`,
)}</ul>`;

/** The facts of each day, newest day first: as a table, because telephones, keyboards and screen readers cannot hover. */
function numbers(brand: PageBrand): Html {
  const { name, tables, today } = brand;
  const days = [...new Set(tables.flatMap((table) => table.days.map(({ dt }) => dt)))].sort().reverse();
  const byDay = tables.map((table) => new Map(table.days.map((day) => [day.dt, day])));
  const rows = days.map((dt) => [
    dt,
    ...byDay.map((found) => {
      const day = found.get(dt);
      if (!day) return '';
      const lines = [CELL_KINDS[cellKindOf(day, today)].name, ...dayLines(day, brand)];
      return html`${lines.map((line, index) => html`${index > 0 ? html`<br>` : ''}${line}`)}`;
    }),
  ]);
  const heads = ['day', ...tables.map(({ table }) => table)];
  return html`<details class="numbers"><summary>The days in numbers</summary>
${pageTable(`Days of ${name} in numbers`, heads, rows)}</details>
`;
}
