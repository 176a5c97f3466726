/** A page for A4 in black and white. It loads nothing and runs nothing, and every text from outside is escaped. */
import { exactNumber } from '../shared/base/exact-number.ts';
import { Html, html } from '../shared/watch/html.ts';
import { type Fact, type Statement, inertCell } from './statement.ts';

const STYLE = `
@page{size:A4;margin:15mm 14mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt sans-serif}}
body{max-width:182mm;margin:0 auto;color:#000;background:#fff;font:8pt/1.35 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
section{break-after:page}
section:last-child{break-after:auto}
h1{margin:0 0 4pt;font-size:15pt}
h2{margin:14pt 0 4pt;font-size:10.5pt;break-after:avoid}
p{margin:0 0 2pt}
h1,p,td,th[colspan]{overflow-wrap:anywhere}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
thead{display:table-header-group}
tr{break-inside:avoid}
th,td{padding:1.5pt 2pt;border-bottom:.5pt solid #999;text-align:left;vertical-align:top}
th{min-width:13mm;border-bottom:1pt solid #000}
th[colspan]{border:0}
.order_id{min-width:24mm}
.day,.records,.amount,.commission,.counted,.counted_then,.counted_now{white-space:nowrap}
.records,.amount,.commission,.counted,.counted_then,.counted_now,.unknown_amounts{padding-right:5pt;text-align:right}
@media screen{body{padding:8mm}section{margin-bottom:12mm;overflow-x:auto}}
.total td{border-bottom:1pt solid #000;font-weight:600}
`;

const MONEY = ['amount', 'commission', 'counted'];
const TOTALS = ['currency', 'entry', 'state_or_month', 'records', ...MONEY, 'unknown_amounts'];
const RECORD = ['day', 'order_id', 'product', 'kind'];
const RECORDS = [...RECORD, 'state', ...MONEY, 'currency'];
const REST = ['reason', 'counted', 'currency'];
const CARRIED = [...RECORD, 'state_then', 'counted_then', 'state', 'counted_now', 'counted', 'currency'];

/** The page in pieces, a publisher at a time. */
export async function* statementPage(statements: readonly Statement[]): AsyncGenerator<string> {
  yield html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Statement ${statements[0]?.month ?? ''}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
`.markup;
  for (const statement of statements) {
    if (statement.publisher === null) yield section(statement, 'all publishers', statement.totals, []);
    for await (const { totals, entries } of statement.publishers) {
      const { publisher_id: id = null, publisher_name: name = null } = totals[0] ?? {};
      const who = id === null ? 'without a publisher' : `publisher ${id}${name === null ? '' : `, ${name}`}`;
      yield section(statement, who, totals, entries);
    }
  }
  yield '</body>\n</html>\n';
}

function section(
  { brand, month, notes }: Statement,
  who: string,
  totals: readonly Fact[],
  entries: readonly Fact[],
) {
  const title = `Statement ${month}: ${brand}, ${who}`;
  const of = (wanted: string) => entries.filter(({ entry }) => entry === wanted);
  return html`<section>
<h1>${title}</h1>
${notes.map((note) => html`<p>${note}</p>\n`)}${table('Totals', TOTALS, totals, '')}
${table('Orders and bonuses', RECORDS, of('record'), title)}
${table('Changes of earlier months', CARRIED, of('carried'), title)}
${table('What was shown before and counts differently now', REST, of('rest'), title)}</section>
`.markup;
}

/** @param repeated the line above the heads on each page */
function table(title: string, columns: readonly string[], rows: readonly Fact[], repeated: string): Html {
  if (rows.length === 0) return html``;
  const heads = columns.map(
    (name) => html`<th scope="col" class="${name}">${name.replaceAll('_', ' ')}</th>`,
  );
  const above = repeated === '' ? '' : html`<tr><th colspan="${columns.length}">${repeated}</th></tr>`;
  const body = rows.map((row) => {
    const cells = columns.map((name) => html`<td class="${name}">${shown(name, row[name])}</td>`);
    return html`<tr class="${row.entry === 'total' ? 'total' : ''}">${cells}</tr>\n`;
  });
  return html`<h2>${title}</h2>
<table><thead>${above}<tr>${heads}</tr></thead>
<tbody>${body}</tbody></table>`;
}

/** Amounts have all their digits, and at least two places: `1234.5` → `1,234.50`. */
function shown(name: string, value: string | null = null): string {
  if (value === null || !(name.startsWith('counted') || MONEY.includes(name))) return inertCell(value ?? '');
  const [whole = '', places = ''] = exactNumber(value).split('.');
  return `${whole}.${places.padEnd(2, '0')}`;
}
