import { type Html, html } from './html.ts';

type Cell = Html | string;

/**
 * A table that scrolls on its own if the screen is narrow, also by keyboard. The first cell of a row is its head.
 * @param name the name for screen readers
 */
export function pageTable(name: string, heads: readonly Cell[], rows: readonly (readonly Cell[])[]): Html {
  const body = rows.map(
    ([head = '', ...cells]) =>
      html`<tr><th scope="row">${head}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
  );
  return html`<div class="scroll" role="region" aria-label="${name}" tabindex="0"><table>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${body}</tbody></table></div>
`;
}

/** Text to copy: a click selects all of it. */
export function copyable(text: string): Html {
  return html`<code>${text}</code>`;
}
