/** Explains, for `query`, columns of views that are NULL because a role has no field. */
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import { gapText, roleGaps } from '../shared/lake/documents/role-gaps.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { LakeSettings } from '../shared/settings/settings.ts';
import { printedCommand } from './printed-command.ts';
import { oneLine } from './terminal-text.ts';

const MAX_NOTES = 8;

/** @returns a line for each role without a field: why columns of the named views are NULL */
export function gapNotes(
  ledgers: readonly ReportLedgers[],
  reports: ReportRegistry,
  settings: LakeSettings | undefined,
  isNamed: (view: string) => boolean,
): string[] {
  const gaps = ledgers
    .flatMap((own) => roleGaps(own, reports, settings?.brands[own.brand]?.reports[own.report.name]?.fields))
    .map((gap) => ({ ...gap, views: gap.views.filter(isNamed) }))
    .filter(({ views }) => views.length > 0);
  const more = gaps.length - MAX_NOTES;
  return [
    ...gaps.slice(0, MAX_NOTES).map((gap) => oneLine(`note: ${gapText(gap)}`)),
    ...(more > 0 ? [`note: ${more} more roles have no field: ${printedCommand('status')}`] : []),
  ];
}
