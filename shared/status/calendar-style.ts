import type { Look } from './looks.ts';

/** `auto` follows the reader's system. */
export type Theme = 'light' | 'dark' | 'auto';

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
.coverage{color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.coverage *{box-sizing:border-box;margin-top:0}
.coverage h2{margin-bottom:0;font-size:17px;font-weight:600;overflow-wrap:anywhere}
.coverage h2 small{margin-left:.4em;color:var(--quiet);font-size:13px;font-weight:400}
.coverage h3{margin-bottom:2px;font-size:13px;font-weight:600}
.coverage section{margin-bottom:28px}
.coverage p{margin-bottom:12px;overflow-wrap:anywhere}
.coverage .headline{margin-top:4px;padding-left:10px;border-left:4px solid var(--bad);font-size:15px}
.coverage .headline.good{border-color:var(--done)}
.coverage .earlier{margin:12px 0;padding-left:10px;border-left:4px solid var(--late)}
.coverage ul{margin:14px 0 0;padding:0;list-style:none}
.coverage section li{margin-bottom:6px;padding:8px 12px;border-radius:4px;background:var(--panel);overflow-wrap:anywhere}
.coverage q{display:block;quotes:none}
.coverage section li div{color:var(--quiet);font-size:13px}
.coverage code{display:block;margin-top:4px;padding:2px 0;overflow-x:auto;color:var(--ink);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:nowrap}
.coverage time{white-space:nowrap}
.coverage a{color:var(--busy)}
.coverage .charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,372px),1fr));gap:10px 28px;margin-bottom:20px}
.coverage .charts.wide{grid-template-columns:1fr}
.coverage figure{max-width:650px;margin:0}
.coverage .wide figure{max-width:none}
.coverage figcaption{overflow:hidden;color:var(--quiet);font-size:12px;text-overflow:ellipsis;white-space:nowrap}
.coverage figcaption b{color:var(--ink);font-weight:600}
.coverage svg{display:block;width:100%;height:46px}
.coverage path{fill:none;stroke-width:.8}
.coverage path.line{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}
.coverage path.open,.coverage path.in_progress{stroke-width:.4}
.coverage path.missing.mark{stroke-width:.35}
.coverage path.overdue.mark{stroke-dasharray:1 .6}
.coverage .scale{display:flex;color:var(--quiet);font-size:10px;line-height:14px}
.coverage .scale span{min-width:0;overflow:hidden;padding-left:2px}
.coverage summary{margin-top:14px;cursor:pointer;font-size:13px}
.coverage .numbers{max-height:70vh;margin-top:8px;overflow:auto}
.coverage table{border-collapse:collapse;font-size:12px;font-variant-numeric:tabular-nums}
.coverage th,.coverage td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;white-space:nowrap}
.coverage th{font-weight:400}
.coverage thead th{position:sticky;top:0;background:var(--panel)}
.coverage .months{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,372px),1fr));gap:18px 28px}
.coverage .row{display:grid;grid-template-columns:90px minmax(0,1fr);align-items:center;max-width:650px;margin-bottom:3px}
.coverage .row b{padding-right:6px;overflow:hidden;font-size:12px;font-weight:400;line-height:1.2;text-overflow:ellipsis;white-space:nowrap}
.coverage .days{display:grid;grid-template-columns:repeat(31,minmax(0,1fr));gap:1px}
.coverage .days span{width:0;color:var(--quiet);font-size:10px;line-height:14px;white-space:nowrap}
.coverage i{display:block;aspect-ratio:4/5;border-radius:1.5px;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.coverage i[title]:hover{outline:2px solid var(--ink);outline-offset:1px}
.coverage .legend{display:flex;flex-wrap:wrap;gap:4px 18px;padding-top:10px;border-top:1px solid var(--line);font-size:12px}
.coverage .legend li{display:flex;align-items:center;gap:6px}
.coverage .legend i{width:12px}
`;

/** The CSS of the calendar, which affects nothing outside of it. */
export function calendarStyle(theme: Theme): string {
  const looks = Object.entries(CELLS).map(([look, rules]) => `.coverage i.${look}{${rules}}`);
  const bars = Object.entries(BARS).map(
    ([look, colour]) => `.coverage path.${look}{stroke:var(--${colour})}`,
  );
  return [COLOURS[theme], RULES, ...looks, ...bars].join('\n');
}

const COLOURS: Record<Theme, string> = {
  light: `.coverage{${LIGHT}}`,
  dark: `.coverage{${DARK}}`,
  auto: `.coverage{${LIGHT}}@media (prefers-color-scheme:dark){.coverage{${DARK}}}`,
};
