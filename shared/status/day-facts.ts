import { exactNumber } from './exact-number.ts';
import type { StatusDay } from './day-status.ts';

/** What is in a day, e.g. `1,234 rows, commission 5,678.9`; nothing where nothing was read. @param measure the column of `sum` */
export function contentText({ rows, sum }: StatusDay, measure: string | undefined): string[] {
  if (rows === null) return [];
  const counted = `${exactNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  return [
    sum === undefined || measure === undefined ? counted : `${counted}, ${measure} ${exactNumber(sum)}`,
  ];
}

/** What changed since the day was closed, e.g. `changed 2 times, last 2026-11-10 01:02: 1 added, 3 altered of 12 rows`. */
export function changesText({ changes }: StatusDay, at: (iso: string) => string): string[] {
  if (!changes) return [];
  const { times, last } = changes;
  const often = times === 1 ? 'changed once,' : `changed ${exactNumber(times)} times, last`;
  const parts = (['added', 'removed', 'altered'] as const).flatMap((what) =>
    last[what] === undefined || last[what] === 0 ? [] : [`${exactNumber(last[what])} ${what}`],
  );
  const what = parts.length === 0 ? '' : `: ${parts.join(', ')} of ${exactNumber(last.rowsBefore)}`;
  return [`${often} ${at(last.at)}${what}`];
}
