import type { ReportRegistry, ReportView } from './definition.ts';

/** The views that read the table, of whichever report they are. */
export function viewsOf(reports: ReportRegistry, table: string): ReportView[] {
  return Object.values(reports)
    .flatMap(({ views }) => views)
    .filter(({ needs }) => Object.hasOwn(needs, table));
}

/** The other tables that these views read. */
export function tablesBeside(reports: ReportRegistry, table: string): string[] {
  const read = viewsOf(reports, table).flatMap(({ needs }) => Object.keys(needs));
  return [...new Set(read)].filter((other) => other !== table);
}
