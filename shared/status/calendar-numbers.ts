import type { DayFacts } from '../day-facts.ts';
import { exactNumber } from './exact-number.ts';
import { type Html, html } from './html.ts';
import { LOOKS, lookOf } from './looks.ts';
import type { TableStatus } from './table-statuses.ts';

/** Looks that need no word beside the number of rows. */
const UNREMARKABLE = ['settled', 'complete', 'to_come'];

/**
 * What pointing at a day shows, as a table to read without a pointer: rows, sum and changes, newest day first. A browser
 * opens it by a click, a tap or a key.
 */
export function numbers(tables: readonly TableStatus[], today: string): Html {
  const days = [...new Set(tables.flatMap((table) => table.days.map(({ dt }) => dt)))].sort().reverse();
  const byDay = tables.map((table) => ({ ...table, found: new Map(table.days.map((day) => [day.dt, day])) }));
  const rows = days.map((dt) => {
    const cells = byDay.map(({ found }) => html`<td>${cellText(found.get(dt), today)}</td>`);
    return html`<tr><th scope="row">${dt}</th>${cells}</tr>
`;
  });
  const heads = tables.map(
    ({ table, measure }) =>
      html`<th scope="col">${table}<br>rows${measure === undefined ? '' : `, ${measure}`}</th>`,
  );
  return html`<details><summary>The days in numbers</summary>
<div class="numbers"><table><thead><tr><th scope="col">day</th>${heads}</tr></thead>
<tbody>${rows}</tbody></table></div></details>
`;
}

function cellText(day: DayFacts | undefined, today: string): Html | string {
  if (!day) return '';
  const look = lookOf(day, today);
  const { rows, sum, changes } = day;
  const parts = [
    ...(rows === null ? [] : [exactNumber(rows)]),
    ...(sum === undefined ? [] : [exactNumber(sum)]),
    ...(changes ? [`${exactNumber(changes.times)}× changed`] : []),
    ...(UNREMARKABLE.includes(look) ? [] : [LOOKS[look].name]),
  ];
  return html`${parts.map((part, index) => html`${index > 0 ? html`<br>` : ''}${part}`)}`;
}
