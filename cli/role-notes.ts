import type { TableRoles } from '../shared/catalog/view-roles.ts';
import type { SettingsNote, UsedSettings } from '../shared/lake/documents/brand-settings.ts';
import { hasRows } from '../shared/lake/documents/ledger.ts';
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import { gapText, roleGaps } from '../shared/lake/documents/role-gaps.ts';
import { type ReportRegistry, allViews, rolesUsedBy, viewsOf } from '../shared/reports/definition.ts';
import { type RoleFields, fieldsIn } from '../shared/roles/index.ts';
import { printedCommand } from './printed-command.ts';
import { oneLine } from './terminal-text.ts';

const MAX_NOTES = 8;
const MAX_BRANDS = 4;

export function usedSettingsLines(used: readonly UsedSettings[]): string[] {
  const lines = used.map(({ brand, hash, since }) => {
    const of = since === undefined ? 'which are not those of the lake' : `since ${since}`;
    return oneLine(`settings of ${brand}: ${hash}, ${of}`);
  });
  const more = lines.length - MAX_BRANDS;
  return more > 0 ? [...lines.slice(0, MAX_BRANDS), `settings of ${more} more brands`] : lines;
}

/** @param file the settings file, if the command has one: what differs from the lake is then told */
export function settingsNotes(notes: readonly SettingsNote[], file: string | undefined): string[] {
  return file === undefined ? [] : notes.map(({ text }) => oneLine(`note: ${text}`));
}

/** A line for each role without a field: why columns are NULL. @param roles replace the last run's settings */
export function gapNotes(
  ledgers: readonly ReportLedgers[],
  reports: ReportRegistry,
  roles: TableRoles,
  isNamed: (view: string) => boolean,
): string[] {
  const notes = ledgers.flatMap((own) => {
    const fields = roles.get(own.report.table)?.[own.brand]?.fields;
    const gaps = roleGaps(own, reports, fields)
      .map((gap) => ({ ...gap, views: gap.views.filter(isNamed) }))
      .filter(({ views }) => views.length > 0);
    return [...gaps.map(gapText), ...excluded(own, reports, fields, isNamed)];
  });
  const more = notes.length - MAX_NOTES;
  return [
    ...notes.slice(0, MAX_NOTES).map((text) => oneLine(`note: ${text}`)),
    ...(more > 0 ? [`note: ${more} more roles have no field: ${printedCommand('status')}`] : []),
  ];
}

/** A text for each role that sums of these views need, and that the settings exclude with null. */
function excluded(
  { brand, report, ledgers, columns = [] }: ReportLedgers,
  reports: ReportRegistry,
  fields: RoleFields = {},
  isNamed: (view: string) => boolean,
): string[] {
  if (!hasRows(ledgers.values())) return [];
  const hasLineState = fieldsIn(columns, fields).line_state !== undefined;
  return (['amount', 'commission', 'state'] as const).flatMap((role) => {
    const isExcluded = fields[role] === null && !(role === 'state' && hasLineState);
    const isUsed = (of: { table: string; name: string }) => of.table === report.table && of.name === role;
    const views = viewsOf(reports, report)
      .filter((view) => isNamed(view.name) && rolesUsedBy(allViews(reports), view).some(isUsed))
      .map(({ name }) => name);
    return isExcluded && views.length > 0
      ? [
          `${brand} ${report.name}: by its settings no field has the role ${role}, so sums are NULL in ${views.join(', ')}`,
        ]
      : [];
  });
}
