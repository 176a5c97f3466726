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
  return [COLOURS[theme], RULES, ...looks].join('\n');
}

const COLOURS: Record<Theme, string> = {
  light: `.coverage{${LIGHT}}`,
  dark: `.coverage{${DARK}}`,
  auto: `.coverage{${LIGHT}}@media (prefers-color-scheme:dark){.coverage{${DARK}}}`,
};
