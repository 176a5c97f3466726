import { DAY_MS } from '../days.ts';
import { type FieldChange, SHOWN_DAYS } from '../planning/schema-changes.ts';
import type { Candidate } from './open-problems.ts';
import type { TableStatus } from '../status/table-statuses.ts';

const TEXTS: Record<FieldChange, { title: string; advice: string }> = {
  new: {
    title: 'new fields',
    advice:
      'Nothing is to be done: they are columns of the table, and their first values have decided the types',
  },
  vanished: {
    title: 'fields vanished',
    advice:
      'Ask the operator of the service whether they were renamed: queries of these columns find NULL. If it is a mistake, later readings bring the values back by themselves',
  },
  returned: {
    title: 'fields are back',
    advice: 'Nothing is to be done: if the days between are restated, later readings fill them',
  },
  drifted: {
    title: 'fields no longer fit their type',
    advice:
      'Query the column _rescued of the day, which has the values: queries of the column do not find them. Ask the operator of the service which type is meant',
  },
  null_share: {
    title: 'fields are NULL more often',
    advice: 'Ask the operator of the service whether they are optional now',
  },
};

/** The fields that are new, vanished or changed. Like findings, they are reported once and are not problems. */
export function fieldCandidates(
  { brand, report, schemaChanges = [] }: TableStatus,
  nowMs: number,
): Candidate[] {
  return schemaChanges.flatMap(({ dt, column, change, detail, found }) => {
    const { title, advice } = TEXTS[change];
    const sinceMs = Date.parse(`${dt}T00:00:00Z`);
    // Ends before the change leaves `schemaChanges`, in any time zone: otherwise it would be reported as solved.
    const untilMs = Date.parse(`${found ?? dt}T00:00:00Z`) + SHOWN_DAYS * DAY_MS;
    if (nowMs >= untilMs) return [];
    return [
      {
        // The id of a change that was found later has no day, because readings of older days move the day on which the field was last there.
        id: `${brand} ${report} field ${change} ${column} ${found === undefined ? dt : 'found later'}`,
        ...{ brand, report, what: `${title}: ${column}, ${dt}`, sinceMs },
        graceMs: 0,
        why: detail,
        remedy: { sentence: advice },
        finding: { title, day: dt, detail: `${column}, ${detail}`, untilMs },
      },
    ];
  });
}
