/** Markup that is complete and already escaped. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | string | number | readonly Part[];

/** Markup from a template: inserted values that are not markup are escaped. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(markupOf)));
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup;
  return typeof part === 'object' ? part.map(markupOf).join('') : escaped(String(part));
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

type Cell = Html | string;

/** Scrolls on its own on a narrow screen, also by keyboard. A row begins with its head. @param name for screen readers */
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
