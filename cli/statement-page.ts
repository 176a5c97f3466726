/**
 * Draws statements as a page to print on A4: for each brand a summary, then each publisher on pages of its own, in black
 * and white. The page loads nothing and runs nothing, and everything from outside is escaped.
 */
import type { Json } from '@duckdb/node-api';
import { exactNumber } from '../shared/exact-number.ts';
import { Html, html } from '../shared/status/html.ts';
import type { Fact, PublisherPart } from './statement-entries.ts';

/** A brand's statement, whose publishers are read while it is written. */
export interface Statement {
  brand: string;
  month: string;
  /** How final and how complete it is, a sentence each. */
  notes: readonly string[];
  /** Of all publishers. */
  totals: readonly Fact[];
  publishers: AsyncIterable<PublisherPart>;
}

const STYLE = `
@page{size:A4;margin:15mm 14mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt sans-serif}}
body{max-width:182mm;margin:0 auto;color:#000;background:#fff;font:9pt/1.35 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
section{break-after:page}
section:last-child{break-after:auto}
h1{margin:0 0 4pt;font-size:15pt}
h2{margin:14pt 0 4pt;font-size:10.5pt;break-after:avoid}
p{margin:0 0 2pt}
h1,p,th,td{overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
thead{display:table-header-group}
tr{break-inside:avoid}
th,td{padding:1.5pt 4pt;border-bottom:.5pt solid #999;text-align:left;vertical-align:top}
th{border-bottom:1pt solid #000}
thead tr:first-child:not(:only-child) th{border:0}
.number{text-align:right;white-space:nowrap}
.total td{border-bottom:1pt solid #000;font-weight:600}
`;

/** A column of a table: its head, its cell of a row, and whether it has numbers. */
type Column = readonly [head: string, cell: (row: Fact) => string, isNumber?: true];

const text = (name: string) => (row: Fact) => shown(row[name]);
const money = (name: string) => (row: Fact) => amountOf(row[name]);
const CURRENCY: Column = ['Currency', ({ currency }) => shown(currency, 'none')];
const RECORD: readonly Column[] = [
  ['Day', text('day')],
  ['Order', text('order_id')],
  ['Product', text('product')],
  ['Kind', text('kind')],
];
const LINES: readonly Column[] = [
  ...RECORD,
  ['State', text('state')],
  ['Amount', money('amount'), true],
  ['Commission', money('commission'), true],
  ['Counts', money('counted'), true],
  CURRENCY,
];
const CARRIED: readonly Column[] = [
  ...RECORD,
  ['Then', ({ state_then: state }) => shown(state, 'not there')],
  ['Counted', money('counted_then'), true],
  ['Now', text('state')],
  ['Counts', money('counted_now'), true],
  ['Difference', money('counted'), true],
  CURRENCY,
];
const TOTALS: readonly Column[] = [
  CURRENCY,
  ['State', partOf],
  ['Records', text('records'), true],
  ['Amount', money('amount'), true],
  ['Commission', money('commission'), true],
  ['Counts', money('counted'), true],
];

/** The page in pieces, a publisher at a time. */
export async function* statementPage(statements: readonly Statement[]): AsyncGenerator<string> {
  const title = `Statement ${statements[0]?.month ?? ''}, ${statements.map(({ brand }) => brand).join(', ')}`;
  yield html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
`.markup;
  for (const statement of statements) {
    yield part(statement, 'all publishers', tableOf('Totals', TOTALS, statement.totals)).markup;
    for await (const publisher of statement.publishers) yield publisherPart(statement, publisher).markup;
  }
  yield '</body>\n</html>\n';
}

function publisherPart(statement: Statement, { id, name, totals, lines, carried }: PublisherPart): Html {
  const who =
    id === null ? 'without a publisher' : `publisher ${shown(id)}${name === null ? '' : `, ${shown(name)}`}`;
  const repeated = `${statement.brand} ${statement.month}, ${who}`;
  return part(
    statement,
    who,
    html`${tableOf('Totals', TOTALS, totals)}
${tableOf('Changes of months that were closed before', CARRIED, carried, repeated)}
${tableOf('Orders and bonuses', LINES, lines, repeated)}`,
  );
}

function part({ brand, month, notes }: Statement, who: string, content: Html): Html {
  return html`<section>
<h1>Statement ${month}: ${brand}, ${who}</h1>
${notes.map((note) => html`<p>${note}</p>\n`)}
${content}
</section>
`;
}

/** @param repeated stands above the heads of the columns on each page */
function tableOf(title: string, columns: readonly Column[], rows: readonly Fact[], repeated?: string): Html {
  if (rows.length === 0) return html``;
  const classOf = (isNumber: true | undefined) => new Html(isNumber ? ' class="number"' : '');
  const heads = columns.map(([head, , isNumber]) => html`<th scope="col"${classOf(isNumber)}>${head}</th>`);
  const body = rows.map((row) => {
    const cells = columns.map(([, cell, isNumber]) => html`<td${classOf(isNumber)}>${cell(row)}</td>`);
    return html`<tr${new Html(row.entry === 'total' ? ' class="total"' : '')}>${cells}</tr>\n`;
  });
  return html`<h2>${title}</h2>
<table>
<thead>${repeated === undefined ? '' : html`<tr><th colspan="${columns.length}">${repeated}</th></tr>`}<tr>${heads}</tr></thead>
<tbody>
${body}</tbody>
</table>
`;
}

function partOf({ entry, part: name }: Fact): string {
  if (entry === 'total') return 'counts';
  return entry === 'line' ? shown(name, 'no state') : `changes of ${shown(name)}`;
}

function shown(value: Json | undefined, none = ''): string {
  return value === null || value === undefined ? none : String(value);
}

/** With all digits, and at least two places: `1234.5` → `1,234.50`. */
function amountOf(value: Json | undefined): string {
  const [whole = '', places = ''] = exactNumber(shown(value)).split('.');
  return whole === '' ? '' : `${whole}.${places.padEnd(2, '0')}`;
}
