import { type CalendarOptions, calendar } from './calendar.ts';
import { Html, html } from './html.ts';
import type { TableStatus } from './table-statuses.ts';

const STYLE = new Html(`
body{margin:0}
.coverage{box-sizing:border-box;min-height:100vh;padding:20px clamp(12px,3vw,32px);background:var(--back)}
.coverage>*{max-width:1320px;margin-inline:auto}
.coverage h1{margin-bottom:20px;font-size:20px;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
.coverage h1 small{display:block;color:var(--quiet);font-size:13px;font-weight:400}
`);

/**
 * The calendar as a page of its own; it loads nothing and runs nothing.
 * @param lake what the page calls the lake, e.g. its address
 */
export function calendarPage(
  tables: readonly TableStatus[],
  lake: string,
  options: Omit<CalendarOptions, 'theme' | 'heading' | 'withNumbers'>,
): Html {
  const asOf = new Date(options.nowMs).toISOString().slice(0, 16).replace('T', ' ');
  const heading = html`<h1>Coverage <small>${lake}, as of ${asOf} UTC</small></h1>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Coverage of ${lake}</title>
<style>${STYLE}</style>
</head>
<body>
${calendar(tables, { ...options, theme: 'auto', heading, withNumbers: true })}
</body>
</html>
`;
}
