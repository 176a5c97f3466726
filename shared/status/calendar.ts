import { dayOf, daysOfMonth, monthOf } from '../days.ts';
import type { Settings } from '../settings/settings.ts';
import { type Theme, calendarStyle } from './calendar-style.ts';
import type { DayStatus, StatusDay } from './day-status.ts';
import { Html, html } from './html.ts';
import { type Controls, remedy } from './remedies.ts';
import type { TableStatus } from './table-statuses.ts';
import { type Problem, completeThrough, dayRanges, isToCome, problemsOf } from './problems.ts';

export interface CalendarOptions {
  settings: Settings;
  nowMs: number;
  controls: Controls;
  theme: Theme;
  heading?: Html;
}

/** What a cell shows: the day's status, or that its turn has not come. */
export type Look = DayStatus | 'to_come';

const MEANINGS: Record<Look, readonly [name: string, meaning: string]> = {
  settled: ['settled', 'can change no more'],
  complete: ['complete', 'read whole, and again as the policy asks'],
  open: ['open', 'read so far'],
  in_progress: ['in progress', 'being read'],
  to_come: ['to come', 'today, not read yet'],
  stale: ['stale', 'should have been read again'],
  unproven: ['unproven', 'the service never returned a record'],
  missing: ['missing', 'not there'],
  failed: ['failed', 'the last reading failed'],
};

const MAX_RANGES = 8;
/** Where every day failed for a reason of its own, the rest would say no more. */
const MAX_PROBLEMS = 20;
const SCALE = [1, 5, 10, 15, 20, 25, 30];

interface Brand {
  name: string;
  /** Missing where the settings do not know the brand. */
  zone: string | undefined;
  today: string;
  tables: readonly TableStatus[];
  problems: readonly Problem[];
  /** An instant as `2026-11-20 06:02` in the zone. */
  at: (iso: string) => string;
  /** The same of one that is to come. */
  due: (iso: string) => string;
}

/**
 * The coverage calendar of all brands: days × tables, newest month first, with what is the matter in words. The
 * markup stands by itself in a page or a dashboard's widget: no script, nothing loaded, styles for itself alone.
 */
export function calendar(tables: readonly TableStatus[], options: CalendarOptions): Html {
  const brands = [...Map.groupBy(tables, ({ brand }) => brand)].map(([name, of]) =>
    brandOf(name, of, options),
  );
  return html`<div class="coverage cwdb-no-default-styles">
<style>${new Html(calendarStyle(options.theme))}</style>
${options.heading ?? ''}
${brands.length > 1 ? overall(brands) : ''}
${brands.map((brand) => section(brand, options.controls))}
${legend(brands)}
</div>`;
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
  const unhealthy = brands.filter(lacksDays).map(({ name }) => name);
  if (unhealthy.length === 0) return html`<p>All days of all ${brands.length} brands are in.</p>`;
  return html`<p>Days are missing or failed in ${unhealthy.length} of ${brands.length} brands: ${unhealthy.join(', ')}.</p>`;
}

function lacksDays({ tables, problems: troubles }: Brand): boolean {
  return troubles.length > 0 || tables.some(({ lateBefore = [] }) => lateBefore.length > 0);
}

function section(brand: Brand, controls: Controls): Html {
  const { name, zone, today, tables, problems: troubles } = brand;
  const months = new Set(tables.flatMap(({ days }) => days.map(({ dt }) => monthOf(dt))));
  const newestFirst = [...months].sort().reverse();
  return html`<section>
<h2>${name} <small>${zone === undefined ? 'in the lake, but not in the settings' : `${zone}, today is ${today}`}</small></h2>
<p class="headline${troubles.length === 0 ? ' well' : ''}">${headline(brand)}</p>
<div class="months">
${newestFirst.map((month) => monthBlock(month, brand))}</div>
${earlierMonths(tables)}
${problemList(brand, controls)}
</section>
`;
}

/** Is everything in, and if not, what is missing. */
function headline({ tables, problems: troubles }: Brand): Html {
  const first = tables.flatMap(({ days }) => days[0]?.dt ?? []).sort()[0];
  const through = completeThrough(tables);
  if (troubles.length > 0) {
    const sums = [...Map.groupBy(troubles, ({ table }) => table.table)].map(
      ([table, of]) => html`<b>${table}</b>: ${summed(of)}. `,
    );
    return through === undefined
      ? html`${sums}`
      : html`${sums}Before that all days are in: ${dayRange(first ?? through, through)}.`;
  }
  if (through !== undefined) return html`<b>All days are in</b>: ${dayRange(first ?? through, through)}.`;
  return html`No day is over yet${first === undefined ? '' : html`: the first one is <time>${first}</time>`}.`;
}

/** `2 days failed, 1 missing` */
function summed(troubles: readonly Problem[]): string {
  const counts = [...Map.groupBy(troubles, ({ status }) => status)].map(([status, of]) => {
    const count = of.reduce((sum, { days }) => sum + days.length, 0);
    return { count, name: MEANINGS[status][0] };
  });
  return counts
    .map(({ count, name }, index) => {
      const noun = index > 0 ? '' : count === 1 ? 'day ' : 'days ';
      return `${count} ${noun}${name}`;
    })
    .join(', ');
}

function problemList(brand: Brand, controls: Controls): Html | string {
  const { problems: troubles } = brand;
  if (troubles.length === 0) return '';
  const alike = Map.groupBy(troubles, ({ status, days }) => `${status} ${days[0]?.failure?.message ?? ''}`);
  const items = [...alike.values()];
  const shown = items.slice(0, MAX_PROBLEMS).map((of) => problemItem(of, brand, controls));
  const rest = items.length - shown.length;
  return html`<ul>${shown}${rest > 0 ? html`<li>and ${rest} more</li>` : ''}</ul>`;
}

/** What is the matter with tables of the brand for the same reason, and what mends it. */
function problemItem(alike: readonly Problem[], { zone, at }: Brand, controls: Controls): Html {
  const together = [...Map.groupBy(alike, ({ days }) => rangesText(days).markup).values()];
  const lines = together.flatMap((of) => {
    const tables = of.map(({ table }) => table.table).join(', ');
    return of.slice(0, 1).map(
      ({ status, days }) => html`<b>${tables}</b> ${MEANINGS[status][0]}: ${rangesText(days)}<br>
`,
    );
  });
  const failures = alike.flatMap(({ days }) => days.flatMap(({ failure }) => failure ?? []));
  const [failure] = failures.sort((a, b) => (a.since < b.since ? -1 : 1));
  return html`<li>${lines}${failure ? html`<q>${failure.kind} (${failure.code}): ${failure.message}</q>` : ''}
<div>${failure ? `Since ${at(failure.since)}. ` : ''}${zone === undefined ? 'Nothing reads it: the brand is not in the settings.' : remedy(alike, controls)}</div></li>
`;
}

/** `2026-11-01 to 2026-11-03, 2026-11-07 and 2 more` */
function rangesText(days: readonly StatusDay[]): Html {
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

function monthRow(month: string, { table, days }: TableStatus, brand: Brand): Html {
  const shown = days
    .filter(({ dt }) => monthOf(dt) === month)
    .map((day) => ({ day, look: lookOf(day, brand.today) }));
  const cells = daysOfMonth(month).map((dt) => {
    const found = shown.find(({ day }) => day.dt === dt);
    if (!found) return html`<i></i>`;
    return html`<i class="${found.look}" title="${hover(table, found.day, found.look, brand)}"></i>`;
  });
  const counts = [...Map.groupBy(shown, ({ look }) => look)].map(
    ([look, of]) => `${of.length} ${MEANINGS[look][0]}`,
  );
  const label = `${table} in ${month}: ${counts.join(', ') || 'no days'}`;
  return html`<div class="row"><b title="${table}">${table}</b><div class="days" role="img" aria-label="${label}">${cells}</div></div>
`;
}

function lookOf(day: StatusDay, today: string): Look {
  return day.status === 'missing' && isToCome(day, today) ? 'to_come' : day.status;
}

function hover(
  table: string,
  { dt, rows, readFrom, nextDue, failure }: StatusDay,
  look: Look,
  { at, due }: Brand,
): string {
  return [
    `${table} ${dt}`,
    MEANINGS[look].join(': '),
    ...(rows === null ? [] : [`${rows.toLocaleString('en-US')} ${rows === 1 ? 'row' : 'rows'}`]),
    ...(readFrom === null ? [] : [`last read ${at(readFrom)}`]),
    ...(failure ? [`failing since ${at(failure.since)}: ${failure.code}`] : []),
    ...(nextDue === null ? [] : [`next due ${due(failure?.retryAt ?? nextDue)}`]),
  ].join('\n');
}

function earlierMonths(tables: readonly TableStatus[]): Html | string {
  const late = tables.flatMap(({ table, lateBefore: [first, ...more] = [] }) => {
    if (first === undefined) return [];
    const months = more.length === 0 ? first : `${more.length + 1} months from ${first} to ${more.at(-1)}`;
    return [`${table}: ${months}`];
  });
  if (late.length === 0) return '';
  return html`<p class="earlier">Earlier months, not shown, that lack days: ${late.join('; ')}.</p>`;
}

/** What the cells that are there mean. */
function legend(brands: readonly Brand[]): Html {
  const looks = brands.flatMap(({ tables, today }) =>
    tables.flatMap(({ days }) => days.map((day) => lookOf(day, today))),
  );
  const met = new Set<string>(looks);
  const items = Object.entries(MEANINGS)
    .filter(([look]) => met.has(look))
    .map(
      ([look, [name, meaning]]) =>
        html`<li><i class="${look}"></i><span><b>${name}</b>: ${meaning}</span></li>`,
    );
  return html`<ul class="legend">${items}</ul>`;
}
