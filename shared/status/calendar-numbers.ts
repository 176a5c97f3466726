import { type Html, html, pageTable } from './html.ts';
import { CELL_KINDS, cellKindOf } from './cell-kinds.ts';
import { type PageBrand, dayLines } from './page-brand.ts';

/** Kinds that need no name beside the facts of the day. */
const UNREMARKABLE = ['settled', 'complete', 'to_come'];

/** The facts that hovering over a day shows, newest day first, for telephones, keyboards and screen readers. */
export function numbers(brand: PageBrand): Html {
  const { name, tables, today } = brand;
  const days = [...new Set(tables.flatMap((table) => table.days.map(({ dt }) => dt)))].sort().reverse();
  const byDay = tables.map(({ days, measure }) => ({
    measure,
    found: new Map(days.map((day) => [day.dt, day])),
  }));
  const rows = days.map((dt) => [
    dt,
    ...byDay.map(({ found, measure }) => {
      const day = found.get(dt);
      if (!day) return '';
      const kind = cellKindOf(day, today);
      const lines = [
        ...(UNREMARKABLE.includes(kind) ? [] : [CELL_KINDS[kind].name]),
        ...dayLines(day, measure, brand),
      ];
      return html`${lines.map((line, index) => html`${index > 0 ? html`<br>` : ''}${line}`)}`;
    }),
  ]);
  const heads = ['day', ...tables.map(({ table }) => table)];
  return html`<details class="numbers"><summary>The days in numbers</summary>
${pageTable(`Days of ${name} in numbers`, heads, rows)}</details>
`;
}
