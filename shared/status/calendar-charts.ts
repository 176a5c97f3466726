/*
 * A chart for each table: a bar for the rows of each day over all months that the calendar shows, so that a hole or a jump
 * is seen at a glance. All charts of a brand have the same days one below the other. A bar has the colour of its day's
 * look; a day that needs action has a mark below the line as well, so that one that is missing is not taken for one
 * that is empty. Bars of one look are one path: a page of many brands would be too large otherwise.
 */
import { daysFrom, daysOfMonth, monthOf } from '../days.ts';
import type { DayFacts } from '../day-facts.ts';
import { PROBLEM_STATES } from '../planning/day-state.ts';
import { exactNumber } from './exact-number.ts';
import { Html, html } from './html.ts';
import { type Look, isToCome, lookOf } from './looks.ts';
import type { TableStatus } from './table-statuses.ts';

const BAR_HEIGHT = 24;
/** Of the day with the fewest rows: it must not look empty. */
const MIN_BAR_HEIGHT = 0.6;
const MARK_HEIGHT = 4;
const HEIGHT = BAR_HEIGHT + 1 + MARK_HEIGHT;
/** More months than that need the whole width. */
const MAX_DAYS_BESIDE = 190;
/** A month's name needs this share of the width. */
const MIN_NAMED = 0.08;

/** The charts of a brand's tables. @param months `YYYY-MM`, ascending @param today in the brand's zone */
export function charts(tables: readonly TableStatus[], months: readonly string[], today: string): Html {
  const [first = '', last = first] = [months[0], months.at(-1)];
  const ends = [...(first === '' ? [] : daysOfMonth(first)), ...(last === '' ? [] : daysOfMonth(last))];
  const axis = daysFrom(ends[0] ?? today, ends.at(-1) ?? today);
  const wide = axis.length > MAX_DAYS_BESIDE ? ' wide' : '';
  return html`<div class="charts${wide}">
${tables.map((table) => chart(table, axis, today))}</div>
`;
}

function chart({ table, days }: TableStatus, axis: readonly string[], today: string): Html {
  const largest = days.reduce((most, day) => Math.max(most, day.rows ?? 0), 0);
  const atMost = `at most ${exactNumber(largest)} ${largest === 1 ? 'row' : 'rows'} a day`;
  const byLook = [...Map.groupBy(days, (day) => lookOf(day, today))];
  const positions = new Map(axis.map((day, index) => [day, index + 0.5]));
  const bars = byLook.map(([look, own]) =>
    path(
      look,
      own.flatMap((day) => bar(day, positions, largest)),
    ),
  );
  const marks = byLook
    .filter(([look]) => isProblem(look))
    .map(([look, own]) =>
      path(
        `${look} mark`,
        own.flatMap((day) => mark(day, positions, today)),
      ),
    );
  const starts = axis.flatMap((day, index) =>
    day.endsWith('-01') && index > 0 ? [`M${index} 0V${HEIGHT}`] : [],
  );
  const label = `${table}: rows of each day from ${axis[0] ?? ''} to ${axis.at(-1) ?? ''}, ${atMost}`;
  return html`<figure><figcaption><b>${table}</b> ${atMost}</figcaption>
<svg viewBox="0 0 ${axis.length} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${path('line', [...starts, `M0 ${BAR_HEIGHT}H${axis.length}`])}${bars}${marks}</svg>
<div class="scale" aria-hidden="true">${monthNames(axis)}</div></figure>
`;
}

function bar({ dt, rows }: DayFacts, positions: ReadonlyMap<string, number>, largest: number): string[] {
  const x = positions.get(dt);
  if (x === undefined || rows === null || rows === 0) return [];
  const height = Math.max(MIN_BAR_HEIGHT, (BAR_HEIGHT * rows) / largest);
  return [`M${x} ${BAR_HEIGHT}v-${Number(height.toFixed(1))}`];
}

function mark(day: DayFacts, positions: ReadonlyMap<string, number>, today: string): string[] {
  const x = positions.get(day.dt);
  return x === undefined || isToCome(day, today) ? [] : [`M${x} ${BAR_HEIGHT + 1}v${MARK_HEIGHT}`];
}

function path(name: string, parts: readonly string[]): Html | string {
  return parts.length === 0 ? '' : html`<path class="${name}" d="${parts.join('')}"></path>`;
}

function isProblem(look: Look): boolean {
  const states: readonly string[] = PROBLEM_STATES;
  return states.includes(look);
}

function monthNames(axis: readonly string[]): Html[] {
  return [...Map.groupBy(axis, monthOf)].map(([month, days]) => {
    const name = new Intl.DateTimeFormat('en', { month: 'short', timeZone: 'UTC' }).format(
      Date.parse(`${month}-01`),
    );
    const share = new Html((days.length / axis.length).toFixed(4));
    return html`<span style="flex:${share}">${days.length / axis.length < MIN_NAMED ? '' : name}</span>`;
  });
}
