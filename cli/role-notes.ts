import type { TableRoles } from '../shared/catalog/view-roles.ts';
import type { UsedSettings } from '../shared/lake/brand-settings.ts';
import type { ReportLedgers } from '../shared/lake/read.ts';
import { gapText, roleGaps } from '../shared/lake/role-gaps.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
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

/** A line for each role without a field: why columns are NULL. @param roles replace the last run's settings */
export function gapNotes(
  ledgers: readonly ReportLedgers[],
  reports: ReportRegistry,
  roles: TableRoles,
  isNamed: (view: string) => boolean,
): string[] {
  const notes = ledgers.flatMap((own) => {
    const fields = roles.get(own.report.table)?.[own.brand]?.fields;
    return roleGaps(own, reports, fields)
      .map((gap) => ({ ...gap, views: gap.views.filter(isNamed) }))
      .filter(({ views }) => views.length > 0)
      .map((gap) => `${gapText(gap)}: ${gap.setting}`);
  });
  const more = notes.length - MAX_NOTES;
  return [
    ...notes.slice(0, MAX_NOTES).map((text) => oneLine(`note: ${text}`)),
    ...(more > 0 ? [`note: ${more} more roles have no field: ${printedCommand('status')}`] : []),
  ];
}
