/** Which fields of the lake have which roles, and what `query` says of roles without a field. */
import { type BrandRoles, saidRoles } from '../shared/lake/documents/roles.ts';
import type { ReportLedgers } from '../shared/lake/documents/read.ts';
import { gapText, roleChoices, roleGaps } from '../shared/lake/documents/role-evidence.ts';
import type { TableRoles } from '../shared/catalog/view-roles.ts';
import { isCurrencyUnclear } from '../shared/roles/index.ts';
import type { ReportRegistry } from '../shared/reports/definition.ts';
import type { RoleFields } from '../shared/roles/index.ts';
import type { Settings } from '../shared/settings/settings.ts';
import { note } from './output.ts';
import { oneLine } from './terminal-text.ts';

/** The roles by table and brand, by the settings of now, and for brands without a run since they are stored by the ledgers. */
export function rolesOfLake(ledgers: readonly ReportLedgers[], settings: Settings | undefined): TableRoles {
  const tables = new Map<string, Record<string, BrandRoles>>();
  for (const own of ledgers) {
    const { brand, report, roles } = own;
    const { fields = roles?.fields ?? {}, states } = settingsOf(settings, own);
    const choices = roleChoices(own, fields);
    const decided = choices.flatMap(({ role, field }) => (field === undefined ? [] : [[role, field]]));
    const ofTable = tables.get(report.table) ?? {};
    ofTable[brand] = {
      chosen: Object.fromEntries(decided),
      fields,
      words: states?.words ?? roles?.words ?? {},
      isCurrencyUnclear: isCurrencyUnclear(choices) && saidRoles(roles, fields).currency === undefined,
    };
    tables.set(report.table, ofTable);
  }
  return tables;
}

const MAX_NOTES = 8;

/** Says of each role without a field, once, why columns of the views that SQL names are NULL. */
export function noteGaps(
  ledgers: readonly ReportLedgers[],
  reports: ReportRegistry,
  settings: Settings | undefined,
  isNamed: (view: string) => boolean,
): void {
  const gaps = ledgers
    .flatMap((own) => roleGaps(own, reports, settingsOf(settings, own).fields))
    .map((gap) => ({ ...gap, views: gap.views.filter(isNamed) }))
    .filter(({ views }) => views.length > 0);
  for (const gap of gaps.slice(0, MAX_NOTES)) note(oneLine(`note: ${gapText(gap)}`));
  if (gaps.length > MAX_NOTES)
    note(`note: ${gaps.length - MAX_NOTES} more roles have no field: brand-reports status`);
}

function settingsOf(
  settings: Settings | undefined,
  { brand, report }: Pick<ReportLedgers, 'brand' | 'report'>,
): { fields?: RoleFields; states?: { words?: Readonly<Record<string, string>> } } {
  return settings?.brands[brand]?.reports[report.name] ?? {};
}
