/* Draws the part of the page that answers the questions of the morning. */
import { DAY_MS, addDays } from '../base/days.ts';
import type { DayFacts } from '../day/day-facts.ts';
import { gapText } from '../lake/role-gaps.ts';
import { isComplete } from '../planning/day-state.ts';
import { listSql } from '../reports/views/view-sql.ts';
import { amountText, exactNumber } from '../base/exact-number.ts';
import { CELL_KINDS } from './cell-kinds.ts';
import { PENDING, type PageBrand, totalsOf } from './page-brand.ts';
import { type Html, copyable, html, pageTable } from './html.ts';
import { daysSinceClose, findingsIn, problemText, rangesText, sinceCloseSql, together } from './problems.ts';
import { type Controls, control } from './remedies.ts';
import type { TableStatus } from './table-statuses.ts';

export function morning(brand: PageBrand, controls: Controls): Html {
  const parts = [
    runs(brand),
    yesterday(brand),
    changedDays(brand),
    closedMonths(brand),
    findings(brand, controls),
    rolesWithoutField(brand),
  ];
  return html`<div class="morning">
${parts.map((part) => (part === '' ? '' : html`<div>${part}</div>`))}</div>
`;
}

function runs(brand: PageBrand): Html | string {
  const { name, tables } = brand;
  const enabled = tables.filter(({ every }) => every !== undefined);
  if (enabled.length === 0) return '';
  const heads = ['report', 'last successful run', 'due'];
  const rows = enabled.map((table) => [table.table, lastRunText(table, brand), dueText(table, brand)]);
  return html`<h3>Runs</h3>
${pageTable(`Runs of ${name}`, heads, rows)}`;
}

/** The time may be up to three hours old, because a run that finds nothing to do is recorded only every three hours. */
function lastRunText({ lastRun }: TableStatus, { at }: PageBrand): string {
  return lastRun?.completeAt === undefined ? 'none yet' : at(lastRun.completeAt);
}

function dueText({ days }: TableStatus, { due }: PageBrand): string {
  const [first] = days.flatMap(({ nextDue }) => nextDue ?? []).sort();
  return first === undefined ? 'nothing' : due(first);
}

function yesterday({ name, tables, today }: PageBrand): Html | string {
  const [day, weekBefore] = [addDays(today, -1), addDays(today, -8)];
  const rows = tables.flatMap(({ table, days }) => {
    const [now, before] = [day, weekBefore].map((dt) => days.find((each) => each.dt === dt));
    if (!now) return [];
    const [sums, sumsBefore] = [now, before].map((each) => each && totalsOf(each));
    const named = new Set([...(sums?.keys() ?? []), ...(sumsBefore?.keys() ?? [])]);
    if (now.totalsPending && named.size === 0) named.add('sums');
    return [
      [`${table} rows`, rowsText(now), rowsText(before), changeText(now.rows, before?.rows)],
      ...[...named].map((of) => {
        const [sum, sumBefore] = [sums?.get(of), sumsBefore?.get(of)];
        return [`${table} ${of}`, sumText(sum, now), sumText(sumBefore, before), changeText(sum, sumBefore)];
      }),
    ];
  });
  if (rows.length === 0) return '';
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(Date.parse(day));
  const heads = ['figure', day, weekBefore, 'change'];
  return html`<h3>Yesterday beside the ${weekday} before</h3>
${pageTable(`Yesterday of ${name}`, heads, rows)}`;
}

/** The rows with the state, unless the day is complete: only rows of complete days can be compared. */
function rowsText(day: DayFacts | undefined): string {
  if (!day) return '–';
  const rows = day.rows === null ? '–' : exactNumber(day.rows);
  return isComplete(day.state) ? rows : `${rows} (${CELL_KINDS[day.state].name})`;
}

function sumText(sum: string | undefined, of: DayFacts | undefined): string {
  if (of?.totalsPending) return PENDING;
  return sum === undefined ? '–' : amountText(sum);
}

type Figure = string | number | null | undefined;

/** `+12 %` */
function changeText(now: Figure, before: Figure): string {
  const share = Number(now ?? Number.NaN) / Number(before ?? Number.NaN) - 1;
  if (!Number.isFinite(share)) return '';
  const percent = Math.round(share * 100);
  return `${percent > 0 ? '+' : percent < 0 ? '−' : '±'}${exactNumber(Math.abs(percent))} %`;
}

function changedDays({ name, tables, nowMs }: PageBrand): Html {
  const since = new Date(nowMs - DAY_MS).toISOString();
  const changed = tables.flatMap(({ table, days }) => {
    const own = days.filter(({ changes }) => changes !== undefined && changes.last.at >= since);
    return own.length === 0 ? [] : [{ table, days: own }];
  });
  const heading = html`<h3>Closed days that changed in the last 24 hours</h3>`;
  if (changed.length === 0) return html`${heading}<p>None.</p>`;
  const counts = (days: readonly DayFacts[]) =>
    (['added', 'removed', 'altered'] as const).map((what) => {
      const each = days.map(({ changes }) => changes?.last[what]);
      const known = each.filter((count) => count !== undefined).reduce((sum, count) => sum + count, 0);
      return each.includes(undefined) ? `${exactNumber(known)} or more` : exactNumber(known);
    });
  const rows = changed.map(({ table, days }) => [table, rangesText(days), ...counts(days)]);
  const dts = new Set(changed.flatMap(({ days }) => days.map(({ dt }) => dt)));
  const sql = `SELECT * FROM changes\nWHERE brand = ${listSql([name])} AND dt IN (${listSql([...dts].sort())})`;
  return html`${heading}
${pageTable(`Changes of ${name}`, ['report', 'days', 'added', 'removed', 'altered'], rows)}${sqlBlock('all changes of these days', sql)}`;
}

/** What changed since the latest close. Changes since an earlier close are in the statement of the next one. */
function closedMonths(brand: PageBrand): Html | string {
  const { name, closes, settings, at } = brand;
  const [latest] = closes;
  if (!latest) return '';
  const changed = changedSince(brand);
  const rows = closes.map((close) => {
    const { month, closedAt, by, exceptions, erased } = close;
    const isOther = close.settings !== undefined && settings !== undefined && close.settings !== settings;
    const since = [
      ...(close === latest ? changed : []),
      ...(erased.length > 0 ? [`erased: ${erased.length}`] : []),
    ].join(', ');
    return [
      ...[month, at(closedAt), by, exactNumber(exceptions.length), since || (close === latest ? 'none' : '')],
      isOther ? `${close.settings?.slice(0, 8)}, other than today's` : (close.settings?.slice(0, 8) ?? ''),
    ];
  });
  const sql = sinceCloseSql(name);
  const heads = ['month', 'closed', 'by', 'days not whole then', 'days changed since', 'settings'];
  const others = closes.filter((close) => close.settings !== undefined && close.settings !== settings);
  const hint =
    others.length > 0 && settings !== undefined
      ? html`<div class="hint">To see what other settings have changed: ${copyable(`npx brand-reports status --brand ${name}`)}</div>`
      : '';
  return html`<h3>Closed months</h3>
${pageTable(`Closed months of ${name}`, heads, rows)}${hint}${sqlBlock('what to book, by publisher and currency', sql)}`;
}

/** `orders: 2` */
function changedSince({ tables, closes }: PageBrand): string[] {
  return tables.flatMap((table) => {
    const { length } = daysSinceClose(table, closes.toReversed());
    return length === 0 ? [] : [`${table.table}: ${length}`];
  });
}

function findings(brand: PageBrand, controls: Controls): Html | string {
  const found = together(brand.tables.flatMap(findingsIn));
  if (found.length === 0) return '';
  return html`<h3>Findings</h3>
<ul>${found.map((finding) => problemItem(finding, brand, controls))}</ul>
`;
}

export function problemItem(
  problem: ReturnType<typeof together>[number],
  { name, at }: PageBrand,
  controls: Controls,
): Html {
  const { table, reports, since, why, remedy } = problem;
  const { sentence, start } = remedy;
  const next = start ? html`${sentence}: ${control(controls(start, reports, name))}` : `${sentence}.`;
  return html`<li><b>${table}</b> ${problemText(problem)}<q>${why}</q>
<div>${since === undefined ? '' : `Since ${at(since)}. `}${next}</div></li>
`;
}

function rolesWithoutField({ tables }: PageBrand): Html | string {
  const gaps = tables.flatMap(({ roleGaps = [] }) => roleGaps);
  const items = gaps.map((gap) => html`<li>${gapText(gap)}: ${copyable(gap.setting)}</li>\n`);
  return items.length === 0
    ? ''
    : html`<h3>Roles without a field</h3>
<ul>${items}</ul>
`;
}

function sqlBlock(of: string, sql: string): Html {
  return html`<details><summary>SQL: ${of}</summary>${copyable(sql)}</details>`;
}
