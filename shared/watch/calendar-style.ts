import type { CellKind } from './cell-kinds.ts';

const LIGHT =
  '--ink:#1b2430;--quiet:#5b6776;--line:#d8dee6;--blank:#e9edf1;--done:#0f766e;--new:#3f9f91;--busy:#2a6dae;--late:#c98a00;--bad:#c8371b;--odd:#8451a3;--back:#fff;--panel:#f4f6f9';
const DARK =
  '--ink:#e6eaf0;--quiet:#9aa7b6;--line:#334155;--blank:#263343;--done:#4ccdb6;--new:#2c8c7d;--busy:#66aeea;--late:#f0b429;--bad:#ff7452;--odd:#c39bdb;--back:#0f1720;--panel:#1a2532;color-scheme:dark';

/** Each kind has its own shape in addition to its colour: from incomplete to final, the cell fills. */
const CELLS: Record<CellKind, string> = {
  settled: 'background:var(--done)',
  complete: 'background:linear-gradient(var(--blank) 22%,var(--new) 0)',
  open: 'background:linear-gradient(var(--blank) 55%,var(--busy) 0)',
  erased: 'background:linear-gradient(-45deg,transparent 45%,var(--quiet) 45% 55%,transparent 55%)',
  in_progress: 'background:linear-gradient(var(--blank) 80%,var(--busy) 0)',
  to_come: 'background:var(--blank)',
  overdue:
    'background:repeating-linear-gradient(-45deg,var(--late) 0 2px,var(--back) 2px 4px);box-shadow:inset 0 0 0 1px var(--late)',
  unverified: 'background:radial-gradient(circle,var(--odd) 32%,var(--blank) 38%)',
  missing: 'box-shadow:inset 0 0 0 1.5px var(--bad)',
  failed:
    'background:linear-gradient(51deg,transparent 45%,var(--back) 45% 55%,transparent 55%),linear-gradient(-51deg,var(--bad) 45%,var(--back) 45% 55%,var(--bad) 55%)',
};

const RULES = `
body{min-height:100vh;margin:0;padding:20px clamp(12px,3vw,32px);background:var(--back);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
*{box-sizing:border-box;margin-top:0}
main{max-width:1320px;margin-inline:auto}
h1{margin-bottom:20px;font-size:20px;font-weight:600;line-height:1.3;overflow-wrap:anywhere}
h1 small{display:block;color:var(--quiet);font-size:13px;font-weight:400}
h2{margin-bottom:0;font-size:17px;font-weight:600;overflow-wrap:anywhere}
h2 small{margin-left:.4em;color:var(--quiet);font-size:13px;font-weight:400}
h3{margin:20px 0 6px;font-size:15px;font-weight:600}
h4{margin-bottom:2px;font-size:13px;font-weight:600}
section{margin-bottom:28px}
p{margin-bottom:12px;overflow-wrap:anywhere}
.headline{margin-top:4px;padding-left:10px;border-left:4px solid var(--bad);font-size:15px}
.headline.good{border-color:var(--done)}
ul{margin:14px 0 0;padding:0;list-style:none}
section li{margin-bottom:6px;padding:8px 12px;border-radius:4px;background:var(--panel);overflow-wrap:anywhere}
q{display:block;quotes:none}
li>div:last-child,.hint{color:var(--quiet);font-size:13px}
code{display:block;margin-top:4px;padding:4px 8px;border:1px solid var(--line);border-radius:4px;color:var(--ink);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;user-select:all;-webkit-user-select:all}
:focus-visible{outline:2px solid var(--busy);outline-offset:1px}
a{color:var(--busy)}
summary{cursor:pointer;font-size:13px}
.scroll{max-height:70vh;margin-bottom:8px;overflow:auto}
.morning tr:has(:nth-child(6)) td:nth-child(3){overflow-wrap:anywhere}
.numbers{margin-top:14px}
.morning{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:0 28px}
.morning>:has(>ul,>details){grid-column:1/-1}
table{border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums}
th,td{padding:3px clamp(5px,1vw,10px);border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{font-weight:400}
tr>:first-child{text-align:left}
thead th{position:sticky;top:0;background:var(--panel)}
.index :nth-child(2){text-align:left}
.numbers td,.numbers th{white-space:nowrap}
.numbers tbody th{position:sticky;left:0;background:var(--back)}
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
@media print{body{padding:0;font-size:12px}.scroll{max-height:none;overflow:visible}section li,.months>div,tr{break-inside:avoid}h2,h3,h4{break-after:avoid}}
`;

export const CALENDAR_STYLE = [
  `:root{${LIGHT}}`,
  `@media (prefers-color-scheme:dark){:root{${DARK}}}`,
  RULES,
  ...Object.entries(CELLS).map(([kind, rules]) => `i.${kind}{${rules}}`),
].join('\n');
