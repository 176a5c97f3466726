import type { Look } from './looks.ts';

const LIGHT =
  '--ink:#1b2430;--quiet:#5b6776;--line:#d8dee6;--blank:#e9edf1;--done:#0f766e;--new:#4fb3a4;--busy:#2f78bd;--late:#c98a00;--bad:#c8371b;--odd:#8451a3;--back:#fff;--panel:#f4f6f9';
const DARK =
  '--ink:#e6eaf0;--quiet:#9aa7b6;--line:#334155;--blank:#263343;--done:#1f8a7d;--new:#74cbbb;--busy:#66aeea;--late:#f0b429;--bad:#ff7452;--odd:#c39bdb;--back:#0f1720;--panel:#1a2532;color-scheme:dark';

/** Each look has its own shape in addition to its colour: from incomplete to final, the cell fills. */
const CELLS: Record<Look, string> = {
  settled: 'background:var(--done)',
  complete: 'background:linear-gradient(var(--blank) 22%,var(--new) 0)',
  open: 'background:linear-gradient(var(--blank) 55%,var(--busy) 0)',
  in_progress: 'background:linear-gradient(var(--blank) 80%,var(--busy) 0)',
  to_come: 'background:var(--blank)',
  overdue:
    'background:repeating-linear-gradient(-45deg,var(--late) 0 2px,var(--back) 2px 4px);box-shadow:inset 0 0 0 1px var(--late)',
  unverified: 'background:radial-gradient(circle,var(--odd) 32%,var(--blank) 38%)',
  missing: 'box-shadow:inset 0 0 0 1.5px var(--bad)',
  failed:
    'background:linear-gradient(51deg,transparent 45%,var(--back) 45% 55%,transparent 55%),linear-gradient(-51deg,var(--bad) 45%,var(--back) 45% 55%,var(--bad) 55%)',
};

/** The colour of a day's bar and mark in a chart. */
const BARS: Record<Look, string> = {
  settled: 'done',
  complete: 'new',
  open: 'busy',
  in_progress: 'busy',
  to_come: 'blank',
  overdue: 'late',
  unverified: 'odd',
  missing: 'bad',
  failed: 'bad',
};

const RULES = `
body{min-height:100vh;margin:0;padding:20px clamp(12px,3vw,32px);background:var(--back);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
*{box-sizing:border-box;margin-top:0}
body>*{max-width:1320px;margin-inline:auto}
h1{margin-bottom:20px;font-size:20px;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
h1 small{display:block;color:var(--quiet);font-size:13px;font-weight:400}
h2{margin-bottom:0;font-size:17px;font-weight:600;overflow-wrap:anywhere}
h2 small{margin-left:.4em;color:var(--quiet);font-size:13px;font-weight:400}
h3{margin-bottom:2px;font-size:13px;font-weight:600}
section{margin-bottom:28px}
p{margin-bottom:12px;overflow-wrap:anywhere}
.headline{margin-top:4px;padding-left:10px;border-left:4px solid var(--bad);font-size:15px}
.headline.good{border-color:var(--done)}
.earlier{margin:12px 0;padding-left:10px;border-left:4px solid var(--late)}
ul{margin:14px 0 0;padding:0;list-style:none}
section li{margin-bottom:6px;padding:8px 12px;border-radius:4px;background:var(--panel);overflow-wrap:anywhere}
q{display:block;quotes:none}
section li div{color:var(--quiet);font-size:13px}
code{display:block;margin-top:4px;padding:2px 0;overflow-x:auto;color:var(--ink);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:nowrap}
time{white-space:nowrap}
a{color:var(--busy)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,372px),1fr));gap:10px 28px;margin-bottom:20px}
.charts.wide{grid-template-columns:1fr}
figure{max-width:650px;margin:0}
.wide figure{max-width:none}
figcaption{overflow:hidden;color:var(--quiet);font-size:12px;text-overflow:ellipsis;white-space:nowrap}
figcaption b{color:var(--ink);font-weight:600}
svg{display:block;width:100%;height:46px}
path{fill:none;stroke-width:.8}
path.line{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
path.open,path.in_progress{stroke-width:.4}
path.missing.mark{stroke-width:.35}
path.overdue.mark{stroke-dasharray:1 .6}
.scale{display:flex;color:var(--quiet);font-size:10px;line-height:14px}
.scale span{min-width:0;overflow:hidden;padding-left:2px}
summary{margin-top:14px;cursor:pointer;font-size:13px}
.numbers{max-height:70vh;margin-top:8px;overflow:auto}
table{border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;white-space:nowrap}
th{font-weight:400}
thead th{position:sticky;top:0;background:var(--panel)}
.months{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,372px),1fr));gap:18px 28px}
.row{display:grid;grid-template-columns:90px minmax(0,1fr);align-items:center;max-width:650px;margin-bottom:3px}
.row b{padding-right:6px;overflow:hidden;font-size:12px;font-weight:400;line-height:1.2;text-overflow:ellipsis;white-space:nowrap}
.days{display:grid;grid-template-columns:repeat(31,minmax(0,1fr));gap:1px}
.days span{width:0;color:var(--quiet);font-size:10px;line-height:14px;white-space:nowrap}
i{display:block;aspect-ratio:4/5;border-radius:1.5px;print-color-adjust:exact;-webkit-print-color-adjust:exact}
i[title]:hover{outline:2px solid var(--ink);outline-offset:1px}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;padding-top:10px;border-top:1px solid var(--line);font-size:12px}
.legend li{display:flex;align-items:center;gap:6px}
.legend i{width:12px}
`;

/** The CSS of the page, in the colours of the reader's system. */
export const CALENDAR_STYLE = [
  `:root{${LIGHT}}`,
  `@media (prefers-color-scheme:dark){:root{${DARK}}}`,
  RULES,
  ...Object.entries(CELLS).map(([look, rules]) => `i.${look}{${rules}}`),
  ...Object.entries(BARS).map(([look, colour]) => `path.${look}{stroke:var(--${colour})}`),
].join('\n');
